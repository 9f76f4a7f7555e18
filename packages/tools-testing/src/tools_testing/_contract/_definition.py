"""Promises about the definition that models and providers receive."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tools_core import DefinitionError
from tools_testing._arguments import NoValueError, Validator, samples
from tools_testing._contract._promise import promise
from tools_testing._schema import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools_testing._contract._subject import Subject

_HINTS = ("read_only", "destructive", "idempotent", "open_world")


@promise(
    "the description says what the tool does",
    "write a docstring, or description = ...: when to use it, what comes back",
)
def description_is_present(subject: Subject) -> Iterator[str]:
    if not str(subject.definition.get("description") or "").strip():
        yield "the description is empty"


@promise(
    "every parameter has a description",
    'annotate it: Annotated[int, "what it means"], or name it under Args: in the docstring',
)
def parameters_are_described(subject: Subject) -> Iterator[str]:
    schema = subject.schema
    for name, part in schema.get("properties", {}).items():
        if not _is_described(schema, part):
            yield f"{name!r} has none"


def _is_described(root: dict[str, Any], part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    if str(part.get("description") or "").strip():
        return True
    return "$ref" in part and _is_described(root, resolve(root, part["$ref"]))


@promise(
    "the input schema accepts some arguments", "write JSON Schema 2020-12, without keywords that exclude each other"
)
def schema_can_be_met(subject: Subject) -> Iterator[str]:
    try:
        Validator(subject.schema)
        if not subject.samples:
            samples(subject.schema, 1)
    except (DefinitionError, NoValueError) as error:
        yield str(error)


@promise(
    "the definition is the same at each access, and a copy or read-only",
    "compute nothing in it from time, counters or calls",
)
def definition_is_stable(subject: Subject) -> Iterator[str]:
    first = as_text(subject.definition)
    copied = subject.definition
    for value in list(copied.values()):
        if isinstance(value, dict):
            with suppress(TypeError):  # it is read-only
                value.clear()
    copied.clear()
    if (again := as_text(subject.definition)) != first:
        yield f"the next one differs: {difference(first, again)}"


@promise("the hints agree with each other", "set read_only or destructive, not both, each to True or False")
def annotations_are_consistent(subject: Subject) -> Iterator[str]:
    tool, annotations = subject.tool, subject.definition.get("annotations", {})
    yield from _hint_problems(annotations | {name: True for name in _HINTS if getattr(tool, name)})
    if dict(tool.annotations) != annotations:
        yield f"annotations are {dict(tool.annotations)}, in the definition {annotations}"
    for name, value in annotations.items():
        if name in _HINTS and getattr(tool, name) is not value:
            yield f"{name} is {getattr(tool, name)!r} on the tool, and {value!r} in the definition"


@promise(
    "effects() accepts any arguments, also wrong ones",
    "read the arguments with .get(), and return Effects(self.annotations) if they do not fit",
)
def effects_are_known_for_any_arguments(subject: Subject) -> Iterator[str]:
    strange: tuple[dict[str, Any], ...] = ({}, dict.fromkeys(subject.schema.get("properties", {})), {"unexpected": []})
    for arguments in strange:
        for problem in _hint_problems(subject.tool.effects(arguments).annotations):
            yield f"for {arguments}: {problem}"


def _hint_problems(hints: Mapping[str, Any]) -> Iterator[str]:
    for name, value in hints.items():
        if name not in _HINTS or not isinstance(value, bool):
            yield f"the hint {name!r} is {value!r}"
    if hints.get("read_only") and hints.get("destructive"):
        yield "it is both read_only and destructive"


def as_text(definition: dict[str, Any]) -> str:
    """Return a definition as JSON text in the order of its keys, which models see."""
    return json.dumps(definition, ensure_ascii=False, default=repr)


def difference(first: str, second: str) -> str:
    """Return the parts of two texts where they begin to differ."""
    at = next((index for index, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), -1)
    at = min(len(first), len(second)) if at < 0 else at
    start = max(0, at - 20)
    return f"...{first[start : at + 30]}... and ...{second[start : at + 30]}..."
