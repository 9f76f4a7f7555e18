"""`Executor`: takes calls, and gives each exactly one result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, cast

from tools_core import Context, Registry, Result, Tool, ToolCall
from tools_runtime._errors import ToolBugError, is_bug
from tools_runtime._place._choose import Runtimes, call_with_context
from tools_runtime._place._gate import Gate, check_concurrency
from tools_runtime._place._placement import Placement, call_plainly, is_plain
from tools_runtime._place._runtime import Runtime, find
from tools_runtime._place._thread import ThreadRuntime
from tools_runtime._schedule._batch import Batch, adrive, drive
from tools_runtime._schedule._home import CallingThread, EventLoop
from tools_runtime._schedule._job import Job
from tools_runtime._schedule._outcomes import failure
from tools_runtime._wrap._layers import Layers
from tools_runtime._wrap._plugins import Plugins

if TYPE_CHECKING:
    from tools_runtime._place._choose import Choice
    from tools_runtime._wrap._decide import Approve

Tools = Mapping[str, Tool] | Sequence[Any] | Callable[..., Any]
Pair = tuple[ToolCall, Result]


class Executor:
    """Run tool calls on a runtime, wrapped by hooks. Stateless between batches.

    Args:
        tools: A registry or another mapping, a sequence of tools, or a function of the context that returns one of
            these. By default the installed tools.
        runtime: A `Runtime`, its class or name, or a function of the context that returns one of these. A mapping of
            tool names chooses a runtime for single tools, and `"*"` for the others. By default `InlineRuntime`, or the
            choice of `set_default_runtime`. A `stateful` tool always runs in this process.
        hooks: Plugins (see `tools_runtime.hookspecs`), the outermost first.
        policy: The policy that decides which calls run, such as `tools_runtime.Policy`.
        approve: Answers calls that need approval: a function or coroutine function of an `ApprovalRequest` that
            returns True or a scope (`"once"`, `"run"`, `"project"`) to allow the call, False to deny it, or None to
            leave it pending. `"all"` allows all calls. By default they stay pending, as `approval_required`.
        default_timeout: Seconds for a call of a tool without a limit; None for no limit.
        max_concurrency: The number of calls that may run at once in this executor, for all callers together.
        error_policy: `"strict_bugs"` raises `ToolBugError` for an exception that indicates a bug in a tool (NameError,
            TypeError, AssertionError and others), after all calls have ended. With `"capture_all"` such an exception is
            an error result like any other.
        plugins: Whether to use installed plugins.

    Raises: ValueError for two tools with the same name; TypeError for an argument of the wrong type.
    """

    def __init__(  # noqa: PLR0913  (each has a default)
        self,
        tools: Tools | None = None,
        *,
        runtime: Choice | Mapping[str, Choice] | None = None,
        hooks: Sequence[Any] = (),
        policy: Any = None,
        approve: Approve | None = None,
        default_timeout: float | None = 10.0,
        max_concurrency: int | None = None,
        error_policy: Literal["capture_all", "strict_bugs"] = "capture_all",
        plugins: bool = True,
    ) -> None:
        if error_policy not in ("capture_all", "strict_bugs"):
            raise ValueError(f'error_policy is "capture_all" or "strict_bugs", got {error_policy!r}')
        if default_timeout is not None and not 0 < default_timeout < 1e9:
            raise ValueError(
                f"default_timeout is in seconds and above 0, or None for no limit; got {default_timeout!r}"
            )
        if approve is not None and approve != "all" and not callable(approve):
            raise TypeError(f'approve is a function of an ApprovalRequest, "all" or None; got {approve!r}')
        check_concurrency(max_concurrency)
        self.default_timeout = default_timeout
        self.max_concurrency = max_concurrency
        self.error_policy = error_policy
        self.plugins = Plugins(hooks, installed=plugins, policy=policy)
        self._tools: Mapping[str, Tool] | Callable[..., Any] = (
            tools if callable(tools) and not _is_tool(tools) else _as_mapping(tools)
        )
        self._layers = Layers.of(self.plugins.manager, approve)
        self._runtimes = Runtimes(self.plugins.runtimes())
        choices = {"*": None, **runtime} if isinstance(runtime, Mapping) else {"*": runtime}
        self._choices = {name: self._runtimes.resolve(choice) for name, choice in choices.items()}
        rest = self._choices["*"]
        self._fixed = rest if isinstance(rest, Runtime) and len(choices) == 1 else None
        self._stateful = ThreadRuntime()
        self._wrapped: dict[Runtime, Layers] = {}
        self._gate = None if max_concurrency is None else Gate(max_concurrency)
        self._is_plain = self._layers.is_empty and self._gate is None and error_policy == "capture_all"

    # ------------------------------------------------------------------------------------------------ making calls

    def execute(self, calls: Iterable[ToolCall], context: Context | None = None) -> list[Pair]:
        """Run calls and return each with its result, in order."""
        calls = _checked(calls)
        if context is None and self._is_plain:
            pairs = self._plainly(calls)
            if pairs is not None:
                return pairs
        return list(self.iterate(calls, context))

    async def aexecute(self, calls: Iterable[ToolCall], context: Context | None = None) -> list[Pair]:
        """`execute` for coroutines."""
        return [pair async for pair in self.aiterate(calls, context)]

    def iterate(
        self, calls: Iterable[ToolCall], context: Context | None = None, *, as_completed: bool = False
    ) -> Iterator[Pair]:
        """Run calls and yield each with its result, in order or as they complete.

        If you stop iterating, a sequential runtime skips the remaining calls. Other runtimes have started them already
        and cancel the calls that are still running.
        """
        batch = self._batch(CallingThread(), calls, context)
        for job in drive(batch, as_completed=as_completed):
            yield job.call, _NO_RESULT if job.result is None else job.result
        self._raise_bug(batch.jobs)

    async def aiterate(
        self, calls: Iterable[ToolCall], context: Context | None = None, *, as_completed: bool = False
    ) -> AsyncIterator[Pair]:
        """`iterate` for coroutines: asynchronous tools run in this event loop, others in worker threads."""
        batch = self._batch(EventLoop(), calls, context)
        async with aclosing(adrive(batch, as_completed=as_completed)) as done:
            async for job in done:
                yield job.call, _NO_RESULT if job.result is None else job.result
        self._raise_bug(batch.jobs)

    def call(
        self, call: ToolCall | str, arguments: Mapping[str, Any] | str | None = None, context: Context | None = None
    ) -> Result:
        """Run one call: a ToolCall, or the name and arguments of a tool."""
        return self.execute([_as_call(call, arguments)], context)[0][1]

    async def acall(
        self, call: ToolCall | str, arguments: Mapping[str, Any] | str | None = None, context: Context | None = None
    ) -> Result:
        """`call` for coroutines."""
        return (await self.aexecute([_as_call(call, arguments)], context))[0][1]

    # ------------------------------------------------------------------------------------------------ where

    def runtime_of(self, name: str, context: Context | None = None) -> Runtime:
        """Return the runtime for the calls of a tool."""
        tools = self._tools_for(context)
        return self._placement(ToolCall(None, name), tools, context).runtime

    def close(self) -> None:
        """Close the runtimes that this executor created. The executor can be used again."""
        self._runtimes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Executor cannot be pickled or copied: make one there, of the same tools")

    # ------------------------------------------------------------------------------------------------ inside

    def _plainly(self, calls: Sequence[ToolCall]) -> list[Pair] | None:
        """Make calls of tools that need nothing but to be called, in this thread; None if one needs more."""
        tools, runtime = self._tools, self._fixed
        if runtime is None or not isinstance(tools, Mapping):
            return None
        found = [find(call, tools) for call in calls]
        if any(isinstance(tool, Result) or tool.requires_approval or not is_plain(tool, runtime) for tool in found):
            return None
        pairs: list[Pair] = []
        for call, tool in zip(calls, found, strict=True):
            try:
                result = call_plainly(call, cast("Tool", tool), self.default_timeout, _DEFAULT)
            except SystemExit as error:  # a tool must not end the program
                result = failure(error)
            pairs.append((call, result))
        return pairs

    def _batch(self, home: Any, calls: Iterable[ToolCall], context: Context | None) -> Batch[Any]:
        if context is not None and not isinstance(context, Context):
            raise TypeError(f"context is a Context, got {type(context).__name__}; put your own values into its state")
        tools = self._tools_for(context)
        base = (Context() if context is None else context).for_call()  # cancelled when the caller stops
        batch: Batch[Any] = Batch(home, base, self._gate)

        def place(call: ToolCall) -> Placement:
            return self._placement(call, tools, context)

        def job_of(call: ToolCall) -> Job:
            placement = place(call)
            own = base.for_call(None, call.id)
            layers = self._layers_for(placement.runtime)
            return Job(call, placement, tools, own, layers, home, place, batch.note_end)

        batch.jobs = [job_of(call) for call in _checked(calls)]
        return batch

    def _placement(self, call: ToolCall, tools: Mapping[str, Tool], context: Context | None) -> Placement:
        tool = find(call, tools)
        runtime = self._fixed or self._chosen(call.name, context)
        if isinstance(tool, Result):
            return Placement(tool, runtime, self.default_timeout, _DEFAULT)
        if tool.stateful and not runtime.is_local:
            runtime = self._stateful
        if tool.timeout is not None:
            return Placement(tool, runtime, tool.timeout, "the tool")
        return Placement(tool, runtime, None if tool.manages_timeout else self.default_timeout, _DEFAULT)

    def _chosen(self, name: str, context: Context | None) -> Runtime:
        bare = name.rpartition(":")[2]
        choice = next(self._choices[each] for each in (name, bare, "*") if each in self._choices)
        return self._runtimes.for_context(choice, context)

    def _layers_for(self, runtime: Runtime) -> Layers:
        if not runtime.wraps:
            return self._layers
        if runtime not in self._wrapped:
            self._wrapped[runtime] = self._layers.inside(
                lambda call, _tool, context: runtime.around_tool_call(call, context), type(runtime).__name__
            )
        return self._wrapped[runtime]

    def _tools_for(self, context: Context | None) -> Mapping[str, Tool]:
        tools = self._tools
        return tools if isinstance(tools, Mapping) else _as_mapping(call_with_context(tools, context) or ())

    def _raise_bug(self, jobs: Sequence[Job]) -> None:
        if self.error_policy == "capture_all":
            return
        for job in jobs:
            error = None if job.result is None else job.result.exception
            if error is not None and is_bug(error):
                raise ToolBugError(job.call, error, [(each.call, each.result) for each in jobs]) from error


_DEFAULT = "the executor's default_timeout"
_NO_RESULT = Result.error("the call has no result")


def _as_call(call: ToolCall | str, arguments: Mapping[str, Any] | str | None) -> ToolCall:
    if isinstance(call, str):
        return ToolCall(None, call, arguments)
    if arguments is not None:
        raise TypeError("a ToolCall has its arguments already; give the name of the tool with arguments of your own")
    return call


def _checked(calls: Iterable[Any]) -> list[ToolCall]:
    calls = list(calls)
    for call in calls:
        if not isinstance(call, ToolCall):
            raise TypeError(f"a call is a ToolCall, got {type(call).__name__}; ToolCall.from_dict reads a dict")
    return calls


def _is_tool(tools: object) -> bool:
    return isinstance(tools, Tool) or (isinstance(tools, type) and issubclass(tools, Tool))


def _as_mapping(tools: Any) -> Mapping[str, Tool]:
    """Tools by name; a registry stays what it is."""
    if tools is None:
        return Registry(auto=True)
    if isinstance(tools, Mapping):
        return tools
    found = Registry()
    for tool in [tools] if _is_tool(tools) else tools:
        found.register(tool)
    return dict(found)
