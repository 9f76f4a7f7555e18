"""Choose a runtime by name, class, instance, or a function of the context."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tools_runtime._runtimes._local import AsyncRuntime, AutoRuntime, InlineRuntime, ThreadRuntime
from tools_runtime._runtimes._process import ProcessRuntime
from tools_runtime._runtimes._runtime import Runtime

if TYPE_CHECKING:
    from tools_core import Context

Choice = str | type[Runtime] | Runtime | Callable[..., Any]

_default: Choice = AutoRuntime


def set_default_runtime(choice: Choice) -> None:
    """Set the runtime of executors that name none; initially `AutoRuntime`.

    Raises: ValueError for an unknown name; TypeError for an object that cannot be a runtime.
    """
    global _default  # noqa: PLW0603  (a setting of the process)
    Runtimes({}).resolve(choice)
    _default = choice


class Runtimes:
    """The runtimes of one executor: each class is instantiated once."""

    def __init__(self, named: Mapping[str, type[Runtime]]) -> None:
        shipped = (AutoRuntime, InlineRuntime, ThreadRuntime, AsyncRuntime, ProcessRuntime)
        self._named: dict[str, type[Runtime]] = {**{kind.name: kind for kind in shipped}, **named}
        self._made: dict[type[Runtime], Runtime] = {}

    def resolve(self, choice: Choice | None) -> Runtime | Callable[..., Any]:
        """Return a runtime, or a function of the context that returns one.

        Raises: ValueError for an unknown name; TypeError for an object that cannot be a runtime.
        """
        kind: Any = _default if choice is None else choice
        if isinstance(kind, Runtime):
            return kind
        if isinstance(kind, str):
            if kind not in self._named:
                from tools_core.command import install_command

                hint = f"; {install_command('tools-ray')}" if kind == "ray" else ""
                raise ValueError(f"no runtime is called {kind!r}; there are {', '.join(sorted(self._named))}{hint}")
            kind = self._named[kind]
        if isinstance(kind, type) and issubclass(kind, Runtime) and kind is not Runtime:
            runtime = self._made.get(kind)
            return self._made.setdefault(kind, kind()) if runtime is None else runtime
        if not callable(kind) or isinstance(kind, type):
            raise TypeError(
                f"a runtime is a name, a class or an instance of Runtime, or a function of the context; got {choice!r}"
            )
        function: Callable[..., Any] = kind
        return function

    def for_context(self, choice: Runtime | Callable[..., Any], context: Context | None) -> Runtime:
        """Return the runtime that a resolved choice means for a context."""
        if isinstance(choice, Runtime):
            return choice
        returned = call_with_context(choice, context)
        runtime = None if returned is None else self.resolve(returned)
        if not isinstance(runtime, Runtime):
            raise TypeError(f"a function for a runtime returned {returned!r}, which is not a runtime")
        return runtime

    def close(self) -> None:
        """Close the runtimes that were created here."""
        for runtime in self._made.values():
            runtime.close()


def call_with_context(function: Any, context: Context | None) -> Any:
    """Call a function that takes the context, or nothing."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return function()
    return function(context)
