"""`Run`: one run of an agent, from the prompt to the response, as a generator of events; see `_drive`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from inspect import iscoroutinefunction
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tools_agent._events import Interrupt
from tools_agent._loop._calls import WAITING, Calls
from tools_agent._loop._checks import Checks
from tools_agent._loop._drive import Do, Steps, call_back
from tools_agent._loop._family import LIMITS, Budget, run_of
from tools_agent._loop._replies import Replies
from tools_agent._loop._run_hooks import RunHooks
from tools_agent._loop._sources import AsyncSource, Source
from tools_agent._messages import Assistant, Message, System, Usage, User
from tools_agent._response import Interrupted, Response

if TYPE_CHECKING:
    from tools_agent._agent import Agent
    from tools_agent._loop._run_parts import RunParts
    from tools_agent._options import Setup
    from tools_agent._session._session import Session
    from tools_agent._session._transcript import Change
    from tools_core import Context

_log = logging.getLogger("tools_agent")
_REPEAT = "Your reply does not match the required output: {}. Reply again with output that matches."


class Run:
    """One run of an agent on a session. `call` is the context of the call whose tool is the agent.

    The policies, hooks and budgets of the callers hold for it. With `is_part` its calls belong to the run of the
    caller: what tools remember and what the user approves for a run is that run's.
    """

    def __init__(  # noqa: PLR0913  (the agent creates it)
        self,
        agent: Agent[Any, Any],
        session: Session,
        options: Setup,
        parts: RunParts,
        prompt: User | None,
        context: Mapping[str, Any],
        *,
        is_by_id: bool = False,
        call: Context | None = None,
        is_part: bool = False,
        is_async: bool = False,
    ) -> None:
        self.agent = agent
        self.session = session
        self.options = options
        self.parts = parts
        self.context = context
        self.tools = parts.tools
        self.search = parts.search
        self.executor = parts.executor
        self.workspace = options.workspace
        self.is_by_id = is_by_id
        self.call = call
        self.outer: Any = None if call is None else call.caller
        self.caller: Run | None = None if call is None else run_of(call.caller)
        self.is_part = is_part
        self.owner: Run = self.caller.owner if is_part and self.caller is not None else self
        self.run_id: str = session.key if call is None or not is_part else call.run_id
        self.is_async = is_async
        self.event_loop: asyncio.AbstractEventLoop | None = None  # of an asynchronous run
        self.depth: int = 0 if self.caller is None else self.caller.depth + 1
        self.blocks = session.store is not None
        self.id = uuid4().hex
        limits = {name: getattr(options, name) for name in LIMITS}
        self.budget: Budget = Budget(limits, None if self.caller is None else self.caller.budget, is_part=is_part)
        self.response: Response[Any] | None = None
        self.calls = Calls(self)
        self.replies = Replies(self)
        self.checks = Checks(self)
        outer: Any = self.outer
        hooks = self.executor.bound_by(outer)[0].agents
        self.hooks = RunHooks(hooks, agent.name, self, self.budget) if any(hooks.values()) else None
        self.is_active = False
        self.batch = 0  # the number of replies whose calls have run
        self._lock = Lock()
        self._prompt = prompt
        self._steering: list[User] = []
        self._output_retries = 0
        self._interrupt: tuple[Any] | None = None
        self._ended: dict[str, Any] = {}  # the outcome and other attributes of the response
        self._healed: list[str] = []

    @property
    def conversation(self) -> str:
        """What loops are looked for in: this run."""
        return self.id

    def inherited(self, option: str) -> Any:
        """Return `approve` or `on_ask` of the agent, else of the nearest caller that has it."""
        value = getattr(self.options, option)
        member = self.outer
        while value is None and member is not None:
            if isinstance(member, Run):
                return member.inherited(option)
            value = getattr(member.executor, option, None)
            member = member.outer
        return self.call.on_ask if value is None and option == "on_ask" and self.call is not None else value

    def is_of(self, session: Session | str) -> bool:
        """Return whether this is a run of a session, which may be named by its id in the agent's store."""
        own = self.session
        return own is session or (own.id == session and own.store is not None and own.store is self.agent.store)

    def interrupt(self, reason: Any) -> None:
        """Stop the run as soon as possible; from any thread."""
        self._interrupt = (reason,)
        self.calls.cancel()
        self.replies.wake()

    def check(self) -> None:
        """Raise Interrupted if the run was interrupted."""
        if self._interrupt is not None:
            raise Interrupted(self._interrupt[0])

    def add_usage(self, usage: Usage, cost: float) -> None:
        """Count the tokens and the price of a reply, for the callers too."""
        self.budget.add(usage, cost)
        agents = {}
        member: Run | None = self
        while member is not None:
            agents[id(member.agent)] = member.agent
            member = member.caller
        for agent in agents.values():
            agent.count(usage)

    # ------------------------------------------------------------------------------------------------ effects

    def write(self, function: Callable[..., Any], *arguments: Any) -> Do:
        """Call a function that writes to the session's log."""
        return Do(function, arguments, blocks=self.blocks)

    def source(
        self, iterate: Callable[[], Any], aiterate: Callable[[], Any], *, ahead: int = 0
    ) -> Source | AsyncSource:
        """Return a source of items for the driver of this run."""
        return AsyncSource(aiterate, ahead) if self.is_async else Source(iterate, ahead)

    def call_back(self, function: Callable[..., Any], *arguments: Any) -> Do:
        """Call a function or coroutine function of the user, which may interrupt the run."""
        return Do(call_back, (self, function, *arguments), blocks=not iscoroutinefunction(function))

    def notify(self, message: Message) -> Steps:
        """Call the session's callbacks with a new reply or result."""
        for callback in self.session.log.callbacks:
            yield self.call_back(callback, message)

    # ------------------------------------------------------------------------------------------------ the loop

    def steps(self) -> Steps:
        """Run until there is a response."""
        if self.is_async:
            self.event_loop = asyncio.get_running_loop()
        yield self.write(self.session.log.begin, self.id)
        self._steering = self.agent.runs.start(self)
        self.is_active = True
        try:
            if self.hooks is not None:
                yield from self.hooks.before_run()
            try:
                yield from self._begin()
                yield from self._loop()
            except Interrupted as stop:
                self._end("interrupted", interrupt_reason=stop.reason)
            yield from self._finish()
        except BaseException as error:
            yield from self._fail(error)
            raise
        finally:
            if self.hooks is not None:
                yield from self.hooks.after_run("failed" if self.response is None else self.response.outcome)
            self.agent.runs.end(self)
            self.is_active = False
            self.agent.parts.release(self.executor)
            yield self.write(self.session.log.end)
        if self.response is not None and self.response.interrupted:
            response = self.response
            yield Interrupt(response.interrupt_reason, response.healed_tool_call_ids, response.pending)

    def _begin(self) -> Steps:
        session = self.session
        if self._prompt is None:
            self.budget.before = session.log.spent
        yield self.write(session.log.start_run, self._prompt, self._new_seeds())
        self._check_messages()
        orphaned = session.orphaned_tool_call_ids
        last = [call.id for call in session.pending_tool_calls] if orphaned else []
        stale = [id for id in orphaned if id not in last]
        if stale:  # no run runs the calls of older replies, and the model must not see them without results
            self._healed += yield self.write(session.log.close_calls, stale)
        if self.parts.guardrails:
            yield from self.checks.check_input()
            self._end_if_blocked()
            self._check_messages()

    def _new_seeds(self) -> list[Change]:
        """Return the changes that give the session the current instructions and skills."""
        transcript, after = self.session.log.transcript, ""
        changes: list[Change] = []
        is_new = not transcript.entries
        for name, message in self.options.seeds.items():
            if message is None:
                continue
            old = transcript.find(name)
            if old is not None and old.message.content != message.content:
                changes.append(("update", {"message": message}))
            elif old is None and (is_new or name in self.options.own):
                changes.append(("message", {"message": message, "after": after}))
            after = name
        return changes

    def _check_messages(self) -> None:
        if not self._ended and all(isinstance(message, System) for message in self.session):
            raise ValueError(
                "there is nothing to reply to: pass a prompt to generate(), or use a session with messages"
            )

    def _loop(self) -> Steps:
        session, steering = self.session, self._steering
        last = next(reversed(session), None)
        if isinstance(last, Assistant) and not last.tool_calls and not steering:  # this run was complete already
            self.replies.read(last)
            self._complete(last)
        elif not session.pending_tool_calls and not steering:
            self._end_if_halted()
        while not self._ended:
            self.check()
            if calls := session.pending_tool_calls:
                yield from self.calls.execute(calls)
                self._end_if_blocked()
                if self._ended or self._end_if_halted():
                    return
                self.check()
                if session.pending_tool_calls:
                    raise Interrupted(_reason_to_wait(session))
            if steering:
                yield from self._add_steering()
                self._end_if_blocked()
                if self._ended:
                    return
            reply = yield from self.replies.request()
            self._end_if_blocked()
            if reply is not None:
                yield from self._continue(reply)

    def _add_steering(self) -> Steps:
        """Add the messages of `steer`, and pass them through the guardrails."""
        while self._steering:
            yield self.write(self.session.log.add, self._steering[0])
            self._steering.pop(0)
        if self.parts.guardrails:
            yield from self.checks.check_input()

    def _end_if_blocked(self) -> None:
        if self.checks.tripwire is not None:
            self._end("blocked", tripwire=self.checks.tripwire, content="")

    def _continue(self, reply: Assistant) -> Steps:
        """Complete the run with a reply, unless it has tool calls or invalid output, or the user has steered it."""
        is_repeated = self.replies.problem is not None and self._output_retries < self.options.output_retries
        if reply.tool_calls or is_repeated:
            self._check_limits()
        if is_repeated:
            self._output_retries += 1
            yield self.write(self.session.log.add, User(content=_REPEAT.format(self.replies.problem)))
        elif not reply.tool_calls and not self._steering:
            self.check()  # a guardrail or a callback may have taken long
            self._complete(reply)

    def _end_if_halted(self) -> bool:
        """End the run if a call has halted it: now, or in a run that ended before it was recorded as halted."""
        halted = self.calls.halted
        if halted is None:
            halted = next((result for result in self.session.log.last_results if result.halted), None)
        if halted is not None:
            self._end("halted", content=str(halted))
        return halted is not None

    def _check_limits(self) -> None:
        """Raise Interrupted if a limit does not allow calls, which another request to the model would follow."""
        self.budget.check()
        limit = self.options.max_session_steps
        if limit is not None and self.session.log.reply_count >= limit:
            raise Interrupted("max_session_steps")

    # ------------------------------------------------------------------------------------------------ the end

    def _complete(self, reply: Assistant) -> None:
        replies, stop = self.replies, reply.stop_reason
        outcome = "completed" if stop in (None, "stop", "tool") else stop
        if replies.problem is not None and outcome == "completed":
            outcome = "invalid_output"
        self._end(outcome, content=reply.content, output=replies.output, detail=replies.problem)

    def _end(self, outcome: str, **attributes: Any) -> None:
        """Set the outcome and other attributes of the response."""
        self._ended = {"outcome": outcome, **attributes}

    def _finish(self) -> Steps:
        session, attributes = self.session, self._ended
        if attributes["outcome"] == "interrupted" and self.options.heal:
            orphans = [id for id in session.orphaned_tool_call_ids if not session.log.is_waiting(id)]
            self._healed += yield self.write(session.log.close_calls, orphans)
        yield self._finish_run(attributes["outcome"], attributes.get("interrupt_reason"))
        if "content" not in attributes:
            last = session.log.last_reply
            attributes["content"] = self.replies.partial or (last.content if last is not None else "")
        self.response = Response(
            **attributes, messages=tuple(session.messages), modifications=tuple(self.checks.modifications),
            healed_tool_call_ids=tuple(self._healed), pending=tuple(_requests(session)), usage=self.budget.usage,
            steps=self.replies.count,
        )  # fmt: skip

    def _fail(self, error: BaseException) -> Steps:
        """Record that the run has failed, or was interrupted; its messages stay in the session."""
        is_interrupt = not isinstance(error, Exception)  # Ctrl-C, a cancelled task, a closed stream
        outcome = "interrupted" if is_interrupt else "failed"
        reason = type(error).__name__ if is_interrupt else f"{type(error).__name__}: {error}"
        try:
            yield self._finish_run(outcome, reason)
        except Exception as unrecorded:  # noqa: BLE001  (the store may have failed)
            _log.warning("the end of run %s could not be recorded: %s", self.id, unrecorded)

    def _finish_run(self, outcome: str, reason: Any) -> Do:
        data: dict[str, Any] = {"steps": self.replies.count, "usage": self.budget.usage.model_dump()}
        if reason is not None:
            data["reason"] = str(reason)
        if reason in WAITING:  # the run that continues it has the same budget
            data["spent"] = self.budget.spent()
        return self.write(partial(self.session.log.finish_run, outcome, **data))


def _requests(session: Session) -> list[dict[str, Any]]:
    return session.pending_approvals + session.pending_questions + session.pending_results


def _reason_to_wait(session: Session) -> str:
    if session.pending_approvals:
        return "approval_required"
    return "answer_required" if session.pending_questions else "result_required"
