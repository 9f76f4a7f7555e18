"""`Reader`: from type hints to JSON Schema and converters, recursive types included."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from enum import Enum, Flag
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    LiteralString,
    NotRequired,
    Required,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from tools_core._definition._hints._annotations import (
    SUPPORTED,
    Reading,
    Schema,
    Unsupported,
    evaluate,
    hint_name,
    is_text,
)
from tools_core._definition._hints._classes import has_members, members_of, object_schema, with_default
from tools_core._definition._hints._collections import COLLECTIONS, MAPPINGS, check_count, created, unpacked_type
from tools_core._definition._hints._converters import Converter, array, entries, members
from tools_core._definition._hints._generics import substituted, value_of_variable
from tools_core._definition._hints._metadata import annotate
from tools_core._definition._hints._models import Adapter, adapter_of, model_schema, moved, validated
from tools_core._definition._hints._scalars import SCALARS, as_float, integer_key, read_scalar
from tools_core._definition._hints._unions import read_choices, read_flags, read_union
from tools_core._values._content import Block

_FIXES = {
    **dict.fromkeys(("Iterator", "Generator", "AsyncIterator"), "take a list; a result may be a generator"),
    "Counter": "use dict[str, int]",
    "ChainMap": "use dict[str, int]",
    "Fraction": "use Decimal, or two integers",
    "PathLike": "use Path",
    **dict.fromkeys(("IO", "TextIO", "BinaryIO"), "JSON has no files: take a Path"),
    **dict.fromkeys(("bytearray", "memoryview"), "use bytes"),
    "complex": "take two floats",
    "Callable": "JSON has no functions: take a name as a str, and look the function up",
    "type": "JSON has no classes: take a name as a str or a Literal",
}


class Reader:
    """Reads the hints of one signature; `defs` collects the `$defs` of its schema."""

    def __init__(
        self,
        names: Mapping[str, Any] | None = None,
        local: Mapping[str, Any] | None = None,
        *,
        is_output: bool = False,
    ) -> None:
        self.defs: Schema = {}
        self._names = names or {}  # of the module, for hints that are text
        self._local = local or {}  # of the functions around the definition
        self._is_output = is_output  # whether the hints describe a result, and not arguments
        self._open: dict[Any, _Reference] = {}  # the types that are being read
        self._class: Any = None  # the innermost of them, for `Self`

    def read(self, hint: Any) -> Reading:
        """Return the schema of a hint, and its converter; raises Unsupported."""
        if isinstance(hint, type) and get_origin(hint) is None:
            return self._read_class(hint)
        origin = get_origin(hint)
        if origin is not None:  # a bare List or Dict of typing has no arguments, unlike tuple[()]
            return self._read_generic(hint, origin) if hasattr(hint, "__args__") else self._read_class(origin)
        return self._read_special(hint)

    def _read_class(self, hint: type[Any]) -> Reading:
        if hint in SCALARS:
            return {"type": SCALARS[hint]}, as_float if hint is float else None
        if hint is Any or hint is object:  # Any is a class
            return {}, None
        if hint in COLLECTIONS or hint in MAPPINGS:
            return self._read_container(hint, ())
        if issubclass(hint, Block):  # content of results, which is no record, although blocks are dataclasses
            return _refuse(hint)
        if (adapter := adapter_of(hint)) is not None:  # also if it is a dataclass
            return self._read_model(hint, adapter)
        if has_members(hint):
            return self._define(hint, lambda: self._read_members(hint))
        if issubclass(hint, Flag):
            return read_flags(hint)
        if issubclass(hint, Enum):
            return read_choices(hint, tuple(hint))
        return read_scalar(hint) or _refuse(hint)

    def _read_generic(self, hint: Any, origin: Any) -> Reading:
        args = get_args(hint)
        if getattr(hint, "__unpacked__", False):
            raise Unsupported(f"{hint_name(hint)} may only stand at the end of a tuple", "use a list")
        if origin is tuple and args[-1:] != (...,):
            return self._read_tuple(args)
        if origin in COLLECTIONS or origin in MAPPINGS:
            check_count(hint, origin, args)
            return self._read_container(origin, args)
        if origin is Union or origin is UnionType:
            return read_union([self.read(arg) for arg in args], self.defs)
        if (adapter := adapter_of(hint)) is not None:
            return self._read_model(hint, adapter)
        if origin is Annotated:
            return annotate(self.read(args[0]), hint.__metadata__)
        if origin is Literal:
            return read_choices(hint, args)
        if origin is Required or origin is NotRequired or getattr(origin, "_name", None) in ("ReadOnly", "Final"):
            return self.read(args[0])
        return self._read_alias(hint, origin, args)

    def _read_alias(self, hint: Any, origin: Any, args: tuple[Any, ...]) -> Reading:
        """Read a generic class or alias with its types."""
        if hasattr(origin, "__value__"):  # type X[T] = ...
            types = dict(zip(origin.__type_params__, args, strict=False))
            return self._define(hint, lambda: self.read(substituted(_value_of(origin), types)))
        if origin is re.Pattern:
            return self._read_class(origin)
        if isinstance(origin, type) and has_members(origin):
            return self._define(hint, lambda: self._read_members(hint))
        return _refuse(hint)

    def _read_special(self, hint: Any) -> Reading:
        if hint is None:
            return {"type": "null"}, None
        if hint is Self and self._class is not None:
            return self.read(self._class)
        if isinstance(hint, TypeVar):
            return self.read(value_of_variable(hint))
        if hint is LiteralString:
            return self.read(str)
        if hasattr(hint, "__supertype__"):  # NewType
            return self.read(hint.__supertype__)
        if hasattr(hint, "__value__"):  # type X = ...
            return self._define(hint, lambda: self.read(_value_of(hint)))
        if is_text(hint):
            names = self._class_names()
            text = getattr(hint, "__forward_arg__", hint)
            if text in names or text not in self._names:
                return self.read(evaluate(hint, {}, names))
            return self._define(text, lambda: self.read(evaluate(hint, self._names, names)))
        return _refuse(hint)

    def _read_container(self, kind: Any, args: tuple[Any, ...]) -> Reading:
        if kind in MAPPINGS:
            schema, convert = self._read_mapping(args)
            create = MAPPINGS[kind]
            return schema, created(create, convert) if create else convert
        schema, item = self.read(args[0]) if args else ({}, None)
        collection: Schema = {"type": "array", "items": schema}
        factory = COLLECTIONS[kind]
        if factory in (set, frozenset):
            collection["uniqueItems"] = True
            if args and getattr(get_origin(args[0]) or args[0], "__hash__", None) is None:
                raise Unsupported(f"a set cannot hold {hint_name(args[0])}, which has no hash", "use a list")
        return collection, array(factory, item) if item or factory is not list else None

    def _read_tuple(self, args: tuple[Any, ...]) -> Reading:
        """Read a tuple with a type for each item; `*tuple[X, ...]` at the end stands for further ones."""
        rest = unpacked_type(args[-1]) if args else None
        readings = [self.read(arg) for arg in (args if rest is None else args[:-1])]
        schema: Schema = {"type": "array", "minItems": len(readings)}
        if rest is None:
            schema["maxItems"] = len(readings)
        schema["prefixItems"] = [part for part, _ in readings]
        converter = None
        if rest is not None:
            schema["items"], converter = self.read(rest)
        return schema, array(tuple, converter, [convert for _, convert in readings])

    def _read_mapping(self, args: tuple[Any, ...]) -> Reading:
        if not args:
            return {"type": "object"}, None
        names, key = integer_key() if args[0] is int else self.read(args[0])
        if args[0] is not int and names and names.get("type") != "string":
            raise Unsupported(f"{hint_name(args[0])} cannot be a key of a JSON object", "use str")
        schema, value = self.read(args[1])
        mapping: Schema = {"type": "object", "additionalProperties": schema or True}
        if names not in ({}, {"type": "string"}):
            mapping["propertyNames"] = names
        return mapping, entries(key, value) if key or value else None

    def _read_members(self, cls: Any) -> Reading:
        properties, required, converters, factory = self.read_members(cls)
        schema = object_schema(properties, required)
        if "NoExtraItems" not in repr(extra := getattr(get_origin(cls) or cls, "__extra_items__", "NoExtraItems")):
            schema["additionalProperties"], convert = self.read(extra)  # a TypedDict of PEP 728
            if convert:
                raise Unsupported(
                    f"extra_items of {hint_name(cls)} would need conversion", "use str, int, bool or dict"
                )
        return schema, members(converters, factory) if converters or factory else None

    def read_members(self, cls: Any) -> tuple[Schema, list[str], dict[str, Converter], Callable[..., Any] | None]:
        """Return the schemas of the members of a class, the required ones, the converters, and the class to create."""
        hints, required, defaults, factory = members_of(cls, self._class_names(), is_output=self._is_output)
        properties: Schema = {}
        converters: dict[str, Converter] = {}
        for name, hint in hints.items():
            try:
                schema, convert = self.read(hint)
            except Unsupported as error:
                raise Unsupported(f"field `{name}` of {hint_name(cls)}: {error.reason}", error.fix) from None
            properties[name] = with_default(schema, defaults[name]) if name in defaults else schema
            if convert:
                converters[name] = convert
        return properties, required, converters, factory

    def _read_model(self, hint: Any, adapter: Adapter) -> Reading:
        """Read a type of another library; its `$defs` move to the top of the tool's schema."""
        schema, definitions = model_schema(hint, adapter, is_output=self._is_output)
        names = {name: name for name in definitions}
        existing = definitions.keys() & self.defs.keys()
        if any(self.defs[name] != moved(definitions[name], names) for name in existing):
            names = {name: self._free_name(name) for name in definitions}
        for name, definition in definitions.items():
            self.defs[names[name]] = moved(definition, names)
        return moved(schema, names), validated(adapter)

    def _define(self, key: Any, read: Callable[[], Reading]) -> Reading:
        """Read a type that may refer to itself; it moves to `$defs` only if it does."""
        if key in self._open:
            reference = self._open[key]
            reference.name = reference.name or self._free_name(hint_name(key))
            return {"$ref": f"#/$defs/{reference.name}"}, reference
        reference = self._open[key] = _Reference()
        outer, self._class = self._class, self._class if isinstance(key, str) else key
        try:
            schema, reference.convert = read()
        finally:
            self._class = outer
            if reference.name is None:
                del self._open[key]
        if reference.name is None:
            return schema, reference.convert
        self.defs[reference.name] = schema
        return {"$ref": f"#/$defs/{reference.name}"}, reference

    def _free_name(self, name: str) -> str:
        """Reserve a name in `$defs`, with a number if it is taken."""
        base = free = re.sub(r"\W+", "_", name).strip("_")
        number = 2
        while free in self.defs:
            free, number = f"{base}{number}", number + 1
        self.defs[free] = {}
        return free

    def _class_names(self) -> dict[str, Any]:
        """Return names that the hints of these classes may use, even if their module does not have them."""
        classes = [get_origin(key) or key for key in self._open if not isinstance(key, str)]
        return {**self._local, **{cls.__name__: cls for cls in classes}}


class _Reference:
    """A reference from a type to itself: a converter that delegates to the complete one."""

    def __init__(self) -> None:
        self.name: str | None = None  # in `$defs`, once it is used
        self.convert: Converter | None = None

    def __call__(self, value: Any, path: Any, problems: Any) -> Any:
        return self.convert(value, path, problems) if self.convert else value


def _value_of(alias: Any) -> Any:
    """Evaluate `type X = ...`."""
    try:
        value = alias.__value__
    except NameError as error:
        raise Unsupported(f"the type {alias.__name__} cannot be evaluated: {error}", "define it") from error
    module = sys.modules.get(alias.__module__)
    return evaluate(value, vars(module) if module else {}, {alias.__name__: alias})


def _refuse(hint: Any) -> Reading:
    fix = _FIXES.get(getattr(get_origin(hint) or hint, "__name__", ""), SUPPORTED)
    if getattr(hint, "_is_protocol", False):
        fix = "a protocol has no instances: write a dataclass or a TypedDict with its members"
    raise Unsupported(f"{hint_name(hint)} cannot be created from JSON", fix)
