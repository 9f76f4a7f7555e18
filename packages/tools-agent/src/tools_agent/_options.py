"""Options of an agent: their names, values that are functions of the context, and methods that work on the class."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypedDict, TypeVar

from tools_agent._providers._provider import Provider
from tools_core import Registry, Tool

P = ParamSpec("P")
R = TypeVar("R")


class Options(TypedDict, total=False):
    """The keyword arguments of `Agent`, for type checkers; see its attributes."""

    name: str
    model: str | Provider | Callable[..., Any]
    instructions: str | Callable[..., Any] | None
    tools: Any
    runtime: Any
    hooks: Sequence[Any]
    policy: Any
    approve: Any
    on_ask: Callable[..., Any] | None
    guardrails: Sequence[Any]
    output_retries: int
    max_steps: int | None
    max_session_steps: int | None
    max_tokens: int | None
    max_cost: float | None
    output_budget: int | None
    loop_detection: bool
    skills: Any
    window: Any
    settings: Mapping[str, Any]
    timeout: float | None
    tool_timeout: float | None
    error_policy: Literal["capture_all", "strict_bugs"]
    deferred: str | Sequence[str]
    definition_budget: int | None
    workspace: Any
    heal: bool
    on_unknown: Literal["close", "ask"]
    max_depth: int


NAMES = (*Options.__annotations__, "output")
_OTHERS = {  # options of other libraries
    "uses_tools": "tools", "tool_runtime": "runtime", "functions": "tools", "system_prompt": "instructions",
    "prompt": "instructions", "output_type": "output", "response_format": "output", "middleware": "hooks",
    "model_settings": "settings", "max_turns": "max_steps", "structured_output": "output",
}  # fmt: skip


def check_name(name: str, owner: str) -> None:
    """Raise TypeError if a name looks like a misspelt option, or is the name of an option in another library."""
    match = _OTHERS.get(name) or next(iter(difflib.get_close_matches(name, NAMES, 1, cutoff=0.8)), None)
    if match is not None and name not in NAMES:
        raise TypeError(f"{name!r} is not an option of {owner}; did you mean {match!r}?")


def check_class(cls: type) -> None:
    """Check the names of the options of a subclass, and let functions without `self` be functions of the context."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if name in NAMES:
            if inspect.isfunction(value) and next(iter(inspect.signature(value).parameters), "") != "self":
                setattr(cls, name, staticmethod(value))
        elif not any(name in vars(base) for base in cls.__mro__[1:]):
            check_name(name, cls.__name__)
        elif inspect.isfunction(value) and any(isinstance(vars(base).get(name), hybridmethod) for base in cls.__mro__):
            setattr(cls, name, hybridmethod(value))


class hybridmethod(Generic[P, R]):  # noqa: N801  (used as a decorator)
    """A method that also works on the class: `MyAgent.generate("Hello", context={...})` creates an agent for it."""

    def __init__(self, function: Callable[Concatenate[Any, P], R]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, agent: Any, owner: Any) -> Callable[P, R]:
        if agent is not None:
            return partial(self._function, agent)

        def on_class(*args: P.args, **kwargs: P.kwargs) -> R:
            context: Any = kwargs.pop("context", None)
            return self._function(owner(context=context), *args, **kwargs)

        return on_class


def is_function(value: object) -> bool:
    """Return whether an option is a function of the context, and not a value that can be called, such as a tool."""
    return inspect.isroutine(value) or isinstance(value, partial)


def resolve(value: Any, context: Mapping[str, Any]) -> Any:
    """Return the value of an option; a function is called with the context or without arguments."""
    if not is_function(value):
        return value
    try:
        inspect.signature(value).bind(None)
    except TypeError:
        return value()
    return value(context)


def read_tools(tools: Any) -> dict[str, Tool]:
    """Return tools by name. Raises ValueError for two tools with the same name."""
    if isinstance(tools, Mapping):
        return dict(tools)
    registry = Registry()
    for tool in [] if tools is None else [tools] if isinstance(tools, Tool) else tools:
        registry.register(tool)
    return dict(registry)
