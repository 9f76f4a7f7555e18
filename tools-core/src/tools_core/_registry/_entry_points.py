"""Entry points of installed distributions, read from their metadata without importing a package.

`importlib.metadata` takes 30 ms to import, so it is used for zip archives only.
"""

from __future__ import annotations

import os
import re
import sys

from tools_core._registry._patterns import normalize

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_reference = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?").fullmatch


class EntryPoint:
    """One line of a distribution's `entry_points.txt`: `name = value`, such as `get = tools_weather:get`.

    `group` is the section of the line, `version` the version of the distribution, and `folder` has its metadata.
    """

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
        """Return the name that no other distribution can have: `tools-weather:get`."""
        return f"{self.distribution}:{self.name}"

    @property
    def fix(self) -> str:
        """Return how to repair its tool; empty where that is to install its distribution again."""
        return ""

    @property
    def module(self) -> str:
        """Return the module of the value; empty if the value is malformed."""
        match = _reference(self.value)
        return match[1] if match else ""

    @property
    def attribute(self) -> str:
        """Return the part of the value after the colon, such as `Notes.add`; empty for a module."""
        match = _reference(self.value)
        return match[2] or "" if match else ""

    def load(self) -> Any:
        """Import the module and return the object that the value names.

        Raises: ValueError for a malformed value; AttributeError if there is no such object.
        """
        return self.load_with_owner()[1]

    def load_with_owner(self) -> tuple[Any, Any]:
        """Return the object that the value names, after the one that has it as an attribute: class or module."""
        from importlib import import_module  # not needed to list names

        if not self.module:
            raise ValueError(f"`{self.value}` is not of the form `module:attribute`")
        owner, found = None, import_module(self.module)
        for attribute in self.attribute.split(".") if self.attribute else ():
            try:
                owner, found = found, getattr(found, attribute)
            except AttributeError as error:
                raise AttributeError(f"`{self.value}` does not exist: {error}") from error
        return owner, found

    def is_of(self, source: object) -> bool:
        """Return whether the value names a class or function, or a method of it; its package may export it."""
        package, name = str(getattr(source, "__module__", "")).partition(".")[0], getattr(source, "__qualname__", None)
        is_named = name is not None and f"{self.attribute}.".startswith(f"{name}.")
        return is_named and package == self.module.partition(".")[0]

    def is_same(self, other: EntryPoint) -> bool:
        """Return whether the other one has the same value, from the same installation."""
        return (self.value, self.version, self.folder) == (other.value, other.version, other.folder)

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.value})"

    def __repr__(self) -> str:
        return f"<EntryPoint {self.name} of {self}>"


def scan(
    group: str | tuple[str, ...],
    paths: Iterable[str | os.PathLike[str]] | None = None,
    unreadable: list[tuple[str, str, str]] | None = None,
) -> list[EntryPoint]:
    """Return the entry points of one or more groups, sorted by distribution and name, from `paths` or `search_path()`.

    If a distribution is found twice, the first one counts, as for an import. Files that cannot be read are added to
    `unreadable`, as distribution, version and error.
    """
    found: list[EntryPoint] = []
    groups = (group,) if isinstance(group, str) else group
    unreadable = [] if unreadable is None else unreadable
    seen: set[str] = set()
    for path in search_path() if paths is None else paths:
        folder = os.fspath(path)
        try:
            children = os.listdir(folder)
        except (OSError, ValueError):
            if os.path.isfile(folder):
                found += _in_archive(folder, groups, seen)
            continue
        found += _in_folder(folder, children, groups, seen, unreadable)
    return sorted(found, key=lambda point: (point.distribution, point.name))


class InstalledFirst:
    """A `with` block in which the folder that tools may write to comes last, so that it hides no other module."""

    def __enter__(self) -> None:
        """Move it behind the folders of `search_path()`."""
        first = search_path()
        self._before = sys.path[:]
        self._during = [*first, *(folder for folder in self._before if folder not in first)]
        sys.path[:] = self._during

    def __exit__(self, *_: object) -> None:
        """Put it back, unless a package has changed the path."""
        if sys.path == self._during:
            sys.path[:] = self._before


def search_path() -> list[str]:
    """Return `sys.path` without the folder that Python itself puts first: that of the script, or the current one.

    Tools may write to that folder, and what they write there must not count as an installed distribution.
    """
    folders = [folder for folder in sys.path if folder not in ("", os.curdir)]
    main = sys.modules["__main__"]
    script = getattr(main, "__file__", None)
    first = ""
    if getattr(main, "__spec__", None) is not None:
        first = os.getcwd()  # python -m
    elif script is not None:
        first = os.path.dirname(os.path.realpath(script))
    if first in folders and not sys.flags.safe_path:
        folders.remove(first)  # once: if it is there again, the user has named it
    return folders


def parse(text: str, group: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each entry point of a group; other lines are skipped."""
    is_inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            is_inside = line.strip("[]") == group
        elif is_inside and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _in_folder(
    folder: str,
    children: list[str],
    groups: tuple[str, ...],
    seen: set[str],
    unreadable: list[tuple[str, str, str]],
) -> Iterator[EntryPoint]:
    # Of two versions in one folder, the higher one comes first. pip renames a package to "~..." while it removes it.
    for child in sorted((each for each in children if each.endswith((".dist-info", ".egg-info"))), reverse=True):
        written, _, rest = child.rpartition(".")[0].partition("-")
        distribution = normalize(written)
        if distribution in seen or child.startswith("~"):
            continue
        seen.add(distribution)
        version = rest.partition("-")[0]  # in an .egg-info, the version of Python follows
        metadata = os.path.join(folder, child)
        path = os.path.join(metadata, "entry_points.txt")
        text, reason = _read(path)
        if reason:
            unreadable.append((distribution, version, f"{path} cannot be read: {reason}"))
        for group in groups:
            if group in text:  # most distributions have no tools
                yield from (EntryPoint(*each, group, distribution, version, metadata) for each in parse(text, group))


def _in_archive(path: str, groups: tuple[str, ...], seen: set[str]) -> Iterator[EntryPoint]:
    from importlib.metadata import distributions  # see above

    for each in distributions(path=[path]):
        try:
            text = each.read_text("entry_points.txt") or ""
            name, version = each.metadata["Name"] or "", each.metadata["Version"] or ""
        except ValueError:  # not UTF-8
            continue
        distribution = normalize(name)
        if distribution and distribution not in seen:
            seen.add(distribution)
            for group in groups:
                yield from (EntryPoint(*each, group, distribution, version, path) for each in parse(text, group))


def _read(path: str) -> tuple[str, str | None]:
    """Return the text of a file, empty if there is none, and why it cannot be read or None."""
    if not os.path.isfile(path):  # a named pipe would block
        return "", "it is not a file" if os.path.lexists(path) else None
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
    except OSError as failure:
        return "", failure.strerror
    text = data.decode(errors="replace")
    return text, "it is not UTF-8" if text.encode() != data else None
