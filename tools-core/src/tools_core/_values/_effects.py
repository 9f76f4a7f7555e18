"""`Effects`: what one call would touch, known before it is made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tools_core._values._frozen import FrozenDict, freeze, thaw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Effects:
    """Returned by `Tool.effects`, and used by policies that allow, deny or ask about a call.

    `annotations` are the hints for this very call. `paths` are absolute, with links followed; `commands` are all that
    would run, each as a list of words, with None for a word that is known only at run time. None in place of either
    means that it cannot be known; empty, that the tool reports none. `settings` are plain JSON: what an approval
    depends on besides definition and arguments, such as the folder or the isolation. `missing` names extras to install
    so that more can be known, such as "tools-shell[parser]". Nothing of it can be reassigned.
    """

    __slots__ = ("_annotations", "_commands", "_missing", "_paths", "_settings")

    def __init__(
        self,
        annotations: Mapping[str, bool],
        *,
        paths: Iterable[str] | None = (),
        commands: Iterable[Sequence[str | None]] | None = (),
        settings: Mapping[str, Any] = FrozenDict(),
        missing: Iterable[str] = (),
    ) -> None:
        self._annotations = annotations if type(annotations) is FrozenDict else FrozenDict(annotations)
        self._paths = None if paths is None else tuple(map(_path, paths))
        self._commands = None if commands is None else tuple(map(_command, commands))
        self._settings: Mapping[str, Any] = freeze(dict(settings)) if settings else FrozenDict()
        self._missing = tuple(missing)

    @property
    def annotations(self) -> Mapping[str, bool]:
        """The hints for this very call."""
        return self._annotations

    @property
    def paths(self) -> tuple[str, ...] | None:
        """The files and folders that it names; None where they cannot be known."""
        return self._paths

    @property
    def commands(self) -> tuple[tuple[str | None, ...], ...] | None:
        """The commands that would run, each by its words; None where they cannot be known."""
        return self._commands

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the tool that an approval depends on."""
        return self._settings

    @property
    def missing(self) -> tuple[str, ...]:
        """The extras to install so that more can be known."""
        return self._missing

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON."""
        return {
            "annotations": dict(self._annotations),
            "paths": thaw(self._paths),
            "commands": thaw(self._commands),
            "settings": thaw(self._settings),
            "missing": list(self._missing),
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Effects) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Effects({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"


def _path(path: object) -> str:
    if not isinstance(path, str) or not os.path.isabs(path):
        raise TypeError(f"Effects: a path is absolute, as text; got {path!r}")
    return path


def _command(words: Sequence[str | None]) -> tuple[str | None, ...]:
    if isinstance(words, str) or not words or not all(isinstance(word, str | None) for word in words):
        raise TypeError(f"Effects: a command is a list of words, each text or None; got {words!r}")
    return tuple(words)
