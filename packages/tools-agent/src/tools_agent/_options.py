"""Options of an agent: their names, values that are functions of the context, and methods that work on the class."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, update_wrapper
from math import inf
from types import MethodType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypedDict, TypeVar

from tools_agent._caller_loop import awaited
from tools_agent._messages import System
from tools_agent._providers._provider import Provider
from tools_agent._response import ContextT
from tools_core import Tool

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
    output_validators: Sequence[Callable[..., Any]]
    output_retries: int
    max_steps: int | None
    max_session_steps: int | None
    max_tokens: int | None
    max_cost: float | None
    max_tool_calls: int | None
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


FUNCTIONS = ("model", "instructions", "tools", "skills", "workspace")  # options that may be functions of a run


class RunOptions(Options, Generic[ContextT], total=False):
    """The keyword arguments of `Agent.generate` and the other methods that run an agent."""

    files: Sequence[Any] | None
    context: ContextT | None
    session: Any
    output: Any


NAMES = (*Options.__annotations__, "output")
RUN_NAMES = tuple(name for name in NAMES if name not in ("name", "heal"))  # for one run
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # the places between the words of a name
_LIMITS = {  # the smallest value of each limit; None is no limit
    "max_steps": 1, "max_session_steps": 1, "max_tokens": 1, "max_tool_calls": 1, "output_budget": 1,
    "definition_budget": 0,
}  # fmt: skip
_NUMBERS = {"output_retries": 0, "max_depth": 0}
_SECONDS = {"timeout": "seconds", "tool_timeout": "seconds", "max_cost": "US dollars"}
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


def check_options(options: Mapping[str, Any], owner: str, names: Sequence[str] = NAMES) -> None:
    """Raise TypeError for names that are not options, and ValueError for limits that make no sense."""
    for name, value in options.items():
        if name in ("files", "context", "session") and names is RUN_NAMES:
            continue
        if name not in names:
            check_name(name, owner)
            raise TypeError(f"{name!r} is not an option of {owner}; there are {', '.join(names)}")
        check_limit(name, value)


def check_limit(name: str, value: Any) -> None:
    """Raise ValueError if an option is a limit, and its value makes no sense."""
    smallest = _NUMBERS.get(name, _LIMITS.get(name))
    may_be_none = name in _LIMITS or smallest is None
    is_good = smallest is None or (isinstance(value, int) and not isinstance(value, bool) and value >= smallest)
    if not is_good and not (value is None and may_be_none):
        none = ", or None for no limit" if may_be_none else ""
        raise ValueError(f"{name} is an integer of at least {smallest}{none}; got {value!r}")
    if name in _SECONDS and value is not None and not (_is_number(value) and 0 < value < inf):
        raise ValueError(f"{name} is a number of {_SECONDS[name]} above 0, or None for no limit; got {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def instruction_message(instructions: Any) -> System | None:
    """Return the system message for instructions."""
    return System(id="instructions", content=str(instructions)) if instructions else None


def name_of(cls: type) -> str:
    """Return the name of a class in snake case."""
    return _WORDS.sub("_", cls.__name__).lower()


def check_class(cls: type) -> None:
    """Check the names of the options of a subclass, and let functions without `self` be functions of the context."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if name in NAMES:
            check_limit(name, value)
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
            return MethodType(self._function, agent)

        def on_class(*args: P.args, **kwargs: P.kwargs) -> R:
            context: Any = kwargs.pop("context", None)
            return self._function(owner(context=context), *args, **kwargs)

        signature = inspect.signature(self._function)
        _, *parameters = signature.parameters.values()  # without `self`
        update_wrapper(on_class, self._function)
        on_class.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # for `help`
        return on_class


def is_function(value: object) -> bool:
    """Return whether an option is a function of the context, and not a value that can be called, such as a tool."""
    if isinstance(value, Tool):  # which is a descriptor, as a routine is
        return False
    return inspect.isroutine(value) or isinstance(value, partial)


def resolve(value: Any, context: Any, session: object = None) -> Any:
    """Return the value of an option; a function is called with the context and `session`, as far as it takes them.

    It may be a coroutine function.
    """
    if not is_function(value):
        return value
    signature = inspect.signature(value)
    keywords = {"session": session} if "session" in signature.parameters else {}
    try:
        signature.bind(None, **keywords)
    except TypeError:
        return awaited(value(**keywords))
    return awaited(value(context, **keywords))
