"""`@tool`: a function as a tool, which stays the function that it was."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypedDict, TypeVar, Unpack, overload

from tools_core._definition._naming import check_name
from tools_core._tools._tool import HINTS, Tool, annotations_of, check_attributes
from tools_core._values._errors import DefinitionError
from tools_core._values._frozen import FrozenList

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tools_core._definition._parameter import Parameter
    from tools_core._definition._spec import Spec

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


class Options(TypedDict, total=False):
    """The options of `@tool(...)`; each has the meaning of the `Tool` attribute of that name."""

    name: str
    description: str
    desc: str
    input_schema: Mapping[str, Any]
    parameters: Sequence[Parameter]
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    timeout: float
    requires_approval: bool
    repair: bool
    tags: Sequence[str]
    stateful: bool
    manages_timeout: bool


class FunctionTool(Tool, Generic[P, R], abstract=True):
    """A tool made of a function; calling it calls the function, with its own types and no validation."""

    _method: tuple[Any, str] | None = None  # the toolset and the method that it is the tool of

    def __init__(self, function: Callable[P, R], *, spec: Spec | None = None, **options: Unpack[Options]) -> None:
        where = f"{getattr(function, '__module__', None) or '?'}.{getattr(function, '__qualname__', function)}"
        unknown = options.keys() - Options.__annotations__.keys()
        if unknown:
            raise DefinitionError(
                f"{where}: @tool has no option {min(unknown)!r}; it has {', '.join(Options.__annotations__)}"
            )
        self._options = options.copy() if spec is None else Options()  # what defines it besides the function
        schema, parameters = options.pop("input_schema", None), options.pop("parameters", ())
        self._spec = spec or _define(function, owner=where, input_schema=schema, parameters=parameters)
        self.input_schema, self.output_schema = self._spec.input_schema, self._spec.output_schema
        self.name = check_name(options.pop("name", None) or getattr(function, "__name__", ""), where)
        described = options.pop("description", None) or options.get("desc")
        options.pop("desc", None)
        self.description = (described or self._spec.description).strip()
        for name, value in options.items():
            setattr(self, name, value)
        check_attributes(self, where)
        self.annotations = annotations_of(self)
        self.tags = FrozenList(self.tags)
        self.execute = function  # type: ignore[method-assign]
        self.__wrapped__ = function
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__type_params__"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))

    @property
    def parameters(self) -> Mapping[str, Parameter]:  # type: ignore[override]
        """The parameters by name, in their order."""
        return self._spec.parameters

    def __new__(cls, *_: Any, **__: Any) -> FunctionTool[P, R]:
        return object.__new__(cls)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.__wrapped__(*args, **kwargs)

    if TYPE_CHECKING:  # a method of a Toolset is in truth a ToolMethod, which type checkers cannot tell from its `self`

        @overload
        def __get__(self, instance: None, owner: type) -> Self: ...
        @overload
        def __get__(
            self: FunctionTool[Concatenate[S, Q], R], instance: S, owner: type | None = None
        ) -> Callable[Q, R]: ...
        @overload  # a static method
        def __get__(self, instance: object, owner: type | None = None) -> Callable[P, R]: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """On an instance the method, bound as ever."""
    else:

        def __get__(self, instance: object, owner: type | None = None) -> Self:
            """Return the tool: an object with this method counts as a routine, whose signature `help` shows."""
            return self

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __reduce__(self) -> Any:
        """By reference to the module's tool or function, with all that this tool was given besides."""
        if self._method is not None:
            return _again, (*self._method, self._options, self._changes())
        function = self.__wrapped__
        found: Any = sys.modules.get(self.__module__)
        for part in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, part, None)
        if found is self:
            return str(vars(self)["__qualname__"])
        if isinstance(found, FunctionTool) and found.__wrapped__ is function:
            return _again, (found, None, self._options, self._changes())
        return _again, (function, None, self._options, self._changes())

    def _changes(self) -> dict[str, Any]:
        """Return all that another process cannot derive from the function."""
        return {name: value for name, value in vars(self).items() if name not in _DERIVED}

    def __repr__(self) -> str:
        return f"<tool {self.name!r} of {self.__module__}.{getattr(self, '__qualname__', '?')}>"


