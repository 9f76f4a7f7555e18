"""`Executor`: takes calls from anyone, and gives each exactly one result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

from tools_core import Context, DefinitionError, Result, Tool, ToolCall
from tools_runtime._bugs import bug_in
from tools_runtime._chain import Chain, Trace
from tools_runtime._choose import Runtimes, check, given_context, is_function
from tools_runtime._job import Job, is_plain, overran
from tools_runtime._kept import Kept
from tools_runtime._plugins import Plugins
from tools_runtime._runtimes._runtime import check_concurrency, find, refusal

if TYPE_CHECKING:
    from tools_core import Registry
    from tools_runtime._choose import Choice
    from tools_runtime._job import Placed
    from tools_runtime._runtimes import Runtime

Tools = Mapping[str, Tool] | Sequence[Any] | Callable[..., Any]
Pair = tuple[ToolCall, Result]


class Executor:
    """Makes calls, in the order or the manner of a runtime, with hooks around each.

    Args:
        tools: A registry or other mapping, a sequence of tools, or a function of the context that returns one of these.
            By default what is installed.
        runtime: A name, class or instance of `Runtime`, or a function of the context that returns one; a mapping of
            tools' names to these gives single tools another one, with "*" for the rest. A tool's own `runtime` comes
            first. By default `InlineRuntime`, or what `set_default_runtime` was given.
        hooks: Plugins (see `tools_runtime.hookspecs`), the outermost first.
        policy: A plugin that decides what may be called, nearer to the call than other hooks, so that it sees what
            is really called: `tools_runtime.Policy`.
        default_timeout: Seconds that a call may take where its tool says nothing; None for no limit.
        max_concurrency: How many calls of one `execute` may run at once, whatever the runtime allows.
        error_policy: With "strict_bugs" an exception that means a mistake in a tool's code (NameError, AttributeError,
            TypeError, NotImplementedError, AssertionError, ImportError, RecursionError), or a group with one, is raised
            once all calls have their results; "capture_all" leaves it a result.
        plugins: Whether installed plugins take part.
        trace: Whether to count how often each hook runs, and for how long: `executor.trace.times`.

    Raises: ValueError for two tools of one name; TypeError for what is no runtime.
    """

    def __init__(  # noqa: PLR0913  (what an executor is made of, each with a default)
        self,
        tools: Tools | None = None,
        *,
        runtime: Choice | Mapping[str, Choice] | None = None,
        hooks: Sequence[Any] = (),
        policy: Any = None,
        default_timeout: float | None = 10.0,
        max_concurrency: int | None = None,
        error_policy: Literal["capture_all", "strict_bugs"] = "capture_all",
        plugins: bool = True,
        trace: bool = False,
    ) -> None:
        if error_policy not in ("capture_all", "strict_bugs"):
            raise ValueError(f'error_policy is "capture_all" or "strict_bugs", got {error_policy!r}')
        if default_timeout is not None and not 0 < default_timeout < 1e9:
            raise ValueError(f"default_timeout is in seconds and above 0, or None; got {default_timeout!r}")
        check_concurrency(max_concurrency)
        self._choices: Mapping[str, Choice] = runtime if isinstance(runtime, Mapping) else {}
        self._choice = self._choices.get("*") if isinstance(runtime, Mapping) else runtime
        for choice in (*self._choices.values(), self._choice):
            if choice is not None:
                check(choice)
        self._tools: Mapping[str, Tool] | Callable[..., Any] = (
            tools if callable(tools) and not _is_alone(tools) else _as_mapping(tools)
        )
        self.default_timeout = default_timeout
        self.max_concurrency = max_concurrency
        self.error_policy = error_policy
        self.plugins = Plugins(hooks, installed=plugins, policy=policy)
        self.trace = Trace() if trace else None
        self._chain = Chain.of(self.plugins.manager, self.trace)
        self._runtimes = Runtimes(self.plugins.runtimes())
        for choice in self._choices.values():
            self._runtimes.check_name(choice)
        self._kept = Kept()
        self._fixed = None if self._choices or is_function(self._choice) else self._runtimes.of(self._choice, None)
        is_direct = (
            self._chain.is_empty and not self._chain.listeners and error_policy == "capture_all"
            and self._fixed is not None and self._fixed.is_here and not self._fixed.wraps
            and self._fixed.max_concurrency == 1
        )  # fmt: skip
        # With nothing around the calls, a plain tool of these is simply called.
        self._direct = self._tools if is_direct and isinstance(self._tools, Mapping) else None

    def execute(self, calls: Iterable[ToolCall], context: Context | None = None) -> list[Pair]:
        """Make calls, and return each with its result, in their order."""
        calls = list(calls)
        pairs: list[Pair] = []
        limit = self.default_timeout
        direct = self._direct if context is None else None
        try:
            while direct is not None and len(pairs) < len(calls):
                call = calls[len(pairs)]
                tool = self._plain(call, direct)
                if tool is None:
                    break
                began = monotonic()
                pairs.append((call, tool.call(call.given)))  # at once: what follows may be interrupted
                if limit is not None and monotonic() - began > limit:
                    pairs[-1] = call, overran(pairs[-1][1], limit)
            if len(pairs) < len(calls):
                pairs.extend(self.iterate(calls[len(pairs) :], context))  # which has each as soon as it is there
            return pairs  # noqa: TRY300  (it may be interrupted here)
        except BaseException as error:
            self._kept.take_back(pairs, error)
            raise

    async def aexecute(self, calls: Iterable[ToolCall], context: Context | None = None) -> list[Pair]:
        """`execute` for coroutines."""
        pairs: list[Pair] = []
        try:
            async for pair in self.aiterate(calls, context):
                pairs.append(pair)  # noqa: PERF401  (see execute)
        except BaseException as error:
            self._kept.take_back(pairs, error)
            raise
        return pairs

    def call(self, call: ToolCall, context: Context | None = None) -> Result:
        """Make one call."""
        return self.execute([call], context)[0][1]

    async def acall(self, call: ToolCall, context: Context | None = None) -> Result:
        """`call` for coroutines."""
        return (await self.aexecute([call], context))[0][1]

    def iterate(self, calls: Iterable[ToolCall], context: Context | None = None) -> Iterator[Pair]:
        """Make calls, and give each with its result as soon as their order allows.

        A runtime that makes one call at a time makes each when its turn comes: if you stop iterating, the rest are not
        made. Others have begun them by then, and no call is made twice: when the same call comes again, a result that
        nobody took is given, a call that still runs is waited for within its limit, and one that was made, but whose
        hooks were interrupted, has them begin again with the result that it has.
        """
        jobs = self._jobs(calls, context)
        batch, given = None, 0
        try:
            self._kept.give(jobs)
            if self._needs_batch(jobs):
                from tools_runtime._batch import Batch  # brings threads, for who runs calls beside each other

                batch = Batch(jobs)
                batch.start(self._is_concurrent, self._most(jobs))
            for job in jobs:
                if batch is not None:
                    batch.wait_for(job)
                result = job.run() if job.result is None else job.result
                if job.earlier is not None:
                    self._kept.forget(job)
                yield job.call, result
                given += 1
        except GeneratorExit:
            given += 1  # who stops asking has the last one
            raise
        finally:
            try:
                self._kept.keep(jobs[given:])
            finally:
                if batch is not None:
                    batch.give_up()
        self._raise_bug(jobs)

    async def aiterate(self, calls: Iterable[ToolCall], context: Context | None = None) -> AsyncIterator[Pair]:
        """`iterate` for coroutines: what is asynchronous runs in this event loop, the rest in threads."""
        from contextlib import aclosing  # with asyncio, which who awaits us has

        from tools_runtime._tasks import results  # as above

        jobs, given = self._jobs(calls, context), 0
        try:
            self._kept.give(jobs)
            async with aclosing(results(jobs, self._is_concurrent, self._most(jobs))) as done:
                async for job, result in done:
                    if job.earlier is not None:
                        self._kept.forget(job)
                    yield job.call, result
                    given += 1
        except GeneratorExit:
            given += 1  # see iterate
            raise
        finally:
            self._kept.keep(jobs[given:])
        self._raise_bug(jobs)

    def runtime_of(self, name: str, context: Context | None = None) -> Runtime:
        """Where calls of a tool run."""
        tool = find(ToolCall(None, name), self._tools_for(context))
        return self._runtime(name, tool, context)

    def close(self) -> None:
        """Close the runtimes that were made here, not those that were given; the executor can be used again."""
        self._runtimes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Executor is not sent to other processes, nor copied: make one there, of the same tools")

    def _tools_for(self, context: Context | None) -> Mapping[str, Tool]:
        tools = self._tools
        return tools if isinstance(tools, Mapping) else _as_mapping(given_context(tools, context) or ())

    def _plain(self, call: ToolCall, tools: Mapping[str, Tool]) -> Tool | None:
        """The tool, where nothing is to be done but to call it in this thread."""
        try:
            tool = tools[call.name]
        except Exception:  # noqa: BLE001  (said where the call is made)
            return None
        if not self._kept.is_empty or tool.runtime is not None or not is_plain(tool):
            return None
        return tool

    def _jobs(self, calls: Iterable[ToolCall], context: Context | None) -> list[Job]:
        if context is not None and not isinstance(context, Context):
            raise TypeError(f"context is a Context, got {type(context).__name__}; values of yours go into its state")
        calls = list(calls)
        for call in calls:
            if not isinstance(call, ToolCall):
                raise TypeError(f"a call is a ToolCall, got {type(call).__name__}; ToolCall.from_dict reads a dict")
        tools = self._tools_for(context)
        base = _NOTHING if context is None else context
        return [self._job(call, find(call, tools), tools, base) for call in calls]

    def _job(self, call: ToolCall, tool: Tool | Result, tools: Mapping[str, Tool], base: Context) -> Job:
        if self._fixed is None or isinstance(tool, Result) or tool.runtime is not None:
            tool, runtime, limit = self._placed(call, tool, base)
        else:  # most of them
            runtime, limit = self._fixed, self.default_timeout if tool.timeout is None else tool.timeout
        context = base.for_call(None, call.id)
        chain = self._chain
        if chain.listeners:
            chain.listen(context, call)
        return Job(call, tool, tools, runtime, chain, context, limit, self._placed)

    def _placed(self, call: ToolCall, tool: Tool | Result, context: Context) -> Placed:
        """The tool, or the result where it says that it runs where nothing can; where it runs, and its limit."""
        runtime = self._fixed
        if runtime is None or (isinstance(tool, Tool) and tool.runtime is not None):
            try:
                runtime = self._runtime(call.name, tool, context)
            except (TypeError, ValueError) as error:
                if not isinstance(tool, Tool) or tool.runtime is None:
                    raise  # the caller's own choice; of a tool's, its call can say it
                tool, runtime = refusal(error), self._runtimes.of(self._choice, context)
        limit = None if isinstance(tool, Result) else tool.timeout
        return tool, runtime, self.default_timeout if limit is None else limit

    def _runtime(self, name: str, tool: Tool | Result, context: Context | None) -> Runtime:
        choice = tool.runtime if isinstance(tool, Tool) else None
        if choice is None:
            if self._fixed is not None:
                return self._fixed
            # A model may write the name with its distribution: that leads nowhere else.
            plain = name.rpartition(":")[2]
            choice = self._choices.get(name) or self._choices.get(plain) or self._choice
        return self._runtimes.of(choice, context)

    def _needs_batch(self, jobs: list[Job]) -> bool:
        """Whether any is to run beside the others, or has a limit that somebody has to watch."""
        runtimes = {id(job.runtime): job.runtime for job in jobs}.values()
        is_beside = len(jobs) > 1 and self.max_concurrency != 1
        return any(each.limits == "watched" or (is_beside and each.max_concurrency != 1) for each in runtimes)

    def _is_concurrent(self, job: Job) -> bool:
        return job.result is None and job.runtime.max_concurrency != 1 and self.max_concurrency != 1

    def _most(self, jobs: Iterable[Job]) -> int | None:
        """How many may run beside each other: one place is for those that run when it is their turn."""
        most = self.max_concurrency
        if most is None or most == 1 or all(job.result is not None or self._is_concurrent(job) for job in jobs):
            return most
        return most - 1

    def _raise_bug(self, jobs: list[Job]) -> None:
        if self.error_policy == "strict_bugs":
            for job in jobs:
                error = None if job.result is None else job.result.exception
                if error is not None and bug_in(error) is not None:
                    raise error


_NOTHING = Context()


def _as_mapping(tools: Any) -> Mapping[str, Tool]:
    """Tools by name, None for those installed; ValueError when two have one name."""
    if isinstance(tools, Mapping):
        for name, each in tools.items() if isinstance(tools, dict) else ():  # others may load what they are asked for
            if not isinstance(each, Tool):
                raise TypeError(f"in a mapping each is a Tool; {name!r} is {each!r}: use a list, or tool(...)")
        return tools
    if _is_alone(tools):
        raise TypeError("tools are a registry, a mapping or a sequence; one tool goes into a list: Executor([...])")
    from tools_core import Registry, registry  # metadata of packages: 4 ms, which no import should cost

    if tools is None:
        return registry
    made, twice = Registry(), []
    for each in tools:
        try:
            made.register(each)
        except DefinitionError:
            raise
        except ValueError:
            twice.append(getattr(each, "name", repr(each)))
    if twice:
        raise ValueError(f"Duplicate tool names: {', '.join(sorted(set(twice)))}")
    return _Tools(made)


def _is_alone(tools: object) -> bool:
    """Whether this is one tool or toolset, and no function that chooses tools: to call it would run it."""
    from tools_core import Toolset  # loaded already where there is one

    return isinstance(tools, Tool | Toolset) or (isinstance(tools, type) and issubclass(tools, Tool | Toolset))


class _Tools(dict[str, Tool]):
    """Tools that stay as they are, found at once."""

    def __init__(self, tools: Registry) -> None:
        super().__init__(tools)
        self._registry = tools

    def __missing__(self, name: str) -> Tool:
        return self._registry[name]  # which says what is near
