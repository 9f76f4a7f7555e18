"""Where and how tool calls run: in order, beside each other, in processes or on a cluster, with hooks around each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_runtime._choose import set_default_runtime
    from tools_runtime._effects import Blocking, Pause
    from tools_runtime._event import Event
    from tools_runtime._executor import BUGS, Executor
    from tools_runtime._runtimes import AsyncRuntime, InlineRuntime, Runtime, ThreadRuntime
    from tools_runtime.hookspecs import hookimpl

__all__ = [
    "BUGS",
    "AsyncRuntime",
    "Blocking",
    "Event",
    "Executor",
    "InlineRuntime",
    "Pause",
    "Runtime",
    "ThreadRuntime",
    "hookimpl",
    "set_default_runtime",
]

_HOMES = {
    "_choose": ("set_default_runtime",),
    "_effects": ("Blocking", "Pause"),
    "_event": ("Event",),
    "_executor": ("BUGS", "Executor"),
    "_runtimes": ("AsyncRuntime", "InlineRuntime", "Runtime", "ThreadRuntime"),
    "hookspecs": ("hookimpl",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module  # built in

            value: object = getattr(import_module(f"tools_runtime.{home}"), name)
            globals()[name] = value  # found directly from now on
            return value
    raise AttributeError(f"module 'tools_runtime' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
