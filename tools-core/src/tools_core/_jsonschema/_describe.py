"""Describe in words what a schema expects: `an integer or null`, `one of "C", "F"`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tools_core._jsonschema._keywords import CONSTRAINTS
from tools_core._jsonschema._types import JSON_TYPES, Schema, choices_of, resolve, types_of
from tools_core._values._problem import clip, show
from tools_core.text import closest

MAX_LENGTH = 240  # characters of a description
_MAX_CHOICES_LENGTH = 200  # characters of all listed choices together
_MAX_DEPTH = 4


def describe(schema: Schema, root: Schema, depth: int = 0) -> str:
    """Describe what `schema` expects, in at most 240 characters."""
    if schema is False:
        return "absent"
    if schema is True or schema.keys().isdisjoint(CONSTRAINTS) or depth > _MAX_DEPTH:
        return "any value"
    if "const" in schema or "enum" in schema:
        return one_of(choices_of(schema))
    if "type" in schema:
        return _either(JSON_TYPES[name].noun for name in types_of(schema))
    if "$ref" in schema:
        return describe(resolve(root, schema["$ref"]), root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return _either(describe(part, root, depth + 1) for part in schema[keyword][:8])
    if "allOf" in schema:
        return describe(schema["allOf"][0], root, depth + 1)
    return "another value"


def one_of(values: list[Any], wrong: Any = None) -> str:
    """Describe a choice: `one of "C", "F"`.

    Choices are listed whole, up to 200 characters together, and the rest counted. If not all of them fit, those most
    similar to the `wrong` value come first.
    """
    texts = [show(value, _MAX_CHOICES_LENGTH) for value in values]
    if len(texts) == 1:
        return texts[0]
    if type(wrong) is str and len(", ".join(texts)) > _MAX_CHOICES_LENGTH:
        similar = closest(wrong, [value for value in values if isinstance(value, str)])
        texts = list(dict.fromkeys([show(value, _MAX_CHOICES_LENGTH) for value in similar] + texts))
    listed = texts[:1]
    for text in texts[1:]:
        if len(", ".join([*listed, text])) > _MAX_CHOICES_LENGTH:
            break
        listed.append(text)
    more = len(values) - len(listed)
    return f"one of {', '.join(listed)}" + (f" and {more:,} more" if more else "")


class WrongChoice(NamedTuple):
    """The rule that a wrong choice breaks, in words that are rendered when they are read."""

    choices: list[Any]
    wrong: Any

    def __str__(self) -> str:
        return f"must be {one_of(self.choices, self.wrong)}"


def _either(words: Iterable[str]) -> str:
    return clip(" or ".join(dict.fromkeys(words)), MAX_LENGTH)
