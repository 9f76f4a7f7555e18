"""The hooks. A plugin is a module, or an object, with any of these, marked by `@hookimpl`.

A package ships one by an entry point in the group `ask_tools.plugins`; `Executor(hooks=[plugin])` takes one as well.
The first one of `hooks` is the outermost, then come the installed plugins; `@hookimpl(tryfirst=True)` moves a hook
outward, `trylast=True` inward. A hook receives the arguments that it names.

Agents call `before_run`, `after_run`, `before_model_request` and `after_model_request`, functions or coroutine
functions, for their own runs and for those of their sub-agents.

`before_tool_call`, `after_tool_call` and `start_tool_call` are functions or coroutine functions, `around_tool_call` is
a generator or a coroutine function. A function that blocks holds up its own call only: calls that run at the same time
run in separate threads, and in an event loop the hooks of a plugin run in worker threads, unless the plugin has the
attribute `blocks = False`. With a coroutine function among them, all calls run in an event loop.

The hooks of an executor, and its policy, also hold for the calls that a tool makes with the context of its own call:
those of an agent that is a tool, of code, and of another executor. They are outside the hooks of that executor. A
plugin with the attribute `nested = False` sees the calls of its own executor only.

An exception in a hook before the call ran refuses the call; after it the result stands. Both are logged, and emitted
as `hook_failed`: a hook that fails never loses a result, and never repeats a call. `ToolError` and `Halt` are
answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping
    from typing import Any

    from tools_core import Context, Result, Tool, ToolCall
    from tools_runtime._events import Event
    from tools_runtime._policy._facts import Decision
    from tools_runtime._runtimes._runtime import Runtime

    CallNext = Callable[..., Awaitable[Result]]

PROJECT = "ask_tools"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_runtimes() -> Mapping[str, type[Runtime]]:
    """Return runtimes by the names under which `Executor(runtime=...)` finds them."""
    raise NotImplementedError


@hookspec
def around_tool_call(
    call: ToolCall, tool: Tool | None, context: Context, call_next: CallNext
) -> Generator[Any, Any, Result | None]:
    """Wrap a call, as a generator or as a coroutine function.

    ```python
    @hookimpl
    def around_tool_call(self, call):
        started = time.monotonic()
        result = yield  # runs the call
        return result.with_metadata({"seconds": time.monotonic() - started})

    @hookimpl
    async def around_tool_call(self, call, call_next):
        async with self.limiter:
            return await call_next()
    ```

    The `yield` always gives a Result: an error of type "cancelled" if the caller has left. To return before it answers
    the call without running it; `yield ToolCall(...)` or `call_next(ToolCall(...))` runs another call instead; a second
    `yield` or `call_next()` runs it again. `tool` is None for an unknown name.
    """
    raise NotImplementedError


@hookspec
def before_tool_call(call: ToolCall, tool: Tool | None, context: Context) -> Result | ToolCall | None:
    """Answer a call with a result, or return another call to run instead; None lets it pass."""


@hookspec
def after_tool_call(call: ToolCall, tool: Tool | None, context: Context, result: Result) -> Result | None:
    """Read a result, or replace it."""


@hookspec
def decide_tool_call(call: ToolCall, tool: Tool | None, context: Context) -> Decision | None:
    """Decide whether a call may run, after all other hooks, whatever their order: nothing changes it afterwards.

    Of several decisions the strictest counts; None leaves it to the others. `Policy` implements this hook.
    """


@hookspec
def start_tool_call(call: ToolCall, tool: Tool, context: Context) -> None:
    """Receive a call that was allowed, right before each attempt to run it; for logs that must come first.

    An exception refuses the call.
    """


@hookspec
def on_event(event: Event) -> None:
    """Receive an event of a call. Must return at once; any thread may call it."""


@hookspec
def before_run(agent: str, context: Context) -> None:
    """Receive the start of a run of an agent, by its name; `context.caller` is the run, the same until its end."""


@hookspec
def after_run(agent: str, outcome: str, usage: Any, cost: float | None, context: Context) -> None:
    """Receive the end of a run: its outcome (`"failed"` after an exception), its tokens, and its price in US dollars.

    `cost` is None if the price of a reply is not known.
    """


@hookspec
def before_model_request(request: Any, context: Context) -> Any:
    """Return another `tools_agent.Request` to send to the model, or None to send it unchanged.

    An exception ends the run before the request is sent.
    """


@hookspec
def after_model_request(
    request: Any, reply: Any, error: BaseException | None, cost: float | None, context: Context
) -> Any:
    """Read the reply to a request of an agent, or return another `tools_agent.Assistant` instead.

    `reply` is None after an error. `cost` is the price in US dollars, None if it is not known.
    """
