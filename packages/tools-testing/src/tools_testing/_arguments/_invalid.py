"""Arguments that a tool must refuse, or at least survive."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Draw = Callable[[st.SearchStrategy[Any]], Any]

# Text that is not a JSON object in UTF-8, by its mistake.
MALFORMED: Mapping[str, str | bytes] = {
    "text that is not JSON": "city=Paris",
    "truncated JSON": '{"a": "b',
    "a JSON array": "[1, 2]",
    "an object in a string": '"{}"',
    "two objects": "{}{}",
    "single quotes": "{'a': 1}",
    "a trailing comma": '{"a": 1,}',
    "a duplicate key": '{"a": 1, "a": 1}',
    "NaN": '{"a": NaN}',
    "a lone surrogate": '{"a": "\\ud800"}',
    "a number of 5,000 digits": '{"a": ' + "1" * 5_000 + "}",
    "200 nested objects": '{"a":' * 200 + "1" + "}" * 200,
    "100,000 nested objects": '{"a":' * 100_000,
    "bytes that are not UTF-8": b'{"a": "\xff"}',
}

# Python values that are not a dict of JSON values, by their description.
NOT_JSON: Mapping[str, Any] = {
    "a list": [],
    "a set": {"a"},
    "a Python object": object(),
    "a key that is not a string": {1: 2},
    "NaN in a dict": {"a": float("nan")},
    "bytes in a dict": {"a": b"\x00"},
}

_OTHER_VALUES: tuple[Any, ...] = (None, True, "text", "", 0, -1, 1.5, 10**30, [], ["text"], {}, {"unexpected": 1})


def hostile(draw: Draw, valid: dict[str, Any]) -> Any:
    """Draw something that tends to break parsers; part of it contains the valid arguments."""
    text = json.dumps(valid)
    members = text[1:-1]
    return draw(
        st.sampled_from(
            [
                *MALFORMED.values(),
                *NOT_JSON.values(),
                text[:-1],
                f"{text} {text}",
                f"{{{members}, {members}}}" if members else "{}{}",
                f'{{{members}, "unexpected": NaN}}',
                json.dumps(text),
                text.encode() + b"\xff",
                f"\ufeff{text}",
                [valid],
                {**valid, "unexpected": "\ud800"},
                {**valid, "__class__": {}, "self": 1},
                dict.fromkeys(valid) or {"unexpected": None},
            ]
        )
    )


def changed(draw: Draw, valid: dict[str, Any]) -> dict[str, Any]:
    """Draw a copy with one member added, removed, or replaced by a value of another kind or size."""
    copied = copy.deepcopy(valid)
    names = ["unexpected", *(f"{name}s" for name in valid)]
    changes: list[Callable[[], object]] = [lambda: copied.update({draw(st.sampled_from(names)): 1})]
    places = [*_places(copied)]
    if places:
        container, key = draw(st.sampled_from(places))
        replacements = [*_OTHER_VALUES, *_stretched(container[key])]
        changes.insert(0, lambda: container.__setitem__(key, copy.deepcopy(draw(st.sampled_from(replacements)))))
        changes.append(lambda: container.pop(key))
    draw(st.sampled_from(changes))()
    return copied


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container with each of its keys, the outermost first."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _stretched(value: Any) -> list[Any]:
    """Return values of the same kind that may be too large or too small."""
    if isinstance(value, bool) or value is None:
        return ["yes", "no"]
    if isinstance(value, int | float):
        return [value + 1, value - 1, -value, value * 1_000 + 0.5 if abs(value) < 1e300 else 0.5]
    if isinstance(value, str):
        return [value[:-1], f"{value}x", value * 100 + "x" * 100]
    if isinstance(value, list):
        return [value[:-1], value + value]
    return [{**value, "unexpected": 1}]
