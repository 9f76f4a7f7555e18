"""The commonest refusals, written as source: one look at each argument, constant texts made in advance."""

from __future__ import annotations

from tools_core._problem import Problem
from tools_core._schema._describe import describe
from tools_core._schema._generate import Writer
from tools_core._schema._keywords import CONSTRAINTS, types_of
from tools_core._schema._objects import missing_text
from tools_core._schema._repair import starts_of
from tools_core._schema._report import PROBLEM_LIMIT
from tools_core._schema._value import members

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from tools_core._problem import Path
    from tools_core._schema._nodes import Nodes
    from tools_core._schema._pointer import Schema
    from tools_core._schema._report import Checked, Node

    # Fills the report; False means that something must be repaired or is unusual: then the report is void.
    Hurry: TypeAlias = Callable[[dict[str, Any], Checked], bool]

_CLOSED = {"type", "properties", "required", "additionalProperties"}


def hurry(schema: Schema, nodes: Nodes) -> Hurry | None:
    """Build the short cut for a closed object, which the arguments of nearly every tool are."""
    if not isinstance(schema, dict) or schema.keys() & CONSTRAINTS != _CLOSED:
        return None
    properties, required = schema["properties"], set(schema["required"])
    if len(properties) > PROBLEM_LIMIT:
        return None  # it does not count what it reports
    if schema["type"] != "object" or schema["additionalProperties"] is not False or required - properties.keys():
        return None
    writer = Writer(schema, nodes.node, counting=False)
    writer.names["Problem"] = Problem
    writer.line(0, "def hurry(x, report):")
    writer.line(1, "left = len(x)")
    for key, part in properties.items():
        writer.line(1, f"if {str.__repr__(key)} in x:")
        writer.line(2, "left -= 1")
        writer.line(2, f"v = x[{str.__repr__(key)}]")
        _member(writer, nodes, key, part, key in required)
        if key in required:
            problem = writer.constant(Problem((None, key), missing_text(part, nodes)))
            writer.line(1, f"else: report.problems.append({problem})")
    writer.line(1, "return left == 0")  # else there are members that nobody asked for
    made: Hurry = writer.build("hurry")
    return made


def _member(writer: Writer, nodes: Nodes, key: str, part: Schema, required: bool) -> None:
    explained = writer.constant(_explained(nodes.node(part), (None, key), required))
    slow = f"if not {explained}(v, report): return False"
    plain = writer.scalar(part, "v") if isinstance(part, dict) else None
    if not isinstance(part, dict) or plain is None:
        writer.line(2, slow)
        return
    writer.line(2, f"if {plain}:")
    types = types_of(part)
    if types and "string" not in types:
        # A word that cannot be repaired: the commonest mistake of all. Letters and digits show as they are.
        starts = writer.constant(starts_of(types))
        expected = writer.constant(f"must be {describe(part, nodes.root)}, got ")
        path = writer.constant((None, key))
        writer.line(3, f"if type(v) is str and v.isalnum() and v[0] not in {starts} and len(v) < 50:")
        writer.line(4, f"""report.problems.append(Problem({path}, f'{{{expected}}}"{{v}}"'))""")
        slow = f"el{slow}"
    writer.line(3, slow)


def _explained(node: Node, path: Path, required: bool) -> Callable[[Any, Checked], bool]:
    def explained(value: Any, report: Checked) -> bool:
        if value is None and not required:
            return False  # null for an optional member may have to go
        if (type(value) is not str or not value.isascii()) and members(value, depth=1) is None:
            return False
        return node(value, path, report) is value and not report.repairs

    return explained
