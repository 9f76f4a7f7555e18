"""For tools whose calls run other calls, as the replies of a model, within the run of their caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_agent._agent import Agent
from tools_agent._loop._frame import frame_of
from tools_agent._loop._sub_agent import Delegation
from tools_runtime import Executor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from tools_agent._providers._provider import Provider
    from tools_agent._response import Response
    from tools_core import Context, Result, Tool

__all__ = ["delegate"]

_SHARED = ("runtime", "error_policy")


def delegate(
    tool: Tool,
    context: Context,
    arguments: Mapping[str, Any],
    *,
    model: Provider,
    tools: Mapping[str, Tool],
    read: Callable[[Response[Any]], Result],
    close: Callable[[], object],
) -> Awaitable[Result]:
    """Run a call of a tool as the replies of a model, whose calls are part of the caller's run.

    The policy, hooks, approvals and workspace of the caller, an agent or an executor, hold for these calls, and tools
    see its identity. In an agent with a store, the replies and results are stored as a session. If calls need approval,
    the result is `approval_required`; with the answers, or after the process was killed, the same call continues there.

    Args:
        tool: The called tool.
        context: The context of the call.
        arguments: The arguments of the call; the first one is the prompt of the model.
        model: The provider of the replies.
        tools: The tools that the replies may call.
        read: Returns the result from the response of a run that completed or halted.
        close: Called when the run has ended.
    """
    options: dict[str, Any] = {}
    if (frame := frame_of(context.caller)) is not None:
        options = {name: getattr(frame.setup, name) for name in (*_SHARED, "tool_timeout", "on_unknown")}
    elif isinstance(executor := getattr(context.caller, "executor", None), Executor):
        options = {name: getattr(executor, name) for name in _SHARED} | {"tool_timeout": executor.default_timeout}
    agent: Any = Agent(
        model=model, tools=tools, name=tool.name, workspace=context.workspace, max_steps=None, output_budget=None,
        loop_detection=False, **options,
    )  # fmt: skip
    return Delegation(tool, agent, context, arguments, read, lambda: (close(), agent.close()), is_part=True).start()
