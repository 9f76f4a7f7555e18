"""Two definitions of one tool: what a caller must be told, and what not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tools_testing._compare._change import Change
from tools_testing._compare._schemas import Comparison

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools_testing._compare._schemas import Shift

# What a caller may rely on: losing the first two, or coming to the last two, is a promise broken.
_GOOD = ("read_only", "idempotent")


def compare_definitions(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Every change between two definitions of one tool (`tool.definition`), with the verdict on each.

    Of the input, what takes less is breaking; of the output, what gives more. A change that cannot be shown to be
    harmless counts as breaking.
    """
    changes = [*_words(old, new), *_hints(old, new)]
    inputs = Comparison(old["input_schema"], new["input_schema"])
    shifts = inputs.compare(old["input_schema"], new["input_schema"], "")
    changes += [_verdict(shift, "narrower", "arguments") for shift in shifts]
    before, after = old.get("output_schema"), new.get("output_schema")
    if before is not None and after is not None:
        shifts = Comparison(before, after).compare(before, after, "")
        changes += [_verdict(shift, "wider", "output") for shift in shifts]
    elif before is not None:
        changes.append(Change(verdict="breaking", path="output", reason="is no longer described"))
    elif after is not None:
        changes.append(Change(verdict="compatible", path="output", reason="is described now"))
    return list(dict.fromkeys(changes))


def _words(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    if old.get("name") != new.get("name"):
        yield Change(verdict="breaking", path="name", reason=f"was {old.get('name')}, is {new.get('name')}")
    if old.get("description") != new.get("description"):
        yield Change(verdict="compatible", path="description", reason="is another one")


def _hints(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    before, after = old.get("annotations", {}), new.get("annotations", {})
    for name in sorted({*before, *after}):
        was, is_now = before.get(name), after.get(name)
        if was is is_now:
            continue
        is_breaking = was is True if name in _GOOD else bool(is_now) and was is not True
        verdict: Literal["breaking", "compatible"] = "breaking" if is_breaking else "compatible"
        yield Change(verdict=verdict, path=name, reason=f"was {_said(was)}, is {_said(is_now)}")


def _said(value: Any) -> str:
    return "not said" if value is None else str(value)


def _verdict(shift: Shift, breaking: str, part: str) -> Change:
    path = f"{part}.{shift.path}" if shift.path and not shift.path.startswith("[") else f"{part}{shift.path}"
    verdict: Literal["breaking", "compatible"] = "breaking" if shift.direction == breaking else "compatible"
    return Change(verdict=verdict, path=path, reason=shift.reason)
