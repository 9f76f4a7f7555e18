"""Hints for arrays, and for objects that are used as mappings."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_origin

from tools_core._definition._hints._basic_types import integer_key
from tools_core._definition._hints._convert import Converter, each, entries, fixed, gathered
from tools_core._definition._hints._reading import Reading, Schema, Unsupported, hint_name

if TYPE_CHECKING:
    from tools_core._definition._hints._reader import Reader

ReadContainer = Callable[["Reader", Any, tuple[Any, ...]], Reading]


def _read_list(reader: Reader, _hint: Any, args: tuple[Any, ...]) -> Reading:
    schema, item = reader.read(args[0]) if args else ({}, None)
    return {"type": "array", "items": schema}, each(item) if item else None


def _read_set(reader: Reader, hint: Any, args: tuple[Any, ...]) -> Reading:
    if args and getattr(get_origin(args[0]) or args[0], "__hash__", None) is None:
        raise Unsupported(f"a set cannot hold {hint_name(args[0])}, which has no hash", "use a list")
    schema, item = reader.read(args[0]) if args else ({}, None)
    make = frozenset if (get_origin(hint) or hint) is frozenset else set
    return {"type": "array", "items": schema, "uniqueItems": True}, gathered(make, item)


def _read_tuple(reader: Reader, hint: Any, args: tuple[Any, ...]) -> Reading:
    if len(args) == 2 and args[1] is ...:
        args = args[:1]
    elif args or hint == tuple[()]:
        return _read_fixed_tuple(reader, hint, args)
    item_schema, item = reader.read(args[0]) if args else ({}, None)
    return {"type": "array", "items": item_schema}, gathered(tuple, item)


def _read_fixed_tuple(reader: Reader, hint: Any, args: tuple[Any, ...]) -> Reading:
    if any(getattr(arg, "__unpacked__", False) for arg in args):
        raise Unsupported(f"{hint_name(hint)} has a part of any length", "use tuple[X, ...], or a list")
    readings = [reader.read(arg) for arg in args]
    schema: Schema = {"type": "array", "minItems": len(args), "maxItems": len(args)}
    if readings:
        schema["prefixItems"] = [one for one, _ in readings]
    return schema, fixed([item for _, item in readings])


def _read_mapping(reader: Reader, _hint: Any, args: tuple[Any, ...]) -> Reading:
    if not args:
        return {"type": "object"}, None
    names, key = _read_key(reader, args[0])
    schema, value = reader.read(args[1])
    out: Schema = {"type": "object", "additionalProperties": schema or True}
    if names:
        out["propertyNames"] = names
    return out, entries(key, value) if key or value else None


def _read_key(reader: Reader, hint: Any) -> tuple[Schema, Converter | None]:
    if hint is int:
        return integer_key()
    schema, convert = reader.read(hint)
    if schema in ({}, {"type": "string"}) and convert is None:
        return {}, None
    if schema.get("type") != "string":
        raise Unsupported(f"{hint_name(hint)} cannot be a key of a JSON object", "use str")
    return schema, convert


CONTAINERS: dict[Any, ReadContainer] = {
    list: _read_list,
    abc.Sequence: _read_list,
    abc.MutableSequence: _read_list,
    abc.Iterable: _read_list,
    abc.Collection: _read_list,
    abc.Reversible: _read_list,
    tuple: _read_tuple,
    set: _read_set,
    frozenset: _read_set,
    abc.Set: _read_set,
    abc.MutableSet: _read_set,
    dict: _read_mapping,
    abc.Mapping: _read_mapping,
    abc.MutableMapping: _read_mapping,
}
