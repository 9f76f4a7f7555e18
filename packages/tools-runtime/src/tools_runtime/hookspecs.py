"""The hooks. A plugin is a module, or an object, with any of these, marked by `@hookimpl`.

A package ships one by an entry point in the group `ask_tools.plugins`; `Executor(hooks=[plugin])` takes one as well.
The first one of `hooks` is the outermost, then come those that are installed; `@hookimpl(tryfirst=True)` moves a hook
outward, `trylast=True` inward. A hook takes those of the arguments that it names.

An exception in a hook before the call was made refuses the call; after it the result stands. Both are logged, and
emitted as `hook_failed`: a hook that fails never loses a result, and never makes a call run twice. `ToolError` and
`Halt` are answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Any

    from tools_core import Context, Result, Tool, ToolCall
    from tools_runtime._event import Event
    from tools_runtime._place._runtime import Runtime
    from tools_runtime._policy._decision import Decision

PROJECT = "ask_tools"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_runtimes() -> Mapping[str, type[Runtime]]:
    """Return runtimes by the names under which `Executor(runtime=...)` finds them."""
    raise NotImplementedError


@hookspec
def around_tool_call(call: ToolCall, tool: Tool | None, context: Context) -> Generator[Any, Any, Result | None]:
    """Wrap a call, as a generator: `result = yield` makes the call, and the return value is the result from there on.

    The `yield` always gives a Result: when the caller is gone, an error of type "cancelled". To return before it
    answers the call without making it; `yield ToolCall(...)` makes another call instead; a second `yield` makes it
    again. `yield Pause(seconds)`, `yield Until(future)`, `yield Blocking(function)` and `yield` of an awaitable wait;
    `yield Event(...)` emits an event. `tool` is None where no tool has the name.
    """
    raise NotImplementedError


@hookspec
def before_tool_call(call: ToolCall, tool: Tool | None, context: Context) -> Result | ToolCall | None:
    """Answer a call with a result, or change it; None lets it pass. For what needs no waiting."""


@hookspec
def after_tool_call(call: ToolCall, tool: Tool | None, context: Context, result: Result) -> Result | None:
    """See a result, or replace it."""


@hookspec
def decide_tool_call(call: ToolCall, tool: Tool | None, context: Context) -> Decision | None:
    """Decide whether a call may be made, after all other hooks, whatever their order: nothing changes it afterwards.

    Of several decisions the strictest counts; None leaves it to the others. `Policy` implements this hook.
    """


@hookspec
def start_tool_call(call: ToolCall, tool: Tool, context: Context) -> Any:
    """Receive a call that was allowed, right before each attempt to make it; for logs that must come first.

    Returns None, or what the call has to wait for: `Blocking(function)`, an awaitable. An exception, here or there,
    refuses the call.
    """


@hookspec
def on_event(event: Event) -> None:
    """Receive an event of a call; must return at once, and may be called from any thread."""
