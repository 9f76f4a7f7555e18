"""One reading of the hints of a signature: which hint is read by what, and recursive types."""

from __future__ import annotations

import sys
from enum import Enum
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    LiteralString,
    NotRequired,
    Required,
    Self,
    Union,
    get_args,
    get_origin,
)

from tools_core._definition._hints._basic_types import JSON_TYPES, as_float, read_scalar
from tools_core._definition._hints._classes import class_reader
from tools_core._definition._hints._containers import CONTAINERS
from tools_core._definition._hints._metadata import annotate
from tools_core._definition._hints._models import is_model, read_model
from tools_core._definition._hints._reading import USABLE, Definition, HintReader, Reading, Unsupported, bare, hint_name
from tools_core._definition._hints._scope import is_text, resolve
from tools_core._definition._hints._unions import read_choices, read_union

if TYPE_CHECKING:
    from collections.abc import Callable

_QUALIFIERS = {Required, NotRequired, Final}
_FIXES = {
    "Callable": "JSON has no functions: take a name as a str, and look the function up",
    "type": "JSON has no classes: take a name as a str or a Literal",
}


class Reader(HintReader):
    """Finds what reads a hint, and follows types that use themselves."""

    def __init__(self, *, is_output: bool = False) -> None:
        super().__init__(is_output=is_output)
        self._class: Any = None  # the class that is being read, for `Self`

    def read(self, hint: Any) -> Reading:
        """Read one hint; raises Unsupported."""
        if isinstance(hint, type):
            json_type = JSON_TYPES.get(hint)
            return ({"type": json_type}, as_float if hint is float else None) if json_type else self._read_class(hint)
        origin = get_origin(hint)
        if origin is not None:
            return self._read_generic(hint, origin)
        return self._read_special(hint)

    def _read_class(self, hint: type[Any]) -> Reading:
        if hint is Any or hint is object:  # Any is a class
            return {}, None
        if hint in CONTAINERS:
            return CONTAINERS[hint](self, hint, ())
        if is_model(hint):  # first: a model may be a dataclass as well, but knows itself best
            return read_model(self, hint)
        if (read := class_reader(hint)) is not None:
            return self._define(hint, lambda: read(self, hint))
        if issubclass(hint, Enum):
            return read_choices(hint, tuple(hint))
        return read_scalar(hint) or _refuse(hint)

    def _read_generic(self, hint: Any, origin: Any) -> Reading:
        args = get_args(hint)
        if origin in CONTAINERS:
            return CONTAINERS[origin](self, hint, args)
        if origin is Union or origin is UnionType:
            return read_union(self, args)
        if origin is Annotated:
            self.is_foreign = self.is_foreign or any(type(one) is not str for one in hint.__metadata__)
            return annotate(self.read(args[0]), hint.__metadata__)
        if origin is Literal:
            return read_choices(hint, args)
        if origin in _QUALIFIERS:
            return self.read(args[0])
        return _refuse(hint)

    def _read_special(self, hint: Any) -> Reading:
        if hint is None:
            return {"type": "null"}, None
        if hint is LiteralString:
            return {"type": "string"}, None
        if hint is Self and self._class is not None:
            return self.read(self._class)
        if hasattr(hint, "__supertype__"):  # NewType
            return self.read(hint.__supertype__)
        if hasattr(hint, "__value__"):  # type X = ...
            return self._define(hint, lambda: self.read(_value_of(hint)))
        if is_text(hint):
            return self.read(resolve(hint, {}, self.class_names()))
        return _refuse(hint)

    def _define(self, key: Any, build: Callable[[], Reading]) -> Reading:
        """Read a type that may use itself; only if it does, it moves to `$defs`."""
        known = self.definitions.get(key)
        if known is not None:
            known.name = known.name or self.free_name(key.__name__)
            return {"$ref": f"#/$defs/{known.name}"}, known
        definition = self.definitions[key] = Definition()
        outer, self._class = self._class, key
        try:
            schema, definition.convert = build()
        finally:
            self._class = outer
            if definition.name is None:
                del self.definitions[key]
        if definition.name is None:
            return schema, definition.convert
        self.defs[definition.name] = schema
        return {"$ref": f"#/$defs/{definition.name}"}, definition


def _value_of(alias: Any) -> Any:
    """Evaluate `type X = ...`."""
    try:
        value = alias.__value__
    except NameError as error:
        raise Unsupported(f"the type {alias.__name__} cannot be evaluated: {error}", "define it") from error
    module = sys.modules.get(alias.__module__)
    return resolve(value, vars(module) if module else {}, {alias.__name__: alias})


def _refuse(hint: Any) -> Reading:
    fix = _FIXES.get(getattr(bare(hint), "__name__", ""), USABLE)
    raise Unsupported(f"{hint_name(hint)} cannot be made from JSON", fix)