class ToolMethod(Generic[P, R]):
    """A method of a `Toolset` with `@tool` options; on an instance it is the method, bound as ever."""

    def __init__(self, function: Callable[P, R], options: Options, *, is_static: bool = False) -> None:
        self.function = function
        self.options = options
        self.is_static = is_static
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        is_plain = instance is None or self.is_static
        return self.function if is_plain else self.function.__get__(instance, owner)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[P, R], /, **options: Unpack[Options]) -> FunctionTool[P, R]: ...
@overload
def tool(**options: Unpack[Options]) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Make a tool of a function: `@tool`, `@tool(read_only=True, ...)` or `tool(function, name="...")`.

    The result still is the function, typed and callable, and a `Tool` besides. DefinitionError where a model could
    not call it. On a method of a `Toolset` it sets the options of that method.

    Options, each with the meaning of the `Tool` attribute of that name: `name`, `description` (or `desc`),
    `input_schema`, `parameters`, `read_only`, `destructive`, `idempotent`, `open_world`, `timeout`,
    `requires_approval`, `repair`, `tags`, `stateful`, `manages_timeout`.
    """
    if function is None:
        return lambda function: tool(function, **options)
    if isinstance(function, FunctionTool):
        given = {**_options_of(function), **options}
        kept = None if options.keys() & {"input_schema", "parameters"} else function._spec
        if not options.keys() & {"description", "desc"}:
            given["description"] = function.description
        made: FunctionTool[..., Any] = FunctionTool(function.__wrapped__, spec=kept, **given)
        made._method = function._method
        made._options = {**function._options, **options}  # type: ignore[typeddict-item]
        return made
    if isinstance(function, classmethod):
        raise _no_class_method(function)
    if isinstance(function, staticmethod):
        return ToolMethod(function.__func__, options, is_static=True)  # type: ignore[arg-type]
    return ToolMethod(function, options) if _is_method(function) else FunctionTool(function, **options)  # type: ignore[arg-type]


# Derived from the function, also in another process.
_DERIVED = frozenset({
    "_spec", "_method", "_options", "input_schema", "output_schema", "execute", "__wrapped__",
    "__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__type_params__",
})  # fmt: skip


def _again(base: Any, method: str | None, options: Options, changes: dict[str, Any]) -> FunctionTool[..., Any]:
    """Make a tool once more: of its function, of a tool with that function, or of a toolset and one of its methods."""
    made: FunctionTool[..., Any] = base if method is None else base.tool(method)
    if method is None or options.keys() & {"input_schema", "parameters"}:
        made = FunctionTool(getattr(made, "__wrapped__", made), **{**options, "name": changes["name"]})
        made._method = None if method is None else (base, method)
    vars(made).update(changes)
    return made


def _define(function: Any, **given: Any) -> Spec:
    from tools_core._definition._define import define  # programs that only call tools never load it

    return define(function, **given)


def _options_of(made: FunctionTool[..., Any]) -> dict[str, Any]:
    names = (*HINTS, "name", "timeout", "requires_approval", "repair", "tags", "stateful", "manages_timeout")
    return {name: vars(made)[name] for name in names if name in vars(made)}


def _is_method(function: Any) -> bool:
    """Return whether this is a function in a class body: its first parameter is an untyped `self`."""
    code = getattr(function, "__code__", None)
    if hasattr(function, "__self__"):  # bound already
        return False
    if code is None or code.co_argcount == 0 or code.co_varnames[0] not in ("self", "cls"):
        return False
    first = code.co_varnames[0]
    if first in getattr(function, "__annotations__", {}):
        return False
    owner, _, name = function.__qualname__.rpartition(".")
    if not owner or owner.endswith("<locals>"):
        raise DefinitionError(f"{function.__module__}.{name} is not a method: remove its parameter `{first}`")
    if first == "cls":
        raise _no_class_method(function)
    return True


def _no_class_method(function: Any) -> DefinitionError:
    return DefinitionError(f"{function.__qualname__}: a class method cannot be a tool; use @staticmethod or `self`")
