"""Options of an agent: as class attributes, as arguments, or as functions of the context."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypedDict, TypeVar

from tools_agent._providers._provider import Provider
from tools_core import Registry, Tool

P = ParamSpec("P")
R = TypeVar("R")


class Options(TypedDict, total=False):
    """The options of `Agent`; see there."""

    name: str
    model: str | Provider | Callable[..., Any]
    instructions: str | Callable[..., Any] | None
    tools: Any
    runtime: Any
    hooks: Sequence[Any]
    policy: Any
    approve: Any
    guardrails: Sequence[Any]
    output: Any
    max_steps: int | None
    max_session_steps: int | None
    skills: Any
    window: Any
    settings: Mapping[str, Any]
    timeout: float | None
    tool_timeout: float | None
    error_policy: Literal["capture_all", "strict_bugs"]
    workspace: Any
    heal: bool
    on_unknown: Literal["close", "ask"]
    max_depth: int


class Door(Generic[P, R]):
    """A method that works on the class as well: `MyAgent.generate("Hello", context={...})` makes an agent for it."""

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


def read_options(agent: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of an agent: those given, else the class attributes, which are not bound as methods."""
    unknown = given.keys() - Options.__annotations__.keys()
    if unknown:
        raise TypeError(
            f"{min(unknown)!r} is not an option of an agent; there are {', '.join(Options.__annotations__)}"
        )
    found = {name: inspect.getattr_static(agent, name) for name in Options.__annotations__ if name not in given}
    bound = {name: _function(agent, value) for name, value in found.items()}
    return {**bound, **given}


def _function(agent: object, value: Any) -> Any:
    """Return a function that a class has as an option: it takes the context, after `self` if it names that first."""
    if isinstance(value, staticmethod | classmethod | property):
        return value.__get__(agent, type(agent))
    if inspect.isfunction(value) and next(iter(inspect.signature(value).parameters), "") == "self":
        return partial(value, agent)
    return value


def is_function(value: object) -> bool:
    """Return whether an option is a function of the context, and not a value that can be called, such as a tool."""
    return inspect.isroutine(value) or isinstance(value, partial)


def resolve(value: Any, context: Mapping[str, Any]) -> Any:
    """Return an option's value: what it returns for a context if it is a function of it, or of nothing."""
    if not is_function(value):
        return value
    try:
        inspect.signature(value).bind(None)
    except TypeError:
        return value()
    return value(context)


def read_tools(tools: Any) -> dict[str, Tool]:
    """Return tools by name. Raises ValueError for two tools of one name."""
    if isinstance(tools, Mapping):
        return dict(tools)
    registry = Registry()
    for each in [] if tools is None else [tools] if isinstance(tools, Tool) else tools:
        registry.register(each)
    return dict(registry)
