"""`Agent`: a model with instructions and tools, which works on a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, Unpack

from tools_agent._caller_loop import in_worker, run_here
from tools_agent._loop._active import ActiveRuns
from tools_agent._loop._frame import Frame, calling_back
from tools_agent._loop._run import Run
from tools_agent._loop._state import state_of
from tools_agent._loop._stream import AsyncStream, Stream, finish
from tools_agent._loop._tasks import task_of_thread
from tools_agent._messages import System, Usage, User
from tools_agent._options import (
    NAMES,
    RUN_NAMES,
    Options,
    RunOptions,
    check_class,
    check_limit,
    check_name,
    check_options,
    hybridmethod,
    instruction_message,
    is_function,
    name_of,
)
from tools_agent._parts import Parts
from tools_agent._response import ContextT, Interrupted, OutputT, Response
from tools_agent._session._session import Session
from tools_agent._setup import RunValues
from tools_agent._skills import Skills, skills_of
from tools_agent._stores._store import Store

if TYPE_CHECKING:
    from tools_agent._loop._sub_agent import AgentTool
    from tools_core import Context


class _AsTool:
    def __get__(self, agent: Agent[Any, Any] | None, owner: type[Agent[Any, Any]]) -> Callable[..., AgentTool]:
        from tools_agent._loop._sub_agent import AgentTool  # 10 ms, for agents that are tools

        return partial(AgentTool, owner if agent is None else agent)


class Agent(Generic[ContextT, OutputT]):
    """A model that calls tools until it has replied. Options are class attributes or arguments of the constructor.

    `class Clerk(Agent[Context, Answer])` tells type checkers the types of its context, such as a
    TypedDict or a dataclass, and of `response.output`.

    ```python
    class Clerk(Agent):
        model = "anthropic:claude-opus-5-1"
        instructions = "Keep the office tidy."
        tools = [read_file, write_file]

    Clerk.generate("Sort the inbox.").content
    ```

    `model`, `instructions`, `tools`, `skills` and `workspace` may be functions of the context, of the context and a
    `session`, or of no argument, also coroutine functions. They are called for each run. `generate` takes all options,
    for one run.

    Attributes:
        name: The name for `Agent.find` and sub-agents; by default the class name in snake case.
        model: `"PROVIDER:NAME"`, or a provider such as `OpenAIProvider(...)`.
        instructions: The system message of each new session; in later runs of the session, the current text.
        tools: Tools as for `tools_core.Registry`.
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
        output_validators: Functions of the output, or of the output and the context, that raise ValueError, or return a
            corrected value; the model reads the error and replies again.
        output_retries: The number of times that the model receives the error if its reply does not match `output`.
        max_steps: The number of model replies after which a run is interrupted; None for no limit.
        max_session_steps: The same limit for the whole session.
        max_tokens: The number of tokens, of input and output, after which a run is interrupted.
        max_cost: The price in US dollars after which a run is interrupted; needs the extra `prices`.
        max_tool_calls: The number of tool calls that a run may make; it is interrupted before the next one.
        output_budget: The number of characters of one result that the model sees, or None. The model can read the
            rest with the tool `read_output`.
        loop_detection: Warn a model that repeats a call, and end the run if it continues.
        skills: Folders with skills; see `Skills`.
        window: The part of a long session that the model sees; see `Window`.
        settings: Arguments of the provider's API, translated for each provider: `{"reasoning_effort": "low"}`.
        timeout: Seconds for one reply of the model.
        tool_timeout: Seconds for a call of a tool without a limit; None for no limit.
        deferred: Patterns of tools whose definitions the model finds with `search_tools`, such as `"mcp:*"`, as for
            `Registry.select`; in addition to tools with `deferred=True`.
        definition_budget: The number of tokens of definitions above which the tools of the largest packages are
            deferred, too; by default a tenth of the model's context window.
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
    output_validators: Sequence[Callable[..., Any]] = ()
    output_retries: int = 1
    max_steps: int | None = 16
    max_session_steps: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_tool_calls: int | None = None
    output_budget: int | None = 30_000
    loop_detection: bool = True
    skills: Any = None
    window: Any = None
    settings: Mapping[str, Any] = {}
    timeout: float | None = None
    tool_timeout: float | None = 10.0
    error_policy: Literal["capture_all", "strict_bugs"] = "capture_all"
    deferred: str | Sequence[str] = ()
    definition_budget: int | None = None
    workspace: Any = None
    heal: bool = False
    on_unknown: Literal["close", "ask"] = "close"
    max_depth: int = 3

    def __init__(
        self,
        session: Session | str | None = None,
        context: ContextT | None = None,
        *,
        store: Store | None = None,
        output: type[OutputT] | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Create an agent.

        Args:
            session: The session to continue; or, with a `store`, the id of a session, which is created if the store
                has no such session. By default a new session.
            context: Values for tools, guardrails and options that are functions: a mapping, or any other object.
            store: The store of sessions, such as `SQLiteStore`.
            output: The type of replies.
            **options: See the class; they take precedence over class attributes.
        """
        self._lock = RLock()
        self.parts = Parts(self)
        self.runs = ActiveRuns()
        self.with_cut_output: set[str] = set()  # the keys of sessions
        self.context: Any = context  # a mapping has the tokens of all runs, too
        if context is None or isinstance(context, Mapping):
            self.context = {"token_usage": Usage(), **dict(context or {})}
        settings = {**options, "output": output} if output is not None else options
        check_options(settings, "an agent")
        vars(self).update(settings)
        self.name = self.name or "agent"
        if not is_function(self.skills):
            self.skills = skills_of(self.skills)
        if isinstance(self.skills, Skills) and isinstance(self.context, dict):
            self.context["skills"] = self.skills
        self.parts.check()
        if session is not None and not isinstance(session, Session | str):
            raise TypeError(
                f"the first argument of an agent is a Session, or its id in a store, got {type(session).__name__}; "
                "messages go into Session(messages)"
            )
        self.store = session.store if isinstance(session, Session) else store
        if isinstance(session, Session) and store is not None:
            raise TypeError("a Session has its store already: leave out store=")
        self._session = None if session is None else self._find_session(session)

    @classmethod
    async def aopen(
        cls, session: str, context: ContextT | None = None, *, store: Store, **options: Unpack[Options]
    ) -> Self:
        """Create an agent with a stored session, while the event loop runs."""
        return await in_worker(lambda: cls(session, context, store=store, **options))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls):
            cls.name = name_of(cls)
        check_class(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an option, from the next run on. Raises TypeError for a misspelt one."""
        if name not in NAMES and not name.startswith("_") and not hasattr(self, name):
            check_name(name, "an agent")
        if name in NAMES:
            check_limit(name, value)
        super().__setattr__(name, value)
        if name in NAMES:
            self.parts.forget(name)

    @property
    def instruction_message(self) -> System | None:
        """The system message of a new session, unless a function makes it for each run."""
        return None if is_function(self.instructions) else instruction_message(self.instructions)

    @property
    def skills_message(self) -> System | None:
        """The message that tells the model about the skills, unless a function finds them for each run."""
        return self.skills.message if isinstance(self.skills, Skills) else None

    @property
    def session(self) -> Session:
        """The session of runs without another one."""
        with self._lock:
            if self._session is None:
                self._session = self.open_session(None, self.store)
            return self._session

    # ------------------------------------------------------------------------------------------------ running

    @hybridmethod
    def generate(self, prompt: str | User | None = None, **options: Unpack[RunOptions[ContextT]]) -> Response[OutputT]:
        """Run until the model has replied or the run is interrupted, and return the response.

        Without a prompt the run continues the session: it first runs calls without a result. A session that ends with
        a reply is complete. Called on the class, this creates an agent with the context.

        Args:
            prompt: The user's message.
            files: Images, Audio or Files of the prompt, or dicts with `data` in base64 and `media_type`.
            context: Values for this run: a mapping in addition to the agent's, or any other object instead of it.
            session: A session instead of the agent's, or its id in the store: one agent may run several at once.
            **options: Options for this run instead of the agent's, such as `model`, `instructions`, `tools`, `output`
                or `max_steps`.

        Raises: ProviderError, StoreError, SessionConflictError if a run of the session is active, and exceptions of
        callbacks and guardrails. The session keeps all messages up to then, and `generate()` continues it.
        """
        return run_here(finish(self.new_run(prompt, **options)))

    @hybridmethod
    def stream(self, prompt: str | User | None = None, **options: Unpack[RunOptions[ContextT]]) -> Stream[OutputT]:
        """Run as `generate` does, and yield events; then `stream.response` is the response.

        Once the loop over the stream was left, another run of the session ends this one.
        """
        return Stream(self.new_run(prompt, **options))

    @hybridmethod
    async def agenerate(
        self, prompt: str | User | None = None, **options: Unpack[RunOptions[ContextT]]
    ) -> Response[OutputT]:
        """`generate` for coroutines."""
        check_options(options, "a run", RUN_NAMES)
        return await finish(await in_worker(lambda: self.new_run(prompt, **options)))

    @hybridmethod
    def astream(
        self, prompt: str | User | None = None, **options: Unpack[RunOptions[ContextT]]
    ) -> AsyncStream[OutputT]:
        """`stream` for coroutines."""
        check_options(options, "a run", RUN_NAMES)
        return AsyncStream(lambda: self.new_run(prompt, **options))

    def interrupt(self, reason: Any = None, *, session: Session | str | None = None) -> None:
        """Stop a run: in a callback its own, immediately, by raising Interrupted; elsewhere as soon as possible.

        The model's reply is truncated, and running tools are cancelled. Without an active run this does nothing.
        `session` is what `generate` takes, by default the agent's.
        """
        frame, task = calling_back.get() or (None, None)
        if session is None and frame is not None and frame.agent is self:
            session = frame.session
        run = self.runs.find(session or self.session, self.store)
        if run is None:
            return
        run.interrupt(reason)
        if run.frame is frame and task_of_thread() in (task, None):  # another task may outlive the callback
            raise Interrupted(reason)

    def steer(self, message: str | User, *, session: Session | str | None = None) -> None:
        """Add a user message to the session's active run, before its next request to the model; or to the next run.

        `session` is what `generate` takes, by default the agent's.
        """
        message = message if isinstance(message, User) else User(content=message)
        self.runs.steer(session or self.session, self.store, message)

    as_tool = _AsTool()

    def close(self) -> None:
        """Close the runtimes that this agent created, and the connections of its provider if `model` is a name."""
        for provider in self.parts.close():
            run_here(provider.aclose())

    async def aclose(self) -> None:
        """`close` for coroutines, which also closes the connections of this event loop."""
        for provider in self.parts.close():
            await provider.aclose()

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
    def all(cls) -> list[type[Agent[Any, Any]]]:
        """Return all subclasses, direct and indirect."""
        direct = cls.__subclasses__()
        return [subclass for kind in direct for subclass in (kind, *kind.all())]

    @classmethod
    def find(cls, identifier: str) -> type[Agent[Any, Any]] | None:
        """Return the latest subclass with this name, or None."""
        return next((kind for kind in reversed(cls.all()) if kind.identifier() == identifier), None)

    # ------------------------------------------------------------------------------------------------ for the loop

    def count(self, usage: Usage) -> None:
        """Add tokens to `context["token_usage"]`."""
        with self._lock:
            if isinstance(self.context, dict):
                self.context["token_usage"] += usage

    def open_session(
        self, id: str | None, store: Store | None, *, parent: Session | None = None, call: str = ""
    ) -> Session:
        """Open a session, or create it with the instructions; with a parent, as that of one of its calls."""
        if id is not None and store is not None:
            try:
                return Session.open(store, id)
            except KeyError:
                pass
        seeds = [message for message in (self.instruction_message, self.skills_message) if message is not None]
        return Session(seeds, id=id, store=store, parent=parent, call=call)

    def new_run(
        self,
        prompt: str | User | None = None,
        files: Sequence[Any] | None = None,
        context: Any = None,
        session: Session | str | None = None,
        *,
        call: Context | None = None,
        is_part: bool = False,
        **options: Any,
    ) -> Run:
        """Return a run, which has not started; with `call` for a call of the agent as a tool."""
        if not isinstance(prompt, str | User | None):
            raise TypeError(f"a prompt is text or a User, got {type(prompt).__name__}")
        if files and not isinstance(prompt, str):
            raise ValueError("files are part of a prompt: pass one, as text")
        check_options(options, "a run", RUN_NAMES)
        message = User(content=prompt, files=tuple(files or ())) if isinstance(prompt, str) else prompt
        session_of_run = self.session if session is None else self._find_session(session)
        state = state_of(self.context, context, call, is_part=is_part)
        values = RunValues(self, options, state, session_of_run)
        parts = Parts(values, self.parts, values.own) if values.own else self.parts
        setup = parts.setup(values)
        frame = Frame(self, setup, session_of_run, state, call, is_part=is_part)
        close = partial(self.parts.release, setup.executor)
        return Run(frame, self.runs, message, close=close, is_by_id=isinstance(session, str))

    def _find_session(self, session: Session | str) -> Session:
        if isinstance(session, str):
            if self.store is None:
                raise TypeError(f"the session {session!r} is in a store: pass store= to the agent")
            session = self.open_session(session, self.store)
        if self.heal:
            session.prune()
        return session
