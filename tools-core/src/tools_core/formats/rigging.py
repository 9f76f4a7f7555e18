"""Toolsets under rigging's rules: every method takes described scalars and returns a string.

They serve models that read about their tools in a prompt: `get_description()` returns plain records of a toolset, its
functions and their parameters, and `execute(call)` answers a call by the function's name.
"""

from __future__ import annotations

import inspect
import typing
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

from tools_core._tools._toolset import Toolset, public_methods
from tools_core._values._errors import InvalidArguments
from tools_core._values._result import Result

if TYPE_CHECKING:
    from tools_core._values._tool_call import ToolCall

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
    """One parameter; `type` is `int`, `float`, `str` or `bool`."""

    name: str
    type: str
    description: str


class ToolFunction(NamedTuple):
    """One method of a toolset."""

    name: str
    description: str
    parameters: list[ToolParameter]


class ToolDescription(NamedTuple):
    """A toolset and its functions, sorted by name."""

    name: str
    description: str
    functions: list[ToolFunction]


class StrictToolset(Toolset):
    """A toolset whose methods all look like `def hit(self, target: Annotated[str, "What to hit"]) -> str`.

    `name` and `description` are required, as class attributes, class keywords or properties. Parameters are
    `int`, `float`, `str` or `bool`; they may have defaults. A class that breaks a rule is a TypeError.
    """

    _described: typing.ClassVar[list[ToolFunction]] = []

    def __init_subclass__(cls, *, name: str | None = None, description: str | None = None, **options: Any) -> None:
        own: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            own |= {} if issubclass(StrictToolset, base) else vars(base)
        for attribute, given in (("name", name), ("description", description)):
            if not (given or own.get(attribute)):
                raise TypeError(f"{cls.__name__} must define '{attribute}': a class attribute, keyword or property")
        cls._described = [
            describe_function(name, function, bound=bound) for name, function, bound, _ in public_methods(cls)
        ]
        super().__init_subclass__(name=name, description=description, **options)

    def get_description(self) -> ToolDescription:
        """Return the toolset as plain records, to be written into a prompt."""
        return ToolDescription(self.name, self.description, list(self._described))

    def execute(self, call: ToolCall) -> Result:
        """Answer a call of `hit`, `Hammer.hit` or `Hammer_hit`; never raises an Exception.

        Values are read by the declared type: `"5"` for an `int`, `"false"` for a `bool`, `5` for a `str`.
        """
        name = call.name
        for separator in "._":
            if name not in self._methods:
                name = name.removeprefix(f"{self.name}{separator}")
        metadata = {"tool": self.name, "function": name}
        function = next((each for each in self._described if each.name == name), None)
        if function is None:
            message = f"Function '{name}' does not exist on '{self.name}'"
            return Result.error(message, type="unknown_tool", metadata=metadata)
        texts = {parameter.name for parameter in function.parameters if parameter.type == "str"}
        try:
            given = {key: _as_text(value) if key in texts else value for key, value in call.arguments.items()}
        except InvalidArguments as error:
            return Result.error(error.message, type=error.type, metadata=metadata)
        return self.tool(name).call(given).with_metadata(metadata)


def describe_function(name: str, function: Any, *, bound: bool) -> ToolFunction:
    """Check one method against the rules, in their order; TypeError names the method and the parameter."""
    signature = inspect.signature(function)
    try:
        hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except NameError as error:
        raise TypeError(f"Functions must have type hints that can be evaluated: {error} ({name})") from error
    if "return" not in hints:
        raise TypeError(f"Functions must have return type hints ({name})")
    if hints["return"] is not str:
        raise TypeError(f"Functions must return strings ({name})")
    parameters: list[ToolParameter] = []
    for parameter in list(signature.parameters.values())[bound:]:
        place = f"{name}#{parameter.name}"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"Parameters must be positional or keyword ({place})")
        parameters.append(_describe_parameter(parameter.name, hints.get(parameter.name), place))
    return ToolFunction(name, (function.__doc__ or "").strip(), parameters)


def _describe_parameter(name: str, hint: Any, place: str) -> ToolParameter:
    if hint is None:
        raise TypeError(f"Parameters must have type hints ({place})")
    arguments = get_args(hint) if get_origin(hint) is Annotated else ()
    if len(arguments) != 2 or not isinstance(arguments[1], str):
        raise TypeError(f'Parameters must be annotated like Annotated[<type>, "<description>"] ({place})')
    if arguments[0] not in SUPPORTED_TOOL_ARGUMENT_TYPES_LIST:
        kinds = SUPPORTED_TOOL_ARGUMENT_TYPES_LIST
        raise TypeError(f"Parameters must be annotated with one of these types: {kinds} ({place})")
    return ToolParameter(name, arguments[0].__name__, arguments[1])


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
