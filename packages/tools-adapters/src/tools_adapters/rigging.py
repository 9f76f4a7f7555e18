"""Toolsets in rigging's format: every method takes described scalars and returns a string.

`get_description()` returns a toolset as plain records for a prompt; `execute(call)` runs a call that the model wrote
as text.

    >>> from typing import Annotated
    >>> from tools_core import ToolCall
    >>> class Hammer(StrictToolset):
    ...     name = "Hammer"
    ...     description = "Hits things."
    ...     def hit(self, target: Annotated[str, "What to hit"], times: Annotated[int, "How often"] = 1) -> str:
    ...         return f"hit {target} x{times}"
    >>> Hammer().get_description().functions[0].parameters[1]
    ToolParameter(name='times', type='int', description='How often')
    >>> print(Hammer().execute(ToolCall(None, "hit", {"target": "nail", "times": "2"})))
    hit nail x2
"""

from __future__ import annotations

import inspect
import typing
from collections import ChainMap
from typing import Annotated, Any, ClassVar, NamedTuple, cast

from tools_core import InvalidArguments, Result, ToolCall, Toolset

__all__ = [
    "SUPPORTED_TOOL_ARGUMENT_TYPES",
    "SUPPORTED_TOOL_ARGUMENT_TYPES_LIST",
    "StrictToolset",
    "ToolDescription",
    "ToolFunction",
    "ToolParameter",
]

SUPPORTED_TOOL_ARGUMENT_TYPES = int | float | str | bool
SUPPORTED_TOOL_ARGUMENT_TYPES_LIST: list[type] = [int, float, str, bool]


class ToolParameter(NamedTuple):
    """A parameter; `type` is `int`, `float`, `str` or `bool`."""

    name: str
    type: str
    description: str


class ToolFunction(NamedTuple):
    """A method of a toolset."""

    name: str
    description: str
    parameters: list[ToolParameter]


class ToolDescription(NamedTuple):
    """A toolset and its functions, sorted by name."""

    name: str
    description: str
    functions: list[ToolFunction]


class _Calls:
    """The methods of `StrictToolset` that are not tools: a toolset has the methods of the bases before `Toolset`."""

    _functions: ClassVar[list[ToolFunction]] = []

    def get_description(self) -> ToolDescription:
        """Return the toolset as plain records for a prompt."""
        toolset = cast("StrictToolset", self)
        return ToolDescription(toolset.name, toolset.description, list(self._functions))

    def execute(self, call: ToolCall) -> Result:
        """Run a call of `hit`, `Hammer.hit` or `Hammer_hit`; never raises an Exception.

        Values are converted to the declared type: `"5"` for an `int`, `"false"` for a `bool`, `5` for a `str`.
        """
        toolset = cast("StrictToolset", self)
        functions = {function.name: function for function in self._functions}
        name = call.name
        for separator in "._":
            if name not in functions:
                name = name.removeprefix(f"{toolset.name}{separator}")
        metadata = {"tool": toolset.name, "function": name}
        if name not in functions:
            message = f"Function '{name}' does not exist on '{toolset.name}'"
            return Result.error(message, type="unknown_tool", metadata=metadata)
        texts = {parameter.name for parameter in functions[name].parameters if parameter.type == "str"}
        try:
            arguments = {key: _as_text(value) if key in texts else value for key, value in call.arguments.items()}
        except InvalidArguments as error:
            return Result.error(error.message, type=error.type, metadata=metadata)
        return toolset.tool(name).call(arguments).with_metadata(metadata)


class StrictToolset(Toolset, _Calls):
    """A toolset whose methods all look like `def hit(self, target: Annotated[str, "What to hit"]) -> str`.

    `name` and `description` are required, as class attributes, class keywords or properties. Parameters are
    `int`, `float`, `str` or `bool`, optionally with a default. A class that breaks a rule raises TypeError.
    """

    def __init_subclass__(cls, *, name: str | None = None, description: str | None = None, **options: Any) -> None:
        attributes = ChainMap(*(dict(vars(base)) for base in cls.__mro__ if not issubclass(StrictToolset, base)))
        for attribute, value in (("name", name), ("description", description)):
            if not (value or attributes.get(attribute)):
                raise TypeError(f"{cls.__name__} must define '{attribute}': a class attribute, keyword or property")
        cls._functions = [_describe_function(method, function) for method, function in _methods(cls)]
        super().__init_subclass__(name=name, description=description, **options)


def _methods(cls: type[StrictToolset]) -> list[tuple[str, Any]]:
    """Return the public methods of a subclass, bound as on an instance, sorted by name."""
    names = [name for name in dir(cls) if not name.startswith("_") and not hasattr(StrictToolset, name)]
    attributes = [(name, inspect.getattr_static(cls, name)) for name in names]
    instance = object.__new__(cls)
    return [
        (name, attribute.__get__(instance, cls))  # a signature without `self`
        for name, attribute in attributes
        if callable(getattr(cls, name)) and not isinstance(attribute, classmethod | type)
    ]


def _describe_function(name: str, function: Any) -> ToolFunction:
    """Check a method against the rules, in rigging's order; TypeError names the method and the parameter."""
    try:
        hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except NameError as error:
        raise TypeError(f"Functions must have type hints that can be evaluated: {error} ({name})") from error
    if "return" not in hints:
        raise TypeError(f"Functions must have return type hints ({name})")
    if hints["return"] is not str:
        raise TypeError(f"Functions must return strings ({name})")
    parameters: list[ToolParameter] = []
    for parameter in inspect.signature(function).parameters.values():
        label = f"{name}#{parameter.name}"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"Parameters must be positional or keyword ({label})")
        parameters.append(_describe_parameter(parameter.name, hints.get(parameter.name), label))
    return ToolFunction(name, (function.__doc__ or "").strip(), parameters)


def _describe_parameter(name: str, hint: Any, label: str) -> ToolParameter:
    if hint is None:
        raise TypeError(f"Parameters must have type hints ({label})")
    arguments = typing.get_args(hint) if typing.get_origin(hint) is Annotated else ()
    if len(arguments) != 2 or not isinstance(arguments[1], str):
        raise TypeError(f'Parameters must be annotated like Annotated[<type>, "<description>"] ({label})')
    if arguments[0] not in SUPPORTED_TOOL_ARGUMENT_TYPES_LIST:
        types = SUPPORTED_TOOL_ARGUMENT_TYPES_LIST
        raise TypeError(f"Parameters must be annotated with one of these types: {types} ({label})")
    return ToolParameter(name, arguments[0].__name__, arguments[1])


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
