"""`Agent`: a model with instructions and tools, which works on a session."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack

from tools_agent._calls import Recorder
from tools_agent._drive import adrive, calling_back, drive
from tools_agent._guardrails import check_guardrails
from tools_agent._messages import System, Usage, User
from tools_agent._options import Door, Options, is_function, read_options, read_tools, resolve
from tools_agent._output_type import Output
from tools_agent._plan import Plan
from tools_agent._providers._provider import Provider
from tools_agent._response import Interrupted, Response
from tools_agent._run import Run, running
from tools_agent._session._session import Session
from tools_agent._skills import Skills
from tools_agent._stores._store import SessionConflictError, Store
from tools_agent._stream import AsyncStream, Stream
from tools_core import Tool
from tools_runtime import Executor

if TYPE_CHECKING:
    from tools_agent._sub_agent import AgentTool

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # the places between the words of a name


class _AsTool:
    def __get__(self, agent: Agent | None, owner: type[Agent]) -> Callable[..., AgentTool]:
        from tools_agent._sub_agent import AgentTool  # 10 ms, for agents that are tools

        return partial(AgentTool, owner if agent is None else agent)


class Agent:
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
        error_policy: `"strict_bugs"` raises `ToolBugError` for an exception that indicates a bug in a tool.
        guardrails: Guardrails that may change or block input and replies; see `Guardrail`.
        output: A pydantic model or another type for replies; `response.structured_output` is the parsed value.
        max_steps: The number of model replies after which a run is interrupted; None for no limit.
        max_session_steps: The same limit for the whole session.
        skills: Folders with skills; see `Skills`.
        window: The part of a long session that the model sees; see `Window`.
        settings: Arguments of the provider's API, translated for each provider: `{"reasoning_effort": "low"}`.
        timeout: Seconds for one reply of the model.
        tool_timeout: Seconds for a call of a tool without a limit; None for no limit.
        workspace: The folder that confines file tools.
        heal: Give calls without a result a placeholder when a run is interrupted, so that the next run skips them.
        on_unknown: How to treat a call that was running when its process was killed, unless its tool is read-only or
            idempotent: `"close"` returns an error of type `outcome_unknown`, `"ask"` requires approval to repeat it.
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
    guardrails: Sequence[Any] = ()
    output: Any = None
    max_steps: int | None = 16
    max_session_steps: int | None = None
    skills: Any = None
    window: Any = None
    settings: ClassVar[Mapping[str, Any]] = {}
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
        **options: Unpack[Options],
    ) -> None:
        """Create an agent.

        Args:
            session: The session to continue; or, with a `store`, the id of a session, which is created if the store
                has no such session. By default a new session.
            context: Values for tools, guardrails and options that are functions.
            store: The store of the session, such as `SQLiteStore`.
            **options: See the class; they take precedence over class attributes.
        """
        self._given = dict(options)
        self._options = read_options(self, self._given)
        self.context: dict[str, Any] = dict(context or {})
        self.depth = 0
        if not self._options["name"]:
            self._options["name"] = type(self).identifier()
        self.name = self._options["name"]
        self.skills = self._find_skills()
        if self.skills is not None:
            self.context["skills"] = self.skills
        instructions = self._resolved("instructions")
        self.instruction_message = System(content=instructions) if instructions else None
        self.skills_message = self.skills.message if self.skills is not None else None
        self._provider, self._model = _provider_of(self._resolved("model"))
        self._tools = self._find_tools(self.context)
        self._output = None if self._options["output"] is None else Output(self._options["output"])
        self._guardrails = check_guardrails(self._options["guardrails"])
        self._recorder = Recorder()
        self._executor = self._make_executor(self._tools)
        self._steering: list[User] = []
        self._busy = threading.Lock()
        self._run: Run | None = None
        self.session = self._open(session, store)

    # ------------------------------------------------------------------------------------------------ running

    @Door
    def generate(
        self, prompt: str | User | None = None, *, files: Sequence[Any] = (), context: Mapping[str, Any] | None = None
    ) -> Response:
        """Run until the model has replied or the run is interrupted, and return the response.

        Without a prompt the run continues the session: it first runs calls without a result. A session that ends with
        a reply is complete. `files` are Images, Audio or Files, or dicts with `data` in base64 and `media_type`.
        `context` has values for this run, in addition to the agent's. Called on the class, this creates an agent with
        that context.

        Raises: ProviderError, StoreError, SessionConflictError, and exceptions of callbacks and guardrails. The session
        keeps all messages up to then, and `generate()` continues it.
        """
        stream = Stream(self._new_run(prompt, files, context), self._events)
        for _ in stream:
            pass
        return stream.response

    @Door
    def stream(
        self, prompt: str | User | None = None, *, files: Sequence[Any] = (), context: Mapping[str, Any] | None = None
    ) -> Stream:
        """Run as `generate` does, and return an iterator of events; its `response` is set at the end.

        If tools run inline, their events arrive when the call has ended; hooks receive them immediately.
        """
        return Stream(self._new_run(prompt, files, context), self._events)

    @Door
    async def agenerate(
        self, prompt: str | User | None = None, *, files: Sequence[Any] = (), context: Mapping[str, Any] | None = None
    ) -> Response:
        """`generate` for coroutines."""
        stream = AsyncStream(self._new_run(prompt, files, context), self._aevents)
        async for _ in stream:
            pass
        return stream.response

    @Door
    def astream(
        self, prompt: str | User | None = None, *, files: Sequence[Any] = (), context: Mapping[str, Any] | None = None
    ) -> AsyncStream:
        """`stream` for coroutines."""
        return AsyncStream(self._new_run(prompt, files, context), self._aevents)

    def interrupt(self, reason: Any = None) -> None:
        """Stop the run: in a callback immediately, by raising Interrupted; elsewhere as soon as possible.

        The model's reply is truncated, and running tools are cancelled. Without a run this does nothing.
        """
        run = self._run
        if run is None:
            return
        if calling_back.get() is run:
            raise Interrupted(reason)
        run.interrupt(reason)

    def steer(self, message: str | User) -> None:
        """Add a user message to the active run, before its next request to the model; or to the next run."""
        self._steering.append(message if isinstance(message, User) else User(content=message))

    as_tool = _AsTool()

    def close(self) -> None:
        """Close the runtimes that this agent created."""
        self._executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------ classes

    @classmethod
    def identifier(cls) -> str:
        """Return the name of the class: `name`, or the class name in snake case."""
        return vars(cls).get("name") or _WORDS.sub("_", cls.__name__).lower()

    @classmethod
    def all(cls) -> list[type[Agent]]:
        """Return all subclasses, direct and indirect."""
        direct = cls.__subclasses__()
        return [each for kind in direct for each in (kind, *kind.all())]

    @classmethod
    def find(cls, identifier: str) -> type[Agent] | None:
        """Return the latest subclass with this name, or None."""
        return next((kind for kind in reversed(cls.all()) if kind.identifier() == identifier), None)

    # ------------------------------------------------------------------------------------------------ inside

    def _resolved(self, name: str) -> Any:
        return resolve(self._options[name], self.context)

    def _find_skills(self) -> Skills | None:
        folders = self._resolved("skills")
        if folders is None or isinstance(folders, Skills):
            return folders
        return Skills([folders] if isinstance(folders, str | os.PathLike) else folders)

    def _find_tools(self, context: Mapping[str, Any]) -> dict[str, Tool]:
        tools = read_tools(resolve(self._options["tools"], context))
        if self.skills is None:
            return tools
        if "load_skill" in tools:
            raise ValueError("a tool is called load_skill, as is the one that loads skills: rename it")
        return {**tools, "load_skill": self.skills.tool}

    def _make_executor(self, tools: Mapping[str, Tool]) -> Executor:
        options = self._options
        runtime = options["runtime"]
        if is_function(runtime):
            chosen = runtime

            def runtime(context: Any) -> Any:
                return resolve(chosen, context.state)

        return Executor(
            tools, runtime=runtime, hooks=[*options["hooks"], self._recorder], policy=options["policy"],
            approve=self._recorder.approve, default_timeout=options["tool_timeout"],
            error_policy=options["error_policy"],
        )  # fmt: skip

    def _open(self, session: Session | str | None, store: Store | None) -> Session:
        if isinstance(session, Session):
            if store is not None:
                raise TypeError("a Session has its store already: leave out store=")
            if self._options["heal"]:
                session.prune()
            return session
        if session is not None and store is None:
            raise TypeError(f"the session {session!r} is found in a store: pass store=")
        if session is not None and store is not None:
            try:
                return self._open(Session.open(store, session), None)
            except KeyError:
                pass
        seeds = [message for message in (self.instruction_message, self.skills_message) if message is not None]
        return Session(seeds, id=session, store=store)

    def _new_run(self, prompt: str | User | None, files: Sequence[Any], overlay: Mapping[str, Any] | None) -> Run:
        if not isinstance(prompt, str | User | None):
            raise TypeError(f"a prompt is text or a User, got {type(prompt).__name__}")
        if files and not isinstance(prompt, str):
            raise ValueError("files are part of a prompt: pass one, as text")
        message = User(content=prompt, files=tuple(files)) if isinstance(prompt, str) else prompt
        options = self._options
        context = {**self.context, **overlay} if overlay else self.context
        tools, executor = self._tools, self._executor
        if overlay and is_function(options["tools"]):
            tools = self._find_tools(context)
            executor = self._make_executor(tools)
        plan = Plan(
            provider=self._provider, model=self._model, tools=tools,
            definitions=[{**tool.definition, "name": name} for name, tool in tools.items()], executor=executor,
            guardrails=self._guardrails, output=self._output, settings=options["settings"], timeout=options["timeout"],
            max_steps=options["max_steps"], max_session_steps=options["max_session_steps"], heal=options["heal"],
            ask_on_unknown=options["on_unknown"] == "ask", window=options["window"],
            workspace=resolve(options["workspace"], context), approve=options["approve"], depth=self.depth,
            max_depth=options["max_depth"], steering=self._steering,
        )  # fmt: skip
        return Run(plan, self.session, context, message, self._count)

    def _count(self, usage: Usage) -> None:
        self.context["token_usage"] = self.context.get("token_usage", Usage()) + usage

    def _events(self, run: Run) -> Generator[Any]:
        self._enter(run)
        try:
            yield from drive(run.steps())
        finally:
            self._leave()

    async def _aevents(self, run: Run) -> AsyncGenerator[Any]:
        self._enter(run)
        run.calls.is_async = True
        events = adrive(run.steps())
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()
            self._leave()

    def _enter(self, run: Run) -> None:
        if not self._busy.acquire(blocking=False):
            raise SessionConflictError("a run of this agent is under way: wait for its end, or use another agent")
        self._run, self._recorder.calls = run, run.calls
        running[self.session.key] = run

    def _leave(self) -> None:
        run, self._run, self._recorder.calls = self._run, None, None
        if run is not None and run.plan.executor is not self._executor:
            run.plan.executor.close()
        self._busy.release()


def _provider_of(model: Any) -> tuple[Provider, str]:
    if model is None:
        raise TypeError('an agent needs a model: "PROVIDER:NAME", or a Provider')
    if isinstance(model, str):
        from tools_agent._providers._get_provider import get_provider  # 30 ms that other providers do not need

        return get_provider(model)
    if not hasattr(model, "stream"):
        raise TypeError(f'a model is "PROVIDER:NAME", or a Provider, got {model!r}')
    return model, getattr(model, "model", "")
