"""`@tool`: turn a function into a tool that can still be called as the function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from inspect import unwrap
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack, overload

from tools_core._definition._define import define
from tools_core._definition._spec import Spec
from tools_core._tools._options import (
    OPTIONS,
    SCHEMAS,
    Options,
    check_hints,
    check_name,
    check_option,
    check_options,
)
from tools_core._tools._tool import Tool
from tools_core._tools._wrapped import Body, check_hidden, is_tool, options_below, tool_below, tool_of_method
from tools_core._values._errors import DefinitionError

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")

_COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__type_params__")


class FunctionTool(Tool, Generic[P, R], abstract=True):
    """A tool that wraps a function; calling it calls the function, without validation."""

    _method: tuple[Any, str] | None = None  # the toolset and the method that it wraps
    _needs_setup: bool = False  # of its toolset

    def __init__(self, function: Callable[P, R], *, spec: Spec | None = None, **options: Unpack[Options]) -> None:
        owner = _name_of(function)
        attributes: dict[str, Any] = {**options}
        check_options(attributes, owner)
        self._options = {**attributes}
        schemas = {name: attributes.pop(name) for name in SCHEMAS if name in attributes}
        self._spec = spec or define(function, owner=owner, **schemas)
        attributes["name"] = check_name(attributes.get("name") or getattr(function, "__name__", ""), owner)
        desc = attributes.pop("desc", None)
        attributes["description"] = attributes.get("description") or desc or self._spec.description
        for name, value in attributes.items():
            check_option(name, value, owner)
        vars(self).update(attributes, description=attributes["description"].strip())
        self.tags = list(self.tags)
        check_hints(self, owner)
        self.execute = Body.of(self, function)  # type: ignore[method-assign]  # each tool has its function
        self.__wrapped__ = function
        for name in _COPIED:
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))

    def __new__(cls, *_: Any, **__: Any) -> FunctionTool[P, R]:
        return object.__new__(cls)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.__wrapped__(*args, **kwargs)

    if TYPE_CHECKING:  # type checkers take a method of a Toolset, in fact a function, for one of these

        @overload
        def __get__(self, instance: None, owner: type) -> Self: ...
        @overload
        def __get__(
            self: FunctionTool[Concatenate[S, Q], R], instance: S, owner: type | None = None
        ) -> Callable[Q, R]: ...
        @overload  # a static method
        def __get__(self, instance: object, owner: type | None = None) -> Callable[P, R]: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the bound method of an instance."""
    else:

        def __get__(self, instance: object, owner: type | None = None) -> Self:
            """Return the tool. `help` shows the signatures of objects that have this method."""
            return self

    def __copy__(self) -> Self:
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def __reduce__(self) -> Any:
        """Pickle by reference: a name in a module, or a function or a method of a toolset with options."""
        if self._method is not None:
            return _unpickle_method, (*self._method, self._current_options())
        target: Any = sys.modules.get(self.__module__)
        qualified_name = getattr(self, "__qualname__", "")
        for part in qualified_name.split("."):
            target = getattr(target, part, None)
        if target is self:
            return str(qualified_name)
        # A decorated function can only be found as its tool.
        is_decorated = isinstance(target, FunctionTool) and target.__wrapped__ is self.__wrapped__
        return _unpickle, (target if is_decorated else self.__wrapped__, self._current_options())

    def _current_options(self) -> Options:
        return {**self._options, **{name: vars(self)[name] for name in OPTIONS if name in vars(self)}}  # type: ignore[typeddict-item]  # its keys are those of OPTIONS

    def __repr__(self) -> str:
        return f"<tool {self.name!r} of {self.__module__}.{getattr(self, '__qualname__', '?')}>"


def _unpickle(function: Any, options: Options) -> FunctionTool[..., Any]:
    return FunctionTool(function.__wrapped__ if is_tool(function) else function, **options)


def _unpickle_method(toolset: Any, method: str, options: Options) -> FunctionTool[..., Any]:
    return _with_options(toolset.tool(method), options)


