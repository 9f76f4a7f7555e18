"""The parameters of a callable: names, defaults, hints, docstring; without `inspect` for a plain function."""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from tools_core._definition._hints._scope import annotations_of, is_text, resolve
from tools_core._values._errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MISSING: Final[Any] = object()

_HAS_ARGS, _HAS_KEYWORDS = 0x04, 0x08  # inspect.CO_VARARGS and CO_VARKEYWORDS


class Function:
    """A callable as its author wrote it."""

    def __init__(self, written: Any, hints: Mapping[str, Any]) -> None:
        self.name = _name_of(written)
        self.written = written  # the function whose module the hints refer to
        self.hints = hints
        self.docstring: str | None = written.__doc__
        self.defaults: dict[str, Any] = {}  # every parameter in order; MISSING for one without a default
        self.bound: str | None = None  # the name of `self`, for a method
        self.by_position: tuple[str, ...] = ()  # parameters that cannot be passed by name
        self.star: str | None = None  # the name of *args
        self.keywords: str | None = None  # the name of **kwargs

    def hint(self, name: str) -> Any:
        """Return the evaluated hint of a parameter, MISSING if it has none; raises Unsupported."""
        hint = self.hints.get(name, MISSING)
        if hint.__class__ is type or not is_text(hint):
            return hint
        return resolve(hint, getattr(self.written, "__globals__", {}), {})


def read_function(function: Callable[..., Any], *, bound: bool = False) -> Function:
    """Read a callable; `bound` leaves out the first parameter, which is `self`."""
    try:
        if type(function) is FunctionType and not function.__dict__.keys() & {"__wrapped__", "__signature__"}:
            return _read_plain(function, bound)
        return _read_any(function, bound)
    except NameError as error:  # Python 3.14 evaluates annotations when they are read
        raise DefinitionError(f"{_name_of(function)}: an annotation cannot be evaluated: {error}") from error


def _read_plain(function: FunctionType, bound: bool) -> Function:
    code = function.__code__
    names, first, positional = code.co_varnames, int(bound), code.co_argcount
    end = positional + code.co_kwonlyargcount
    found = Function(function, annotations_of(function))
    found.bound = names[0] if bound else None
    found.defaults = dict.fromkeys(names[first:end], MISSING)
    defaults = function.__defaults__ or ()
    found.defaults.update(zip(names[positional - len(defaults) : positional], defaults, strict=True))
    found.defaults.update(function.__kwdefaults__ or {})
    found.by_position = names[first : code.co_posonlyargcount]
    if code.co_flags & _HAS_ARGS:
        found.star, end = names[end], end + 1
    if code.co_flags & _HAS_KEYWORDS:
        found.keywords = names[end]
    return found


def _read_any(function: Any, bound: bool) -> Function:
    import inspect  # 10 ms that a plain function does not need; partials, decorated and callable objects do

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        reason = "its parameters cannot be read; write a function with type hints around it"
        raise DefinitionError(f"{_name_of(function)}: {reason}") from error
    # Arguments that a partial has bound are neither shown to the model nor overridden by it.
    settled = function.keywords if isinstance(function, partial) else {}
    first, *others = [*signature.parameters.values()] if bound else [None, *signature.parameters.values()]
    parameters = [one for one in others if one and one.name not in settled]
    hints = {one.name: one.annotation for one in parameters if one.annotation is not one.empty}
    if signature.return_annotation is not signature.empty:
        hints["return"] = signature.return_annotation
    found = Function(_written(function), hints)
    found.bound = first.name if first else None
    if not found.docstring and not isinstance(function, partial):
        found.docstring = function.__doc__
    names: dict[Any, list[str]] = {}
    for one in parameters:
        names.setdefault(one.kind, []).append(one.name)
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            found.defaults[one.name] = MISSING if one.default is one.empty else one.default
    found.by_position = tuple(names.get(inspect.Parameter.POSITIONAL_ONLY, ()))
    found.star = names.get(inspect.Parameter.VAR_POSITIONAL, [None])[0]
    found.keywords = names.get(inspect.Parameter.VAR_KEYWORD, [None])[0]
    return found


def _written(function: Any) -> Any:
    """Find the function that someone wrote, below partials, decorators and callable objects."""
    while True:
        inner = getattr(function, "func", None) if isinstance(function, partial) else _inner(function)
        if inner is None:
            return function
        function = inner


def _inner(function: Any) -> Any:
    for name in ("__wrapped__", "__func__"):
        if name in getattr(function, "__dict__", ()) or hasattr(type(function), name):
            return getattr(function, name)
    call = vars(type(function)).get("__call__")
    return call if isinstance(call, FunctionType) else None


def _name_of(function: Any) -> str:
    written = _written(function)
    name = getattr(written, "__qualname__", None) or type(written).__qualname__
    return str(name).rpartition("<locals>.")[2]
