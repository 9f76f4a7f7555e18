"""`Agent`: a model with instructions and tools, which works on a session."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, Unpack
from weakref import WeakKeyDictionary, WeakSet

from tools_agent._guardrails import Guardrail, check_guardrails
from tools_agent._loop._approvals import SessionApprovals
from tools_agent._loop._calls import Recorder
from tools_agent._loop._run import Run, calling_back
from tools_agent._loop._stream import AsyncStream, Stream
from tools_agent._messages import System, Usage, User
from tools_agent._options import NAMES, Options, check_class, check_name, hybridmethod, is_function, read_tools, resolve
from tools_agent._output_type import Output
from tools_agent._providers._provider import Provider
from tools_agent._response import Interrupted, OutputT, Response
from tools_agent._session._session import Session
from tools_agent._skills import Skills
from tools_agent._stores._store import Store
from tools_core import Tool
from tools_runtime import Approvals, Executor
from tools_runtime.plugins import LoopDetector, OutputBudget

if TYPE_CHECKING:
    from tools_agent._loop._sub_agent import AgentTool

T = TypeVar("T")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # the places between the words of a name


class _AsTool:
    def __get__(self, agent: Agent[Any] | None, owner: type[Agent[Any]]) -> Callable[..., AgentTool]:
        from tools_agent._loop._sub_agent import AgentTool  # 10 ms, for agents that are tools

        return partial(AgentTool, owner if agent is None else agent)


class Agent(Generic[OutputT]):
    """A model that calls tools until it has replied. Options are class attributes or arguments of the constructor.

    ```python
    class Clerk(Agent):
        model = "anthropic:claude-opus-5-1"
        instructions = "Keep the office tidy."
        tools = [read_file, write_file]

    Clerk.generate("Sort the inbox.").content
    ```

    `model`, `instructions`, `tools`, `skills` and `workspace` may be functions of the context, or of no argument. They
    are called when the agent is created.

    Attributes:
        name: The name for `Agent.find` and sub-agents; by default the class name in snake case.
        model: `"PROVIDER:NAME"`, or a provider such as `OpenAIProvider(...)`.
        instructions: The system message of each new session.
        tools: A list, a registry or another mapping.
        runtime: Where tools run: a runtime, its name such as `"thread"`, or a function of the context.
        hooks: Plugins that wrap calls, the outermost first, such as `AuditLog`.
        policy: The policy that decides which calls run, such as `tools_runtime.Policy`.
        approve: Answers requests for approval: a function of an `ApprovalRequest`, or `"all"`. By default calls that
            need approval interrupt the run.
        on_ask: Answers questions of tools (`context.ask`): a function or coroutine function of a `Question` that
            returns the answer, or None. By default questions interrupt the run.
        error_policy: `"strict_bugs"` raises `ToolBugError` for an exception that indicates a bug in a tool.
        guardrails: Guardrails that may change or block input and replies; see `Guardrail`.
        output: A pydantic model or another type for replies; `response.output` is the parsed value.
        output_retries: The number of times that the model receives the error if its reply does not match `output`.
        max_steps: The number of model replies after which a run is interrupted; None for no limit.
        max_session_steps: The same limit for the whole session.
        max_tokens: The number of tokens, of input and output, after which a run is interrupted.
        max_cost: The price in US dollars after which a run is interrupted; needs the extra `prices`.
        output_budget: The number of characters of one result that the model sees, or None. The model can read the
            rest with the tool `read_output`.
        loop_detection: Warn a model that repeats a call, and end the run if it continues.
        skills: Folders with skills; see `Skills`.
        window: The part of a long session that the model sees; see `Window`.
        settings: Arguments of the provider's API, translated for each provider: `{"reasoning_effort": "low"}`.
        timeout: Seconds for one reply of the model.
        tool_timeout: Seconds for a call of a tool without a limit; None for no limit.
        workspace: The folder that confines file tools.
        heal: Give calls without a result a placeholder when a run is interrupted, so that the next run skips them.
        on_unknown: How to treat a call that was running when its process was killed, unless its tool is read-only or
            idempotent, or has a `verify` tool that finds out: `"close"` returns an error of type `outcome_unknown`,
            `"ask"` requires approval to repeat it.
        max_depth: The maximum nesting of sub-agents.
    """

    name: str = ""
    model: Any = None
    instructions: Any = None
    tools: Any = ()
    runtime: Any = None
    hooks: Sequence[Any] = ()
    policy: Any = None
    approve: Any = None
    on_ask: Callable[..., Any] | None = None
    guardrails: Sequence[Any] = ()
    output: type[OutputT] | Any = None
    output_retries: int = 1
    max_steps: int | None = 16
    max_session_steps: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    output_budget: int | None = 30_000
    loop_detection: bool = True
    skills: Any = None
    window: Any = None
    settings: Mapping[str, Any] = {}
    timeout: float | None = None
    tool_timeout: float | None = 10.0
    error_policy: Literal["capture_all", "strict_bugs"] = "capture_all"
    workspace: Any = None
    heal: bool = False
    on_unknown: Literal["close", "ask"] = "close"
    max_depth: int = 3

    def __init__(
        self,
        session: Session | str | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        store: Store | None = None,
        output: type[OutputT] | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Create an agent.

        Args:
            session: The session to continue; or, with a `store`, the id of a session, which is created if the store
                has no such session. By default a new session.
            context: Values for tools, guardrails and options that are functions.
            store: The store of sessions, such as `SQLiteStore`.
            output: The type of replies.
            **options: See the class; they take precedence over class attributes.
        """
        self._lock = threading.RLock()
        self._cache: dict[str, Any] = {}  # what follows from options: the provider, the tools, the executor
        self._steering: WeakKeyDictionary[Session, list[User]] = WeakKeyDictionary()
        self.runs: dict[Session, Run] = {}  # the active ones
        self.with_cut_output: WeakSet[Session] = WeakSet()
        self.context: dict[str, Any] = {"token_usage": Usage(), **(context or {})}
        for name, value in ({**options, "output": output} if output is not None else options).items():
            if name not in NAMES:
                check_name(name, "an agent")
                raise TypeError(f"{name!r} is not an option of an agent; there are {', '.join(NAMES)}")
            setattr(self, name, value)
        self.name = self.name or "agent"
        self.skills = _skills_of(resolve(self.skills, self.context))
        if self.skills is not None:
            self.context["skills"] = self.skills
        instructions = resolve(self.instructions, self.context)
        self.instruction_message = System(content=instructions) if instructions else None
        self.skills_message = self.skills.message if self.skills is not None else None
        _ = self.provider, self._executor, self.output_type, self.checked_guardrails  # raise errors of options now
        if session is not None and not isinstance(session, Session | str):
            raise TypeError(
                f"the first argument of an agent is a Session, or its id in a store, got {type(session).__name__}; "
                "messages go into Session(messages)"
            )
        self.store = session.store if isinstance(session, Session) else store
        if isinstance(session, Session) and store is not None:
            raise TypeError("a Session has its store already: leave out store=")
        self._session = None if session is None else self._find_session(session)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls):
            cls.name = _WORDS.sub("_", cls.__name__).lower()
        check_class(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an option, from the next run on. Raises TypeError for a misspelt one."""
        if name in NAMES:
            with self._lock:
                for key in _DEPENDENT.get(name, ()):
                    old = self._cache.pop(key, None)
                    if isinstance(old, Executor) and not self.runs:
                        old.close()
        elif not name.startswith("_") and not hasattr(self, name):
            check_name(name, "an agent")
        super().__setattr__(name, value)

    @property
    def session(self) -> Session:
        """The session of runs without another one."""
        with self._lock:
            if self._session is None:
                self._session = self.open_session(None, self.store)
            return self._session

    # ------------------------------------------------------------------------------------------------ running

    @hybridmethod
    def generate(
        self,
        prompt: str | User | None = None,
        *,
        files: Sequence[Any] | None = None,
        context: Mapping[str, Any] | None = None,
        session: Session | str | None = None,
    ) -> Response[OutputT]:
        """Run until the model has replied or the run is interrupted, and return the response.

        Without a prompt the run continues the session: it first runs calls without a result. A session that ends with
        a reply is complete. `files` are Images, Audio or Files, or dicts with `data` in base64 and `media_type`.
        `context` has values for this run, in addition to the agent's. `session` replaces the agent's session: one
        agent may run several sessions at once. Called on the class, this creates an agent with that context.

        Raises: ProviderError, StoreError, SessionConflictError if a run of the session is active, and exceptions of
        callbacks and guardrails. The session keeps all messages up to then, and `generate()` continues it.
        """
        stream: Stream[OutputT] = Stream(self.new_run(prompt, files, context, session))
        for _ in stream:
            pass
        return stream.response

    @hybridmethod
    def stream(
        self,
        prompt: str | User | None = None,
        *,
        files: Sequence[Any] | None = None,
        context: Mapping[str, Any] | None = None,
        session: Session | str | None = None,
    ) -> Stream[OutputT]:
        """Run as `generate` does, and return an iterator of events; its `response` is set at the end."""
        return Stream(self.new_run(prompt, files, context, session))

    @hybridmethod
    async def agenerate(
        self,
        prompt: str | User | None = None,
        *,
        files: Sequence[Any] | None = None,
        context: Mapping[str, Any] | None = None,
        session: Session | str | None = None,
    ) -> Response[OutputT]:
        """`generate` for coroutines."""
        stream: AsyncStream[OutputT] = AsyncStream(self.new_run(prompt, files, context, session, is_async=True))
        async for _ in stream:
            pass
        return stream.response

    @hybridmethod
    def astream(
        self,
        prompt: str | User | None = None,
        *,
        files: Sequence[Any] | None = None,
        context: Mapping[str, Any] | None = None,
        session: Session | str | None = None,
    ) -> AsyncStream[OutputT]:
        """`stream` for coroutines."""
        return AsyncStream(self.new_run(prompt, files, context, session, is_async=True))

    def interrupt(self, reason: Any = None, *, session: Session | None = None) -> None:
        """Stop a run: in a callback its own, immediately, by raising Interrupted; elsewhere as soon as possible.

        The model's reply is truncated, and running tools are cancelled. Without an active run this does nothing.
        `session` is by default the agent's.
        """
        run: Any = calling_back.get()
        if run is not None and run.agent is self and session in (None, run.session):
            raise Interrupted(reason)
        run = self.runs.get(session or self.session)
        if run is not None:
            run.interrupt(reason)

    def steer(self, message: str | User, *, session: Session | None = None) -> None:
        """Add a user message to the session's active run, before its next request to the model; or to the next run."""
        self.steering(session or self.session).append(message if isinstance(message, User) else User(content=message))

    as_tool = _AsTool()

    def close(self) -> None:
        """Close the runtimes that this agent created, and the connections of its provider if `model` is a name."""
        if "executor" in self._cache:
            self._cache["executor"].close()
        if "provider" in self._cache and isinstance(resolve(self.model, self.context), str):
            self._cache["provider"][0].close()

    async def aclose(self) -> None:
        """`close` for coroutines, which also closes the connections of this event loop."""
        self.close()
        if "provider" in self._cache and isinstance(resolve(self.model, self.context), str):
            await self._cache["provider"][0].aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # ------------------------------------------------------------------------------------------------ classes

    @classmethod
    def identifier(cls) -> str:
        """Return the name of the class: `name`, or the class name in snake case."""
        return cls.name or "agent"

    @classmethod
    def all(cls) -> list[type[Agent[Any]]]:
        """Return all subclasses, direct and indirect."""
        direct = cls.__subclasses__()
        return [each for kind in direct for each in (kind, *kind.all())]

    @classmethod
    def find(cls, identifier: str) -> type[Agent[Any]] | None:
        """Return the latest subclass with this name, or None."""
        return next((kind for kind in reversed(cls.all()) if kind.identifier() == identifier), None)

    # ------------------------------------------------------------------------------------------------ for the loop

    @property
    def provider(self) -> tuple[Provider, str]:
        """The provider, and the name of its model."""
        return self._cached("provider", lambda: _provider_of(resolve(self.model, self.context)))

    @property
    def output_type(self) -> Output | None:
        """The type of replies."""
        return self._cached("output", lambda: None if self.output is None else Output(self.output))

    @property
    def checked_guardrails(self) -> Sequence[Guardrail]:
        """The guardrails as instances."""
        return self._cached("guardrails", lambda: check_guardrails(self.guardrails))

    @property
    def _tools(self) -> dict[str, Tool]:
        return self._cached("tools", lambda: self._find_tools(self.context))

    @property
    def _executor(self) -> Executor:
        return self._cached("executor", lambda: self._make_executor(self._tools, self.policy))

    def _cached(self, key: str, compute: Callable[[], T]) -> T:
        with self._lock:
            if key not in self._cache:
                self._cache[key] = compute()
            value: T = self._cache[key]
            return value

    def steering(self, session: Session) -> list[User]:
        """Return the waiting messages for a session."""
        with self._lock:
            return self._steering.setdefault(session, [])

    def count(self, usage: Usage) -> None:
        """Add tokens to `context["token_usage"]`."""
        with self._lock:
            self.context["token_usage"] += usage

    def open_session(self, id: str | None, store: Store | None) -> Session:
        """Open a session, or create it with the instructions."""
        if id is not None and store is not None:
            try:
                return Session.open(store, id)
            except KeyError:
                pass
        seeds = [message for message in (self.instruction_message, self.skills_message) if message is not None]
        return Session(seeds, id=id, store=store)

    def new_run(
        self,
        prompt: str | User | None = None,
        files: Sequence[Any] | None = None,
        context: Mapping[str, Any] | None = None,
        session: Session | str | None = None,
        *,
        caller: Run | None = None,
        is_async: bool = False,
    ) -> Run:
        """Return a run, which has not started."""
        if not isinstance(prompt, str | User | None):
            raise TypeError(f"a prompt is text or a User, got {type(prompt).__name__}")
        if files and not isinstance(prompt, str):
            raise ValueError("files are part of a prompt: pass one, as text")
        message = User(content=prompt, files=tuple(files or ())) if isinstance(prompt, str) else prompt
        values = {**self.context, **context} if context else self.context
        tools, executor = self._tools, self._executor
        policy = caller.inherited("policy") if self.policy is None and caller is not None else self.policy
        if (context and is_function(self.tools)) or policy is not self.policy:
            tools = self._find_tools(values)
            executor = self._make_executor(tools, policy)
        return Run(
            self, self.session if session is None else self._find_session(session), values, message, tools=tools,
            executor=executor, workspace=resolve(self.workspace, values), caller=caller, is_async=is_async,
        )  # fmt: skip

    def release(self, run: Run) -> None:
        """Close the executor of a run that has ended, unless it is the agent's."""
        if run.executor is not self._cache.get("executor"):
            run.executor.close()

    def _find_session(self, session: Session | str) -> Session:
        if isinstance(session, str):
            if self.store is None:
                raise TypeError(f"the session {session!r} is in a store: pass store= to the agent")
            session = self.open_session(session, self.store)
        if self.heal:
            session.prune()
        return session

    def _find_tools(self, context: Mapping[str, Any]) -> dict[str, Tool]:
        tools = read_tools(resolve(self.tools, context))
        added = [] if self.skills is None else [self.skills.tool]
        if tools and self._has_budget:
            added.append(self.budget.tool)
        for tool in added:
            if tool.name in tools:
                raise ValueError(f"{tool.name!r} is the name of a tool that the agent adds: rename your tool")
            tools[tool.name] = tool
        return tools

    def _make_executor(self, tools: Mapping[str, Tool], policy: Any) -> Executor:
        runtime = self.runtime
        if is_function(runtime):
            choose = runtime

            def runtime(context: Any) -> Any:
                return resolve(choose, context.state)

        policy = policy() if isinstance(policy, type) else policy
        approvals = getattr(policy, "approvals", None)
        hooks = [*self.hooks, _RECORDER]
        if self.loop_detection and not any(isinstance(hook, LoopDetector) for hook in hooks):
            hooks.insert(0, LoopDetector())
        if self._has_budget:
            hooks.insert(0, self.budget)
        return Executor(
            tools, runtime=runtime, hooks=hooks, policy=policy, approve=_RECORDER.approve,
            approvals=SessionApprovals(approvals if isinstance(approvals, Approvals) else None),
            default_timeout=self.tool_timeout, error_policy=self.error_policy,
        )  # fmt: skip

    @property
    def _has_budget(self) -> bool:
        return self.output_budget is not None and not any(isinstance(hook, OutputBudget) for hook in self.hooks)

    @property
    def budget(self) -> OutputBudget:
        """The plugin that shortens results."""
        return self._cached("budget", lambda: OutputBudget(self.output_budget or 1))


_RECORDER = Recorder()
_EXECUTOR = ("executor",)
_DEPENDENT = {  # what an option changes
    "model": ("provider",), "output": ("output",), "guardrails": ("guardrails",), "tools": ("tools", "executor"),
    "skills": ("tools", "executor"), "output_budget": ("budget", "tools", "executor"), "runtime": _EXECUTOR,
    "hooks": ("tools", "executor"), "policy": _EXECUTOR, "loop_detection": _EXECUTOR, "tool_timeout": _EXECUTOR,
    "error_policy": _EXECUTOR,
}  # fmt: skip


def _skills_of(folders: Any) -> Skills | None:
    if folders is None or isinstance(folders, Skills):
        return folders
    return Skills([folders] if isinstance(folders, str | os.PathLike) else folders)


def _provider_of(model: Any) -> tuple[Provider, str]:
    if model is None:
        raise TypeError('an agent needs a model: "PROVIDER:NAME", or a Provider')
    if isinstance(model, str):
        from tools_agent._providers._get_provider import get_provider  # 30 ms that other providers do not need

        return get_provider(model)
    if not hasattr(model, "stream"):
        raise TypeError(f'a model is "PROVIDER:NAME", or a Provider, got {model!r}')
    return model, getattr(model, "model", "")
