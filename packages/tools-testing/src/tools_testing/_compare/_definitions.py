"""The changes between two definitions, and whether each breaks callers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tools_testing._compare._schemas import Comparison

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PROMISING = ("read_only", "idempotent")  # hints that callers rely on where they are True; on others where not


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between two definitions.

    `verdict` is "breaking" where a call that was valid may no longer be, where an output may have a new form, or where
    the tool may do what its hints excluded; otherwise "compatible".
    """

    verdict: Literal["breaking", "compatible"]
    path: str
    reason: str

    @property
    def is_breaking(self) -> bool:
        """True where callers have to change."""
        return self.verdict == "breaking"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.path} {self.reason}"


def listed(changes: list[Change]) -> list[Change]:
    """Return the changes in the order of a report: breaking ones first."""
    return sorted(changes, key=lambda change: (not change.is_breaking, change.path))


def compare_definitions(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return every change between two definitions of one tool (`tool.definition`).

    An input schema that accepts less is breaking, and so is an output schema that allows more. A change that may be
    breaking counts as breaking.
    """
    changes = [*_texts(old, new), *_hints(old, new)]
    changes += _schemas(old["input_schema"], new["input_schema"], "narrower", "arguments")
    before, after = old.get("output_schema"), new.get("output_schema")
    if before is not None and after is not None:
        changes += _schemas(before, after, "wider", "output")
    elif before is not None:
        changes.append(_change("output", "is no longer described", is_breaking=True))
    elif after is not None:
        changes.append(_change("output", "is now described", is_breaking=False))
    return list(dict.fromkeys(changes))


def _change(path: str, reason: str, *, is_breaking: bool) -> Change:
    return Change(verdict="breaking" if is_breaking else "compatible", path=path, reason=reason)


def _texts(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    if old.get("name") != new.get("name"):
        yield _change("name", f"was {old.get('name')}, is {new.get('name')}", is_breaking=True)
    if old.get("description") != new.get("description"):
        yield _change("description", "changed", is_breaking=False)


def _hints(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    before, after = old.get("annotations", {}), new.get("annotations", {})
    for name in sorted({*before, *after}):
        was, is_now = before.get(name), after.get(name)
        if was is not is_now:
            is_breaking = was is True if name in _PROMISING else bool(is_now) and was is not True
            words = ["not set" if value is None else str(value) for value in (was, is_now)]
            yield _change(name, f"was {words[0]}, is {words[1]}", is_breaking=is_breaking)


def _schemas(old: dict[str, Any], new: dict[str, Any], breaking: str, part: str) -> Iterator[Change]:
    for shift in Comparison(old, new).compare(old, new, ""):
        separator = "." if shift.path and not shift.path.startswith("[") else ""
        yield _change(f"{part}{separator}{shift.path}", shift.reason, is_breaking=shift.direction == breaking)