def function_tool(function: Callable[P, R], **options: Any) -> FunctionTool[P, R]:
    """Return the tool of a callable, with the options of the tool that it wraps, if there is one.

    Raises: DefinitionError if the tool below cannot be wrapped here.
    """
    owner = _name_of(function)
    below = tool_below(function)
    if isinstance(below, FunctionTool):
        if below._needs_setup:
            raise DefinitionError(f"{owner}: decorate the method in its class, whose `setup` would not run here")
        options = {**below._current_options(), **options}
    elif below is not None:
        name = below.__name__ if isinstance(below, type) else type(below).__name__
        raise DefinitionError(f"{owner} wraps the tool class {name}: decorate its `execute`, and register an instance")
    else:
        method_options = options_below(function)
        if method_options and getattr(function, "__self__", None) is not None:
            raise DefinitionError(f"{owner}: @tool on a method needs a class that inherits from Toolset")
        options = {**method_options, **options}
    check_hidden(function, options, owner)
    return FunctionTool(function, **options)


def _name_of(function: Any) -> str:
    return f"{getattr(function, '__module__', None) or '?'}.{getattr(function, '__qualname__', function)}"


@overload
def tool(function: Callable[P, R], /, **options: Unpack[Options]) -> FunctionTool[P, R]: ...
@overload
def tool(**options: Unpack[Options]) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Turn a function into a tool: `@tool`, `@tool(read_only=True, ...)` or `tool(function, name="...")`.

    The result is a `Tool`, and still the function, with its types. On a method of a `Toolset` it sets the options of
    that method. Raises DefinitionError if a model could not call the function.

    The options are the attributes of `Tool`, with the same names and meanings.
    """
    if function is None:
        return lambda function: tool(function, **options)
    whole = function if is_tool(function) else tool_of_method(function)
    if isinstance(whole, FunctionTool):
        return _with_options(whole, options)
    if isinstance(function, type):
        name = function.__name__
        raise DefinitionError(f"{name} is a class: write class {name}(Tool) with `execute`, or decorate its methods")
    if isinstance(function, classmethod):
        raise _class_method_error(function)
    if not callable(function):
        raise DefinitionError(f"{type(function).__name__} {function!r} is not a function; put @tool on a function")
    is_static = isinstance(function, staticmethod)
    method: Any = function.__func__ if is_static else function
    if is_static and is_tool(method):
        return staticmethod(tool(method, **options))
    if not is_static and not _is_method(function):
        return function_tool(function, **options)
    check_options(options, _name_of(method))
    method.__tool_options__ = {**options_below(method), **options}  # for Toolset
    return function


def _with_options(base: FunctionTool[P, R], options: Mapping[str, Any]) -> FunctionTool[P, R]:
    """Return a tool of the same function with other options."""
    changes = {"description" if name == "desc" else name: value for name, value in options.items()}
    is_same = all(changes[name] is base._options.get(name) for name in changes.keys() & set(SCHEMAS))
    current: Any = {**base._current_options(), **changes}
    changed: FunctionTool[P, R] = FunctionTool(base.__wrapped__, spec=base._spec if is_same else None, **current)
    changed._method, changed._needs_setup = base._method, base._needs_setup
    return changed


def _is_method(function: Any) -> bool:
    """Return whether this is a function in a class body: its first parameter is an untyped `self`."""
    method: Any = unwrap(function)
    code = getattr(method, "__code__", None)
    if code is None or code.co_argcount == 0 or hasattr(method, "__self__"):  # not Python, or bound already
        return False
    first = code.co_varnames[0]
    if first not in ("self", "cls") or first in method.__annotations__:
        return False
    owner, _, name = method.__qualname__.rpartition(".")
    if not owner or owner.endswith("<locals>"):
        raise DefinitionError(f"{method.__module__}.{name} is not a method: remove its parameter `{first}`")
    if first == "cls":
        raise _class_method_error(function)
    return True


def _class_method_error(function: Any) -> DefinitionError:
    return DefinitionError(f"{function.__qualname__}: a class method cannot be a tool; use @staticmethod or `self`")
