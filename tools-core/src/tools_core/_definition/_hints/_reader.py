"""`Reader`: from type hints to JSON Schema and converters, recursive types included."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from types import UnionType
from typing import (
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

from tools_core._definition._hints._annotations import (
    SUPPORTED,
    HintReader,
    Reading,
    Schema,
    Unsupported,
    evaluate,
    hint_name,
    is_text,
    origin_of,
)
from tools_core._definition._hints._classes import class_reader
from tools_core._definition._hints._containers import CONTAINERS
from tools_core._definition._hints._converters import Converter
from tools_core._definition._hints._metadata import annotate
from tools_core._definition._hints._models import is_model, read_model
from tools_core._definition._hints._scalars import SCALARS, as_float, read_scalar
from tools_core._definition._hints._unions import read_choices, read_union

_QUALIFIERS = {Required, NotRequired, Final}
_FIXES = {
    "Callable": "JSON has no functions: take a name as a str, and look the function up",
    "type": "JSON has no classes: take a name as a str or a Literal",
}


class Reader(HintReader):
    """Reads the hints of one signature; `defs` collects the `$defs` of its schema."""

    def __init__(self, *, is_output: bool = False) -> None:
        self.defs: Schema = {}
        self.is_output = is_output
        self.is_foreign = False
        self._open: dict[Any, _Reference] = {}  # the types that are being read
        self._class: Any = None  # the innermost of them, for `Self`

    def read(self, hint: Any) -> Reading:
        """Return the schema of a hint, and its converter; raises Unsupported."""
        if isinstance(hint, type):
            return self._read_class(hint)
        origin = get_origin(hint)
        if origin is not None:
            return self._read_generic(hint, origin)
        return self._read_special(hint)

    def _read_class(self, hint: type[Any]) -> Reading:
        if hint in SCALARS:
            return {"type": SCALARS[hint]}, as_float if hint is float else None
        if hint is Any or hint is object:  # Any is a class
            return {}, None
        if hint in CONTAINERS:
            return CONTAINERS[hint](self, hint, ())
        if is_model(hint):  # also if it is a dataclass
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
            self.is_foreign = self.is_foreign or any(type(item) is not str for item in hint.__metadata__)
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
            return self.read(evaluate(hint, {}, self.class_names()))
        return _refuse(hint)

    def _define(self, key: Any, read: Callable[[], Reading]) -> Reading:
        """Read a type that may refer to itself; it moves to `$defs` only if it does."""
        if key in self._open:
            reference = self._open[key]
            reference.name = reference.name or self.free_name(key.__name__)
            return {"$ref": f"#/$defs/{reference.name}"}, reference
        reference = self._open[key] = _Reference()
        outer, self._class = self._class, key
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

    def free_name(self, name: str) -> str:
        """Reserve a name in `$defs`, with a number if it is taken."""
        base = free = re.sub(r"\W", "_", name)
        number = 2
        while free in self.defs:
            free, number = f"{base}{number}", number + 1
        self.defs[free] = {}
        return free

    def class_names(self) -> Mapping[str, Any]:
        """Return names that the hints of these classes may use, even if their module does not have them."""
        return {key.__name__: key for key in self._open}


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
    fix = _FIXES.get(getattr(origin_of(hint), "__name__", ""), SUPPORTED)
    raise Unsupported(f"{hint_name(hint)} cannot be created from JSON", fix)
