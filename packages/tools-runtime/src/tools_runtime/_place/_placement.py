"""`Placement`: where one call is made."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple

from tools_core import Result, Tool, ToolCall
from tools_runtime._place._runtime import Runtime


class Placement(NamedTuple):
    """Where a call is made: its tool, or the result that says there is none, its runtime and its limit."""

    tool: Tool | Result
    runtime: Runtime
    limit: float | None
    limit_set_by: str


def is_plain(tool: Tool | Result, runtime: Runtime) -> bool:
    """Return whether a call of a tool is only `tool.call` in the calling thread, without a context."""
    return (
        isinstance(tool, Tool) and runtime.is_sequential and not runtime.dispatches and not runtime.wraps
        and type(runtime).begin is Runtime.begin and type(tool).call is Tool.call
        and not (tool.is_async or tool.takes_context or tool.manages_timeout) and tool.timeout is None
    )  # fmt: skip


def call_plainly(call: ToolCall, tool: Tool, limit: float | None, limit_set_by: str) -> Result:
    """Make a plain call: what the scheduler does for other calls, at a tenth of the cost."""
    began = monotonic()
    result = tool.call(call.raw_arguments)
    if limit is not None and monotonic() - began > limit:
        return overran(result, limit, limit_set_by)
    return result


def overran(result: Result, limit: float | None, set_by: str) -> Result:
    """Mark the result of a call that ran past a limit which nothing could enforce."""
    return result.with_metadata({"timeout": limit, "timeout_set_by": set_by, "timeout_enforced": False})
