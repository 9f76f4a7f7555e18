"""What nobody should send: text that is no JSON object, values that are no JSON at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_testing._values._choices import Choices

_DEEP = 200  # below what Python's own parser takes, above what arguments may have

# What each one is, and the text: none of them is a JSON object that UTF-8 can carry.
MALFORMED: Mapping[str, str | bytes] = {
    "text that is no JSON": "city=Paris",
    "JSON that is cut off": '{"a": "b',
    "a JSON array": "[1, 2]",
    "a JSON string": '"text"',
    "a JSON number": "1",
    "JSON null": "null",
    "an object in a string": '"{}"',
    "two objects": "{}{}",
    "single quotes": "{'a': 1}",
    "a trailing comma": '{"a": 1,}',
    "a key given twice": '{"a": 1, "a": 1}',
    "NaN": '{"a": NaN}',
    "Infinity": '{"a": -Infinity}',
    "a lone surrogate": '{"a": "\\ud800"}',
    "a number of 5,000 digits": '{"a": ' + "1" * 5_000 + "}",
    "nesting 200 deep": '{"a":' * _DEEP + "1" + "}" * _DEEP,
    "nesting 100,000 deep": '{"a":' * 100_000,
    "bytes that are no UTF-8": b'{"a": "\xff"}',
}

STRANGE: Mapping[str, Any] = {
    "a list": [],
    "a number": 1,
    "a set": {"a"},
    "an object of Python": object(),
    "a key that is no text": {1: 2},
    "NaN in a dict": {"a": float("nan")},
    "a set in a dict": {"a": {1}},
    "bytes in a dict": {"a": b"\x00"},
}


def hostile(valid: Mapping[str, Any], choices: Choices) -> Any:
    """Something that is made to break whatever reads it; part of the time it carries valid arguments."""
    how = choices.pick(("dressed", "malformed", "strange"))
    if how == "malformed":
        return choices.pick([*MALFORMED.values()])
    if how == "strange":
        return choices.pick([*STRANGE.values()])
    text = json.dumps(valid)
    inside = text[1:-1]
    comma = ", " if inside else ""
    options: tuple[Callable[[], Any], ...] = (
        lambda: text[:-1],
        lambda: f"{text} {text}",
        lambda: f"{{{inside}{comma}{inside}}}" if inside else "{}{}",
        lambda: f'{{{inside}{comma}"unexpected": NaN}}',
        lambda: json.dumps(text),
        lambda: text.encode() + b"\xff",
        lambda: f"\ufeff{text}",
        lambda: [valid],
        lambda: {**valid, "unexpected": "\ud800"},
        lambda: {**valid, "__class__": {}, "self": 1},
        lambda: dict.fromkeys(valid, None) or {"unexpected": None},
    )
    return choices.pick(options)()
