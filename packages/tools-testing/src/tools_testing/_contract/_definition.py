"""Checks of what a model and a provider are shown."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tools_core import DefinitionError
from tools_testing._contract._check import NotApplicable, contract_check
from tools_testing._values._flatten import resolve
from tools_testing._values._judge import Judge
from tools_testing._values._source import NoValueError, samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_testing._contract._subject import Subject

_HINTS = ("read_only", "destructive", "idempotent", "open_world")
_PLAIN = (str, int, float, bool, type(None))


@contract_check("the name is one that every provider takes", 'set name = "..." of letters, digits, _ and -, at most 64')
def name_is_legal(subject: Subject) -> Iterator[str]:
    for name in {subject.tool.name, subject.definition.get("name")}:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name):
            yield f"the name is {name!r}"
    if subject.tool.name != subject.definition.get("name"):
        yield f"the tool is called {subject.tool.name!r}, its definition says {subject.definition.get('name')!r}"


@contract_check(
    "the description says what the tool does",
    "write a docstring, or description = ...: when to use it, what comes back",
)
def description_is_there(subject: Subject) -> Iterator[str]:
    if not str(subject.definition.get("description") or "").strip():
        yield "the description is empty"


@contract_check(
    "every parameter has a description",
    'annotate it: Annotated[int, "what it means"], or name it under Args: in the docstring',
)
def parameters_are_described(subject: Subject) -> Iterator[str]:
    schema = subject.schema
    for name, part in schema.get("properties", {}).items():
        if not _described(schema, part):
            yield f"{name!r} has none"


def _described(root: dict[str, Any], part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    if str(part.get("description") or "").strip():
        return True
    return "$ref" in part and _described(root, resolve(root, part["$ref"]))


@contract_check(
    "the input schema is a complete object schema",
    'it needs "type": "object", "properties", and in "required" only names of properties',
)
def schema_is_complete(subject: Subject) -> Iterator[str]:
    schema = subject.schema
    if schema.get("type") != "object":
        yield f'"type" is {schema.get("type")!r}'
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        yield f'"properties" is {properties!r}'
        return
    for name in schema.get("required", ()):
        if name not in properties and schema.get("additionalProperties") is False:
            yield f"{name!r} is required, and no property"


@contract_check(
    "the input schema can be enforced as it is written", "write JSON Schema 2020-12, as the message of the error says"
)
def schema_is_enforceable(subject: Subject) -> Iterator[str]:
    try:
        Judge(subject.schema)
    except DefinitionError as error:
        yield str(error)


@contract_check("some arguments are valid", "remove keywords that exclude each other from the schema")
def schema_can_be_met(subject: Subject) -> Iterator[str]:
    if subject.given:
        return
    try:
        samples(subject.schema, 1)
    except NoValueError as error:
        yield str(error)


@contract_check(
    "the definition is legal for every provider", "change the schema as the message says, or leave that provider out"
)
def definition_is_portable(subject: Subject) -> Iterator[str]:
    from tools_core.formats import FORMATS, FormatError  # the formats load only where they are asked for

    for name, wire in FORMATS.items():
        try:
            made = wire.definitions([subject.definition])
        except FormatError as error:
            yield f"{name}: {error}"
            continue
        if len(made) != 1:
            yield f"{name}: one tool became {len(made)} definitions"
        json.dumps(made, allow_nan=False)


@contract_check(
    "the definition is plain JSON", "use text, numbers, booleans, None, lists and dicts alone in schemas and defaults"
)
def definition_is_plain_json(subject: Subject) -> Iterator[str]:
    definition = subject.definition
    yield from _odd_parts(definition, "")
    if json.loads(json.dumps(definition, allow_nan=False)) != definition:
        yield "it is another one after a round trip through JSON"


def _odd_parts(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if type(key) is not str:
                yield f"{place or 'the root'} has the key {key!r}"
            yield from _odd_parts(item, f"{place}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _odd_parts(item, f"{place}[{index}]")
    elif type(value) not in _PLAIN:
        yield f"{place} is a {type(value).__name__}: {value!r}"


@contract_check(
    "the definition is always the same, and a copy of the caller's own",
    "fix the definition when the class is made; compute nothing from time, counters or calls",
)
def definition_is_stable(subject: Subject) -> Iterator[str]:
    first = _text(subject.definition)
    taken = subject.definition
    for value in list(taken.values()):
        if isinstance(value, dict):
            value.clear()
    taken.clear()
    for number in range(2, 5):
        if (again := _text(subject.definition)) != first:
            yield f"asked for the {number}. time it differs: {difference(first, again)}"
            return


@contract_check(
    "a tool made anew has the same definition",
    "let the definition depend on nothing that changes between two instances",
)
def definition_is_equal_after_a_second_construction(subject: Subject) -> Iterator[str]:
    if subject.make is None:
        raise NotApplicable("it was given as an instance that cannot be made again without arguments")
    first, second = _text(subject.definition), _text(subject.make().definition)
    if first != second:
        yield difference(first, second)


@contract_check("the hints agree with each other", "say read_only or destructive, not both, each as True or False")
def annotations_are_consistent(subject: Subject) -> Iterator[str]:
    tool, shown = subject.tool, subject.definition.get("annotations", {})
    if (tool.read_only and tool.destructive) or (shown.get("read_only") and shown.get("destructive")):
        yield "it is both read_only and destructive"
    if dict(tool.annotations) != shown:
        yield f"annotations are {dict(tool.annotations)}, the definition shows {shown}"
    for name, value in shown.items():
        if name not in _HINTS or not isinstance(value, bool):
            yield f"the hint {name!r} is {value!r}"
        elif getattr(tool, name) is not value:
            yield f"{name} is {getattr(tool, name)!r} on the tool, and {value!r} in the definition"


@contract_check(
    "the hints of one call are told for any arguments, also wrong ones",
    "let annotations_for look at the arguments with .get(), and return self.annotations for what it does not know",
)
def hints_are_told_for_any_arguments(subject: Subject) -> Iterator[str]:
    strange: tuple[dict[str, Any], ...] = ({}, dict.fromkeys(subject.schema.get("properties", {})), {"unexpected": []})
    for arguments in strange:
        hints = subject.tool.annotations_for(arguments)
        for name, value in dict(hints).items():
            if name not in _HINTS or not isinstance(value, bool):
                yield f"for {arguments} the hint {name!r} is {value!r}"
        if hints.get("read_only") and hints.get("destructive"):
            yield f"for {arguments} it is both read_only and destructive"


@contract_check("under another name it is the same tool", "keep the name in `name` alone")
def renaming_changes_only_the_name(subject: Subject) -> Iterator[str]:
    renamed = subject.tool.renamed("another_name")
    if renamed.name != "another_name" or renamed.definition != {**subject.definition, "name": "another_name"}:
        yield f"as another_name it is {difference(_text(subject.definition), _text(renamed.definition))}"


def _text(definition: dict[str, Any]) -> str:
    """With the order of the keys, which a model is shown as well."""
    return json.dumps(definition, ensure_ascii=False, default=repr)


def difference(first: str, second: str) -> str:
    """Where two texts part."""
    at = next((index for index, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), -1)
    at = min(len(first), len(second)) if at < 0 else at
    start = max(0, at - 20)
    return f"...{first[start : at + 30]}... and ...{second[start : at + 30]}..."
