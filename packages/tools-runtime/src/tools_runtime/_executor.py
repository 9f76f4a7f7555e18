"""`Executor`: takes calls from anyone, and gives each exactly one result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, Self

from tools_core import Context, DefinitionError, Registry, Result, Tool, ToolCall, registry
from tools_runtime._chain import Chain, Layer, Trace
from tools_runtime._choose import Runtimes, check, given_context
from tools_runtime._job import Job, overran
from tools_runtime._plugins import Plugins
from tools_runtime._runtimes import InlineRuntime, Runtime
from tools_runtime._runtimes._runtime import find

if TYPE_CHECKING:
    from tools_runtime._choose import Choice

Tools = Mapping[str, Tool] | Sequence[Any] | Callable[..., Any]
Pair = tuple[ToolCall, Result]

# What is a mistake in a program rather than a failure of what it works with.
BUGS = (NameError, AttributeError, TypeError, NotImplementedError, AssertionError, ImportError, RecursionError)
_KEPT = 1_000  # results that wait for who asked for them


class Executor:
    """Makes calls, in the order or the manner of a runtime, with hooks around each.

    Args:
        tools: A registry or other mapping, a sequence of tools, or a function of the context that returns one of these.
            By default what is installed.
        runtime: A name, class or instance of `Runtime`, or a function of the context that returns one; a mapping of
            tools' names to these gives single tools another one, with "*" for the rest. A tool's own attribute `runtime`
            comes first. By default `InlineRuntime`, or what `set_default_runtime` was given.
        hooks: Plugins (see `tools_runtime.hookspecs`), the outermost first.
        policy: A plugin that decides what may be called, nearer to the call than other hooks, so that it sees what
            is really called: `tools_runtime.Policy`.
        default_timeout: Seconds that a call may take where its tool says nothing; None for no limit.
        max_concurrency: How many calls of one `execute` may run at once, whatever the runtime allows.
        error_policy: With "strict_bugs" an exception that means a mistake in a tool's code (NameError, TypeError and
            others, see `BUGS`) is raised once all calls have their results; "capture_all" leaves it a result.
        plugins: Whether installed plugins take part.
        trace: Whether to count what each hook takes, see `trace`.

    Raises: ValueError for two tools of one name; TypeError for what is no runtime.
    """

    def __init__(
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
        if max_concurrency is not None and max_concurrency < 1:
            raise ValueError(f"max_concurrency is 1 or more, or None; got {max_concurrency!r}")
        self._choices: Mapping[str, Choice] = runtime if isinstance(runtime, Mapping) else {}
        self._choice = self._choices.get("*") if isinstance(runtime, Mapping) else runtime
        for choice in (*self._choices.values(), self._choice):
            if choice is not None:
                check(choice)
        self._tools: Tools = registry if tools is None else tools
        if not callable(self._tools):
            self._tools = as_mapping(self._tools)
        self.default_timeout = default_timeout
        self.max_concurrency = max_concurrency
        self.error_policy = error_policy
        self.plugins = Plugins(hooks, installed=plugins, policy=policy)
        self.trace = Trace() if trace else None
        self._chain = Chain(self.plugins.manager, self.trace)
        self._runtimes = Runtimes(self.plugins.runtimes())
        self._undelivered: dict[tuple[str, str, str], Result] = {}

    def execute(self, calls: Iterable[ToolCall], context: Context | None = None) -> list[Pair]:
        """Make calls, and return each with its result, in their order."""
        return list(self.iterate(calls, context))

    async def aexecute(self, calls: Iterable[ToolCall], context: Context | None = None) -> list[Pair]:
        """`execute` for coroutines."""
        return [pair async for pair in self.aiterate(calls, context)]

    def call(self, call: ToolCall, context: Context | None = None) -> Result:
        """Make one call."""
        return self.execute([call], context)[0][1]

    async def acall(self, call: ToolCall, context: Context | None = None) -> Result:
        """`call` for coroutines."""
        return (await self.aexecute([call], context))[0][1]

    def iterate(self, calls: Iterable[ToolCall], context: Context | None = None) -> Iterator[Pair]:
        """Make calls, and give each with its result as soon as their order allows.

        A runtime that makes one call at a time makes each when its turn comes: who stops asking has made no more. Of
        others, results that were not asked for are kept, and given when the same call comes again, which so is not made
        twice.
        """
        calls = list(calls)
        tools = self._tools_for(context)
        simple = self._simple(calls, tools, context)
        if simple is not None:
            yield from self._directly(calls, simple)
            return
        jobs = self._jobs(calls, tools, context)
        if any(self._is_concurrent(job) for job in jobs):
            from tools_runtime._batch import Batch  # brings threads, for who runs calls beside each other

            done = Batch(jobs, self._is_concurrent, self.max_concurrency).results()
        else:
            done = (job for job in jobs if job.result is not None or job.run())
        with self._keeping(jobs):
            yield from (self._deliver(job) for job in done)
        self._raise_bug(jobs)

    async def aiterate(self, calls: Iterable[ToolCall], context: Context | None = None) -> AsyncIterator[Pair]:
        """`iterate` for coroutines: what is asynchronous runs in this event loop, the rest in threads."""
        from contextlib import aclosing  # with asyncio, which who awaits us has

        from tools_runtime._tasks import results  # as above

        jobs = self._jobs(list(calls), self._tools_for(context), context)
        with self._keeping(jobs):
            async with aclosing(results(jobs, self._is_concurrent, self.max_concurrency)) as done:
                async for job in done:
                    yield self._deliver(job)
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

    def _tools_for(self, context: Context | None) -> Mapping[str, Tool]:
        tools = self._tools
        return tools if isinstance(tools, Mapping) else as_mapping(given_context(tools, context))

    def _simple(self, calls: list[ToolCall], tools: Mapping[str, Tool], context: Context | None) -> list[Tool] | None:
        """The tools, where nothing lies between the calls and them: then nothing is made to stand between."""
        chain = self._chain
        if chain.layers or chain.listeners or context is not None or self._undelivered or self.error_policy != "capture_all":
            return None
        found: list[Tool] = []
        inline = self._runtimes.of(self._choice, context)
        if self._choices or type(inline) is not InlineRuntime or inline.worker_thread:
            return None
        for call in calls:
            try:
                tool = tools[call.name]
            except Exception:  # noqa: BLE001  (said where the call is made)
                return None
            if tool.timeout is not None or tool.is_async or tool.takes_context or hasattr(tool, "runtime"):
                return None
            found.append(tool)
        return found

    def _directly(self, calls: list[ToolCall], tools: list[Tool]) -> Iterator[Pair]:
        limit = self.default_timeout
        for call, tool in zip(calls, tools, strict=True):
            began = monotonic()
            result = tool.call(call.given)
            if limit is not None and monotonic() - began > limit:
                result = overran(result, limit)
            yield call, result

    def _jobs(self, calls: list[ToolCall], tools: Mapping[str, Tool], context: Context | None) -> list[Job]:
        base = Context() if context is None else context
        return [self._job(call, find(call, tools), tools, base) for call in calls]

    def _job(self, call: ToolCall, tool: Tool | Result, tools: Mapping[str, Tool], base: Context) -> Job:
        runtime = self._runtime(call.name, tool, base)
        limit = None if isinstance(tool, Result) else tool.timeout
        context = base.for_call(None, call.id)
        chain = self._chain_of(runtime)
        if chain.listeners:
            chain.listen(context, call)
        job = Job(call, tool, tools, runtime, chain, context, self.default_timeout if limit is None else limit)
        if self._undelivered:
            job.result = self._undelivered.pop(_key(call), None)
        return job

    def _runtime(self, name: str, tool: Tool | Result, context: Context | None) -> Runtime:
        choice = getattr(tool, "runtime", None) or self._choices.get(name) or self._choice
        return self._runtimes.of(choice, context)

    def _chain_of(self, runtime: Runtime) -> Chain:
        """The hooks of the plugins, and inside them the runtime's own."""
        kind = type(runtime)
        if kind.around_tool_call is Runtime.around_tool_call:
            return self._chain
        return self._chain.within(Layer(lambda call, _, context: runtime.around_tool_call(call, context), kind.__name__, "around_tool_call"))

    def _is_concurrent(self, job: Job) -> bool:
        return job.result is None and job.runtime.max_concurrency != 1 and self.max_concurrency != 1

    def _deliver(self, job: Job) -> Pair:
        job.is_delivered = True
        assert job.result is not None
        return job.call, job.result

    @contextmanager
    def _keeping(self, jobs: list[Job]) -> Iterator[None]:
        """Keep the results that nobody asked for in the end, also those of calls which still run."""
        try:
            yield
        finally:
            for job in jobs:
                if not job.is_delivered:
                    job.on_late = self._keep
                    if job.result is not None:
                        self._keep(job)

    def _keep(self, job: Job) -> None:
        if job.result is not None and job.call.id is not None:
            self._undelivered[_key(job.call)] = job.result
            while len(self._undelivered) > _KEPT:
                del self._undelivered[next(iter(self._undelivered))]

    def _raise_bug(self, jobs: list[Job]) -> None:
        if self.error_policy == "strict_bugs":
            for job in jobs:
                if job.result is not None and isinstance(job.result.exception, BUGS):
                    raise job.result.exception


def _key(call: ToolCall) -> tuple[str, str, str]:
    return str(call.id), call.name, str(call.given)


def as_mapping(tools: Any) -> Mapping[str, Tool]:
    """Tools by name; ValueError when two have one name."""
    if isinstance(tools, Mapping):
        return tools
    made, twice = Registry(), []
    for each in tools or ():
        try:
            made.register(each)
        except DefinitionError:
            raise
        except ValueError:
            twice.append(getattr(each, "name", repr(each)))
    if twice:
        raise ValueError(f"Duplicate tool names: {', '.join(sorted(set(twice)))}")
    return made
