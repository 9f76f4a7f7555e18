"""The commonest refusals, written as source: one look at each argument, texts made in advance."""

from __future__ import annotations

from tools_core._jsonschema._describe import describe
from tools_core._jsonschema._generate import Writer, name_of
from tools_core._jsonschema._keywords import CONSTRAINTS, types_of
from tools_core._jsonschema._objects import missing_text
from tools_core._jsonschema._repair import starts_of
from tools_core._jsonschema._report import Checked
from tools_core._jsonschema._value import members
from tools_core._values._problem import MESSAGE_LIMIT, Problem

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from tools_core._jsonschema._pointer import Schema
    from tools_core._jsonschema._report import Node

    Refusals: TypeAlias = Callable[[dict[Any, Any]], "list[str] | None"]

_CLOSED = {"type", "properties", "required", "additionalProperties"}
_WORD_LIMIT = 50


def write_refusals(schema: Schema, node: Callable[[Schema], Node]) -> Refusals:
    """Build a function that says why a dict is refused, in the words of `check`; `node` compiles the subschemas.

    It knows missing arguments, and words where something else is wanted, of a closed object, which the arguments of
    nearly every tool are. None means: ask `check`.
    """
    if not isinstance(schema, dict) or schema.keys() & CONSTRAINTS != _CLOSED or schema["type"] != "object":
        return _undecided
    properties, required = schema["properties"], set(schema["required"])
    if schema["additionalProperties"] is not False or required - properties.keys():
        return _undecided
    writer = Writer(schema, node, counting=False)
    writer.line(0, "def refusals(x):")
    writer.line(1, "texts = []")
    writer.line(1, "left = len(x)")
    for key, part in properties.items():
        writer.line(1, f"if {name_of(key)} in x:")
        writer.line(2, "left -= 1")
        writer.line(2, f"v = x[{name_of(key)}]")
        _write_member(writer, key, part)
        if key in required:
            text = writer.constant(str(Problem((None, key), missing_text(part, schema))))
            writer.line(1, f"else: texts.append({text})")
    writer.line(1, "return texts if left == 0 else None")  # else there are members that nobody asked for
    return writer.build("refusals")


def _undecided(_: dict[Any, Any]) -> list[str] | None:
    return None


def _write_member(writer: Writer, key: str, part: Schema) -> None:
    refused = writer.scalar(part, "v") if isinstance(part, dict) else None
    if not isinstance(part, dict) or refused is None:
        writer.line(2, f"if not {writer.constant(_fits(writer.node(part)))}(v): return None")
        return
    writer.line(2, f"if {refused}:")
    types = types_of(part)
    start = str(Problem((None, key), f"must be {describe(part, writer.root)}, got "))
    if types and "string" not in types and len(start) + _WORD_LIMIT < MESSAGE_LIMIT:
        # A word that cannot be repaired: the commonest mistake of all. Letters and digits show as they are.
        starts = writer.constant(starts_of(types))
        hopeless = f"v.isalnum() and v[0] not in {starts} and len(v) < {_WORD_LIMIT - 2}"
        writer.line(3, f"if type(v) is not str or not ({hopeless}): return None")
        writer.line(3, f"""texts.append(f'{{{writer.constant(start)}}}"{{v}}"')""")
    else:
        writer.line(3, "return None")


def _fits(node: Node) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        report = Checked(value, True)
        intact = members(value, depth=1) is not None and node(value, None, report) is value
        return intact and not report.problems and not report.repairs

    return fits
