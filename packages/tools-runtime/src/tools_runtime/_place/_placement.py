"""`Placement`: where one call is made."""

from __future__ import annotations

from typing import NamedTuple

from tools_core import Result, Tool
from tools_runtime._place._runtime import Runtime


class Placement(NamedTuple):
    """Where a call is made: its tool, or the result that says there is none, its runtime and its limit."""

    tool: Tool | Result
    runtime: Runtime
    limit: float | None
    limit_set_by: str


def is_plain(tool: Tool, runtime: Runtime) -> bool:
    """Return whether a call of a tool is only `tool.call` in the calling thread, without a context."""
    return (
        runtime.is_sequential and not runtime.dispatches and not runtime.wraps
        and type(runtime).begin is Runtime.begin and type(tool).call is Tool.call
        and not (tool.is_async or tool.takes_context or tool.manages_timeout) and tool.timeout is None
    )  # fmt: skip
