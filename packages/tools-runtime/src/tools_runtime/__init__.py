"""Where and how tool calls run: in order, beside each other, in processes or on a cluster, with hooks around each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_runtime._choose import set_default_runtime
    from tools_runtime._effects import Blocking, Pause, Until
    from tools_runtime._event import Event
    from tools_runtime._executor import Executor
    from tools_runtime._policy import Decision, Policy, PolicyError, Request
    from tools_runtime._process import ProcessRuntime
    from tools_runtime._ray import RayRuntime
    from tools_runtime._remote import RemoteError
    from tools_runtime._runtimes import AsyncRuntime, InlineRuntime, Runtime, ThreadRuntime
    from tools_runtime.hookspecs import hookimpl

__all__ = [
    "AsyncRuntime",
    "Blocking",
    "Decision",
    "Event",
    "Executor",
    "InlineRuntime",
    "Pause",
    "Policy",
    "PolicyError",
    "ProcessRuntime",
    "RayRuntime",
    "RemoteError",
    "Request",
    "Runtime",
    "ThreadRuntime",
    "Until",
    "hookimpl",
    "set_default_runtime",
]

_HOMES = {
    "AsyncRuntime": "_runtimes",
    "Blocking": "_effects",
    "Decision": "_policy",
    "Event": "_event",
    "Executor": "_executor",
    "InlineRuntime": "_runtimes",
    "Pause": "_effects",
    "Policy": "_policy",
    "PolicyError": "_policy",
    "ProcessRuntime": "_process",
    "RayRuntime": "_ray",
    "RemoteError": "_remote",
    "Request": "_policy",
    "Runtime": "_runtimes",
    "ThreadRuntime": "_runtimes",
    "Until": "_effects",
    "hookimpl": "hookspecs",
    "set_default_runtime": "_choose",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tools_runtime' has no attribute {name!r}")
    from importlib import import_module  # built in

    value: object = getattr(import_module(f"tools_runtime.{home}"), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
