"""The tool calls of a run: each is recorded before it starts and when it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from tools_agent._caller_loop import CallerLoop
from tools_agent._events import ToolFinished, ToolStarted
from tools_agent._loop._frame import Frame
from tools_agent._loop._resume import resumed
from tools_agent._response import Interrupted
from tools_core import Approval, ApprovalRequest, Context, Question, Result, ToolCall

_log = logging.getLogger("tools_agent")
WAITING = ("approval_required", "answer_required", "result_required")
_MAX_REPEATS = 5  # of a failing call; the LoopDetector warns earlier


class Calls:
    """Run the calls of a run with the agent's executor, and add their results to the session.

    Attributes:
        halted: The result of a tool that has ended the conversation.
    """

    def __init__(self, frame: Frame) -> None:
        self.halted: Result | None = None
        self._frame = frame
        self._session = frame.session
        self._context: Context | None = None
        self._started: set[str] = set()
        self._received: set[str] = set()
        self._failure: Exception | None = None
        frame.calls = self

    def cancel(self) -> None:
        """Cancel the running calls; from any thread."""
        if (context := self._context) is not None:
            context.cancel()

    # ------------------------------------------------------------------------------------------------ one batch

    async def execute(self, calls: Sequence[ToolCall]) -> None:
        """Run calls. Calls that wait for approval stay without a result. The run may be interrupted after each."""
        frame = self._frame
        context = self._new_context()
        pairs = await resumed(frame, calls, context)
        for call, result in pairs:
            if result is not None:
                await self._receive(call, result)
        ready = [call for call, result in pairs if result is None]
        allowed = frame.budget.take_calls(len(ready))
        try:
            await self._run_batch(ready[:allowed], context)
        finally:
            if unused := allowed - len(self._started):
                frame.budget.return_calls(unused)
        if allowed < len(ready) and self.halted is None and not self._session.log.requests:
            raise Interrupted(frame.budget.calls_limit)

    def _new_context(self) -> Context:
        frame = self._frame
        context = Context(workspace=frame.setup.workspace, state=frame.state, run_id=frame.run_id)
        context.caller = frame
        context.on_ask = self.answer
        context.approved = frame.inherited("approve") == "all"
        if isinstance(frame.loop, CallerLoop):
            context.here = frame.loop.call
        frame.batch += 1
        self._context, self._started, self._received = context, set(), set()
        return context

    async def _run_batch(self, calls: Sequence[ToolCall], context: Context) -> None:
        """Run calls in a task of their own, so that a cancelled run still receives the results of started calls."""
        frame = self._frame
        frame.check()  # again, since an interrupt reaches the calls only from now on
        work = asyncio.create_task(self._receive_all(calls, context))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            frame.mute()  # the consumer has left
            self.cancel()
            await asyncio.wait([work])
            _ = work.cancelled() or work.exception()
            raise
        finally:
            self._context = None
            await self._close_lost()

    async def _receive_all(self, calls: Sequence[ToolCall], context: Context) -> None:
        """Receive all results, also after a failure, which is raised in the end."""
        frame, failure = self._frame, None
        async with aclosing(frame.executor.aiterate(calls, context, as_completed=True)) as pairs:
            async for call, result in pairs:
                try:
                    await self._receive(call, result, notify=failure is None)
                    if failure is None:
                        if self._failure is not None:
                            raise self._failure  # noqa: TRY301
                        frame.check()
                        _check_repeats(result)
                except asyncio.CancelledError:
                    raise
                except BaseException as error:  # noqa: BLE001  (raised in the end)
                    failure = failure or error
                    self.cancel()
        if failure is not None:
            raise failure

    async def _receive(self, call: ToolCall, result: Result, *, notify: bool = True) -> None:
        """Record a result, unless the call waits for approval, or has not started and may start later."""
        frame, session, id = self._frame, self._session, call.id or ""
        if self._failure is not None and id not in self._started:
            return
        self._received.add(id)
        if result.error_type in WAITING and "pending" in result.metadata:
            record = session.log.ask_question if result.error_type == "answer_required" else session.log.ask_approval
            await frame.write(record, id, result.metadata["pending"])
            return
        is_cancelled = self._context is not None and self._context.cancelled
        if is_cancelled and result.error_type == "cancelled" and id not in self._started:
            return
        if "cut" in result.metadata:
            frame.agent.with_cut_output.add(session.key)
        message = await frame.write(session.log.finish_call, id, result)
        if result.halted:
            self.halted = result
        await frame.finished(ToolFinished(call, result))
        if notify:
            await frame.notify(message)

    async def _close_lost(self) -> None:
        """Record how calls have ended whose results were lost."""
        lost = sorted(self._started - self._received)
        if not lost:
            return
        cancelled = Result.error("The call was cancelled while it ran.", type="cancelled")
        try:
            await self._frame.write(self._session.log.close_calls, lost, cancelled)
        except Exception as error:  # noqa: BLE001  (the store may have failed)
            _log.warning("cancelled calls of session %s could not be recorded: %s", self._session.id, error)

    # ------------------------------------------------------------------------------------------------ one call

    async def record_start(self, call: ToolCall, context: Context, *, is_read_only: bool) -> None:
        """Record that a call starts. If that fails, the call does not run."""
        id = call.id or ""
        if self._context is None or context.cancelled or not id:  # a call without an id verifies another one
            return
        is_first = id not in self._started
        self._started.add(id)
        try:
            await self._frame.write(partial(self._session.log.start_call, call, is_read_only=is_read_only))
        except Exception as error:
            if is_first:
                self._started.remove(id)
            self._failure = error
            raise
        if is_first:
            self._frame.report(ToolStarted(call))

    async def approve(self, request: ApprovalRequest) -> Any:
        """Answer a request with the answer in the session to exactly this call, else with the agent's `approve`."""
        state = self._session.log.state(request.call.id)
        question, answer = state.pending, state.approved
        if question is not None and answer is not None and _is_same(question, request.to_dict()):
            return Approval("once", answer["by"], request.key, answer.get("arguments"))
        approve = self._frame.inherited("approve")
        if approve is None or approve == "all":
            return None if approve is None else True
        return await self._frame.call_user(approve, request)

    def answer(self, question: Question) -> str | None:
        """Answer a question of a tool with the answer in the session, else with the agent's `on_ask`."""
        log = self._session.log
        reply = log.state(question.context.call_id).replies.get(question.number)
        if reply is not None and reply["question"] == question.text:
            return str(reply["answer"])
        on_ask = self._frame.inherited("on_ask")
        answer: str | None = None
        if on_ask is not None:
            answer = self._frame.wait_for(on_ask, question, context=question.context)
        if answer is not None:
            log.answer(question.to_dict(), answer, "on_ask")
        return answer


def _check_repeats(result: Result) -> None:
    """Interrupt the run if a failing call is repeated in spite of the LoopDetector's warnings."""
    if not result.ok and result.metadata.get("loop", {}).get("repeats", 0) >= _MAX_REPEATS:
        raise Interrupted("a failing call was repeated")


def _is_same(question: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    """Return whether a request is the answered one; the hash in its key covers arguments and effects.

    The run in the key is another one if the session is a fork.
    """
    if question["key"]:
        return bool(question["key"].rpartition(".")[2] == request["key"].rpartition(".")[2])
    has_same_arguments = question.get("was_started") or question["arguments"] == request["arguments"]
    return bool(has_same_arguments and question["tool"] == request["tool"])
