"""Generate Python source that accepts valid values as fast as hand-written checks, and counts their members.

The source covers the keywords that schemas of tools consist of; for a rarer keyword it calls the compiled subschema.
Only property names reach the source, as `repr` of a plain string; every other constant is passed as a global.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools_core._jsonschema._compiler import Compiler
from tools_core._jsonschema._keywords import CONSTRAINTS
from tools_core._jsonschema._patterns import search_of
from tools_core._jsonschema._plain_json import MAX_DEPTH, are_distinct, is_clean, plain_size
from tools_core._jsonschema._report import Node, Report
from tools_core._jsonschema._types import JSON_TYPES, Schema, choices_of, resolve, types_of

_BOUNDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
_SUPPORTED = {
    "string": frozenset(("type", "minLength", "maxLength", "pattern")),
    "integer": frozenset(("type", *_BOUNDS)),
    "number": frozenset(("type", *_BOUNDS)),
    "boolean": frozenset(("type",)),
    "null": frozenset(("type",)),
    "array": frozenset(("type", "items", "minItems", "maxItems", "uniqueItems")),
    "object": frozenset(("type", "properties", "required", "additionalProperties")),
}
# A new function starts after this many nested blocks or containers: Python allows 20 blocks.
_MAX_BLOCKS = 12


def generate(root: Schema) -> Callable[[Any], int]:
    """Build a function that returns the `plain_size` of a valid value; 0 means that `Validator.check` decides."""
    writer = _Writer(root)
    writer.write_function("accepts", root)
    while writer.pending:
        writer.write_function(*writer.pending.pop())
    exec("\n".join(writer.lines), writer.globals)  # noqa: S102  # our own source; see the docstring of the module
    accepts: Callable[[Any], int] = writer.globals["accepts"]
    return accepts


class _Writer:
    """The lines of the source, and its globals."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.compiler = Compiler(root)
        self.lines: list[str] = []
        self.globals: dict[str, Any] = {"is_clean": is_clean, "are_distinct": are_distinct, "plain_size": plain_size}
        self.pending: list[tuple[str, Schema]] = []
        self.functions: dict[str, str] = {}  # names of functions by reference
        self.variables = 0

    def constant(self, value: Any) -> str:
        name = f"C{len(self.globals)}"
        self.globals[name] = value
        return name

    def variable(self) -> str:
        self.variables += 1
        return f"v{self.variables}"

    def line(self, pad: int, text: str) -> None:
        self.lines.append("    " * pad + text)

    def reject(self, pad: int, condition: str) -> None:
        self.line(pad, f"if {condition}: return 0")

    def call(self, pad: int, function: str, x: str, depth: str) -> None:
        """Write a call of a function that returns the size of a part."""
        size = self.variable()
        self.line(pad, f"{size} = {function}({x}, {depth})")
        self.reject(pad, f"not {size}")
        self.line(pad, f"n += {size} - 1")

    def write_function(self, name: str, schema: Schema) -> None:
        """Write a function whose value lies in `depth` containers."""
        self.line(0, f"def {name}(x, depth=0):")
        if name != "accepts":
            # Inline code goes up to _MAX_BLOCKS deeper; near the limit `check` decides.
            self.reject(1, f"depth > {MAX_DEPTH - _MAX_BLOCKS}")
        self.line(1, "n = 1")
        self.line(1, "try:")
        self.part(schema, "x", pad=2, level=0)
        self.line(2, "return n")
        # A missing member, or a caller whose stack is nearly full.
        self.line(1, "except (KeyError, RecursionError): return 0")

    def function(self, schema: Schema) -> str:
        """Return the name of a new function for `schema`; one function per reference, for recursion."""
        reference = schema["$ref"] if isinstance(schema, dict) and schema.keys() & CONSTRAINTS == {"$ref"} else None
        if reference in self.functions:
            return self.functions[reference]
        name = f"part{len(self.functions)}_{len(self.pending)}_{len(self.lines)}"
        if reference is not None:
            self.functions[reference] = name
            schema = resolve(self.root, reference)
        self.pending.append((name, schema))
        return name

    def compiled(self, schema: Schema) -> str:
        """Return the name of a function that runs the compiled subschema."""
        return self.constant(_accepts_unchanged(self.compiler.node(schema)))

    def part(self, schema: Schema, x: str, pad: int, level: int) -> None:
        """Write the check of the value named `x`, which lies in `level` containers of this function."""
        depth = f"depth + {level}" if level else "depth"
        if schema is False:
            self.line(pad, "return 0")
        elif schema is True or not (keywords := schema.keys() & CONSTRAINTS):
            self.call(pad, "plain_size", x, depth)
        elif (condition := self.scalar(schema, x)) is not None:
            self.reject(pad, condition)
        elif pad > _MAX_BLOCKS or level >= _MAX_BLOCKS or keywords == {"$ref"}:
            self.call(pad, self.function(schema), x, depth)
        elif keywords == {"anyOf"}:
            self.any_of(schema["anyOf"], x, pad, level)
        elif (other := _type_or_null(schema)) and keywords <= _SUPPORTED[other]:  # other keywords may refuse null
            self.line(pad, f"if {x} is not None:")
            self.part({**schema, "type": other}, x, pad + 1, level)
        elif (types := types_of(schema)) == ("array",) and keywords <= _SUPPORTED["array"]:
            self.array(schema, x, pad, level)
        elif types == ("object",) and keywords <= _SUPPORTED["object"] and _requires_properties(schema):
            self.object(schema, x, pad, level)
        else:
            self.call(pad, self.compiled(schema), x, depth)

    def any_of(self, branches: list[Schema], x: str, pad: int, level: int) -> None:
        others = [part for part in branches if not _is_null(part)]
        if len(others) < len(branches):
            self.line(pad, f"if {x} is not None:")
            pad += 1
        if len(others) == 1:
            self.part(others[0], x, pad, level)
            return
        conditions = [self.scalar(part, x) if isinstance(part, dict) else None for part in others]
        if None in conditions:
            # Trying branches one by one would double the work at each level of a tree; compiled ones share verdicts.
            self.call(pad, self.compiled({"anyOf": others}), x, f"depth + {level}")
        else:
            self.reject(pad, " and ".join(f"({condition})" for condition in conditions) or "True")

    def array(self, schema: dict[str, Any], x: str, pad: int, level: int) -> None:
        limits = self.limits(schema, f"len({x})", "minItems", "maxItems")
        self.reject(pad, " or ".join([f"type({x}) is not list", *limits]))
        items = schema.get("items", True)
        if items is True:
            self.part(True, x, pad, level)
        else:
            y = self.variable()
            self.line(pad, f"for {y} in {x}:")
            self.part(items, y, pad + 1, level + 1)
        if schema.get("uniqueItems"):
            self.reject(pad, f"not are_distinct({x})")

    def object(self, schema: dict[str, Any], x: str, pad: int, level: int) -> None:
        properties = schema.get("properties", {})
        required = list(dict.fromkeys(schema.get("required", ())))
        additional = schema.get("additionalProperties", True)
        self.reject(pad, f"type({x}) is not dict")
        if additional is True and not properties:
            for key in required:
                self.reject(pad, f"{key!r} not in {x}")
            self.part(True, x, pad, level)
            return
        rest = self.variable()
        self.line(pad, f"{rest} = len({x})")
        self.line(pad, f"n += {rest}")
        for key in required:
            self.member(properties[key], x, key, pad, level)
        # Count the other members, which is cheaper than to look for unknown ones.
        self.line(pad, f"if {rest} != {len(required)}:")
        for key in properties:
            if key not in required:
                self.line(pad + 1, f"if {key!r} in {x}:")
                self.member(properties[key], x, key, pad + 2, level)
                self.line(pad + 2, f"{rest} -= 1")
        if additional is False:
            self.reject(pad + 1, f"{rest} != {len(required)}")
        else:
            self.other_members(properties, additional, x, pad + 1, level)

    def member(self, schema: Schema, x: str, key: str, pad: int, level: int) -> None:
        y = self.variable()
        self.line(pad, f"{y} = {x}[{key!r}]")
        self.part(schema, y, pad, level + 1)

    def other_members(self, properties: dict[str, Any], additional: Schema, x: str, pad: int, level: int) -> None:
        """Write the loop over the members that are not properties."""
        key, y = self.variable(), self.variable()
        self.line(pad, f"for {key}, {y} in {x}.items():")
        if properties:
            self.line(pad + 1, f"if {key} in {self.constant(frozenset(properties))}: continue")
        self.reject(pad + 1, f"type({key}) is not str or not is_clean({key})")
        self.part(additional, y, pad + 1, level + 1)

    def scalar(self, schema: dict[str, Any], x: str) -> str | None:
        """Return the condition for refusing `x`, or None if this is not a plain scalar."""
        keywords = schema.keys() & CONSTRAINTS
        types = types_of(schema)
        if ("enum" in schema) != ("const" in schema) and keywords <= {"type", "enum", "const"}:
            return self.choice(choices_of(schema), types, x)
        if len(types) > 1 and keywords == {"type"}:
            conditions = [self.scalar({"type": name}, x) for name in types]
            return " and ".join(f"({condition})" for condition in conditions) if None not in conditions else None
        if len(types) != 1 or types[0] in ("array", "object") or not keywords <= _SUPPORTED[types[0]]:
            return None
        if types[0] == "null":
            return f"{x} is not None"
        if types[0] == "boolean":
            return f"{x} is not True and {x} is not False"
        if types[0] == "string":
            parts = [f"type({x}) is not str", *self.limits(schema, f"len({x})", "minLength", "maxLength")]
            parts.append(f"not {x}.isascii() and not is_clean({x})")
            if "pattern" in schema:
                parts.append(f"not {self.constant(search_of(schema['pattern']))}({x})")
            return " or ".join(parts)
        if types[0] == "integer":
            parts = [f"type({x}) is not int"]
        else:  # the subtraction finds NaN and the infinities
            parts = [f"type({x}) is not int and type({x}) is not float", f"{x} - {x} != 0.0"]
        parts += self.limits(schema, x, "minimum", "maximum")
        parts += self.limits(schema, x, "exclusiveMinimum", "exclusiveMaximum", equal="=")
        return " or ".join(parts)

    def choice(self, values: list[Any], types: tuple[str, ...], x: str) -> str | None:
        allowed: dict[type, set[Any]] = {}
        classes = {kind for name in types for kind in JSON_TYPES[name].classes}
        for value in values:
            if isinstance(value, list | dict):
                return None
            if not types or type(value) in classes:
                allowed.setdefault(type(value), set()).add(value)
        if list(allowed) == [str]:
            return f"type({x}) is not str or {x} not in {self.constant(frozenset(allowed[str]))}"
        choices = self.constant(allowed)
        return f"type({x}) not in {choices} or {x} not in {choices}[type({x})]"

    def limits(self, schema: dict[str, Any], x: str, least: str, most: str, equal: str = "") -> list[str]:
        bounds = ((least, "<"), (most, ">"))
        return [f"{x} {sign}{equal} {self.constant(schema[key])}" for key, sign in bounds if key in schema]


def _is_null(schema: Schema) -> bool:
    return isinstance(schema, dict) and schema.keys() & CONSTRAINTS == {"type"} and schema["type"] == "null"


def _type_or_null(schema: dict[str, Any]) -> str | None:
    """Return the other type of a schema for one type or null."""
    types = set(types_of(schema))
    return (types - {"null"}).pop() if len(types) == 2 and "null" in types else None


def _requires_properties(schema: dict[str, Any]) -> bool:
    """Return whether each required member is a property, or the object is free-form."""
    properties = schema.get("properties", {})
    if not properties and schema.get("additionalProperties", True) is True:
        return True
    return all(key in properties for key in schema.get("required", ()))


def _accepts_unchanged(node: Node) -> Callable[[Any, int], int]:
    """Return a function that accepts plain JSON which is valid without a repair."""

    def accepts(value: Any, depth: int) -> int:
        report = Report(value, True)
        size = plain_size(value, depth)
        is_same = size and node(value, None, report) is value
        return size if is_same and not (report.problems or report.repairs) else 0

    return accepts
