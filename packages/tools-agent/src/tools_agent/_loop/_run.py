"""`Run`: one run of an agent, from the prompt to the response."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from tools_agent._events import Interrupt
from tools_agent._loop._calls import WAITING, Calls
from tools_agent._loop._channel import Channel
from tools_agent._loop._checks import Checks
from tools_agent._loop._frame import Frame
from tools_agent._loop._replies import Replies, is_unfinished
from tools_agent._loop._run_hooks import RunHooks
from tools_agent._messages import Assistant, System, User
from tools_agent._response import Interrupted, Response
from tools_agent._session._session import Session

_LOGGER = logging.getLogger("tools_agent")
_REPEAT = "Your reply does not match the required output: {}. Reply again with output that matches."


class Runs(Protocol):
    """What an agent keeps of its runs; see `ActiveRuns`."""

    def start(self, run: Run) -> list[User]:
        """Count a run among the active ones, and return the messages that wait for it."""
        ...

    def end(self, run: Run) -> None:
        """Forget a run."""


class Run:
    """One run of an agent on a session.

    Attributes:
        frame: What its parts share.
        response: The response, once it has ended.
        is_by_id: Whether the caller has named the session by its id.
        is_active: Whether it has begun and not ended.
    """

    def __init__(
        self, frame: Frame, runs: Runs, prompt: User | None, *, close: Callable[[], object], is_by_id: bool = False
    ) -> None:
        self.frame = frame
        self.session: Session = frame.session
        self._log = frame.session.log
        self.is_by_id = is_by_id
        self.is_active = False
        self.response: Response[Any] | None = None
        self._runs = runs
        self._close = close
        self._setup = frame.setup
        hooks = RunHooks(frame)
        self._hooks = hooks or None
        self._calls = Calls(frame)
        self._checks = Checks(frame)
        self._replies = Replies(frame, self._checks, self._hooks)
        self._prompt = prompt
        self._steering: list[User] = []
        self._output_retries = 0
        self._ended: dict[str, Any] = {}  # the outcome and other attributes of the response
        self._healed: list[str] = []

    def interrupt(self, reason: Any) -> None:
        """Stop the run as soon as possible; from any thread."""
        self.frame.interrupt(reason)
        self._calls.cancel()

    def listen(self) -> Channel:
        """Return the channel of its events, in the event loop of the run."""
        return self.frame.listen()

    # ------------------------------------------------------------------------------------------------ the loop

    async def run(self) -> Response[Any]:
        """Run until there is a response."""
        frame = self.frame
        frame.enter()
        await self._reserve()
        self._steering = self._runs.start(self)
        self.is_active = True
        try:
            if self._hooks is not None:
                await self._hooks.before_run()
            try:
                await self._begin()
                await self._loop()
            except Interrupted as stop:
                self._end("interrupted", interrupt_reason=stop.reason)
            self.response = response = await self._finish()
        except BaseException as error:
            await self._fail(error)
            raise
        finally:
            await self._leave()
        if response.interrupted:
            frame.post(Interrupt(response.interrupt_reason, response.healed_tool_call_ids, response.pending))
        return response

    async def _reserve(self) -> None:
        """Reserve the session, and read what has happened since the last run."""
        frame, log = self.frame, self._log
        try:
            await frame.write(log.begin, frame.id)
        except asyncio.CancelledError:
            await frame.write(log.end, frame.id)
            raise

    async def _begin(self) -> None:
        log = self._log
        if self._prompt is None:
            self.frame.budget.before = log.spent
        await self.frame.write(log.start_run, self._prompt, self._setup.changes_of(log))
        self._check_messages()
        last = [call.id for call in log.pending_calls] if log.unanswered else []
        stale = [id for id in log.unanswered if id not in last]
        if stale:  # no run runs the calls of older replies, and the model must not see them without results
            self._healed += await self.frame.write(log.close_calls, stale)
        if self._setup.guardrails:
            await self._checks.check_input()
            self._end_if_blocked()
            self._check_messages()

    def _check_messages(self) -> None:
        if not self._ended and all(isinstance(message, System) for message in self._log.messages):
            raise ValueError(
                "there is nothing to reply to: pass a prompt to generate(), or use a session with messages"
            )

    async def _loop(self) -> None:
        log, steering = self._log, self._steering
        last = next(reversed(log.messages), None)
        if isinstance(last, Assistant) and not is_unfinished(last) and not steering:  # this run was complete already
            await self._replies.read(last)
            self._complete(last)
        elif not log.pending_calls and not steering:
            self._end_if_halted()
        while not self._ended:
            self.frame.check()
            while calls := log.pending_calls:
                await self._calls.execute(calls)
                self._end_if_blocked()
                if self._ended or self._end_if_halted():
                    return
                self.frame.check()
                if log.pending_calls and log.requests:  # else all were answered while other calls ran
                    raise Interrupted(WAITING[min(map(_kind, log.requests))])
            if steering:
                await self._add_steering()
                self._end_if_blocked()
                if self._ended:
                    return
            self._check_limits()
            reply = await self._replies.request()
            self._end_if_blocked()
            if reply is not None:
                await self._continue(reply)

    async def _add_steering(self) -> None:
        """Add the messages of `steer`, and pass them through the guardrails."""
        while self._steering:
            await self.frame.write(self._log.add, self._steering[0])
            self._steering.pop(0)
        if self._setup.guardrails:
            await self._checks.check_input()

    def _end_if_blocked(self) -> None:
        if self.frame.tripwire is not None:
            self._end("blocked", tripwire=self.frame.tripwire, content="")

    async def _continue(self, reply: Assistant) -> None:
        """Complete the run with a reply, unless it has tool calls or invalid output, or the user has steered it."""
        is_open = is_unfinished(reply)
        has_problem = self._replies.problem is not None and not is_open
        is_repeated = has_problem and self._output_retries < self._setup.output_retries
        if is_open or is_repeated:
            self._check_limits()
        if is_repeated:
            self._output_retries += 1
            await self.frame.write(self._log.add, User(content=_REPEAT.format(self._replies.problem)))
        elif not is_open and not self._steering:
            self.frame.check()  # a guardrail or a callback may have taken long
            self._complete(reply)

    def _end_if_halted(self) -> bool:
        """End the run if a call has halted it: now, or in a run that ended before it was recorded as halted."""
        halted = self._calls.halted
        if halted is None:
            halted = next((result for result in self._log.last_results if result.halted), None)
        if halted is not None:
            self._end("halted", content=str(halted))
        return halted is not None

    def _check_limits(self) -> None:
        """Raise Interrupted if a limit does not allow another request to the model, or calls, which it would follow."""
        self.frame.budget.check()
        limit = self._setup.max_session_steps
        if limit is not None and self._log.reply_count >= limit:
            raise Interrupted("max_session_steps")

    # ------------------------------------------------------------------------------------------------ the end

    def _complete(self, reply: Assistant) -> None:
        replies, stop = self._replies, reply.stop_reason
        outcome = "completed" if stop in (None, "stop", "tool") else stop
        if replies.problem is not None and outcome == "completed":
            outcome = "invalid_output"
        self._end(outcome, content=reply.content, output=replies.output, detail=replies.problem)

    def _end(self, outcome: str, **attributes: Any) -> None:
        """Set the outcome and other attributes of the response."""
        self._ended = {"outcome": outcome, **attributes}

    async def _finish(self) -> Response[Any]:
        log, attributes = self._log, self._ended
        if attributes["outcome"] == "interrupted" and self._setup.heal:
            orphans = [id for id in log.unanswered if not log.is_waiting(id)]
            self._healed += await self.frame.write(log.close_calls, orphans)
        await self._finish_run(attributes["outcome"], attributes.get("interrupt_reason"))
        if "content" not in attributes:
            last = log.last_reply
            attributes["content"] = self._replies.partial or (last.content if last is not None else "")
        return Response(
            **attributes, messages=tuple(log.messages), modifications=tuple(self._checks.modifications),
            healed_tool_call_ids=tuple(self._healed), pending=tuple(sorted(log.requests, key=_kind)),
            usage=self.frame.budget.usage, steps=self._replies.count,
        )  # fmt: skip

    async def _fail(self, error: BaseException) -> None:
        """Record that the run has failed, or was interrupted; its messages stay in the session."""
        is_interrupt = not isinstance(error, Exception)  # Ctrl-C, a cancelled task, a closed stream
        outcome = "interrupted" if is_interrupt else "failed"
        reason = f"{type(error).__name__}: {error}"
        if is_interrupt:  # a cancelled task may say why
            reason = str(error) if isinstance(error, asyncio.CancelledError) and error.args else type(error).__name__
        if isinstance(error, GeneratorExit):
            self.frame.leave_loop()
        try:
            if self.is_active:
                await self._finish_run(outcome, reason)
        except Exception as unrecorded:  # noqa: BLE001  (the store may have failed)
            _LOGGER.warning("the end of run %s could not be recorded: %s", self.frame.id, unrecorded)

    async def _leave(self) -> None:
        """Call the hooks of the end, and let other runs of the session begin, whatever the hooks do."""
        try:
            if self._hooks is not None:
                await self._hooks.after_run("failed" if self.response is None else self.response.outcome)
        finally:
            self._forget()
            try:
                await self.frame.write(self._log.end, self.frame.id)
            finally:
                self._close()

    def _forget(self) -> None:
        if self.is_active:
            self.is_active = False
            self._runs.end(self)

    def end_without_loop(self) -> None:
        """End the run if its event loop was closed: nothing can be awaited any more."""
        if not self.frame.has_lost_loop:
            return
        self.frame.leave_loop()
        self._calls.cancel()
        try:
            if self.is_active:
                self._log.finish_run("interrupted", steps=self._replies.count, reason="the event loop was closed")
        finally:
            self._forget()
            self._log.end(self.frame.id)
            self._close()

    async def _finish_run(self, outcome: str, reason: Any) -> None:
        data: dict[str, Any] = {"steps": self._replies.count, "usage": self.frame.budget.usage.model_dump()}
        if reason is not None:
            data["reason"] = str(reason)
        if reason in WAITING:  # the run that continues it has the same budget
            data["spent"] = self.frame.budget.spent()
        await self.frame.write(partial(self._log.finish_run, outcome, **data))


def _kind(request: Mapping[str, Any]) -> int:
    """Return what a request waits for, as a place in WAITING."""
    return 1 if "question" in request else 2 if request.get("external") else 0
