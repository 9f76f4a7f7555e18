"""`AgentTool`: an agent as a tool of another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Generic, cast

from tools_agent._events import ToolFinished, ToolProgress, ToolStarted
from tools_agent._loop._drive import adrive, drive
from tools_agent._loop._run import Run
from tools_agent._messages import Assistant, User
from tools_core import Context, Effects, Result, Tool, ToolError

if TYPE_CHECKING:
    from tools_agent._response import Response
    from tools_agent._session._session import Session


class AgentTool(Tool):
    """An agent as a tool: each call is a run in a new session, in the event loop of its caller if that has one.

    If the caller's session has a store, the new one is stored there as `SESSION/CALL/KEY`, and a call that was killed
    continues. The caller receives the tokens and the tool events of the run. The sub-agent inherits `approve` and
    `policy` unless it has its own. If its calls need approval, the caller waits as well.
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
        caller = _caller_of(context)
        agent = self._agent
        inherited = {name: value for name, value in context.state.items() if name not in ("skills", "token_usage")}
        if isinstance(agent, type):
            agent = agent(context=inherited)
        if caller is not None and caller.depth >= caller.agent.max_depth:
            raise ToolError(
                f"agents may call each other {caller.agent.max_depth} deep: do it yourself", "limit_exceeded"
            )
        session = _session_of(agent, caller, context)
        last = next(reversed(session), None)
        if isinstance(last, Assistant) and not last.tool_calls:  # the run had ended, and its result was lost
            return Result.text(last.content)
        is_new = not any(isinstance(message, User) for message in session)
        overlay = {name: value for name, value in inherited.items() if name not in agent.context}
        is_async = caller is not None and caller.is_async
        start = prompt if is_new else None
        run = agent.new_run(start, context=overlay, session=session, caller=caller, is_async=is_async)
        return self._arun(run, context, prompt) if is_async else self._run(run, context, prompt)

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """Return the effects; a call can be repeated if its session is in a store, since it continues there."""
        caller = None if context is None else _caller_of(context)
        is_stored = caller is not None and caller.session.store is not None
        return Effects({**super().effects(arguments, context).annotations, "idempotent": is_stored})

    def _run(self, run: Run, context: Context, prompt: str) -> Result:
        unregister = context.on_cancel(lambda: run.interrupt("cancelled"))
        try:
            for event in drive(run.steps()):
                _forward(event, run)
        finally:
            unregister()
            self._close(run)
        return self._result(run, prompt)

    async def _arun(self, run: Run, context: Context, prompt: str) -> Result:
        unregister = context.on_cancel(lambda: run.interrupt("cancelled"))
        try:
            async for event in adrive(run.steps()):
                _forward(event, run)
        finally:
            unregister()
            self._close(run)
        return self._result(run, prompt)

    def _close(self, run: Run) -> None:
        if run.agent is not self._agent:
            run.agent.close()
        caller, response = run.caller, run.response
        if caller is not None and not (response is not None and response.pending):
            caller.session.children.pop(run.session.id, None)

    def _result(self, run: Run, prompt: str) -> Result:
        response: Response[Any] = cast("Any", run.response)  # the run has ended
        if run.caller is not None:
            run.caller.add_usage(response.usage, run.cost)
        if response.pending:
            names = ", ".join(request["tool"] for request in response.pending)
            pending = {
                "key": "", "tool": self.name, "arguments": {"prompt": prompt},
                "reasons": [f"its agent waits for {names}"], "pending": list(response.pending),
            }  # fmt: skip
            return Result.error(
                f"{self.name} waits for the user", type="approval_required", metadata={"pending": pending}
            )
        if response.interrupted:
            kind = "cancelled" if response.interrupt_reason == "cancelled" else "limit_exceeded"
            text = f"; its last reply: {response.content}" if response.content else ""
            return Result.error(f"{self.name} was stopped: {response.interrupt_reason}{text}", type=kind)
        if response.blocked:
            reason = response.tripwire.reason if response.tripwire is not None else ""
            return Result.error(f"{self.name} was blocked: {reason}", type="denied")
        return Result.text(response.content)


def _caller_of(context: Context) -> Run | None:
    return context.caller if isinstance(context.caller, Run) else None


def _session_of(agent: Any, caller: Run | None, context: Context) -> Session:
    """Return the session of a call: that of an earlier attempt, with the answers to its requests, or a new one."""
    if caller is None:
        new: Session = agent.open_session(None, None)
        return new
    parent, call_id = caller.session, context.call_id or ""
    id = f"{parent.id}/{call_id}/{parent.log.state(call_id).key}"  # another one after a rollback of the call
    session: Session = parent.children.get(id) or agent.open_session(id, parent.store)
    parent.children[id] = session
    answers = parent.log.state(call_id).answers
    for question in session.pending_questions:
        if (answer := answers.get(question["call_id"])) is not None:
            session.answer(question["call_id"], answer["answer"], by=answer["by"])
    for request in session.pending_approvals:
        answer = answers.get(request["call_id"])
        if answer is not None and answer["approved"]:
            session.approve(request["call_id"], arguments=answer.get("arguments"), by=answer["by"])
        elif answer is not None:
            session.deny(request["call_id"], answer.get("reason", ""), by=answer["by"])
    return session


def _forward(event: Any, run: Run) -> None:
    if run.caller is not None and isinstance(event, ToolStarted | ToolProgress | ToolFinished):
        run.caller.calls.emit(replace(event, agent=event.agent or run.agent.name))
