"""Which runtime is meant: by name, class, instance, or a function of the context."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tools_runtime._place._async import AsyncRuntime
from tools_runtime._place._inline import InlineRuntime
from tools_runtime._place._process import ProcessRuntime
from tools_runtime._place._runtime import Runtime
from tools_runtime._place._thread import ThreadRuntime

if TYPE_CHECKING:
    from tools_core import Context

Choice = str | type[Runtime] | Runtime | Callable[..., Any]

_default: Choice = InlineRuntime


def set_default_runtime(choice: Choice) -> None:
    """Set the runtime of executors that are made without one; initially `InlineRuntime`."""
    global _default  # noqa: PLW0603  (a setting of the process)
    check_choice(choice)
    _default = choice


def check_choice(choice: object) -> None:
    """Raise TypeError for what cannot be a runtime; None is the default."""
    is_class = isinstance(choice, type) and issubclass(choice, Runtime) and choice is not Runtime
    if not (choice is None or isinstance(choice, str | Runtime) or is_class or is_function(choice)):
        raise TypeError(
            f"a runtime is a name, a class or an instance of Runtime, or a function of the context; got {choice!r}"
        )


def is_function(choice: object) -> bool:
    """Return whether a choice is to be called for each context."""
    return callable(choice) and not isinstance(choice, type | Runtime)


class Runtimes:
    """The runtimes of one executor: each class is instantiated once."""

    def __init__(self, named: Mapping[str, type[Runtime]]) -> None:
        shipped = (InlineRuntime, ThreadRuntime, AsyncRuntime, ProcessRuntime)
        self._named: dict[str, type[Runtime]] = {**{kind.name: kind for kind in shipped}, **named}
        self._made: dict[type[Runtime], Runtime] = {}

    def of(self, choice: Choice | None, context: Context | None) -> Runtime:
        """Return the runtime that is meant; ValueError for an unknown name, TypeError for anything else."""
        check_choice(choice)
        if choice is None:
            choice = _default
        if is_function(choice):
            choice = call_with_context(choice, context)
            if choice is None or is_function(choice):
                raise TypeError(f"a function for a runtime returned {choice!r}, which is not a runtime")
            check_choice(choice)
        if isinstance(choice, Runtime):
            return choice
        kind: Any = self._by_name(choice) if isinstance(choice, str) else choice
        made = self._made.get(kind)
        return self._made.setdefault(kind, kind()) if made is None else made

    def check_name(self, choice: Choice | None) -> None:
        """Raise ValueError for an unknown name."""
        if isinstance(choice, str):
            self._by_name(choice)

    def close(self) -> None:
        """Close those that were made here."""
        while self._made:
            self._made.popitem()[1].close()

    def _by_name(self, name: str) -> type[Runtime]:
        if name not in self._named:
            hint = "; install tools-ray for it" if name == "ray" else ""
            raise ValueError(f"no runtime is called {name!r}; there are {', '.join(sorted(self._named))}{hint}")
        return self._named[name]


def call_with_context(function: Any, context: Context | None) -> Any:
    """Call a function that takes the context, or nothing."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return function()
    return function(context)
