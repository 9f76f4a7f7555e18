"""`Parameter`: one argument of a tool, declared by hand or read from a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from tools_core._definition._hints._annotations import Reading, Unsupported
from tools_core._definition._hints._classes import object_schema
from tools_core._definition._hints._converters import Converter, Problems, array, members
from tools_core._definition._hints._metadata import annotate
from tools_core._definition._hints._reader import Reader
from tools_core._jsonschema._types import TYPE_NAMES, accepted_types
from tools_core._values._errors import DefinitionError, SchemaError
from tools_core._values._frozen import frozen
from tools_core._values._limits import Limits
from tools_core._values._problem import NOTHING, listing
from tools_core.schema import compile as compile_schema

_TYPES: dict[str, Any] = {name: kind for kind, name in TYPE_NAMES.items() if name != "null"}
_BY_NAME = _TYPES | {hint.__name__: hint for hint in _TYPES.values()}


class Parameter:
    """Declare an argument: `Parameter("limit", int, "Maximum number of results", default=10, ge=1, le=100)`.

    `type` is a type hint, or a JSON Schema type as text. `items` describes the items of an array: a type hint, a
    Parameter or a JSON Schema. `properties` are the Parameters of an object, or of each object in an array. The limits
    have the names and meanings of `Limits`. A parameter with a default is optional. `examples` are valid values. `desc`
    is another name for `description`. Raises DefinitionError for values that contradict each other.
    """

    __slots__ = ("_content", "_limits", "_schema", "name", "required")

    def __init__(  # noqa: PLR0913  (one argument for each keyword of JSON Schema)
        self,
        name: str,
        type: Any = str,
        description: str | None = None,
        *,
        desc: str | None = None,
        required: bool = True,
        default: Any = NOTHING,
        enum: Sequence[Any] | None = None,
        examples: Sequence[Any] | None = None,
        items: Any = None,
        properties: Sequence[Parameter] | None = None,
        ge: float | None = None,
        gt: float | None = None,
        le: float | None = None,
        lt: float | None = None,
        multiple_of: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str | None = None,
    ) -> None:
        if not name or name.__class__ is not str:
            raise DefinitionError(f"a Parameter needs a name, got {name!r}")
        self.name = name
        self.required = required and default is NOTHING
        self._content = (type, items, properties)
        self._limits = Limits(
            ge=ge, gt=gt, le=le, lt=lt, multiple_of=multiple_of,
            min_length=min_length, max_length=max_length, pattern=pattern,
        )  # fmt: skip
        self._schema = self._read()[0]
        self._check_values("", [])
        if (text := description if desc is None else desc) is not None:
            self._schema["description"] = text
        if enum is not None:
            if isinstance(enum, str) or not enum:
                raise self._error(f"enum must be a list of values, got {enum!r}")
            self._check_values("enum value", enum)
            self._schema["enum"] = list(enum)
        if default is not NOTHING:
            self._check_values("default", [default])
            self._schema["default"] = default
        if examples is not None:
            self._check_values("example", examples)
            self._schema["examples"] = list(examples)
        self._schema = frozen(self._schema)

    @classmethod
    def from_schema(cls, name: str, schema: Mapping[str, Any], *, required: bool = True) -> Parameter:
        """Wrap the schema of one property."""
        self = cls.__new__(cls)
        self.name, self.required, self._schema = name, required, frozen(schema)
        self._content, self._limits = (Any, None, None), Limits()
        return self

    @property
    def type(self) -> str:
        """The JSON type; without null for a nullable parameter, and "any" if there are several."""
        types = {*accepted_types(self._schema, self._schema)} - {"null"}
        return types.pop() if len(types) == 1 else "any"

    @property
    def description(self) -> str | None:
        return self._schema.get("description")

    @property
    def has_default(self) -> bool:
        return "default" in self._schema

    @property
    def default(self) -> Any:
        """The default; None without a default, see `has_default`."""
        return self._schema.get("default")

    def default_argument(self) -> Any:
        """Return the default as the type hint, for a call without the argument."""
        convert = self.converter
        default = deepcopy(self.default)
        return convert(default, (None, self.name), Problems()) if convert else default

    @property
    def enum(self) -> list[Any] | None:
        return self._schema.get("enum")

    @property
    def examples(self) -> list[Any]:
        return self._schema.get("examples", frozen([]))  # type: ignore[no-any-return]  # a list in every schema

    @property
    def converter(self) -> Converter | None:
        """The converter from valid JSON to the type hint, if it needs one."""
        return self._read()[1]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of this argument, which is read-only."""
        return self._schema

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        return (self.name, self.required, self._schema) == (other.name, other.required, other._schema)

    __hash__ = None  # type: ignore[assignment]  # it holds dicts

    def __repr__(self) -> str:
        return f"Parameter({self.name!r}, {self.type!r}, {self.description!r})"

    def _error(self, reason: str) -> DefinitionError:
        return DefinitionError(f"Parameter {self.name!r}: {reason}")

    def _read(self) -> Reading:
        """Return the schema of type and limits, and the converter."""
        try:
            return annotate(self._read_content(*self._content), [self._limits])
        except Unsupported as error:
            raise self._error(str(error)) from None

    def _read_content(self, type: Any, items: Any, properties: Sequence[Parameter] | None) -> Reading:
        hint = self._hint(type)
        if items is None and properties is None:
            return self._read_hint(hint)
        if items is not None and properties is not None:
            raise self._error("has both items and properties; properties says that the items are objects")
        if hint is list:
            schema, convert = self._read_items(items) if properties is None else self._read_properties(properties)
            return {"type": "array", "items": schema}, array(list, convert) if convert else None
        if properties is None:
            raise self._error("items is for the type array")
        if hint is not dict:
            raise self._error("properties is for the types object and array")
        return self._read_properties(properties)

    def _read_items(self, items: Any) -> Reading:
        if isinstance(items, Parameter):
            return items.schema(), items.converter
        return (dict(items), None) if isinstance(items, Mapping) else self._read_hint(self._hint(items))

    def _read_properties(self, properties: Sequence[Parameter]) -> Reading:
        schema = schema_of_parameters(f"Parameter {self.name!r}", properties)
        converters = {part.name: convert for part in properties if (convert := part.converter)}
        defaults = {part.name: part._schema["default"] for part in properties if part.has_default}
        return schema, members(converters, defaults=defaults) if converters or defaults else None

    def _read_hint(self, hint: Any) -> Reading:
        reader = Reader()
        reading = reader.read(hint)
        if reader.defs:
            raise self._error("its type needs $defs; write it as a type hint in the signature instead")
        return reading

    def _hint(self, type: Any) -> Any:
        if not isinstance(type, str | None):
            return type
        hint = _BY_NAME.get((type or "").lower())
        if hint is None:
            raise self._error(f"invalid type {type!r}; valid types: {', '.join(_TYPES)}, or a type hint")
        return hint

    def _check_values(self, kind: str, values: Sequence[Any]) -> None:
        try:
            validator = compile_schema(self._schema)
        except SchemaError as error:
            raise self._error(str(error)) from None
        for value in values:
            for problem in validator.check(value, repair=False).problems:
                raise self._error(f"the {kind} {problem}")


def schema_of_parameters(owner: str, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the schema of an object with these members, in their order."""
    items: Sequence[Any] = parameters
    for item in items:
        if not isinstance(item, Parameter):
            raise DefinitionError(f"{owner}: expected Parameter objects, got {type(item).__name__}")
    names = [parameter.name for parameter in parameters]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise DefinitionError(f"{owner}: declared twice: {listing(sorted(repeated))}")
    required = [parameter.name for parameter in parameters if parameter.required]
    return object_schema({parameter.name: parameter.schema() for parameter in parameters}, required)
