"""Entry points of installed distributions, read from their metadata without importing a package."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from tools_core._registry._patterns import normalize

_reference = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?").fullmatch


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A line of a distribution's `entry_points.txt`, `name = value`, or a tool of a source.

    `version` is that of the distribution, and `folder` has its metadata. `fix` says how to repair a tool of a source,
    and `remote` is its name at the origin.
    """

    name: str
    value: str
    distribution: str
    version: str
    folder: str
    fix: str = ""
    source_tool: Any = field(default=None, repr=False, hash=False)
    remote: str = ""

    @property
    def qualified(self) -> str:
        """The name that is unique among all distributions: `tools-weather:get`, `mcp:github:search`."""
        return f"{self.distribution}:{self.remote or self.name}"

    @property
    def module(self) -> str:
        """The module of the value; empty for a malformed value or a tool of a source."""
        return self._reference[0]

    @property
    def attribute(self) -> str:
        """The part of the value after the colon, such as `Notes.add`; empty for a module."""
        return self._reference[1]

    @property
    def _reference(self) -> tuple[str, str]:
        match = None if self.source_tool is not None else _reference(self.value)
        return (match[1], match[2] or "") if match else ("", "")

    def load(self) -> Any:
        """Import the module and return the object that the value names.

        Raises: ValueError for a malformed value; AttributeError if the object does not exist.
        """
        return self.resolve()[-1]

    def resolve(self) -> list[Any]:
        """Import the module, and return it and the object of each attribute: `[module, Notes, Notes.add]`."""
        with installed_packages_first():
            if self.source_tool is not None:
                tool = self.source_tool.load()
                return [tool if tool.name == self.name else tool.renamed(self.name)]
            if not self.module:
                raise ValueError(f"`{self.value}` is not of the form `module:attribute`")
            objects: list[Any] = [import_module(self.module)]
            for attribute in self.attribute.split(".") if self.attribute else ():
                try:
                    objects.append(getattr(objects[-1], attribute))
                except AttributeError as error:
                    raise AttributeError(f"`{self.value}` does not exist: {error}") from error
            return objects

    def names(self, value: object) -> bool:
        """Return whether this is the entry point of a class or function, or of a method; its package may export it."""
        package, name = str(getattr(value, "__module__", "")).partition(".")[0], getattr(value, "__qualname__", None)
        is_named = name is not None and f"{self.attribute}.".startswith(f"{name}.")
        return is_named and package == self.module.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} ({self.value})"


class Distribution(NamedTuple):
    """An installed distribution; `error` says why its `entry_points.txt` cannot be read."""

    name: str
    version: str
    folder: str
    text: str
    error: str = ""

    def entry_points(self, group: str) -> Iterator[EntryPoint]:
        """Yield the entry points of a group, or of all groups for `ask_tools.*`; lines of another form are skipped."""
        is_inside, prefix = False, group.removesuffix("*")
        for line in map(str.strip, self.text.splitlines() if prefix in self.text else ()):
            if line.startswith("[") and line.endswith("]"):
                title = line.strip("[]")
                is_inside = title == group or (prefix != group and title.startswith(prefix))
            elif is_inside and "=" in line and not line.startswith("#"):
                name, _, value = line.partition("=")
                yield EntryPoint(name.strip(), value.strip(), self.name, self.version, self.folder)


def scan(group: str, paths: Iterable[str | os.PathLike[str]] | None = None) -> list[EntryPoint]:
    """Return the entry points of a group, sorted by distribution and name; see `distributions` for `paths`."""
    points = [point for distribution in distributions(paths) for point in distribution.entry_points(group)]
    return sorted(points, key=lambda point: (point.distribution, point.name))


def distributions(paths: Iterable[str | os.PathLike[str]] | None = None) -> Iterator[Distribution]:
    """Yield the distributions in `paths`, by default `search_path()`; the first one of a name, as for an import."""
    names: set[str] = set()
    for path in search_path() if paths is None else paths:
        folder = os.fspath(path)
        try:
            children = os.listdir(folder)
        except (OSError, ValueError):  # such as a folder that does not exist, or a zip archive
            continue
        for distribution in _in_folder(folder, children):
            if distribution.name not in names:
                names.add(distribution.name)
                yield distribution


def search_path() -> list[str]:
    """Return `sys.path` without the folder that Python itself puts first: that of the script, or the current one.

    Tools may write to that folder, and their files must not count as installed distributions.
    """
    main = sys.modules["__main__"]
    script = getattr(main, "__file__", None)
    is_module = getattr(main, "__spec__", None) is not None  # python -m
    first = os.getcwd() if is_module else os.path.dirname(os.path.realpath(script)) if script else ""
    folders = [folder for folder in sys.path if folder not in ("", os.curdir)]
    if first in folders and not sys.flags.safe_path:
        folders.remove(first)  # once: if it is there again, the user has named it
    return folders


@contextmanager
def installed_packages_first() -> Generator[None]:
    """Import with the script's or current folder last, so that files which tools write there shadow no module."""
    folders = list(dict.fromkeys(search_path()))
    sys.path[:0] = folders
    try:
        yield
    finally:
        for folder in folders:
            if sys.path.count(folder) > 1:  # a package may have changed the path
                sys.path.remove(folder)


def _in_folder(folder: str, children: list[str]) -> Iterator[Distribution]:
    """Yield the distributions of a folder, the highest of several versions first."""
    metadata = [child for child in children if child.endswith((".dist-info", ".egg-info"))]
    for child in sorted(metadata, key=_version_key, reverse=True):
        if child.startswith("~"):  # pip adds this prefix while it removes a package
            continue
        path = os.path.join(folder, child, "entry_points.txt")
        text, reason = _read(path)
        error = f"{path} cannot be read: {reason}" if reason else ""
        name, version = _name_and_version(child)
        yield Distribution(normalize(name), version, os.path.join(folder, child), text, error)


def _name_and_version(child: str) -> tuple[str, str]:
    name, _, rest = child.rpartition(".")[0].partition("-")
    return name, rest.partition("-")[0]  # in an .egg-info, the version of Python follows


def _version_key(child: str) -> tuple[list[int], bool, str]:
    """Return a key that sorts 1.9 before 1.10, and pre-releases before the release."""
    version = _name_and_version(child)[1]
    release = re.match(r"[\d.]*", version)[0]  # type: ignore[index]  # matches any text
    suffix = version[len(release) :]
    return [int(part) for part in release.split(".") if part], suffix.startswith(("post", "+")) or not suffix, suffix


def _read(path: str) -> tuple[str, str]:
    """Return the text of a file, empty for a missing file, and why it cannot be read."""
    if not os.path.isfile(path):  # a named pipe would block
        return "", "it is not a file" if os.path.lexists(path) else ""
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
    except OSError as error:
        return "", str(error.strerror)
    text = data.decode(errors="replace")
    return text, "it is not UTF-8" if text.encode() != data else ""
