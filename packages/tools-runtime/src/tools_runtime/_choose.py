"""Which runtime is meant: by name, class, instance, or a function of the context."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tools_runtime._runtimes import AsyncRuntime, InlineRuntime, Runtime, ThreadRuntime

if TYPE_CHECKING:
    from tools_core import Context

Choice = str | type[Runtime] | Runtime | Callable[..., Any]

_default: Choice = InlineRuntime


def set_default_runtime(choice: Choice) -> None:
    """Set what executors use that are made without a runtime; `InlineRuntime`, unless this says otherwise."""
    global _default  # noqa: PLW0603  (a setting of the process)
    check(choice)
    _default = choice


def check(choice: object) -> None:
    """Raise TypeError for what can be no runtime."""
    is_class = isinstance(choice, type) and issubclass(choice, Runtime) and choice is not Runtime
    if not (isinstance(choice, str | Runtime) or is_class or is_function(choice)):
        raise TypeError(
            f"a runtime is a name, a class or an instance of Runtime, or a function of the context; got {choice!r}"
        )


def is_function(choice: object) -> bool:
    """Whether a choice is to be asked for each context."""
    return callable(choice) and not isinstance(choice, type | Runtime)


class Runtimes:
    """The runtimes of one executor: each class is made once."""

    def __init__(self, named: Mapping[str, type[Runtime]]) -> None:
        shipped = (InlineRuntime, ThreadRuntime, AsyncRuntime)
        self._named: dict[str, type[Runtime]] = {**{kind.name: kind for kind in shipped}, **named}
        self._made: dict[type[Runtime], Runtime] = {}

    def of(self, choice: Choice | None, context: Context | None) -> Runtime:
        """The runtime that is meant; ValueError for an unknown name, TypeError for what is none."""
        choice = _default if choice is None else choice
        if isinstance(choice, Runtime):
            return choice
        if isinstance(choice, str):
            return self._of_class(self._by_name(choice))
        check(choice)
        if isinstance(choice, type):
            return self._of_class(choice)
        chosen = given_context(choice, context)
        if is_function(chosen):
            raise TypeError(f"a function for a runtime returned another function: {chosen!r}")
        return self.of(chosen, context)

    def check_name(self, choice: Choice) -> None:
        """Raise ValueError for a name that no runtime has."""
        if isinstance(choice, str):
            self._by_name(choice)

    def close(self) -> None:
        """Close those that were made here."""
        while self._made:
            self._made.popitem()[1].close()

    def _of_class(self, kind: type[Runtime]) -> Runtime:
        made = self._made.get(kind)
        if made is None:
            made = self._made.setdefault(kind, kind())
        return made

    def _by_name(self, name: str) -> type[Runtime]:
        if name not in self._named and name in _IN_PACKAGES:
            module, kind = _IN_PACKAGES[name]
            self._named[name] = getattr(import_module(module), kind)
        if name not in self._named:
            known = sorted({*self._named, *_IN_PACKAGES})
            raise ValueError(f"no runtime is called {name!r}; there are {', '.join(known)}")
        return self._named[name]


# Loaded when they are asked for: they bring much.
_IN_PACKAGES = {
    "process": ("tools_runtime._process", "ProcessRuntime"),
    "ray": ("tools_runtime._ray", "RayRuntime"),
}


def given_context(function: Callable[..., Any], context: Context | None) -> Any:
    """Call a function that may take the context, or nothing."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return function()
    return function(context)
