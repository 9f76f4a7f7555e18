"""`Runtime`: where and how one call is made."""

from __future__ import annotations

import threading
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from tools_core import DefinitionError, Result, ToolCall, ToolError, UnknownToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from tools_core import Context, Tool

_counting = threading.Lock()


class Runtime:
    """Subclass it and override `dispatch_tool_call`, to make calls in a place of your own.

    ```python
    class HttpRuntime(Runtime):
        def dispatch_tool_call(self, call, tools, context):
            answer = httpx.post(self.url, json=call.to_dict())
            return Result.text(answer.text)
    ```

    A subclass that says nothing else runs calls one after the other, in the order in which they were asked for, and is
    made without arguments where its class is given as a runtime. `max_concurrency` is how many calls may run at once;
    None sets no limit. An exception that `dispatch_tool_call` lets out becomes the result of its call.
    """

    name: ClassVar[str] = ""
    max_concurrency: int | None = 1
    # Of the limit of a call: whether the tool is merely told, whether the executor watches it and leaves behind what
    # does not end, a coroutine `grace` seconds after it was cancelled, or whether the runtime keeps it by itself.
    limits: Literal["told", "watched", "kept"] = "told"
    grace: float = 0.25
    worker_thread: bool = False  # whether `Tool.call` may leave the thread for a limit, see `Context`
    runs_in_loop: ClassVar[bool] = False  # calls are tasks of an event loop, from synchronous code too
    # What a subclass overrides; told by its definition.
    dispatches: ClassVar[bool]
    wraps: ClassVar[bool]
    is_here: bool  # calls run in the thread that makes them, and nothing watches their limits

    _leaked = 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.dispatches = cls.dispatch_tool_call is not Runtime.dispatch_tool_call
        cls.wraps = cls.around_tool_call is not Runtime.around_tool_call
        cls.is_here = cls.limits == "told" and not cls.dispatches and cls.run_tool is Runtime.run_tool
        if cls.wraps and not isgeneratorfunction(cls.around_tool_call):
            raise TypeError(
                f"{cls.__name__}.around_tool_call is no generator: write `result = yield` where the call is made"
            )
        for method in ("dispatch_tool_call", "run_tool"):
            if iscoroutinefunction(getattr(cls, method)):
                raise TypeError(
                    f"{cls.__name__}.{method} is a coroutine, which `execute` cannot await: make it a plain function"
                )
        if cls.adispatch_tool_call is not Runtime.adispatch_tool_call and not cls.dispatches:
            raise TypeError(f"{cls.__name__} has adispatch_tool_call alone: write dispatch_tool_call for `execute` too")

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if cls is Runtime:
            raise TypeError("Runtime is abstract: use InlineRuntime or another one, or subclass it")
        return super().__new__(cls)

    def dispatch_tool_call(self, call: ToolCall, tools: Mapping[str, Tool], context: Context) -> Result:
        """Make one call; that the tool is unknown, or its arguments are invalid, is a result as well."""
        tool = find(call, tools)
        return tool if isinstance(tool, Result) else self.run_tool(tool, call, context)

    async def adispatch_tool_call(self, call: ToolCall, tools: Mapping[str, Tool], context: Context) -> Result:
        """`dispatch_tool_call` for coroutines; in a worker thread where only that one is overridden."""
        if self.dispatches:
            return await self._in_thread(lambda: self.dispatch_tool_call(call, tools, context), context)
        tool = find(call, tools)
        return tool if isinstance(tool, Result) else await self.arun_tool(tool, call, context)

    def around_tool_call(self, call: ToolCall, context: Context) -> Generator[None, Result, Result]:  # noqa: ARG002  (for who overrides it)
        """Wrap each call, as a generator: `result = yield` makes it. Override it to time, log or change calls.

        It wraps the whole of it, unknown tools and invalid arguments too, and runs in the thread that makes the call.
        """
        return (yield)

    def run_tool(self, tool: Tool, call: ToolCall, context: Context | None) -> Result:
        """Call a tool that was found."""
        return tool.call(call.given, context)

    async def arun_tool(self, tool: Tool, call: ToolCall, context: Context | None) -> Result:
        """`run_tool` for coroutines; what is synchronous runs in a worker thread."""
        if tool.is_async and type(self).run_tool is Runtime.run_tool:
            return await tool.acall(call.given, context)
        return await self._in_thread(lambda: self.run_tool(tool, call, context), context)

    @property
    def leaked(self) -> int:
        """How many calls were left behind at their limit, and still run."""
        return self._leaked

    def left_behind(self, change: int) -> None:
        """Count a call that was left behind, or one of these that has ended."""
        with _counting:
            self._leaked += change

    async def _in_thread(self, function: Callable[[], Result], context: Context | None) -> Result:
        import asyncio  # loaded already: somebody awaits us

        from tools_core.threads import in_thread, unwrap  # only for what is synchronous

        future = in_thread(function)
        try:
            result: Result = unwrap(await asyncio.wrap_future(future))
        except asyncio.CancelledError:
            if context is not None:
                context.cancel()
            self.left_behind(1)
            future.add_done_callback(lambda _: self.left_behind(-1))
            raise asyncio.CancelledError(future) from None  # what it comes to is kept for who asks again, see Job
        return result

    def close(self) -> None:
        """Let go of what the runtime holds; it can be used again after."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def check_concurrency(most: object) -> None:
    """Raise ValueError for a `max_concurrency` with which no call could ever run; None sets no limit."""
    if most is not None and not (isinstance(most, int) and most >= 1):
        raise ValueError(f"max_concurrency is a whole number, 1 or more, or None for no limit; got {most!r}")


def find(call: ToolCall, tools: Mapping[str, Tool]) -> Tool | Result:
    """The tool that a call asks for, or the result where there is none."""
    try:
        return tools[call.name]
    except (DefinitionError, ToolError, UnknownToolError) as error:
        return refusal(error)
    except KeyError:  # of a mapping of somebody's own
        from difflib import get_close_matches  # rare

        near = get_close_matches(call.name, list(tools), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(tools)[:20]) or 'none'}"
        return Result.error(f"no tool is called {call.name!r}; {hint}", type="unknown_tool")


def refusal(error: Exception) -> Result:
    """The result of a call whose tool is unknown, ambiguous or broken."""
    kind = "unknown_tool" if isinstance(error, UnknownToolError) else getattr(error, "type", "unavailable")
    return Result.error(str(error), type=kind, exception=error)
