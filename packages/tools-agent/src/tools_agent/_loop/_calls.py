"""The tool calls of a run: each is recorded before it starts and when it ends."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from tools_agent._events import ToolFinished, ToolProgress, ToolStarted
from tools_agent._loop._drive import Do, Steps, wait_for
from tools_agent._loop._family import run_of
from tools_agent._loop._resume import resumed
from tools_agent._loop._sources import END, WAKE, AsyncSource, DirectSource, Source
from tools_agent._response import Interrupted
from tools_core import Approval, ApprovalRequest, Context, Question, Result, Tool, ToolCall
from tools_runtime import Event, InlineRuntime, hookimpl

if TYPE_CHECKING:
    from tools_agent._loop._run import Run

_log = logging.getLogger("tools_agent")
WAITING = ("approval_required", "answer_required", "result_required")
_MAX_REPEATS = 5  # of a failing call; the LoopDetector warns earlier


class Calls:
    """Run the calls of a run with the agent's executor, and add their results to the session."""

    def __init__(self, run: Run) -> None:
        self.halted: Result | None = None
        self._run = run
        self._session = run.session
        self._lock = Lock()
        self._context: Context | None = None
        self._source: Source | DirectSource | AsyncSource | None = None
        self._started: set[str] = set()
        self._received: set[str] = set()
        self._failure: Exception | None = None

    def cancel(self) -> None:
        """Cancel the running calls; from any thread."""
        if self._context is not None:
            self._context.cancel()

    def emit(self, event: Any) -> None:
        """Add an event to the stream; from any thread."""
        if self._source is not None:
            self._source.put(event)

    # ------------------------------------------------------------------------------------------------ one batch

    def execute(self, calls: Sequence[ToolCall]) -> Steps:
        """Run calls. Calls that wait for approval stay without a result. The run may be interrupted after each."""
        run = self._run
        context = Context(workspace=run.workspace, state=run.context, run_id=run.run_id)
        context.caller = run
        run.batch += 1
        context.on_ask = self.answer
        context.approved = run.inherited("approve") == "all"
        self._context = context
        self._started, self._received = set(), set()
        pairs = yield from resumed(run, calls, context)
        for call, result in pairs:
            if result is not None:
                yield from self._receive(call, result, notify=True)
        ready = [call for call, result in pairs if result is None]
        allowed = run.budget.take_calls(len(ready))
        try:
            yield from self._run_batch(ready[:allowed], context)
        finally:
            if unused := allowed - len(self._started):
                run.budget.return_calls(unused)
        if allowed < len(ready) and self.halted is None and not self._is_waiting():
            raise Interrupted("max_tool_calls")

    def _is_waiting(self) -> bool:
        session = self._session
        return bool(session.pending_approvals or session.pending_questions or session.pending_results)

    def _run_batch(self, calls: Sequence[ToolCall], context: Context) -> Steps:
        run = self._run
        source = self._source = self._source_of(calls, context)
        try:
            run.check()  # again, since an interrupt reaches the calls only from now on
            while (item := (yield Do(source.next))) is not END:
                if isinstance(item, tuple):
                    yield from self._receive(*item, notify=True)
                    run.check()
                    _check_repeats(item[1])
                elif item is not WAKE:
                    yield item
        except BaseException:
            yield from self._stop(source)
            raise
        finally:
            self._context = self._source = None
            yield Do(source.close)

    def _source_of(self, calls: Sequence[ToolCall], context: Context) -> Source | DirectSource | AsyncSource:
        """Return the source of results: in the caller's thread if a tool of the batch runs there."""
        run, executor = self._run, self._run.executor
        if not run.is_async and run.options.runtime is not None and any(map(self._is_direct, calls)):
            return DirectSource(lambda: executor.iterate(calls, context, as_completed=True))
        return run.source(
            lambda: executor.iterate(calls, context, as_completed=True),
            lambda: executor.aiterate(calls, context, as_completed=True),
        )

    def _is_direct(self, call: ToolCall) -> bool:
        """Return whether a tool runs in the thread of its caller: inline, and without a limit."""
        run, tool = self._run, self._run.tools.get(call.name)
        if tool is None or tool.timeout is not None:
            return False
        has_limit = run.options.tool_timeout is not None and not tool.manages_timeout
        return not has_limit and isinstance(run.executor.runtime_of(call.name, self._context), InlineRuntime)

    def _receive(self, call: ToolCall, result: Result, *, notify: bool) -> Steps:
        """Record a result, unless the call waits for approval or was cancelled before it started."""
        session, id = self._session, call.id or ""
        if self._failure is not None:
            raise self._failure
        self._received.add(id)
        if result.error_type in WAITING and "pending" in result.metadata:
            record = session.log.ask_question if result.error_type == "answer_required" else session.log.ask_approval
            yield self._run.write(record, id, result.metadata["pending"])
            return
        is_cancelled = self._context is not None and self._context.cancelled
        if is_cancelled and result.error_type == "cancelled" and id not in self._started:
            return
        if "cut" in result.metadata:
            self._run.agent.with_cut_output.add(session.key)
        message = yield self._run.write(session.log.finish_call, id, result)
        if result.halted:
            self.halted = result
        yield ToolFinished(call, result)
        if notify:
            yield from self._run.notify(message)

    def _stop(self, source: Source | DirectSource | AsyncSource) -> Steps:
        """Cancel the running calls, and record how each of them ended."""
        self.cancel()
        session = self._session
        try:
            while self._started - self._received and (item := (yield Do(source.next))) is not END:
                if isinstance(item, tuple):
                    yield from self._receive(*item, notify=False)
            with self._lock:
                self._context = None  # no call starts from now on
            lost = sorted(self._started - self._received)
            cancelled = Result.error("The call was cancelled while it ran.", type="cancelled")
            yield self._run.write(session.log.close_calls, lost, cancelled)
        except Exception as error:  # noqa: BLE001  (the store may have failed)
            _log.warning("cancelled calls of session %s could not be recorded: %s", session.id, error)

    # ------------------------------------------------------------------------------------------------ hooks

    def record_start(self, call: ToolCall, context: Context) -> None:
        """Record that a call starts. If that fails, the call does not run."""
        session, id = self._session, call.id or ""
        with self._lock:
            if self._context is None or context.cancelled or not id:  # a call without an id verifies another one
                return
            try:
                session.log.start_call(call)
            except Exception as error:
                self._failure = error
                raise
            if id not in self._started:
                self.emit(ToolStarted(call))
            self._started.add(id)

    def approve(self, request: ApprovalRequest) -> Any:
        """Answer a request with the answer in the session to exactly this call, else with the agent's `approve`."""
        state = self._session.log.state(request.call.id)
        question, answer = state.pending, state.approved
        if question is not None and answer is not None and _is_same(question, request.to_dict()):
            return Approval("once", answer["by"], request.key, answer.get("arguments"))
        approve = self._run.inherited("approve")
        if approve is None or approve == "all":
            return None if approve is None else True
        return approve(request)

    def answer(self, question: Question) -> str | None:
        """Answer a question of a tool with the answer in the session, else with the agent's `on_ask`."""
        log = self._session.log
        reply = log.state(question.context.call_id).replies.get(question.number)
        if reply is not None and reply["question"] == question.text:
            return str(reply["answer"])
        on_ask = self._run.inherited("on_ask")
        answer: str | None = None
        if on_ask is not None:
            answer = wait_for(on_ask(question), self._run.event_loop, question.context)
        if answer is not None:
            log.answer(question.to_dict(), answer, "on_ask")
        return answer


class Recorder:
    """The executor's plugin that reports calls to their run, which is the nearest caller."""

    blocks = True
    nested = False

    @hookimpl
    def start_tool_call(self, call: ToolCall, tool: Tool, context: Context) -> None:  # noqa: ARG002
        """Record the start of a call."""
        _calls_of(context).record_start(call, context)

    @hookimpl
    def on_event(self, event: Event) -> None:
        """Pass on the progress of a call."""
        if event.kind == "progress":
            _calls_of(event.context).emit(ToolProgress(event.call, **event.detail))

    def approve(self, request: ApprovalRequest) -> Any:
        """Answer a request for approval."""
        return _calls_of(request.context).approve(request)


def _calls_of(context: Any) -> Calls:
    return cast("Run", run_of(context.caller)).calls


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
