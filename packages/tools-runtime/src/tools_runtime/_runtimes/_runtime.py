"""`Runtime`: the place that tools run in."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import Future
from functools import partial
from inspect import iscoroutine, iscoroutinefunction, isgeneratorfunction
from typing import Any, ClassVar, Literal, Self, TypeAlias

from tools_core import Context, DefinitionError, Result, Tool, ToolCall, ToolError, UnknownToolError
from tools_core.text import closest
from tools_core.threads import run_coroutine
from tools_runtime._concurrency import Gate, check_concurrency

Attempt: TypeAlias = Result | Future[Result] | Coroutine[Any, Any, Result] | Callable[[], Result]


class Runtime:
    """The place that tools run in. Subclass it and override `dispatch_tool_call` to run calls elsewhere.

    ```python
    class HttpRuntime(Runtime):
        max_concurrency = 8

        def dispatch_tool_call(self, call, tools, context):
            answer = httpx.post(self.url, json=call.to_dict(), timeout=context.remaining)
            return Result.text(answer.text)
    ```

    `dispatch_tool_call` may be a coroutine function; `tools` and `context` are passed by keyword. An exception that it
    raises becomes the result of its call. A call is abandoned at its limit, with `context.cancelled` set.

    `max_concurrency` is the number of calls that may run at once in one runtime; None sets no limit. With 1, calls run
    in their order, each when its result is requested.
    """

    name: ClassVar[str] = ""
    max_concurrency: int | None = 1
    stops: Literal["", "cancelled", "killed"] = ""
    """The end of a call whose context is cancelled; "" if it cannot be stopped."""
    grace: float = 0.25
    """Seconds to wait for a call that was stopped."""
    is_local: ClassVar[bool] = True  # tools run in this process
    runs_apart: ClassVar[bool] = False  # also a single call does not run in the calling thread
    needs_loop: ClassVar[bool] = False  # synchronous callers run calls in an event loop too
    calls_tools: ClassVar[bool] = True  # neither `begin` nor `dispatch_tool_call` is overridden
    dispatches: ClassVar[bool] = False  # dispatch_tool_call is overridden
    wraps: ClassVar[bool] = False  # around_tool_call is overridden
    _gate: Gate | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.dispatches = cls.dispatch_tool_call is not Runtime.dispatch_tool_call
        cls.calls_tools = not cls.dispatches and cls.begin is Runtime.begin
        cls.wraps = cls.around_tool_call is not Runtime.around_tool_call
        if cls.wraps and not isgeneratorfunction(cls.around_tool_call):
            raise TypeError(f"{cls.__name__}.around_tool_call must be a generator: `result = yield` runs the call")

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if cls is Runtime:
            raise TypeError("Runtime is abstract: use InlineRuntime or another one, or subclass it")
        return super().__new__(cls)

    def begin(self, tool: Tool, call: ToolCall, context: Context) -> Attempt:
        """Start one attempt without blocking. For runtimes that can stop what they have started.

        Return its Result, a `concurrent.futures.Future` of it, a coroutine, or a function that runs in a worker
        thread. The executor watches the limit and the caller, and cancels `context`; register `context.on_cancel` to
        stop the attempt.
        """
        return partial(tool.call, call.raw_arguments, context)

    def dispatch_tool_call(
        self, call: ToolCall, tools: Mapping[str, Tool], context: Context
    ) -> Result | Coroutine[Any, Any, Result]:
        """Run one call and return its result, also if there is no such tool."""
        tool = find_tool(call, tools)
        if isinstance(tool, Result):
            return tool
        attempt = self.begin(tool, call, context)
        if iscoroutine(attempt):
            result: Result = run_coroutine(attempt)
            return result
        if isinstance(attempt, Future):
            return attempt.result()
        return attempt() if callable(attempt) else attempt

    def around_tool_call(
        self,
        call: ToolCall,  # noqa: ARG002  (for subclasses)
        context: Context,  # noqa: ARG002  (overridden by runtimes that use it)
    ) -> Generator[Any, Any, Result]:
        """Wrap each call, as a generator: `result = yield` runs it. Override it to time, log or change calls.

        It also wraps calls of unknown tools and calls with invalid arguments. Policies decide about the call that it
        yields.
        """
        result: Result = yield
        return result

    def start(self, tool: Tool, call: ToolCall, context: Context, tools: Mapping[str, Tool]) -> Attempt:
        """Start one attempt with `dispatch_tool_call`, if the subclass has its own, or with `begin`."""
        if not self.dispatches:
            return self.begin(tool, call, context)
        dispatch: Any = partial(self.dispatch_tool_call, call, tools=tools, context=context)
        attempt: Attempt = dispatch() if iscoroutinefunction(self.dispatch_tool_call) else dispatch
        return attempt

    def overlaps(self, tool: Tool | Result) -> bool:  # noqa: ARG002  (for subclasses)
        """Return whether a call of this tool may run at the same time as its neighbours in a batch."""
        return self.max_concurrency != 1

    def gates_for(self, tool: Tool | Result) -> tuple[Gate, ...]:  # noqa: ARG002  (for subclasses)
        """Return the limits that a call has to pass, shared by all executors that use this runtime."""
        if self.max_concurrency is None or (self.max_concurrency == 1 and self.is_local):
            return ()
        if self._gate is None or self._gate.limit != self.max_concurrency:
            check_concurrency(self.max_concurrency)
            self._gate = Gate(self.max_concurrency)
        return (self._gate,)

    def close(self) -> None:
        """Release resources; the runtime can be used again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find_tool(call: ToolCall, tools: Mapping[str, Tool]) -> Tool | Result:
    """Return the requested tool, or the error result that there is no such tool."""
    try:
        return tools[call.name]
    except (DefinitionError, ToolError, UnknownToolError) as error:
        kind = "unknown_tool" if isinstance(error, UnknownToolError) else getattr(error, "type", "unavailable")
        return Result.error(str(error), type=kind, exception=error)
    except KeyError:  # of an ordinary mapping
        matches = closest(call.name, tools)
        names = ", ".join(sorted(tools)[:20]) or "none"
        hint = f"did you mean {' or '.join(matches)}?" if matches else f"there are {names}"
        return Result.error(f"no tool is called {call.name!r}; {hint}", type="unknown_tool")
