"""Write Python source that says yes to a valid value as fast as hand-written checks.

The source covers what schemas of tools are made of; a rarer keyword makes it call the compiled subschema.
Only property names reach the source, as `repr` of a plain string; every other constant is passed as a global.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._keywords import CONSTRAINTS, PYTHON_TYPES, types_of
from tools_core._jsonschema._pointer import resolve
from tools_core._jsonschema._regex import translate
from tools_core._jsonschema._report import Checked
from tools_core._jsonschema._value import DEPTH_LIMIT, distinct, is_clean, is_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core._jsonschema._nodes import Nodes
    from tools_core._jsonschema._pointer import Schema
    from tools_core._jsonschema._report import Node

_CHOICE = frozenset(("type", "enum", "const"))
_OF_TYPE = {
    "string": frozenset(("type", "minLength", "maxLength", "pattern")),
    "integer": frozenset(("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    "number": frozenset(("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    "boolean": frozenset(("type",)),
    "null": frozenset(("type",)),
    "array": frozenset(("type", "items", "minItems", "maxItems", "uniqueItems")),
    "object": frozenset(("type", "properties", "required", "additionalProperties")),
}
# Past this many blocks or containers inside each other a new function begins: Python allows 20 blocks.
_BLOCKS = 12


def generate(root: Schema) -> Callable[[Any], int]:
    """Build `accepts` of a schema.

    It returns 0 for a value that is not valid, else 1 and the number of members of objects that the source looked at.
    """
    writer = _Writer(root)
    writer.function("accepts", root, is_root=True)
    return writer.build("accepts")


class _Writer:
    """The source as far as it is written, and the constants it needs."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.nodes: Nodes | None = None  # the subschemas that are too rare for source
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"is_clean": is_clean, "distinct": distinct, "is_plain": is_plain}
        self.waiting: list[tuple[str, Schema]] = []
        self.functions: dict[int, str] = {}
        self.variables = 0

    def build(self, name: str) -> Callable[[Any], int]:
        """Run the source, and return the function of that name."""
        while self.waiting:
            self.function(*self.waiting.pop(), is_root=False)
        exec("\n".join(self.lines), self.names)  # noqa: S102  # our own source; see the module's first lines
        built: Callable[[Any], int] = self.names[name]
        return built

    # -- pieces

    def constant(self, value: Any) -> str:
        name = f"C{len(self.names)}"
        self.names[name] = value
        return name

    def variable(self) -> str:
        self.variables += 1
        return f"v{self.variables}"

    def line(self, pad: int, text: str) -> None:
        self.lines.append("    " * pad + text)

    def reject(self, pad: int, condition: str) -> None:
        self.line(pad, f"if {condition}: return 0")

    # -- functions

    def function(self, name: str, schema: Schema, is_root: bool) -> None:
        """Write one function; `depth` is how many containers its value lies in."""
        self.line(0, f"def {name}(x, depth=0):")
        self.line(1, "seen = 1")
        if not is_root:
            # What is written inline goes at most _BLOCKS deeper; near the limit `check` decides.
            self.reject(1, f"depth > {DEPTH_LIMIT - _BLOCKS}")
        self.line(1, "try:")
        self.part(schema, "x", pad=2, level=0)
        self.line(2, "pass")
        # A missing member, or a caller whose stack is nearly full.
        self.line(1, "except (KeyError, RecursionError): return 0")
        self.line(1, "return seen")

    def function_for(self, schema: Schema) -> str:
        name = self.functions.get(id(schema))
        if name is None:
            name = self.functions[id(schema)] = f"part{len(self.functions)}"
            self.waiting.append((name, schema))
        return name

    def kept(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Keep a schema made here alive, since functions are known by the id of theirs."""
        self.constant(schema)
        return schema

    def rare(self, schema: Schema) -> str:
        """Return the name of a function that asks the compiled subschema."""
        from tools_core._jsonschema._nodes import Nodes  # few schemas have such a keyword

        self.nodes = self.nodes or Nodes(self.root)
        return self.constant(_intact(self.nodes.node(schema)))

    # -- schemas

    def part(self, schema: Schema, x: str, pad: int, level: int) -> None:
        """Write the check of the value named `x`, which lies in `level` containers of this function."""
        depth = f"depth + {level}" if level else "depth"
        if schema is False:
            self.line(pad, "return 0")
        elif schema is True or not (keywords := schema.keys() & CONSTRAINTS):
            self.reject(pad, f"not is_plain({x}, {depth})")
        elif (rejects := self.scalar(schema, x)) is not None:
            self.reject(pad, rejects)
        elif pad > _BLOCKS or level >= _BLOCKS or keywords == {"$ref"}:
            target = resolve(self.root, schema["$ref"]) if keywords == {"$ref"} else schema
            inner = self.variable()
            self.line(pad, f"{inner} = {self.function_for(target)}({x}, {depth})")
            self.reject(pad, f"not {inner}")
            self.line(pad, f"seen += {inner} - 1")
        elif keywords == {"anyOf"}:
            self.any_of(schema["anyOf"], x, pad, level)
        elif (other := _type_or_null(schema)) and keywords <= _OF_TYPE[other]:  # other keywords may refuse null
            self.line(pad, f"if {x} is not None:")
            self.part(self.kept({**schema, "type": other}), x, pad + 1, level)
        elif (types := set(types_of(schema))) == {"array"} and keywords <= _OF_TYPE["array"]:
            self.array(schema, x, pad, level)
        elif types == {"object"} and keywords <= _OF_TYPE["object"] and _is_reachable(schema):
            self.object(schema, x, pad, level)
        else:
            self.reject(pad, f"not {self.rare(schema)}({x}, {depth})")

    def any_of(self, branches: list[Schema], x: str, pad: int, level: int) -> None:
        others = [part for part in branches if not _is_null(part)]
        if len(others) < len(branches):
            self.line(pad, f"if {x} is not None:")
            pad += 1
        if len(others) == 1:
            self.part(others[0], x, pad, level)
            return
        rejects = [part for part in (isinstance(part, dict) and self.scalar(part, x) for part in others) if part]
        if len(rejects) == len(others):
            self.reject(pad, " and ".join(f"({condition})" for condition in rejects) or "True")
        else:
            # To try one after the other would double the work at each level of a tree; the checker remembers verdicts.
            self.reject(pad, f"not {self.rare(self.kept({'anyOf': others}))}({x}, depth + {level})")

    def array(self, schema: dict[str, Any], x: str, pad: int, level: int) -> None:
        self.reject(
            pad,
            " or ".join([f"type({x}) is not list", *self.limits(schema, f"len({x})", "minItems", "maxItems")]),
        )
        items = schema.get("items", True)
        if items is True:
            self.part(True, x, pad, level)
        else:
            y = self.variable()
            self.line(pad, f"for {y} in {x}:")
            self.part(items, y, pad + 1, level + 1)
        if schema.get("uniqueItems"):
            self.reject(pad, f"not distinct({x})")

    def object(self, schema: dict[str, Any], x: str, pad: int, level: int) -> None:
        properties = schema.get("properties", {})
        required = list(dict.fromkeys(schema.get("required", ())))
        additional = schema.get("additionalProperties", True)
        self.reject(pad, f"type({x}) is not dict")
        if additional is True and not properties:
            for key in required:
                self.reject(pad, f"{_name_of(key)} not in {x}")
            self.part(True, x, pad, level)
            return
        if x == "x" and required:
            # A missing argument is the commonest mistake, and an exception costs as much as all the rest.
            self.reject(pad, " or ".join(f"{_name_of(key)} not in {x}" for key in required))
        for key in required:
            self.member(properties[key], x, key, pad, level)
        # What is left after the known members: first counted, which is cheaper than to look for it.
        left = self.variable()
        self.line(pad, f"{left} = len({x})")
        self.line(pad, f"seen += {left}")
        optional = [key for key in properties if key not in required]
        self.line(pad, f"if {left} != {len(required)}:")
        for key in optional:
            self.line(pad + 1, f"if {_name_of(key)} in {x}:")
            self.member(properties[key], x, key, pad + 2, level)
            self.line(pad + 2, f"{left} -= 1")
        if additional is False:
            self.reject(pad + 1, f"{left} != {len(required)}")
        else:
            self.rest(properties, additional, x, pad + 1, level)

    def member(self, schema: Schema, x: str, key: str, pad: int, level: int) -> None:
        y = self.variable()
        self.line(pad, f"{y} = {x}[{_name_of(key)}]")
        self.part(schema, y, pad, level + 1)

    def rest(self, properties: dict[str, Any], additional: Schema, x: str, pad: int, level: int) -> None:
        """Write the loop over the members that no property names."""
        key, y = self.variable(), self.variable()
        self.line(pad, f"for {key}, {y} in {x}.items():")
        if properties:
            self.line(pad + 1, f"if {key} in {self.constant(frozenset(properties))}: continue")
        self.reject(pad + 1, f"type({key}) is not str or not is_clean({key})")
        self.part(additional, y, pad + 1, level + 1)

    # -- scalars

    def scalar(self, schema: dict[str, Any], x: str) -> str | None:
        """Return the condition under which `x` is refused, or None when this is not a plain scalar."""
        keywords = schema.keys() & CONSTRAINTS
        types = types_of(schema)
        if ("enum" in schema) != ("const" in schema) and keywords <= _CHOICE:
            return self.one_of(schema["enum"] if "enum" in schema else [schema["const"]], types, x)
        if len(types) > 1 and keywords == {"type"}:
            conditions = [self.scalar({"type": kind}, x) for kind in types]
            return " and ".join(f"({condition})" for condition in conditions) if None not in conditions else None
        if len(types) != 1 or types[0] in ("array", "object") or not keywords <= _OF_TYPE[types[0]]:
            return None
        if types[0] == "null":
            return f"{x} is not None"
        if types[0] == "boolean":
            return f"{x} is not True and {x} is not False"
        if types[0] == "string":
            parts = [f"type({x}) is not str", *self.limits(schema, f"len({x})", "minLength", "maxLength")]
            parts.append(f"not {x}.isascii() and not is_clean({x})")
            if "pattern" in schema:
                parts.append(f"{self.constant(translate(schema['pattern']).search)}({x}) is None")
        else:
            if types[0] == "integer":
                parts = [f"type({x}) is not int"]
            else:  # the subtraction finds NaN and the infinities
                parts = [f"type({x}) is not int and type({x}) is not float", f"{x} - {x} != 0.0"]
            parts += self.limits(schema, x, "minimum", "maximum")
            parts += self.limits(schema, x, "exclusiveMinimum", "exclusiveMaximum", equal="=")
        return " or ".join(parts)

    def one_of(self, values: list[Any], types: tuple[str, ...], x: str) -> str | None:
        allowed: dict[type, set[Any]] = {}
        exact = {kind for name in types for kind in PYTHON_TYPES[name]}
        for value in values:
            if isinstance(value, list | dict):
                return None
            if not types or type(value) in exact:
                allowed.setdefault(type(value), set()).add(value)
        if list(allowed) == [str]:
            return f"type({x}) is not str or {x} not in {self.constant(frozenset(allowed[str]))}"
        choices = self.constant({kind: frozenset(some) for kind, some in allowed.items()})
        return f"type({x}) not in {choices} or {x} not in {choices}[type({x})]"

    def limits(self, schema: dict[str, Any], x: str, least: str, most: str, equal: str = "") -> list[str]:
        parts = []
        if least in schema:
            parts.append(f"{x} <{equal} {self.constant(schema[least])}")
        if most in schema:
            parts.append(f"{x} >{equal} {self.constant(schema[most])}")
        return parts


def _is_null(schema: Schema) -> bool:
    return isinstance(schema, dict) and schema.keys() & CONSTRAINTS == {"type"} and schema["type"] == "null"


def _type_or_null(schema: dict[str, Any]) -> str | None:
    """Return the type that null is an alternative to, such as string of `["string", "null"]`."""
    types = set(types_of(schema))
    return (types - {"null"}).pop() if len(types) == 2 and "null" in types else None


def _name_of(key: str) -> str:
    """Write a member's name as source."""
    return str.__repr__(key)


def _is_reachable(schema: dict[str, Any]) -> bool:
    """Return whether each required member is a property, or there are no properties and anything goes."""
    properties = schema.get("properties", {})
    if not properties and schema.get("additionalProperties", True) is True:
        return True
    return all(key in properties for key in schema.get("required", ()))


def _intact(node: Node) -> Callable[[Any, int], bool]:
    """Make a function that accepts plain JSON which fits `node` as it stands."""

    def intact(value: Any, depth: int) -> bool:
        report = Checked(value, True)
        is_same = is_plain(value, depth) and node(value, None, report) is value
        return is_same and not (report.problems or report.repairs)

    return intact
