"""`InstalledTools`: the installed tools that a command serves, as they come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tools_core import Registry, Tool
from tools_core._registry._entry_points import search_path


class InstalledTools(Mapping[str, Tool]):
    """Installed tools whose names match one of the patterns; with `read_only`, those that are annotated so.

    Each tool is imported when it is first used. `refresh` finds the packages that were installed or removed since.
    """

    def __init__(self, patterns: Sequence[str] = ("*",), *, read_only: bool = False) -> None:
        self._patterns = patterns
        self._read_only = read_only
        self.registry = Registry()
        self._stamps: list[int] = []
        self.refresh()

    def refresh(self) -> None:
        """Discover again if an installer has written to one of the folders that packages are in."""
        stamps = [_changed(folder) for folder in search_path()]
        if stamps != self._stamps:
            self._stamps = stamps
            self.registry.discover()

    def __getitem__(self, name: str) -> Tool:
        tool = self.registry[name]
        if not self._is_wanted(name) or (self._read_only and not tool.annotations.get("read_only")):
            raise KeyError(name)
        return tool

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.registry if self._is_wanted(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _is_wanted(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._patterns)


def _changed(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0
