"""Stubs: tools as signatures of Python functions, rendered from their definitions."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from collections.abc import Mapping
from inspect import cleandoc, formatannotation
from textwrap import indent
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

if TYPE_CHECKING:
    from tools_core import Tool

_TYPES = {
    "string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "dict",
    "array": "list",
}  # fmt: skip


class Stub(NamedTuple):
    """A tool as a function: its name, its parameters in order, the name of the function, and its source."""

    name: str
    parameters: list[str]
    identifier: str
    text: str


def stubs_of(tools: Mapping[str, Tool]) -> list[Stub]:
    """Return a stub for each tool.

    Names that are no identifiers get underscores. Names of builtins, and equal ones, get a number.
    """
    stubs: list[Stub] = []
    names = {*dir(builtins), "ToolError", "namespace", "search_tools"}
    for name, tool in tools.items():
        base = re.sub(r"\W", "_", name)
        if not base.isidentifier() or keyword.iskeyword(base):
            base = f"_{base}"
        identifier, number = base, 2
        while identifier in names:
            identifier, number = f"{base}_{number}", number + 1
        names.add(identifier)
        stubs.append(_stub(name, tool, identifier))
    return stubs


def _stub(tool_name: str, tool: Tool, identifier: str) -> Stub:
    definition = tool.definition
    schema = definition["input_schema"]
    members = schema.get("properties", {}).items()
    properties: dict[str, Any] = {name: member if isinstance(member, Mapping) else {} for name, member in members}
    required = [name for name in properties if name in schema.get("required", ())]
    order = [*required, *(name for name in properties if name not in required)]
    names = [name for name in order if name.isidentifier() and not keyword.iskeyword(name)]
    signature = [_parameter(name, properties[name], is_required=name in required) for name in names]
    if len(names) < len(order) or schema.get("additionalProperties", True) is not False:
        signature.append("**arguments")
    texts = [
        f"{name}: {properties[name].get('description') or type_of(properties[name])}"
        for name in order
        if name not in names or properties[name].get("description")
    ]
    documentation = "\n\n".join(filter(None, [cleandoc(definition.get("description", "")), "\n".join(texts)]))
    text = f"def {identifier}({', '.join(signature)}) -> {_result(tool)}:\n" + indent(f'"""{documentation}"""', "    ")
    return Stub(tool_name, names, identifier, text)


def _result(tool: Tool) -> str:
    """Return the type of the result; schemas describe only objects, so other types are those of the function."""
    if tool.output_schema is not None:
        return type_of(tool.output_schema)
    try:
        text = formatannotation(get_type_hints(tool.execute).get("return", Any))
    except (NameError, TypeError):  # such as a name that is imported for type checkers only
        return "Any"
    return "Any" if "." in text else text  # such as `tools_core.Result`


def _parameter(name: str, schema: Mapping[str, Any], *, is_required: bool) -> str:
    default = repr(schema["default"]) if "default" in schema else "..."
    return f"{name}: {type_of(schema)}" + ("" if is_required else f" = {default}")


def type_of(schema: Any) -> str:
    """Return a JSON Schema as a type hint; `Any` for what hints cannot express."""
    if not isinstance(schema, Mapping):
        return "Any"
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return f"Literal[{', '.join(map(repr, values))}]"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(map(type_of, schema[key])))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(item, "Any") for item in kind)
    if kind == "array":
        return f"list[{type_of(schema.get('items'))}]"
    if kind == "object":
        fields = schema.get("properties")
        if fields:
            return "{" + ", ".join(f"{json.dumps(name)}: {type_of(field)}" for name, field in fields.items()) + "}"
        return f"dict[str, {type_of(schema.get('additionalProperties'))}]"
    return _TYPES.get(str(kind), "Any")
