"""`Effects`: what one call would touch, determined before it runs."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, init=False)
class Effects:
    """What one call would touch, for policies that allow, deny or ask about calls.

    ```python
    Effects({"read_only": True}, paths=["/home/ada/notes.txt"], commands=[["git", "log"]])
    ```

    Args:
        annotations: The hints for this call.
        paths: Absolute paths, with links followed; None if they cannot be determined.
        commands: All commands that would run, each a list of words, with None for a word that is known only at run
            time; None if they cannot be determined.
        settings: Further plain JSON that an approval depends on, such as the folder or the isolation.
        missing: Extras to install so that more can be determined, such as "mytool[parser]".
        confined: Whether the call can change nothing but files in the workspace of its context, and reaches no network,
            whatever its arguments are. In a copy of the workspace such a call runs without a question, unless it is
            marked open-world. Paths in the arguments are not a reason to set it.
    """

    annotations: Mapping[str, bool]
    paths: tuple[str, ...] | None
    commands: tuple[tuple[str | None, ...], ...] | None
    settings: Mapping[str, Any]
    missing: tuple[str, ...]
    confined: bool

    def __init__(
        self,
        annotations: Mapping[str, bool],
        *,
        paths: Iterable[str] | None = (),
        commands: Iterable[Sequence[str | None]] | None = (),
        settings: Mapping[str, Any] | None = None,
        missing: Iterable[str] = (),
        confined: bool = False,
    ) -> None:
        values = {
            "annotations": dict(annotations),
            "paths": None if paths is None else tuple(map(_path, paths)),
            "commands": None if commands is None else tuple(map(_command, commands)),
            "settings": copy.deepcopy(dict(settings or {})),
            "missing": tuple(missing),
            "confined": confined,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain JSON."""
        return {
            "annotations": dict(self.annotations),
            "paths": None if self.paths is None else list(self.paths),
            "commands": None if self.commands is None else [list(words) for words in self.commands],
            "settings": copy.deepcopy(dict(self.settings)),
            "missing": list(self.missing),
            "confined": self.confined,
        }


def _path(path: object) -> str:
    if not isinstance(path, str) or not os.path.isabs(path):
        raise TypeError(f"Effects: paths must be absolute and str, got {path!r}")
    return path


def _command(words: Sequence[str | None]) -> tuple[str | None, ...]:
    if isinstance(words, str) or not words or not all(isinstance(word, str | None) for word in words):
        raise TypeError(f"Effects: a command must be a list of words, each str or None, got {words!r}")
    return tuple(words)
