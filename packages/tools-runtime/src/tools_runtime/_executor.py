"""`Executor`: run tool calls; every call returns exactly one result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from itertools import groupby
from operator import attrgetter
from queue import Empty, SimpleQueue
from threading import Lock
from time import monotonic
from typing import Any, Literal, NoReturn, Self, TypeAlias

from tools_core import Context, Registry, Result, Tool, ToolCall, Tools
from tools_core.threads import in_thread, start_coroutine
from tools_runtime._approval import Approve, Approver
from tools_runtime._call import Batch, Execution, Place
from tools_runtime._callers import Caller, ExecutorCaller
from tools_runtime._concurrency import Gate, check_concurrency
from tools_runtime._drive import adrive, drive
from tools_runtime._events import ToolBugError, is_bug
from tools_runtime._hooks import Hooks
from tools_runtime._plugins import Plugins
from tools_runtime._policy import Approvals, Decision
from tools_runtime._runtimes._choice import Choice, Runtimes, call_with_context
from tools_runtime._runtimes._local import MAX_THREADS, ThreadRuntime
from tools_runtime._runtimes._runtime import Runtime, find_tool

Pair: TypeAlias = tuple[ToolCall, Result]

_HOOK_GRACE = 1.0  # seconds for hooks to finish after the caller has left
_DEFAULT = "the executor's default_timeout"


class Executor:
    """Run tool calls on a runtime, wrapped by hooks. Stateless between batches.

    Args:
        tools: Tools as for `Registry`, or a function of the context that returns them. By default the installed tools.
        runtime: A `Runtime`, its class or name, or a function of the context that returns one of these. A mapping of
            tool names chooses a runtime for single tools, and `"*"` for the others. By default `AutoRuntime`, or the
            choice of `set_default_runtime`. A `stateful` tool always runs in this process.
        hooks: Plugins (see `tools_runtime.hookspecs`), the outermost first.
        policy: The policy that decides which calls run, such as `tools_runtime.Policy`.
        approve: Answers calls that need approval: a function or coroutine function of an `ApprovalRequest` that
            returns True, a scope (`"once"`, `"run"`, `"project"`) or an `Approval` to allow the call, False to deny
            it, or None to leave it pending. `"all"` allows all calls. By default they stay pending, as
            `approval_required`.
        approvals: The store of answers; by default that of the policy, or one in memory. `executor.approvals.approve`
            answers the pending call of a key.
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
        approvals: Approvals | None = None,
        default_timeout: float | None = 10.0,
        max_concurrency: int | None = None,
        error_policy: Literal["capture_all", "strict_bugs"] = "capture_all",
        plugins: bool = True,
    ) -> None:
        if error_policy not in ("capture_all", "strict_bugs"):
            raise ValueError(f'error_policy is "capture_all" or "strict_bugs", got {error_policy!r}')
        if default_timeout is not None and not 0 < default_timeout < 1e9:
            raise ValueError(f"default_timeout must be between 0 and 1e9 seconds, or None; got {default_timeout!r}")
        if approve is not None and approve != "all" and not callable(approve):
            raise TypeError(f'approve is a function of an ApprovalRequest, "all" or None; got {approve!r}')
        check_concurrency(max_concurrency)
        self.hooks = hooks
        self.policy = policy
        self.approve: Approve | None = approve
        self.runtime = runtime
        self.default_timeout = default_timeout
        self.max_concurrency = max_concurrency
        self.error_policy = error_policy
        self.plugins = Plugins(hooks, installed=plugins, policy=policy)
        self._tools: Mapping[str, Tool] | Callable[..., Any] = (
            tools if callable(tools) and not isinstance(tools, Tool | type) else _as_mapping(tools)
        )
        self.approvals = approvals or self.plugins.approvals() or Approvals()
        self._has_approvals = approvals is not None or self.plugins.approvals() is not None
        self._hooks = Hooks.of(self.plugins.manager)
        self._approver = Approver(self._hooks.deciders, approve, self.approvals)
        self._runtimes = Runtimes(self.plugins.runtimes())
        choices = {"*": None, **runtime} if isinstance(runtime, Mapping) else {"*": runtime}
        self._choices = {name: self._runtimes.resolve(choice) for name, choice in choices.items()}
        self._stateful = ThreadRuntime()
        self._gate = None if max_concurrency is None else Gate(max_concurrency)

    # ------------------------------------------------------------------------------------------------ running calls

    def call(self, call: ToolCall, context: Context | None = None) -> Result:
        """Run one call and return its result."""
        return self.execute([call], context)[0][1]

    async def acall(self, call: ToolCall, context: Context | None = None) -> Result:
        """`call` for coroutines."""
        return (await self.aexecute([call], context))[0][1]

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, context: Context | None = None
    ) -> Result:
        """Run a tool by its name, with arguments as a mapping or as JSON text, and return the result."""
        return self.call(ToolCall(None, name, arguments), context)

    async def acall_tool(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, context: Context | None = None
    ) -> Result:
        """`call_tool` for coroutines."""
        return await self.acall(ToolCall(None, name, arguments), context)

    def execute(self, calls: Iterable[ToolCall], context: Context | None = None) -> list[Pair]:
        """Run calls, and return each with its result, in their order."""
        return list(self.iterate(calls, context))

    async def aexecute(self, calls: Iterable[ToolCall], context: Context | None = None) -> list[Pair]:
        """`execute` for coroutines."""
        return [pair async for pair in self.aiterate(calls, context)]

    def iterate(
        self, calls: Iterable[ToolCall], context: Context | None = None, *, as_completed: bool = False
    ) -> Iterator[Pair]:
        """Run calls, and yield each with its result, in their order or as they complete.

        If you stop iterating, calls that have not started do not run, and running calls are cancelled.
        """
        executions, batch = self._prepare(calls, context)
        for wave in _waves(executions):
            first = wave[0]
            if len(wave) == 1 and not (batch.hooks.need_loop or first.place.runtime.runs_apart):
                drive(first.steps())
                yield first.call, first.result
                continue
            for execution in _in_order(wave, _run_together(wave, batch), as_completed=as_completed):
                yield execution.call, execution.result
        self._raise_bug(executions)

    async def aiterate(
        self, calls: Iterable[ToolCall], context: Context | None = None, *, as_completed: bool = False
    ) -> AsyncGenerator[Pair]:
        """`iterate` for coroutines: asynchronous tools run in this event loop, others in worker threads."""
        executions, batch = self._prepare(calls, context)
        for wave in _waves(executions):
            _limit_threads(wave)
            tasks = [asyncio.create_task(_arun(execution)) for execution in wave]
            try:
                for task in asyncio.as_completed(tasks) if as_completed else tasks:
                    execution = await asyncio.shield(task)
                    yield execution.call, execution.result
            finally:
                await _leave(tasks, batch.context)
        self._raise_bug(executions)

    def decide(self, call: ToolCall, context: Context | None = None) -> Decision:
        """Return what the policy and the plugins decide about a call, before any answer to it; nothing runs.

        Raises: InvalidArguments; KeyError for an unknown tool.
        """
        tool = self._tools_for(context)[call.name]
        return self._approver.decide(call, tool, Context() if context is None else context)

    # ------------------------------------------------------------------------------------------------ runtimes

    def runtime_of(self, name: str, context: Context | None = None) -> Runtime:
        """Return the runtime of a tool."""
        return self._place(ToolCall(None, name), self._tools_for(context), context).runtime

    def close(self) -> None:
        """Close the runtimes that the executor has created; it can be used again."""
        self._runtimes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Executor cannot be pickled or copied: create one there, with the same tools")

    # ------------------------------------------------------------------------------------------------ one batch

    def _prepare(self, calls: Iterable[ToolCall], context: Context | None) -> tuple[list[Execution], Batch]:
        if context is not None and not isinstance(context, Context):
            raise TypeError(f"context is a Context, got {type(context).__name__}; put your own values into its state")
        calls = list(calls)
        for call in calls:
            if not isinstance(call, ToolCall):
                raise TypeError(f"a call is a ToolCall, got {type(call).__name__}; ToolCall.from_dict reads a dict")
        tools = self._tools if isinstance(self._tools, Mapping) else self._tools_for(context)
        places = [self._place(call, tools, context) for call in calls]
        base = Context() if context is None else context.for_call()  # cancelled when the caller stops
        base.approved |= self.approve == "all"
        caller: Any = base.caller
        if caller is None or caller.executor is not self:
            caller = base.caller = ExecutorCaller(self, base.run_id, caller)
        hooks, approver = self.bound_by(caller.outer)
        batch = Batch(base, tools, lambda call: self._place(call, tools, context), hooks, approver)
        executions: list[Execution] = []
        for number, (call, place) in enumerate(zip(calls, places, strict=True)):
            executions.append(Execution(call, place, base.for_call(None, call.id, delivers=True), batch, number))
        return executions, batch

    def bound_by(self, outer: Caller | None) -> tuple[Hooks, Approver]:
        """Return the hooks and the approver of calls that a call of an outer caller makes."""
        if outer is None:
            return self._hooks, self._approver
        hooks, approver = outer.executor.bound_by(outer.outer)
        hooks = hooks.over(self._hooks)
        approvals = self.approvals.inside(approver.approvals) if self._has_approvals else approver.approvals
        approve = approver.approve if self.approve is None else self.approve
        return hooks, Approver(hooks.deciders, approve, approvals)

    def _place(self, call: ToolCall, tools: Mapping[str, Tool], context: Context | None) -> Place:
        if len(self._choices) == 1:
            choice = self._choices["*"]
        else:
            names = (call.name, call.name.rpartition(":")[2], "*")
            choice = next(self._choices[name] for name in names if name in self._choices)
        runtime = choice if isinstance(choice, Runtime) else self._runtimes.for_context(choice, context)
        tool = find_tool(call, tools)
        limit, set_by = self.default_timeout, _DEFAULT
        if isinstance(tool, Tool):
            if tool.stateful and not runtime.is_local:
                runtime = self._stateful
            if tool.timeout is not None:
                limit, set_by = tool.timeout, "the tool"
            elif tool.manages_timeout:
                limit = None
        gates = runtime.gates_for(tool)
        gates = gates if self._gate is None else (self._gate, *gates)
        return Place(tool, runtime, runtime.overlaps(tool), gates, limit, set_by)

    def _tools_for(self, context: Context | None) -> Mapping[str, Tool]:
        tools = self._tools
        return tools if isinstance(tools, Mapping) else _as_mapping(call_with_context(tools, context) or ())

    def _raise_bug(self, executions: Sequence[Execution]) -> None:
        for execution in executions if self.error_policy == "strict_bugs" else ():
            error = execution.result.exception
            if isinstance(error, ToolBugError):  # of a call that this one has run
                raise error
            if error is not None and is_bug(error):
                results = [(execution.call, execution.result) for execution in executions]
                raise ToolBugError(execution.call, error, results) from error


