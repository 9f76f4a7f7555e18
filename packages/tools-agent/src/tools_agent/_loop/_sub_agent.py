"""`AgentTool`, an agent as a tool of another one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from inspect import isawaitable
from typing import Annotated, Any, Generic, Protocol
from uuid import uuid4

from tools_agent._loop._frame import Frame, frame_of
from tools_agent._loop._run import Run
from tools_agent._loop._state import inherited_from
from tools_agent._messages import Assistant, User
from tools_agent._response import Response
from tools_agent._session._session import Session
from tools_agent._stores._store import Store
from tools_core import Context, Effects, Result, Tool, ToolError


class Delegate(Protocol):
    """An agent that runs for a call."""

    def open_session(
        self, id: str | None, store: Store | None, *, parent: Session | None = None, call: str = ""
    ) -> Session:
        """Open or create a session."""
        ...

    def new_run(
        self, prompt: str | None, *, session: Session, call: Context | None = None, is_part: bool = False
    ) -> Run:
        """Return a run."""
        ...


class AgentTool(Tool):
    """An agent as a tool: each call is a run in a new session, in the event loop of its caller if that has one.

    If the caller's session has a store, the new one belongs to it there, and a call that was killed continues. The
    caller receives the tokens and the tool events of the run.

    The policy and the hooks of the caller, an agent or an executor, hold for the calls of the run, in addition to its
    own; so do the limits of the caller's run. It inherits `approve` and `on_ask` unless it has its own. If its calls
    need approval, the caller waits as well. A run that ends in any other way than completed or halted is an error.
    """

    stateful = True
    manages_timeout = True

    def __init__(self, agent: Any, name: str | None = None, description: str | None = None) -> None:
        """Create a tool from an agent or a class of agents. The docstring of the class is the default description."""
        self._agent = agent
        kind: Any = agent if isinstance(agent, type) else type(agent)
        self.name = name or (kind.identifier() if isinstance(agent, type) else agent.name)
        documented = None if kind.__mro__[1] is Generic else vars(kind).get("__doc__")  # not that of Agent itself
        self.description = description or documented or f"Hand a task to the agent {self.name}."

    def execute(self, context: Context, prompt: Annotated[str, "The whole task; the agent sees nothing else"]) -> Any:
        """Hand a task to an agent."""
        caller, agent = frame_of(context.caller), self._agent
        if caller is not None and caller.depth >= caller.setup.max_depth:
            raise ToolError(
                f"agents may call each other {caller.setup.max_depth} deep: do it yourself", "limit_exceeded"
            )
        if not isinstance(agent, type):
            return Delegation(self, agent, context, {"prompt": prompt}).start()
        new: Any = agent(context=inherited_from(context.state))
        return Delegation(self, new, context, {"prompt": prompt}, close=new.aclose).start()

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """Return the effects; a call can be repeated if its session is in a store, since it continues there."""
        caller = None if context is None else frame_of(context.caller)
        is_stored = caller is not None and caller.session.store is not None
        return Effects({**super().effects(arguments, context).annotations, "idempotent": is_stored})


def _result_of(response: Response[Any]) -> Result:
    """Return the reply: as data if the agent has an `output` type."""
    if response.halted or response.output is None or isinstance(response.output, str):
        return Result.text(response.content)
    last = next(message for message in reversed(response.messages) if isinstance(message, Assistant))
    return Result.ok(last.output)


_FAILURES = {  # what the caller's model reads about a run that did not reach its end
    "length": ("its reply was cut at the length limit", "limit_exceeded"),
    "refusal": ("its model refused to answer", "denied"),
    "content_filter": ("the provider's content filter stopped its reply", "denied"),
    "invalid_output": ("its reply does not have the required form", "execution_error"),
}


class Delegation:
    """A call of a tool that is a run of an agent; with `is_part`, its calls belong to the run of the caller."""

    def __init__(
        self,
        tool: Tool,
        agent: Delegate,
        context: Context,
        arguments: Mapping[str, Any],
        read: Callable[[Any], Result] = _result_of,
        close: Callable[[], object] | None = None,
        *,
        is_part: bool = False,
    ) -> None:
        self._tool, self._agent, self._context, self._arguments = tool, agent, context, arguments
        self._read, self._close, self._is_part = read, close, is_part
        self._caller = frame_of(context.caller)

    def start(self) -> Coroutine[Any, Any, Result]:
        """Return a coroutine for the result of the call."""
        session, call = _session_of(self._agent, self._caller, self._context)
        is_new = not any(isinstance(message, User) for message in session)
        prompt = next(iter(self._arguments.values())) if is_new else None
        run = self._agent.new_run(prompt, session=session, call=self._context, is_part=self._is_part)
        return self._run(run, call)

    async def _run(self, run: Run, call: str) -> Result:
        """Run the agent; interrupted if the call is cancelled."""
        unregister = self._context.on_cancel(lambda: run.interrupt("cancelled"))
        try:
            response = await run.run()
        finally:
            unregister()
            if self._close is not None and isawaitable(closing := self._close()):
                await closing
        return self._result(response, call)

    def _result(self, response: Response[Any], call: str) -> Result:
        if response.pending:
            return self._waiting(response)
        if self._caller is not None:
            self._caller.session.children.pop(call, None)
        if response.completed or response.halted:
            return self._read(response)
        name, outcome = self._tool.name, response.outcome
        if response.interrupted:
            kind = "cancelled" if response.interrupt_reason == "cancelled" else "limit_exceeded"
            text = f"{name} was stopped: {response.interrupt_reason}"
        elif response.blocked:
            kind, text = "denied", f"{name} was blocked: {response.tripwire.reason if response.tripwire else ''}"
        else:
            why, kind = _FAILURES.get(outcome, (f"its reply ended with {outcome!r}", "execution_error"))
            text = f"{name} did not finish: {why}{f' ({response.detail})' if response.detail else ''}"
        last = f"; its last reply: {response.content}" if response.content else ""
        return Result.error(text + last, type=kind)

    def _waiting(self, response: Response[Any]) -> Result:
        name = self._tool.name
        names = ", ".join(request["tool"] for request in response.pending)
        pending = {
            "key": "", "tool": name, "arguments": dict(self._arguments),
            "reasons": [f"{'its code' if self._is_part else 'its agent'} waits for {names}"],
            "pending": list(response.pending),
        }  # fmt: skip
        return Result.error(f"{name} waits for the user", type="approval_required", metadata={"pending": pending})


def _session_of(agent: Delegate, caller: Frame | None, context: Context) -> tuple[Session, str]:
    """Return the session of a call and its name among those of the caller's session.

    It is that of an earlier attempt, with the answers to its requests, or a new one.
    """
    if caller is None:
        return agent.open_session(None, None), ""
    parent, state = caller.session, caller.session.log.state(context.call_id)
    is_inside = context.caller is not caller  # another tool makes the call, and may make several
    call = f"{context.call_id}/{uuid4().hex if is_inside else state.key}"  # another one after a rollback of the call
    session: Session = parent.child(call) or agent.open_session(None, parent.store, parent=parent, call=call)
    for question in session.pending_questions:
        if (answer := state.answers.get(question["call_id"])) is not None:
            session.answer(question["call_id"], answer["answer"], by=answer["by"])
    for request in session.pending_results:
        if (answer := state.answers.get(request["call_id"])) is not None:
            session.add_result(request["call_id"], Result.from_dict(answer["result"]))
    for request in session.pending_approvals:
        answer = state.answers.get(request["call_id"])
        if answer is not None and answer["approved"]:
            session.approve(request["call_id"], arguments=answer.get("arguments"), by=answer["by"])
        elif answer is not None:
            session.deny(request["call_id"], answer.get("reason", ""), by=answer["by"])
    return session, call
