"""Generic types: hints with their type variables replaced by the types that a hint names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import get_annotations
from typing import Any, AnyStr, Generic, NamedTuple, Protocol, TypeVar, Union, get_args, get_origin


class Binding(NamedTuple):
    """The types that a class gives to the type variables of a method, and the names in the class that its hints use."""

    types: Mapping[Any, Any]
    names: dict[str, Any]


def substituted(hint: Any, types: Mapping[Any, Any]) -> Any:
    """Return a hint with type variables replaced; others stay."""
    if isinstance(hint, TypeVar):
        return types.get(hint, hint)
    parameters: tuple[Any, ...] = getattr(hint, "__parameters__", ())
    if isinstance(hint, type) or types.keys().isdisjoint(parameters):
        return hint
    return hint[tuple(types.get(parameter, parameter) for parameter in parameters)]


def value_of_variable(variable: Any) -> Any:
    """Return the hint for a type variable that no type replaces: its bound, its constraints, its default, or Any."""
    if variable.__bound__ is not None:
        return variable.__bound__
    if variable is AnyStr:  # bytes come first, but nearly every text is also base64
        return str
    if variable.__constraints__:
        return Union[variable.__constraints__]  # noqa: UP007  (of a tuple)
    default = getattr(variable, "__default__", None)  # Python 3.13; a sentinel without one
    return default if default is not None and "NoDefault" not in repr(default) else Any


def member_types(hint: Any, hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hints of the members of a class or of a generic alias of one, without the variables it replaces."""
    cls = get_origin(hint) or hint
    types = _types_of(cls, get_args(hint))
    result: dict[str, Any] = {}
    bases = list(_lines(cls))
    if hasattr(cls, "__required_keys__"):  # a TypedDict has the annotations of its bases, too
        bases.reverse()
    for name, member in hints.items():
        owner = next((base for base in bases if name in get_annotations(base)), cls)
        result[name] = substituted(member, types.get(owner, types[cls]))
    return result


def binding_of_method(cls: Any, name: str) -> Binding:
    """Return what a class and the base that has this method add to its hints."""
    owner = next(base for base in cls.__mro__ if name in vars(base))
    names = {owner.__name__: owner} | type_parameters(owner) | types_in(owner)
    return Binding(_types_of(cls, ()).get(owner, {}), names)


def type_parameters(owner: Any) -> dict[str, Any]:
    """Return the type variables of `class A[T]` or `def f[T]()`, by name."""
    return {variable.__name__: variable for variable in getattr(owner, "__type_params__", ())}


def types_in(cls: type) -> dict[str, Any]:
    """Return the types and aliases that the body of a class defines, by name."""
    modules = ("typing", "types", "typing_extensions")  # of aliases
    return {key: item for key, item in vars(cls).items() if isinstance(item, type) or type(item).__module__ in modules}


def _types_of(cls: Any, args: Iterable[Any]) -> dict[Any, dict[Any, Any]]:
    """Return the types that replace the variables of a class and of each of its bases."""
    types: dict[Any, dict[Any, Any]] = {cls: dict(zip(getattr(cls, "__parameters__", ()), args, strict=False))}
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base) or base
        if origin not in (Generic, Protocol):
            types |= _types_of(origin, [substituted(arg, types[cls]) for arg in get_args(base)])
    return types


def _lines(cls: Any) -> Iterable[Any]:
    """Return the classes that may declare a member; the MRO of a TypedDict lacks its bases."""
    bases = [base for base in cls.__mro__ if base is not object]
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base) or base
        if isinstance(origin, type) and origin not in bases:
            bases += [line for line in _lines(origin) if line not in bases]
    return bases
