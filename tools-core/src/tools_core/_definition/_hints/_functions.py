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

    __slots__ = ("by_position", "defaults", "docstring", "hints", "keywords", "name", "star", "written")

    def __init__(self, name: str, written: Any, hints: Mapping[str, Any]) -> None:
        self.name = name
        self.written = written  # the function whose module and closure the hints refer to
        self.hints = hints
        self.docstring: str | None = written.__doc__
        self.defaults: dict[str, Any] = {}  # every parameter in order; MISSING for one without a default
        self.by_position: tuple[str, ...] = ()  # parameters that cannot be passed by name
        self.star: str | None = None  # the name of *args
        self.keywords: str | None = None  # the name of **kwargs

    def hint(self, name: str) -> Any:
        """Return the evaluated hint of a parameter, MISSING if it has none; raises Unsupported."""
        hint = self.hints.get(name, MISSING)
        if hint.__class__ is type or not is_text(hint):
            return hint
        return resolve(hint, getattr(self.written, "__globals__", {}), _names_around(self.written))


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
    found = Function(_name_of(function), function, annotations_of(function))
    found.defaults = dict.fromkeys(names[first:end], MISSING)
    if function.__defaults__:
        start = positional - len(function.__defaults__)
        found.defaults.update(zip(names[start:positional], function.__defaults__, strict=True))
    if function.__kwdefaults__:
        found.defaults.update(function.__kwdefaults__)
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
    # What a partial has bound is settled: the model neither sees it nor overrides it.
    settled = function.keywords if isinstance(function, partial) else {}
    parameters = [one for one in list(signature.parameters.values())[int(bound) :] if one.name not in settled]
    hints = {one.name: one.annotation for one in parameters if one.annotation is not one.empty}
    if signature.return_annotation is not signature.empty:
        hints["return"] = signature.return_annotation
    found = Function(_name_of(function), _written(function), hints)
    if not found.docstring and not isinstance(function, partial):
        found.docstring = function.__doc__
    named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    found.defaults = {one.name: MISSING if one.default is one.empty else one.default for one in named}
    found.by_position = tuple(one.name for one in named if one.kind is one.POSITIONAL_ONLY)
    found.star = next((one.name for one in parameters if one.kind is one.VAR_POSITIONAL), None)
    found.keywords = next((one.name for one in parameters if one.kind is one.VAR_KEYWORD), None)
    return found


def _written(function: Any) -> Any:
    """Find the function that someone wrote, below partials, decorators and callable objects."""
    for _ in range(100):  # an object that answers to every attribute would have no end
        inner = _inner(function)
        if inner is None:
            break
        function = inner
    return function


def _inner(function: Any) -> Any:
    kind: type[Any] = type(function)
    for name in ("func",) if issubclass(kind, partial) else ("__wrapped__", "__func__"):
        if hasattr(function, name):
            return getattr(function, name)
    call = kind.__dict__.get("__call__")
    return call if isinstance(call, FunctionType) else None


def _name_of(function: Any) -> str:
    written = _written(function)
    name = getattr(written, "__qualname__", None)
    if not isinstance(name, str):
        name = type(written).__qualname__
    return name.rpartition("<locals>.")[2]


def _names_around(function: Any) -> dict[str, Any]:
    """Collect the names that the function sees besides its module's: type parameters and closure."""
    found = {one.__name__: one for one in getattr(function, "__type_params__", ())}
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    for name, cell in zip(code.co_freevars if code else (), cells or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # assigned only after the function was defined
            continue
    return found