def _waves(executions: Iterable[Execution]) -> Iterator[list[Execution]]:
    """Yield the calls that run at the same time: neighbours that overlap, and every other call alone."""
    for overlaps, group in groupby(executions, key=attrgetter("place.overlaps")):
        if overlaps:
            yield list(group)
        else:
            yield from ([execution] for execution in group)


def _run_together(wave: Sequence[Execution], batch: Batch) -> Iterator[Execution]:
    """Run calls at the same time, in threads or in the shared event loop, and yield each when it has its result."""
    completed: SimpleQueue[Execution] = SimpleQueue()
    started: list[Execution] = []
    waiting, lock, variables = iter(wave), Lock(), copy_context()

    def work() -> None:
        while True:
            with lock:
                execution = None if started and batch.context.cancelled else next(waiting, None)
                if execution is None:
                    return
                started.append(execution)
            variables.copy().run(drive, execution.steps())
            completed.put(execution)

    try:
        runtime = wave[0].place.runtime
        if batch.hooks.need_loop or runtime.needs_loop or (runtime.name == "auto" and 2 * len(wave) > MAX_THREADS):
            _limit_threads(wave)  # each call has one thread, and else two
            started.extend(wave)
            for execution in wave:
                start_coroutine(_arun(execution)).add_done_callback(lambda task: completed.put(task.result()))
        else:
            for _ in wave[: max(execution.place.runtime.max_concurrency or MAX_THREADS for execution in wave)]:
                in_thread(work)
        for _ in wave:
            yield _next(completed)
    finally:
        if not all(execution.has_ended for execution in wave):
            batch.context.cancel()
            _wait_for_hooks(started, completed)


