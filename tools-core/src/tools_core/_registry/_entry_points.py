"""Entry points of installed distributions, read from their metadata without importing any plugin.

`importlib.metadata` answers the same question, but costs 30 ms to import; here it serves only zip archives.
"""

from __future__ import annotations

import os
import re
import sys

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_separators = re.compile("[-_.]+")
_reference = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?").fullmatch
_BLOCK = 1 << 16  # below the size from which malloc maps fresh pages for every read
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate line ends


class EntryPoint:
    """One line of a distribution's `entry_points.txt`; `folder` is where its metadata lies."""

    __slots__ = ("distribution", "folder", "group", "name", "value", "version")

    def __init__(self, name: str, value: str, group: str, distribution: str, version: str, folder: str) -> None:
        self.name = name
        self.value = value
        self.group = group
        self.distribution = distribution
        self.version = version
        self.folder = folder

    @property
    def qualified(self) -> str:
        """The name that no other distribution can take: `tools-weather:get`."""
        return f"{self.distribution}:{self.name}"

    @property
    def module(self) -> str:
        """The module of the reference, empty when the reference is malformed."""
        match = _reference(self.value)
        return match[1] if match else ""

    def load(self) -> Any:
        """Import the module and walk to the attribute.

        Raises: ValueError or AttributeError naming the reference, or whatever the module raises.
        """
        from importlib import import_module  # plugin code is needed from here on, and not before

        match = _reference(self.value)
        if not match:
            raise ValueError(f"`{self.value}` is not a reference of the form `module:attribute`")
        found: Any = import_module(match[1])
        for attribute in match[2].split(".") if match[2] else ():
            try:
                found = getattr(found, attribute)
            except AttributeError as error:
                raise AttributeError(f"`{self.value}` leads nowhere: {error}") from error
        return found

    def owner(self) -> Any:
        """The object that the last attribute of the reference belongs to, once it is loaded; None for a module."""
        match = _reference(self.value)
        if not match or not match[2] or "." not in match[2]:
            return None
        found: Any = sys.modules.get(match[1])
        for attribute in match[2].split(".")[:-1]:
            found = getattr(found, attribute, None)
        return found

    def refers_to(self, value: object) -> bool:
        """Tell without importing whether `value` is what this reference names."""
        match = _reference(self.value)
        if not match or not match[2]:
            return False
        found: Any = sys.modules.get(match[1])
        for attribute in match[2].split("."):
            found = getattr(found, attribute, None)
        if found is not None:
            return found is value
        # A decorator runs before its function has a place in the module, and packages re-export.
        module = getattr(value, "__module__", None)
        same_package = isinstance(module, str) and module.partition(".")[0] == match[1].partition(".")[0]
        return same_package and getattr(value, "__qualname__", None) == match[2]

    def is_same(self, other: EntryPoint) -> bool:
        """Return whether nothing has changed, as it would with another version installed."""
        return (self.value, self.version, self.folder) == (other.value, other.version, other.folder)

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.value})"

    def __repr__(self) -> str:
        return f"EntryPoint({self.qualified!r}, {self.value!r})"


def scan(group: str, paths: Iterable[str | os.PathLike[str]] | None = None) -> list[EntryPoint]:
    """Read the entry points of `group`, sorted by distribution and name; `paths` stand in for `sys.path`.

    Of a distribution found twice the first counts, as for an import. What cannot be read is left out.
    """
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for path in sys.path if paths is None else paths:
        folder = os.fspath(path)
        children = _children(folder)
        if children is None:
            found += _in_archive(folder, group, seen)
        else:
            found += _in_folder(folder, children, group, seen)
    found.sort(key=lambda point: (point.distribution, point.name))
    return found


def parse(data: bytes, group: str) -> list[tuple[str, str]]:
    """Name and value of each entry of `group`; lines that are no entries are left out, whatever they hold."""
    entries: list[tuple[str, str]] = []
    inside = False
    for line in map(str.strip, data.decode("utf-8", "replace").splitlines()):
        if line.startswith("[") and line.endswith("]"):
            inside = line.strip("[]") == group
        elif inside and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            entries.append((name.strip(), value.strip()))
    return entries


def normalize(distribution: str) -> str:
    """Write a distribution's name in its one canonical form (PEP 503): `Tools_Weather` is `tools-weather`."""
    return _separators.sub("-", distribution).lower()


def summary(entry: EntryPoint) -> str:
    """The distribution's own one-line description; empty when it has none."""
    for name in ("METADATA", "PKG-INFO"):
        try:
            with open(os.path.join(entry.folder, name), "rb") as file:
                return _header(file, "Summary")
        except OSError:
            continue
    return ""


def _children(folder: str) -> list[str] | None:
    """What is in a folder; None for an archive."""
    if folder.endswith(".egg"):  # as a folder, too, it has its metadata elsewhere
        return None
    try:
        return os.listdir(folder or ".")
    except NotADirectoryError:  # a file, or what lies in one
        return None
    except (OSError, ValueError):
        return []


def _in_folder(folder: str, children: list[str], group: str, seen: set[str]) -> list[EntryPoint]:
    found: list[EntryPoint] = []
    wanted = group.encode()
    # Descending, so that of two versions in one folder the higher counts; pip's "~" names are half removed.
    for child in sorted((c for c in children if c.endswith((".dist-info", ".egg-info"))), reverse=True):
        written, _, rest = child.rpartition(".")[0].partition("-")
        distribution = normalize(written)
        if distribution in seen or child.startswith("~"):
            continue
        seen.add(distribution)
        path = os.path.join(folder, child)
        data = _read(f"{path}/entry_points.txt")
        if wanted in data:  # most distributions have no tools: a search of bytes settles that
            version = rest.partition("-")[0]  # an .egg-info goes on with the version of Python
            found += [EntryPoint(n, v, group, distribution, version, path) for n, v in parse(data, group)]
    return found


def _in_archive(folder: str, group: str, seen: set[str]) -> list[EntryPoint]:
    from importlib.metadata import distributions  # rare, and 30 ms

    found: list[EntryPoint] = []
    for each in distributions(path=[folder]):
        try:
            head = (each.read_text("METADATA") or each.read_text("PKG-INFO") or "").encode().splitlines()
            data = (each.read_text("entry_points.txt") or "").encode()
        except ValueError:  # not UTF-8
            continue
        distribution = normalize(_header(head, "Name"))
        if distribution and distribution not in seen:
            seen.add(distribution)
            version = _header(head, "Version")
            found += [EntryPoint(n, v, group, distribution, version, folder) for n, v in parse(data, group)]
    return found


def _read(path: str) -> bytes:
    """The content of a small file, without the layers of `open`; empty when it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _BINARY)
    except (OSError, ValueError):
        return b""
    data = b""
    try:
        while block := os.read(descriptor, _BLOCK):
            data += block
            if len(block) < _BLOCK:
                break
    except OSError:  # a folder of that name
        pass
    finally:
        os.close(descriptor)
    return data


def _header(lines: Iterable[bytes], field: str) -> str:
    """One field of METADATA, which is a mail header: it ends at the first empty line."""
    start = f"{field}:".lower().encode()
    for line in lines:
        if not line.strip():
            break
        if line.lower().startswith(start):
            return " ".join(line[len(start) :].decode("utf-8", "replace").split())
    return ""
