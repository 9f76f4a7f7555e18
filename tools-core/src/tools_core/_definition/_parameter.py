"""`Parameter`: one argument of a tool, declared by hand or read from a signature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from tools_core._definition._hints._classes import object_of
from tools_core._definition._hints._metadata import LENGTH_KEYWORDS, types_of
from tools_core._values._errors import DefinitionError
from tools_core._values._frozen import thaw
from tools_core._values._problem import listing

_PYTHON_TYPES = {
    "str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object",
}  # fmt: skip
# The types that an argument of Parameter is for.
_TYPES_OF = {
    "items": ("array",),
    "properties": ("object", "array"),
    **dict.fromkeys(("minimum", "maximum"), ("integer", "number")),
    **dict.fromkeys(("min_length", "max_length"), ("string", "array", "object")),
    "pattern": ("string",),
}
_ABSENT: Any = object()

Items: TypeAlias = "str | type | Parameter | Mapping[str, Any]"


class Parameter:
    """Declare an argument: `Parameter("limit", int, "How many at most.", default=10, minimum=1)`.

    `type` is a JSON Schema type or str, int, float, bool, list, dict. `items` is what an array holds: a type,
    a Parameter or a JSON Schema. `properties` are the Parameters of an object, or of each object in an array.
    A default makes it optional. `desc` is another name of `description`. DefinitionError for what contradicts itself.
    """

    __slots__ = ("_schema", "name", "required")

    def __init__(  # noqa: PLR0913  # one argument for each thing that a declaration may say
        self,
        name: str,
        type: str | type = "string",
        description: str | None = None,
        *,
        desc: str | None = None,
        required: bool = True,
        default: Any = _ABSENT,
        enum: Sequence[Any] | None = None,
        items: Items | None = None,
        properties: Sequence[Parameter] | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str | None = None,
    ) -> None:
        if not name or name.__class__ is not str:
            raise DefinitionError(f"a Parameter needs a name, got {name!r}")
        self.name = name
        self.required = required and default is _ABSENT
        self._schema: dict[str, Any] = {"type": self._type(type)}
        described = description if desc is None else desc
        if described is not None:
            self._schema["description"] = described
        constraints = {
            "items": items, "properties": properties, "minimum": minimum, "maximum": maximum,
            "min_length": min_length, "max_length": max_length, "pattern": pattern,
        }  # fmt: skip
        given = {argument: value for argument, value in constraints.items() if value is not None}
        self._check_types(given)
        self._add_content(items, properties)
        for argument, value in given.items():
            if argument not in ("items", "properties"):
                self._schema[self._keyword(argument)] = value
        if given or enum is not None or default is not _ABSENT:
            self._add_values(enum, default)

    @classmethod
    def from_schema(cls, name: str, schema: Mapping[str, Any], *, required: bool = True) -> Parameter:
        """Wrap the schema of one property as it stands."""
        self = cls.__new__(cls)
        self.name, self.required, self._schema = name, required, dict(schema)
        return self

    @property
    def type(self) -> str:
        """The JSON type; of a nullable one the type besides null, and "any" where there are several."""
        types = {*types_of(self._schema)} - {"null"}
        return types.pop() if len(types) == 1 else "any"

    @property
    def description(self) -> str | None:
        return self._schema.get("description")

    @property
    def has_default(self) -> bool:
        return "default" in self._schema

    @property
    def default(self) -> Any:
        """A copy of the default, None if there is none; `has_default` tells the two apart."""
        return thaw(self._schema.get("default"))

    @property
    def enum(self) -> list[Any] | None:
        values: list[Any] | None = thaw(self._schema.get("enum"))
        return values

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this argument, a copy."""
        copied: dict[str, Any] = thaw(self._schema)
        return copied

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        return (self.name, self.required, self._schema) == (other.name, other.required, other._schema)

    __hash__ = None  # type: ignore[assignment]  # it holds dicts

    def __repr__(self) -> str:
        parts = [repr(self.name), repr(self.type)]
        if self.description is not None:
            parts.append(repr(self.description))
        if self.has_default:
            parts.append(f"default={self.default!r}")
        elif not self.required:
            parts.append("required=False")
        return f"Parameter({', '.join(parts)})"

    def _fail(self, reason: str) -> DefinitionError:
        return DefinitionError(f"Parameter {self.name!r}: {reason}")

    def _type(self, given: Any) -> str:
        written = given.__name__ if isinstance(given, type) else given
        name = written.lower() if isinstance(written, str) else ""
        name = _PYTHON_TYPES.get(name, name)
        if name not in _PYTHON_TYPES.values():
            raise self._fail(f"invalid type {written!r}; valid types: {', '.join(_PYTHON_TYPES.values())}")
        return name

    def _check_types(self, given: Iterable[str]) -> None:
        kind = self._schema["type"]
        for argument in given:
            if kind not in _TYPES_OF[argument]:
                kinds = " or ".join(_TYPES_OF[argument])
                raise self._fail(f"{argument} is for the type {kinds}, and this is of type {kind}")

    def _keyword(self, argument: str) -> str:
        end, _, is_length = argument.partition("_")
        return end + LENGTH_KEYWORDS[self._schema["type"]] if is_length else argument

    def _add_content(self, items: Items | None, properties: Sequence[Parameter] | None) -> None:
        if items is not None and properties is not None:
            raise self._fail("has both items and properties; properties says that the items are objects")
        content = object_schema(f"Parameter {self.name!r}", properties) if properties is not None else {}
        if self._schema["type"] == "array":
            self._schema["items"] = content or self._items(items)
        else:
            self._schema.update(content)

    def _items(self, items: Items | None) -> dict[str, Any]:
        if items is None:
            return {}
        if isinstance(items, Parameter):
            return items.schema()
        if isinstance(items, Mapping):
            return dict(thaw(dict(items)))
        return {"type": self._type(items)}

    def _add_values(self, enum: Sequence[Any] | None, default: Any) -> None:
        from tools_core._jsonschema import compile_schema  # a bare name and type have nothing to check

        validator = compile_schema(self._schema)
        if enum is not None:
            if isinstance(enum, str) or not enum:
                raise self._fail(f"enum must be a list of values, got {enum!r}")
            for value in enum:
                for problem in validator.check(value, repair=False).problems:
                    raise self._fail(f"the enum value {value!r} {problem.text}")
            self._schema["enum"] = thaw(list(enum))
            validator = compile_schema(self._schema)
        if default is not _ABSENT:
            for problem in validator.check(default, repair=False).problems:
                raise self._fail(f"the default {problem}")
            self._schema["default"] = thaw(default)


def object_schema(owner: str, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Make the schema of an object of Parameters, in their order."""
    given: Sequence[Any] = parameters
    for one in given:
        if not isinstance(one, Parameter):
            raise DefinitionError(f"{owner}: expected Parameter objects, got {type(one).__name__}")
    names = [one.name for one in parameters]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise DefinitionError(f"{owner}: declared twice: {listing(sorted(repeated))}")
    required = [one.name for one in parameters if one.required]
    return object_of({one.name: one.schema() for one in parameters}, required)


def parameters_of(schema: Mapping[str, Any]) -> Mapping[str, Parameter]:
    """Read the parameters off a tool's input schema, by name and in its order."""
    required = schema.get("required", ())
    return MappingProxyType(
        {
            name: Parameter.from_schema(name, one if isinstance(one, Mapping) else {}, required=name in required)
            for name, one in schema["properties"].items()
        }
    )