def _limit_threads(wave: Sequence[Execution]) -> None:
    """Let calls of synchronous tools, which run in threads of their own, wait for each other if they are many."""
    if len(wave) <= MAX_THREADS:
        return
    gate = Gate(MAX_THREADS)
    for execution in wave:
        place = execution.place
        if isinstance(place.tool, Tool) and not place.tool.is_async:
            execution.place = place._replace(gates=(*place.gates, gate))


def _next(completed: SimpleQueue[Execution]) -> Execution:
    """Wait for the next call that ends.

    Wakes up once a second, since a Ctrl-C in the instant before the wait would be noticed only after it.
    """
    while True:
        with suppress(Empty):
            return completed.get(timeout=1)


def _wait_for_hooks(started: Sequence[Execution], completed: SimpleQueue[Execution]) -> None:
    """Wait until cancelled calls have ended, for a limited time."""
    until = monotonic() + _HOOK_GRACE
    with suppress(Empty):
        while not all(execution.has_ended for execution in started):
            completed.get(timeout=max(0.0, until - monotonic()))


def _in_order(wave: Sequence[Execution], completed: Iterator[Execution], *, as_completed: bool) -> Iterator[Execution]:
    if as_completed:
        yield from completed
        return
    try:
        for execution in wave:
            while not execution.has_ended:
                next(completed)
            yield execution
    finally:
        completed.close()  # type: ignore[attr-defined]


