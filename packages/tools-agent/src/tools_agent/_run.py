"""`Run`: one run of an agent, from the prompt to the response, as a generator of events and effects.

`steps` is the loop. What takes time is yielded as an effect, and done by a driver; see `_drive`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakValueDictionary

from tools_agent._calls import Calls
from tools_agent._drive import END, Callback, Close, Next, Source, Steps, Write
from tools_agent._events import Interrupt, Retrying, TextDelta, TextDone, ToolCallDone, UsageUpdate
from tools_agent._guardrails import Block, Modification, Phase, Tripwire, changes_between
from tools_agent._messages import Assistant, Message, System, Usage, User
from tools_agent._output_type import Output
from tools_agent._plan import Plan
from tools_agent._providers._provider import ProviderError, Request
from tools_agent._response import Interrupted, Response

if TYPE_CHECKING:
    from tools_agent._guardrails import Guardrail
    from tools_agent._session._session import Session

running: WeakValueDictionary[str, Run] = WeakValueDictionary()  # the runs that are under way, by session
_log = logging.getLogger("tools_agent")


class Run:
    """One run: see the module."""

    def __init__(
        self,
        plan: Plan,
        session: Session,
        context: Mapping[str, Any],
        prompt: User | None,
        on_usage: Callable[..., Any],
    ) -> None:
        self.plan = plan
        self.session = session
        self.context = context
        self.id = uuid4().hex
        self.usage = Usage()
        self._lock = Lock()
        self.response: Response | None = None
        self.calls = Calls(plan, session, context, self._notify)
        self._prompt = prompt
        self._on_usage = on_usage
        self._steps = 0
        self._output: Any = None
        self._problem: str | None = None  # why the last reply is not valid output
        self._partial = ""  # the text of a reply that is on its way
        self._interrupt: tuple[Any] | None = None
        self._ended: dict[str, Any] = {}  # what is known of the response
        self._modifications: list[Modification] = []
        self._healed: list[str] = []

    def interrupt(self, reason: Any) -> None:
        """Stop the run as soon as possible; from any thread."""
        self._interrupt = (reason,)
        self.calls.cancel()

    def _check(self) -> None:
        """Raise Interrupted if the run was interrupted."""
        if self._interrupt is not None:
            raise Interrupted(self._interrupt[0])

    def _write(self, function: Callable[..., Any], *arguments: Any) -> Write:
        return Write(self.session, function, *arguments)

    def add_usage(self, usage: Usage) -> None:
        """Count tokens of this run, or of a sub-agent's."""
        with self._lock:
            self.usage += usage
            self._on_usage(usage)

    # ------------------------------------------------------------------------------------------------ the loop

    def steps(self) -> Steps:
        """Run until there is a response."""
        yield self._write(self.session.log.begin, self.id)
        try:
            try:
                yield from self._begin()
                yield from self._loop()
            except Interrupted as stop:
                self._ended = {"outcome": "interrupted", "interrupt_reason": stop.reason}
            yield from self._finish()
        except BaseException as error:
            yield from self._fail(error)
            raise
        finally:
            yield self._write(self.session.log.end)
        if self.response is not None and self.response.interrupted:
            response = self.response
            yield Interrupt(response.interrupt_reason, response.healed_tool_call_ids, response.pending)

    def _begin(self) -> Steps:
        session = self.session
        yield self._write(session.log.start_run, self._prompt)
        if all(isinstance(message, System) for message in session):
            raise ValueError("there is nothing to reply to: generate() needs a prompt, or a session with messages")
        last = [call.id for call in session.pending_tool_calls]
        stale = [id for id in session.orphaned_tool_call_ids if id not in last]
        if stale:  # no run makes calls of older replies, and the model must not see them without results
            self._healed += yield self._write(session.log.close_calls, stale)
        yield from self._check_input()

    def _loop(self) -> Steps:
        session, plan = self.session, self.plan
        last = next(reversed(session))
        if isinstance(last, Assistant) and not last.tool_calls and not plan.steering:  # this run was complete already
            self._read_output(last)
            self._complete(last)
        elif not session.pending_tool_calls and not plan.steering:
            self._end_if_halted()
        while not self._ended:
            self._check()
            if calls := session.pending_tool_calls:
                yield from self.calls.make(calls, self._check)
                if self._end_if_halted():
                    return
                self._check()
                if session.pending_tool_calls:
                    raise Interrupted("approval_required")
            yield from self._deliver_steering()
            reply = yield from self._ask()
            if reply is None:
                return
            if reply.tool_calls:
                self._check_limits()
            elif not plan.steering:
                self._complete(reply)

    def _end_if_halted(self) -> bool:
        """End the run if a call has halted it: now, or in a run that ended before it was recorded as halted."""
        halted = self.calls.halted
        if halted is None:
            halted = next((result for result in self.session.log.last_results if result.halted), None)
        if halted is not None:
            self._ended = {"outcome": "halted", "content": str(halted)}
        return halted is not None

    def _check_limits(self) -> None:
        plan = self.plan
        if plan.max_steps is not None and self._steps >= plan.max_steps:
            raise Interrupted("max_steps")
        if plan.max_session_steps is not None and self.session.log.reply_count >= plan.max_session_steps:
            raise Interrupted("max_session_steps")

    def _deliver_steering(self) -> Steps:
        waiting = self.plan.steering
        while waiting:
            yield self._write(self.session.log.add, waiting[0])
            waiting.pop(0)

    def _notify(self, message: Message) -> Steps:
        """Call the session's callbacks with a message that this run has generated."""
        for callback in self.session.log.callbacks:
            yield Callback(self, callback, message)

    # ------------------------------------------------------------------------------------------------ the model

    def _ask(self) -> Any:
        """Ask the model for its next reply, and add it to the session; None if a guardrail blocks it."""
        if self.plan.window is None:
            messages = self.session.messages
        else:
            messages = yield from self.plan.window.fit(self.session, partial(self._request, is_shown=False))
        reply = yield from self._request(messages, self.plan.definitions, self.plan.output)
        self._steps += 1
        reply = yield from self._check_output(self.session.log.with_unique_ids(reply))
        if reply is None:
            return None
        reply = self._read_output(reply)
        yield self._write(self.session.log.add, reply)
        self._partial = ""
        if reply.content:
            yield TextDone(reply.content)
        for call in reply.tool_calls:
            yield ToolCallDone(call)
        yield UsageUpdate(reply.usage or Usage(), self.usage)
        yield from self._notify(reply)
        return reply

    def _read_output(self, reply: Assistant) -> Assistant:
        """Return a reply with its structured output."""
        output = self.plan.output
        if output is None or reply.tool_calls:
            return reply
        self._output, self._problem = output.read(reply.content)
        return reply if self._problem is not None else reply.replace(structured_output=output.dump(self._output))

    def _request(
        self,
        messages: Sequence[Message],
        tools: Sequence[Any] = (),
        output: Output | None = None,
        *,
        is_shown: bool = True,
    ) -> Any:
        """Send a request to the model, pass on the deltas of its reply if the user is to see them, and return it."""
        plan = self.plan
        request = Request(
            model=plan.model, messages=messages, tools=tools, settings=plan.settings, timeout=plan.timeout,
            output_schema=None if output is None else output.schema,
        )  # fmt: skip
        source = Source(lambda: plan.provider.stream(request), lambda: plan.provider.astream(request))
        reply: Assistant | None = None
        self._partial = ""
        try:
            while (piece := (yield Next(source))) is not END:
                if isinstance(piece, Assistant):
                    reply = piece
                    continue
                self._check()
                if not is_shown:
                    continue
                if isinstance(piece, TextDelta):
                    self._partial += piece.content
                elif isinstance(piece, Retrying):
                    self._partial = ""
                yield piece
        finally:
            yield Close(source)
        if reply is None:
            raise ProviderError("the provider ended without a reply", retryable=True)
        if reply.usage is not None:
            self.add_usage(reply.usage)
        return reply

    # ------------------------------------------------------------------------------------------------ guardrails

    def _check_input(self) -> Steps:
        for guardrail in self.plan.guardrails:
            messages = self.session.messages
            answer = yield Callback(self, guardrail.process_input, messages, self.context)
            if isinstance(answer, Block):
                yield self._block(guardrail, "before", answer)
                return
            if answer is not None:
                changes, ids = changes_between(messages, answer)
                if changes:
                    yield self._write(self.session.log.write, changes)
                    yield self._modify(guardrail, "before", ids)

    def _check_output(self, reply: Assistant) -> Any:
        """Pass a reply through the guardrails; None if one blocks it."""
        for guardrail in self.plan.guardrails:
            answer = yield Callback(self, guardrail.process_output, reply, self.session.messages, self.context)
            if isinstance(answer, Block):
                yield self._block(guardrail, "after", answer)
                return None
            if answer is None or answer == reply:
                continue
            if not isinstance(answer, Assistant):
                raise TypeError(f"process_output returns None, an Assistant or a Block, got {type(answer).__name__}")
            reply = answer.replace(items=()) if answer.items == reply.items else answer
            yield self._modify(guardrail, "after", [reply.id])
        return reply

    def _block(self, guardrail: Guardrail, phase: Phase, block: Block) -> Tripwire:
        tripwire = Tripwire(guardrail.name, phase, block.reason, block.metadata)
        self._ended = {"outcome": "blocked", "content": "", "tripwire": tripwire}
        return tripwire

    def _modify(self, guardrail: Guardrail, phase: Phase, ids: Sequence[str]) -> Modification:
        modification = Modification(guardrail.name, phase, tuple(ids))
        self._modifications.append(modification)
        return modification

    # ------------------------------------------------------------------------------------------------ the end

    def _complete(self, reply: Assistant) -> None:
        stop = reply.stop_reason
        outcome = "completed" if stop in (None, "stop", "tool") else stop
        if self._problem is not None and outcome == "completed":
            outcome = "invalid_output"
        self._ended = {
            "outcome": outcome, "content": reply.content, "structured_output": self._output, "detail": self._problem,
        }  # fmt: skip

    def _finish(self) -> Steps:
        session = self.session
        ended = self._ended
        if ended["outcome"] == "interrupted" and self.plan.heal:
            waiting = [each["call_id"] for each in session.pending_approvals]
            orphans = [id for id in session.orphaned_tool_call_ids if id not in waiting]
            self._healed += yield self._write(session.log.close_calls, orphans)
        yield self._finish_run(ended["outcome"], ended.get("interrupt_reason"))
        if "content" not in ended:
            last = session.log.last_reply
            ended["content"] = self._partial or (last.content if last is not None else "")
        self.response = Response(
            **ended, messages=tuple(session.messages), modifications=tuple(self._modifications),
            healed_tool_call_ids=tuple(self._healed), pending=tuple(session.pending_approvals), usage=self.usage,
            steps=self._steps,
        )  # fmt: skip

    def _fail(self, error: BaseException) -> Steps:
        """Record that the run has failed, or was interrupted; what it added to the session stays."""
        is_interrupt = not isinstance(error, Exception)  # Ctrl-C, a cancelled task, a stream that was closed
        outcome = "interrupted" if is_interrupt else "failed"
        reason = type(error).__name__ if is_interrupt else f"{type(error).__name__}: {error}"
        try:
            yield self._finish_run(outcome, reason)
        except Exception:  # noqa: BLE001  (the store may be what has failed)
            _log.warning("the end of run %s could not be recorded", self.id, exc_info=True)

    def _finish_run(self, outcome: str, reason: Any) -> Write:
        data = {"steps": self._steps, "usage": self.usage.model_dump()}
        if reason is not None:
            data["reason"] = str(reason)
        return Write(self.session, partial(self.session.log.finish_run, outcome, **data))
