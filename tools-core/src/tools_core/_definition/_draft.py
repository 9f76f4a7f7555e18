"""A tool's definition while it is put together from hints."""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union, get_args, get_origin

from tools_core._definition._hints import Converter, Reader, Unsupported, is_model
from tools_core._definition._hints._classes import object_of, with_default
from tools_core._definition._hints._convert import Problems
from tools_core._definition._hints._functions import MISSING, Function
from tools_core._definition._hints._metadata import annotate, field_default, is_field
from tools_core._values._context import Context
from tools_core._values._errors import DefinitionError, InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tools_core._values._problem import Problem

Arguments: TypeAlias = dict[str, Any]
# Converts arguments, except those that have problems already; InvalidArguments with all problems, if there are any.
Convert: TypeAlias = "Callable[[Arguments, Sequence[Problem]], Arguments]"
_GUESSED = (str, int, float, bool)


class Draft:
    """The definition while it is put together."""

    def __init__(self, shape: Function) -> None:
        self.shape = shape
        self.reader = Reader()
        self.context: str | None = None
        self.schema = object_of({}, [])
        self.converters: dict[str, Converter] = {}
        self.extra: Converter | None = None  # for what **kwargs takes
        self.defaults: dict[str, Callable[[], Any]] = {}  # those that the function itself does not have

    def infer(self, texts: Mapping[str, str]) -> None:
        """Take everything from type hints, defaults and docstring."""
        for name, default in self.shape.defaults.items():
            try:
                hint = self.shape.hint(name)
                if not self._takes_context(name, hint):
                    self._add(name, hint, default, texts.get(name))
            except Unsupported as error:
                raise self._failure(name, str(error)) from error
        if self.shape.keywords:
            try:
                self._add_extra(self.shape.hint(self.shape.keywords))
            except Unsupported as error:
                raise self._failure(f"**{self.shape.keywords}", str(error)) from error
        if self.reader.defs:
            self.schema["$defs"] = self.reader.defs

    def conversion(self) -> Convert | None:
        """Compose what has to happen between valid JSON and the call; None when nothing has to."""
        if not (self.converters or self.extra or self.defaults):
            return None
        converters, extra, defaults = self.converters, self.extra, self.defaults
        known = frozenset(self.schema["properties"])

        def convert(arguments: Arguments, found: Sequence[Problem] = ()) -> Arguments:
            problems = Problems(found)
            out = dict(arguments)
            for name, value in arguments.items():
                one = converters.get(name) if name in known else extra
                if one is not None:
                    out[name] = one(value, (None, name), problems)
            if problems:
                raise InvalidArguments(problems)
            for name, make in defaults.items():
                if name not in out:
                    out[name] = make()
            return out

        return convert

    def _takes_context(self, name: str, hint: Any) -> bool:
        if not is_context(hint):
            return False
        if self.context is not None:
            raise self._failure(name, f"is a second Context beside `{self.context}`; keep one")
        self.context = name
        return True

    def _add(self, name: str, hint: Any, default: Any, text: str | None) -> None:
        if name.startswith("_"):
            raise Unsupported("a leading underscore says private, yet a model has to use it", "rename it")
        reading = self.reader.read(_guessed(default) if hint is MISSING else hint)
        if is_field(default):
            self.reader.is_foreign = True
            reading = annotate(reading, [default])
            field, default = default, MISSING
        else:
            field = next(filter(is_field, getattr(hint, "__metadata__", ())), None)
        schema, convert = reading
        if default is MISSING and field is not None and (make := field_default(field)):
            self.defaults[name], default = make, field.default
        elif default is MISSING:
            self.schema["required"].append(name)
        # A text of the parameter's own goes before its docstring, and that before the docstring of a model.
        if text and ("description" not in schema or is_model(hint)):
            schema = {**schema, "description": text}
        self.schema["properties"][name] = schema if default is MISSING else with_default(schema, default)
        if convert:
            self.converters[name] = convert

    def _add_extra(self, hint: Any) -> None:
        schema, self.extra = ({}, None) if hint is MISSING else self.reader.read(hint)
        self.schema["additionalProperties"] = schema or True

    def _failure(self, parameter: str, reason: str) -> DefinitionError:
        return DefinitionError(f"{self.shape.name}: the parameter `{parameter}`: {reason}")


def _guessed(default: Any) -> type[Any]:
    """Take the type of a plain default for the hint that is missing."""
    kind: type[Any] = type(default)
    if kind in _GUESSED:
        return kind
    raise Unsupported("it has no type hint", "add one, as in `count: int`")


def is_context(hint: Any) -> bool:
    """Return whether a hint is Context, or Context | None."""
    if hint is Context:
        return True
    return get_origin(hint) in (Annotated, Union, UnionType) and any(map(is_context, get_args(hint)))
