"""`Effects`: what one call would touch, known before it is made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tools_core._values._frozen import Frozen, FrozenDict, freeze, thaw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Effects(Frozen):
    """Returned by `Tool.effects`, and used by policies that allow, deny or ask about a call.

    `annotations` are the hints for this very call. `paths` are absolute, with links followed; `commands` are all that
    would run, each as a list of words, with None for a word that is known only at run time. None in place of either
    means that it cannot be known; empty, that the tool reports none. `settings` are plain JSON: what an approval
    depends on besides definition and arguments, such as the folder or the isolation. `missing` names extras to install
    so that more can be known, such as "tools-shell[parser]".
    """

    __slots__ = ("annotations", "commands", "missing", "paths", "settings")

    def __init__(
        self,
        annotations: Mapping[str, bool],
        *,
        paths: Iterable[str] | None = (),
        commands: Iterable[Sequence[str | None]] | None = (),
        settings: Mapping[str, Any] = FrozenDict(),
        missing: Iterable[str] = (),
    ) -> None:
        self.annotations: Mapping[str, bool] = FrozenDict(annotations)
        self.paths = None if paths is None else tuple(map(_path, paths))
        self.commands = None if commands is None else tuple(map(_command, commands))
        self.settings: Mapping[str, Any] = freeze(dict(settings))
        self.missing = tuple(missing)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON."""
        return {
            "annotations": dict(self.annotations),
            "paths": thaw(self.paths),
            "commands": thaw(self.commands),
            "settings": thaw(self.settings),
            "missing": list(self.missing),
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
