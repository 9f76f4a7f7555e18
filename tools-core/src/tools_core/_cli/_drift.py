"""How the difference between a lock and what is installed reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._cli._terminal import json_text
from tools_core._registry._lock_file import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools_core._registry._lock_file import Change, Drift

_SHOWN = 160  # characters of a value
_AROUND = 24  # characters before and after what differs of a long text


def facts(drifts: Iterable[Drift]) -> list[dict[str, Any]]:
    """For a program: each value whole; a side of a change that is absent has no key."""
    return [
        {"kind": drift.kind, "name": drift.name, "changes": [_sides(change) for change in drift.changes]}
        for drift in drifts
    ]


def lines(drifts: Iterable[Drift]) -> Iterator[str]:
    """For a person: one line for each change, long texts around what differs."""
    words = {"new": "is new", "gone": "is gone", "changed": "has changed"}
    for drift in drifts:
        if drift.kind == "version":
            (change,) = drift.changes
            yield f"{drift.name}: version {change.old} -> {change.new}"
            continue
        yield f"{drift.name} {words[drift.kind]}"
        for change in drift.changes:
            old, new = _around(change.old, change.new)
            yield f"  {change.path}: {old} -> {new}"


def _sides(change: Change) -> dict[str, Any]:
    sides = {"old": change.old, "new": change.new}
    return {"path": change.path, **{key: value for key, value in sides.items() if value is not ABSENT}}


def _around(old: Any, new: Any) -> tuple[str, str]:
    if not isinstance(old, str) or not isinstance(new, str) or max(len(old), len(new)) < _SHOWN // 2:
        return _shown(old), _shown(new)
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - start
    end = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    return _cut(old, start, end), _cut(new, start, end)


def _cut(text: str, start: int, end: int) -> str:
    first, last = max(0, start - _AROUND), min(len(text), len(text) - end + _AROUND)
    return f"{'…' if first else ''}{_shown(text[first:last])}{'…' if last < len(text) else ''}"


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "(nothing)"
    text = json_text(value, pretty=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