async def _arun(execution: Execution) -> Execution:
    """Run a call in the running event loop; cancel a hook that continues after the deadline or a cancellation."""
    execution.in_loop = True
    context, loop, task = execution.context, asyncio.get_running_loop(), asyncio.current_task()
    timers: list[asyncio.TimerHandle] = []

    def watch(seconds: float) -> None:
        timers[:] = [loop.call_later(seconds, stop)]

    def stop() -> None:
        if execution.in_hook and task is not None:
            task.cancel()
        if not execution.has_ended:
            watch(_HOOK_GRACE)

    if context.remaining is not None:
        watch(context.remaining + _HOOK_GRACE)
    unregister = context.on_cancel(lambda: loop.call_soon_threadsafe(watch, _HOOK_GRACE))
    try:
        await adrive(execution.steps())
    finally:
        unregister()
        for timer in timers:
            timer.cancel()
    return execution


async def _leave(tasks: Sequence[asyncio.Task[Execution]], context: Context) -> None:
    """Cancel the calls that still run, and let their hooks finish."""
    if all(task.done() for task in tasks):
        return
    context.cancel()
    _, unfinished = await asyncio.wait(tasks, timeout=_HOOK_GRACE)
    for task in unfinished:
        task.cancel()


def _as_mapping(tools: Any) -> Mapping[str, Tool]:
    """Return tools by name; a registry, or another mapping of tools, stays the same object."""
    if tools is None:
        return Registry(auto=True)
    if isinstance(tools, Mapping) and (
        isinstance(tools, Registry) or all(isinstance(tool, Tool) for tool in tools.values())
    ):
        return tools
    return dict(Registry(tools))
