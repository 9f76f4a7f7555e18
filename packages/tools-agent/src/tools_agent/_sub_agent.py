"""`AgentTool`: an agent as a tool of another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from tools_agent._events import ToolFinished, ToolProgress, ToolStarted
from tools_agent._messages import Assistant, User
from tools_agent._run import Run, running
from tools_agent._session._session import Session
from tools_core import Context, Effects, Result, Tool, ToolError

if TYPE_CHECKING:
    from tools_agent._response import Response


class AgentTool(Tool):
    """An agent as a tool: each call is a run in a new session.

    Where the caller's session has a store, this one is kept there as `SESSION/CALL`, and a call that was killed goes
    on. Tokens and tool events of the run are the caller's, too; calls that wait for approval make this one wait.
    """

    stateful = True
    manages_timeout = True

    def __init__(self, agent: Any, name: str | None = None, description: str | None = None) -> None:
        """Make a tool of an agent or a class of agents; what it does is, by default, in the docstring of the class."""
        self._agent = agent
        kind: Any = agent if isinstance(agent, type) else type(agent)
        self.name = name or (kind.identifier() if isinstance(agent, type) else agent.name)
        documented = "" if kind.__mro__[1] is object else vars(kind).get("__doc__")  # not that of Agent itself
        self.description = description or documented or f"Hand a task to the agent {self.name}."

    def execute(
        self, context: Context, prompt: Annotated[str, "The whole task; the agent sees nothing else"]
    ) -> Result:
        """Hand a task to an agent."""
        caller = running.get(context.run_id)
        child = self._child(caller, context)
        unregister = context.on_cancel(lambda: child.interrupt("cancelled"))
        try:
            if caller is not None:
                _pass_on_approval(caller, child, context.call_id or "")
            return self._run(child, caller, prompt)
        finally:
            unregister()

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """A call can be repeated if its session is in a store: then it goes on."""
        caller = running.get(context.run_id) if context is not None else None
        is_stored = caller is not None and caller.session.store is not None
        return Effects({**super().effects(arguments, context).annotations, "idempotent": is_stored})

    def _child(self, caller: Run | None, context: Context) -> Any:
        given, kind = {}, self._agent
        own: Mapping[str, Any] = {}
        if not isinstance(kind, type):
            kind, given, own = type(kind), dict(kind._given), kind.context
        values = {**context.state, **own}
        for name in ("skills", "token_usage"):
            values.pop(name, None)
        if caller is None:
            return kind(context=values, **given)
        depth = caller.plan.depth + 1
        if depth > caller.plan.max_depth:
            raise ToolError(
                f"agents may call each other {caller.plan.max_depth} deep: do it yourself", "limit_exceeded"
            )
        id, children = f"{caller.session.id}/{context.call_id}", caller.session.children
        store = caller.session.store
        child = kind(children.get(id) if store is None else id, values, store=store, **given)
        children[id] = child.session
        child.depth = depth
        if child._options["approve"] is None:
            child._options["approve"] = caller.plan.approve
        return child

    def _run(self, child: Any, caller: Run | None, prompt: str) -> Result:
        session: Session = child.session
        last = next(reversed(session), None)
        if isinstance(last, Assistant) and not last.tool_calls:  # it had ended, and its result was lost
            return Result.text(last.content)
        is_new = not any(isinstance(message, User) for message in session)
        with child, child.stream(prompt if is_new else None) as stream:
            for event in stream:
                if caller is not None and isinstance(event, ToolStarted | ToolProgress | ToolFinished):
                    caller.calls.emit(replace(event, agent=event.agent or child.name))
        if caller is not None:
            caller.add_usage(stream.response.usage)
        return self._result(stream.response, prompt)

    def _result(self, response: Response, prompt: str) -> Result:
        if response.pending:
            names = ", ".join(each["tool"] for each in response.pending)
            pending = {
                "key": "", "tool": self.name, "arguments": {"prompt": prompt},
                "reasons": [f"its agent needs approval for {names}"], "pending": list(response.pending),
            }  # fmt: skip
            return Result.error(f"{self.name} needs approval", type="approval_required", metadata={"pending": pending})
        if response.interrupted:
            kind = "cancelled" if response.interrupt_reason == "cancelled" else "limit_exceeded"
            text = f"; it said: {response.content}" if response.content else ""
            return Result.error(f"{self.name} was stopped: {response.interrupt_reason}{text}", type=kind)
        if response.blocked:
            reason = response.tripwire.reason if response.tripwire is not None else ""
            return Result.error(f"{self.name} was blocked: {reason}", type="denied")
        return Result.text(response.content)


def _pass_on_approval(caller: Run, child: Any, call_id: str) -> None:
    """Approve the calls that the sub-agent waits for, if its own call was approved."""
    answer = caller.session.log.state(call_id).approved
    if answer is not None:
        for each in child.session.pending_approvals:
            child.session.approve(each["call_id"], by=answer["by"])
