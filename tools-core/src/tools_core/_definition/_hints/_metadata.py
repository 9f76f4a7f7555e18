"""Metadata in `Annotated`: texts, `Limits`, annotated-types and pydantic's `Field`.

Objects are recognized by their attributes, because these libraries are not imported here. A limit becomes a keyword of
the schema. Metadata of these libraries without a keyword is refused, because its check would be lost; any other
metadata is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin

from tools_core._definition._hints._annotations import Reading, Schema, Unsupported
from tools_core._definition._hints._scalars import as_float
from tools_core._jsonschema._types import accepted_types

_NUMBERS = ("integer", "number")
# The keyword of each limit, by the type of the value.
_KEYWORDS: dict[str, dict[str, str]] = {
    "ge": dict.fromkeys(_NUMBERS, "minimum"),
    "gt": dict.fromkeys(_NUMBERS, "exclusiveMinimum"),
    "le": dict.fromkeys(_NUMBERS, "maximum"),
    "lt": dict.fromkeys(_NUMBERS, "exclusiveMaximum"),
    "multiple_of": dict.fromkeys(_NUMBERS, "multipleOf"),
    "min_length": {"string": "minLength", "array": "minItems", "object": "minProperties"},
    "max_length": {"string": "maxLength", "array": "maxItems", "object": "maxProperties"},
    "pattern": {"string": "pattern"},
}
_INJECTED = "write a function around it, without this parameter; for facts about the call take a `tools_core.Context`"
# Marks of FastAPI, FastMCP, LangChain, dependency-injector and others; and libraries whose objects describe a default.
_is_mark = re.compile(r"_?Depends|Security|Provide|Inject|Injected\w*|FromDishka").fullmatch
_SPECIFIERS = ("OptionInfo", "ArgumentInfo", "Option", "Argument", "Field", "_CountingAttr", "Parameter")
_LIBRARIES = ("typer", "click", "cyclopts", "dataclasses", "attr", "msgspec")
_CHANGES = ("strip_whitespace", "to_lower", "to_upper")  # pydantic changes the text


def is_field(value: Any) -> bool:
    """Return whether a value is the result of pydantic's `Field(...)`."""
    return hasattr(value, "is_required") and hasattr(value, "default_factory") and hasattr(value, "metadata")


def has_keyword(item: Any, hint: Any) -> bool:
    """Return whether a limit of a field is a keyword in the schema of a hint, so that pydantic need not check it."""
    types = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    is_converted = any(getattr(part, "__module__", "") in ("datetime", "decimal") for part in types)
    return not is_converted and any(getattr(item, name, None) is not None for name in _KEYWORDS)


def field_default(field: Any) -> Callable[[], Any] | None:
    """Return a function that creates the default of a field; None if it has none."""
    return None if field.is_required() else lambda: field.get_default(call_default_factory=True)


def annotate(reading: Reading, metadata: Iterable[Any]) -> Reading:
    """Add the metadata of a hint to its schema."""
    schema, convert = dict(reading[0]), reading[1]
    is_converted = convert not in (None, as_float)
    for item in metadata:
        if is_field(item):
            for part in item.metadata:
                _add_limits(part, schema, is_converted)
            _add_field(item, schema)
        elif isinstance(item, str):
            schema["description"] = item
        elif _is_injected(item):
            raise Unsupported(f"{_type_name(item)} lets another framework pass the argument", _INJECTED)
        elif not isinstance(item, (type, re.Pattern)):
            _add_text(item, schema)
            _add_limits(item, schema, is_converted)
    return schema, convert


def check_default(default: Any) -> None:
    """Refuse a default that only another framework understands, such as `typer.Option(...)` or `Depends(...)`."""
    reason = f"its default is {_type_name(default)}, which nothing here replaces by a value"
    if _is_injected(default):
        raise Unsupported(reason, _INJECTED)
    if type(default).__name__ in _SPECIFIERS and type(default).__module__.partition(".")[0] in _LIBRARIES:
        raise Unsupported(reason, "write the default itself, and other facts in Annotated[...]")


def _type_name(item: Any) -> str:
    return (item if isinstance(item, type) else type(item)).__name__


def _is_injected(item: Any) -> bool:
    return not isinstance(item, str | Enum) and _is_mark(_type_name(item)) is not None


def _add_text(item: Any, schema: Schema) -> None:
    """Add the description and the examples of typing_extensions.Doc, msgspec.Meta, and options of typer."""
    texts = (getattr(item, name, None) for name in ("documentation", "description", "help"))
    if text := next((text for text in texts if isinstance(text, str) and text), None):
        schema["description"] = text
    if isinstance(examples := getattr(item, "examples", None), list) and examples:
        schema["examples"] = list(examples)


def _add_field(field: Any, schema: Schema) -> None:
    if field.alias or field.validation_alias:
        raise Unsupported("models see the name of the parameter, not its alias", "rename the parameter")
    if field.description:
        schema["description"] = field.description
    if field.examples:
        schema["examples"] = list(field.examples)
    if hasattr(field.json_schema_extra, "keys"):  # it may also be a function, for pydantic's own schema
        schema.update(field.json_schema_extra)


def _add_limits(item: Any, schema: Schema, is_converted: bool) -> None:
    limits = {name: value for name in _KEYWORDS if (value := getattr(item, name, None)) is not None}
    if type(item).__module__.startswith("typer."):
        bounds = {"ge": getattr(item, "min", None), "le": getattr(item, "max", None)}
        limits |= {name: value for name, value in bounds.items() if value is not None}
    is_foreign = type(item).__module__.partition(".")[0] in ("annotated_types", "pydantic")
    if is_foreign and (not limits or any(getattr(item, name, None) for name in _CHANGES)):
        raise Unsupported(
            f"{type(item).__name__} is not supported",
            "put it into a pydantic model, or check the value in the function",
        )
    types = [kind for kind in accepted_types(schema, schema) if kind != "null"]
    for name, value in limits.items():
        keywords = {keyword: value for kind, keyword in _KEYWORDS[name].items() if kind in types}
        if not keywords:
            kind = types[0] if types else "any type"
            raise Unsupported(f"{name} is a limit of {', '.join(_KEYWORDS[name])}, not of {kind}", "remove it")
        if is_converted and types[0] not in ("array", "object"):  # the limit applies to the converted value
            raise Unsupported(f"{name} cannot limit a type that JSON writes as {types[0]}", "check it in the function")
        if name == "pattern":
            keywords["pattern"] = getattr(value, "pattern", value)  # of a compiled one
        if schema.keys().isdisjoint(keywords):
            schema.update(keywords)
        else:
            schema["allOf"] = [*schema.get("allOf", ()), keywords]
