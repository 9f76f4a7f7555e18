"""`Runtime`: where a call is made."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from tools_core import DefinitionError, Result, ToolCall, ToolError, UnknownToolError
from tools_core.text import closest
from tools_core.threads import run_coroutine
from tools_runtime._place._gate import Gate, check_concurrency

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from tools_core import Context, Tool

    Placed = Result | Future[Result] | Coroutine[Any, Any, Result] | Callable[[], Result]

_counting = threading.Lock()


class Runtime:
    """Subclass it and override `dispatch_tool_call` to make calls in a place of your own.

    ```python
    class HttpRuntime(Runtime):
        def dispatch_tool_call(self, call, tools, context):
            answer = httpx.post(self.url, json=call.to_dict())
            return Result.text(answer.text)
    ```

    `dispatch_tool_call` may be a coroutine function. A subclass that says nothing else makes calls one after the other,
    in the calling thread. `max_concurrency` is how many calls may run at once in one runtime; None sets no limit. An
    exception that `dispatch_tool_call` raises becomes the result of its call. Overriding `begin` places a call without
    blocking: see there.
    """

    name: ClassVar[str] = ""
    max_concurrency: int | None = 1
    stops: Literal["", "cancelled", "killed"] = ""
    """Tells how a call ends at its limit, when its context is cancelled; "" where it cannot be stopped."""
    grace: float = 0.25
    """Seconds in which a call that was stopped has to end."""
    is_local: ClassVar[bool] = True  # tools run in this process
    dispatches: ClassVar[bool] = False  # dispatch_tool_call is overridden
    wraps: ClassVar[bool] = False  # around_tool_call is overridden
    _gate: Gate | None = None
    _abandoned = 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.dispatches = cls.dispatch_tool_call is not Runtime.dispatch_tool_call
        cls.wraps = cls.around_tool_call is not Runtime.around_tool_call
        if cls.wraps and not isgeneratorfunction(cls.around_tool_call):
            raise TypeError(
                f"{cls.__name__}.around_tool_call is not a generator: write `result = yield` where the call is made"
            )

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if cls is Runtime:
            raise TypeError("Runtime is abstract: use InlineRuntime or another one, or subclass it")
        return super().__new__(cls)

    def begin(self, tool: Tool, call: ToolCall, context: Context) -> Placed:
        """Begin one attempt to make a call, without blocking.

        Returns its Result, a `concurrent.futures.Future` of it, a coroutine (which runs in the caller's event loop, or
        in one of the library's), or a function (which runs where the hooks of the call run, or in a worker thread).
        The scheduler watches the limit and the caller: it cancels `context`, and `context.on_cancel` lets the runtime
        stop what it can.
        """
        return (
            tool.acall(call.raw_arguments, context)
            if tool.is_async
            else partial(tool.call, call.raw_arguments, context)
        )

    def dispatch_tool_call(
        self, call: ToolCall, tools: Mapping[str, Tool], context: Context
    ) -> Result | Coroutine[Any, Any, Result]:
        """Make one call and return its result; that the tool is unknown is a result as well."""
        tool = find(call, tools)
        if isinstance(tool, Result):
            return tool
        placed = self.begin(tool, call, context)
        if isinstance(placed, Coroutine):
            return run_coroutine(placed)
        if isinstance(placed, Future):
            return placed.result()
        return placed() if callable(placed) else placed

    def around_tool_call(
        self,
        call: ToolCall,  # noqa: ARG002  (for subclasses)
        context: Context,  # noqa: ARG002
    ) -> Generator[Any, Any, Result]:
        """Wrap each call, as a generator: `result = yield` makes it. Override it to time, log or change calls.

        It wraps unknown tools and invalid arguments as well; policies decide about the call that it yields.
        """
        result: Result = yield
        return result

    def place(self, tool: Tool, call: ToolCall, context: Context, tools: Mapping[str, Tool]) -> Placed:
        """`begin`, or the subclass's own dispatch."""
        if not self.dispatches:
            return self.begin(tool, call, context)
        dispatched = partial(self.dispatch_tool_call, call, tools, context)
        if iscoroutinefunction(self.dispatch_tool_call):
            coroutine: Coroutine[Any, Any, Result] = dispatched()  # type: ignore[assignment]
            return coroutine
        return dispatched  # type: ignore[return-value]

    @property
    def is_sequential(self) -> bool:
        """True where calls of one batch are made one after the other, each when its result is asked for."""
        return self.max_concurrency == 1 and self.is_local

    def gates_for(self, tool: Tool | Result) -> tuple[Gate, ...]:  # noqa: ARG002  (for subclasses)
        """The limits that a call has to pass, shared by all executors that use this runtime."""
        if self.max_concurrency is None or self.is_sequential:
            return ()
        if self._gate is None or self._gate.limit != self.max_concurrency:
            check_concurrency(self.max_concurrency)
            self._gate = Gate(self.max_concurrency)
        return (self._gate,)

    @property
    def abandoned(self) -> int:
        """The number of calls that were abandoned at their limit and still run."""
        return self._abandoned

    def count_abandoned(self, change: int) -> None:
        """Count a call that was abandoned, or one of these that has ended."""
        with _counting:
            self._abandoned += change

    def close(self) -> None:
        """Release what the runtime holds; it can be used again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def find(call: ToolCall, tools: Mapping[str, Tool]) -> Tool | Result:
    """The tool that a call asks for, or the result that says there is none."""
    try:
        return tools[call.name]
    except (DefinitionError, ToolError, UnknownToolError) as error:
        kind = "unknown_tool" if isinstance(error, UnknownToolError) else getattr(error, "type", "unavailable")
        return Result.error(str(error), type=kind, exception=error)
    except KeyError:  # of an ordinary mapping
        similar = closest(call.name, tools)
        hint = (
            f"did you mean {' or '.join(similar)}?"
            if similar
            else f"there are {', '.join(sorted(tools)[:20]) or 'none'}"
        )
        return Result.error(f"no tool is called {call.name!r}; {hint}", type="unknown_tool")
