"""Hints for collections and mappings."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable
from typing import Any, TypeAlias

from tools_core._definition._hints._annotations import HintReader, Reading, Schema, Unsupported, hint_name, origin_of
from tools_core._definition._hints._converters import Converter, array, entries
from tools_core._definition._hints._scalars import integer_key

ReadContainer: TypeAlias = "Callable[[HintReader, Any, tuple[Any, ...]], Reading]"


def _read_list(reader: HintReader, _hint: Any, args: tuple[Any, ...]) -> Reading:
    schema, item = reader.read(args[0]) if args else ({}, None)
    return {"type": "array", "items": schema}, array(list, item) if item else None


def _read_set(reader: HintReader, hint: Any, args: tuple[Any, ...]) -> Reading:
    if args and getattr(origin_of(args[0]), "__hash__", None) is None:
        raise Unsupported(f"a set cannot hold {hint_name(args[0])}, which has no hash", "use a list")
    schema, item = reader.read(args[0]) if args else ({}, None)
    factory = frozenset if origin_of(hint) is frozenset else set
    return {"type": "array", "items": schema, "uniqueItems": True}, array(factory, item)


def _read_tuple(reader: HintReader, hint: Any, args: tuple[Any, ...]) -> Reading:
    if len(args) == 2 and args[1] is ...:
        args = args[:1]
    elif args or hint == tuple[()]:
        return _read_fixed_tuple(reader, args)
    schema, item = reader.read(args[0]) if args else ({}, None)
    return {"type": "array", "items": schema}, array(tuple, item)


def _read_fixed_tuple(reader: HintReader, args: tuple[Any, ...]) -> Reading:
    readings = [reader.read(arg) for arg in args]
    schema: Schema = {"type": "array", "minItems": len(args), "maxItems": len(args)}
    if readings:
        schema["prefixItems"] = [item for item, _ in readings]
    return schema, array(tuple, None, [convert for _, convert in readings])


def _read_mapping(reader: HintReader, _hint: Any, args: tuple[Any, ...]) -> Reading:
    if not args:
        return {"type": "object"}, None
    names, key = _read_key(reader, args[0])
    schema, value = reader.read(args[1])
    mapping: Schema = {"type": "object", "additionalProperties": schema or True}
    if names:
        mapping["propertyNames"] = names
    return mapping, entries(key, value) if key or value else None


def _read_key(reader: HintReader, hint: Any) -> tuple[Schema, Converter | None]:
    if hint is int:
        return integer_key()
    schema, convert = reader.read(hint)
    if schema in ({}, {"type": "string"}) and convert is None:
        return {}, None
    if schema.get("type") != "string":
        raise Unsupported(f"{hint_name(hint)} cannot be a key of a JSON object", "use str")
    return schema, convert


_SEQUENCES = (list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection, abc.Reversible)
CONTAINERS: dict[Any, ReadContainer] = {
    **dict.fromkeys(_SEQUENCES, _read_list),
    tuple: _read_tuple,
    **dict.fromkeys((set, frozenset, abc.Set, abc.MutableSet), _read_set),
    **dict.fromkeys((dict, abc.Mapping, abc.MutableMapping), _read_mapping),
}
