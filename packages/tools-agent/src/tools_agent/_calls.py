"""`Calls`: the tool calls of a run, each recorded before it starts and when it ends."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from tools_agent._drive import END, WAKE, Close, Next, Source, Steps, Write
from tools_agent._events import ToolFinished, ToolProgress, ToolStarted
from tools_core import Approval, ApprovalRequest, Context, InvalidArguments, Result, Tool, ToolCall
from tools_runtime import Event, hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_agent._messages import Message
    from tools_agent._plan import Plan
    from tools_agent._session._session import Session

_log = logging.getLogger("tools_agent")
_UNKNOWN = (
    "The program ended while this call ran: its outcome is unknown, and the call was not made again. "
    "Check what it has done before you repeat it."
)


class Calls:
    """Makes the calls of a run with the agent's executor, and puts their results into the session."""

    def __init__(
        self, plan: Plan, session: Session, state: Mapping[str, Any], notify: Callable[[Message], Steps]
    ) -> None:
        self.halted: Result | None = None
        self.is_async = False
        self._plan = plan
        self._session = session
        self._state = state
        self._notify = notify
        self._lock = Lock()
        self._context: Context | None = None
        self._source: Source | None = None
        self._events: deque[Any] = deque()
        self._started: set[str] = set()
        self._received: set[str] = set()
        self._failure: Exception | None = None

    def cancel(self) -> None:
        """Cancel the calls that are running; from any thread."""
        if self._context is not None:
            self._context.cancel()

    def emit(self, event: Any) -> None:
        """Add an event to the stream; from any thread."""
        self._events.append(event)
        if self._source is not None:
            self._source.wake()

    # ------------------------------------------------------------------------------------------------ one batch

    def make(self, calls: Sequence[ToolCall], check: Callable[[], object]) -> Steps:
        """Make calls; those that wait for approval stay without a result. `check` may interrupt after each result."""
        plan = self._plan
        context = Context(workspace=plan.workspace, state=self._state, run_id=self._session.key)
        calls = yield from self._without_unknown(calls, context)
        if not calls:
            return
        self._context = context
        self._started, self._received = set(), set()
        self._source = source = Source(
            lambda: plan.executor.iterate(calls, context, as_completed=True),
            lambda: plan.executor.aiterate(calls, context, as_completed=True),
        )
        try:
            check()  # again, since from here on an interrupt reaches the calls
            while (pair := (yield Next(source, wakes=True))) is not END:
                while self._events:
                    yield self._events.popleft()
                if pair is not WAKE:
                    yield from self._receive(*pair, notify=True)
                    check()
        except BaseException:
            yield from self._stop(source)
            raise
        finally:
            self._context = self._source = None
            yield Close(source)

    def _receive(self, call: ToolCall, result: Result, *, notify: bool) -> Steps:
        """Record a result, unless the call waits for approval or was cancelled before it started."""
        session, id = self._session, call.id or ""
        if self._failure is not None:
            raise self._failure
        self._received.add(id)
        if result.error_type == "approval_required" and "pending" in result.metadata:
            yield Write(session, session.log.ask_approval, id, result.metadata["pending"])
            return
        is_cancelled = self._context is not None and self._context.cancelled
        if is_cancelled and result.error_type == "cancelled" and id not in self._started:
            return
        message = yield Write(session, session.log.finish_call, id, result)
        if result.halted:
            self.halted = result
        yield ToolFinished(call, result)
        if notify:
            yield from self._notify(message)

    def _stop(self, source: Source) -> Steps:
        """Cancel what is running, and record how each call ended that had started."""
        self.cancel()
        session = self._session
        try:
            while self._started - self._received and (pair := (yield Next(source, wakes=True))) is not END:
                if pair is not WAKE:
                    yield from self._receive(*pair, notify=False)
            yield Write(session, self._forbid_starts)
            lost = sorted(self._started - self._received)
            cancelled = Result.error("The call was cancelled while it ran.", type="cancelled")
            yield Write(session, session.log.close_calls, lost, cancelled)
        except Exception:  # noqa: BLE001  (the store may be what has failed)
            _log.warning("cancelled calls of session %s could not be recorded", session.id, exc_info=True)

    def _forbid_starts(self) -> None:
        with self._lock:
            self._context = None

    # ------------------------------------------------------------------------------------------------ resuming

    def _without_unknown(self, calls: Sequence[ToolCall], context: Context) -> Any:
        """Return the calls that may be made.

        A call that an earlier run has started may have had its effect: it is made again only if that does no harm.
        """
        session = self._session
        allowed: list[ToolCall] = []
        for call in calls:
            state = session.log.state(call.id)
            if state.attempts <= state.attempts_settled or self._is_repeatable(call, context):
                allowed.append(call)
            elif not self._plan.ask_on_unknown:
                yield from self._receive(call, Result.error(_UNKNOWN, type="outcome_unknown"), notify=True)
            elif state.pending is None or not state.pending.get("was_started"):
                yield Write(session, session.log.ask_approval, call.id, _question(call))
        return allowed

    def _is_repeatable(self, call: ToolCall, context: Context) -> bool:
        """Return whether making a call twice does the same as making it once."""
        tool = self._plan.tools.get(call.name)
        if tool is None:  # it is no longer installed
            return False
        try:
            hints: Mapping[str, bool] = tool.effects(call.arguments, context).annotations
        except Exception:  # noqa: BLE001  (the tool's own code)
            return False
        return hints.get("read_only", False) or hints.get("idempotent", False)

    # ------------------------------------------------------------------------------------------------ hooks

    def note_start(self, call: ToolCall, context: Context) -> None:
        """Record that a call starts; it must not run if that fails."""
        session, id = self._session, call.id or ""
        with self._lock:
            if self._context is None or context.cancelled:
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
        """Answer a request by what the session's user said about exactly this call, else by the agent's `approve`."""
        state = self._session.log.state(request.call.id)
        asked, answer = state.pending, state.approved
        if asked is not None and answer is not None and _is_same(asked, request.to_dict()):
            return Approval("once", answer["by"], request.key, answer.get("arguments"))
        approve = self._plan.approve
        if approve is None or approve == "all":
            return None if approve is None else True
        return approve(request)


class Recorder:
    """The executor's plugin that tells the run what happens to its calls."""

    def __init__(self) -> None:
        self.calls: Calls | None = None

    @hookimpl
    def start_tool_call(self, call: ToolCall, tool: Tool, context: Context) -> None:  # noqa: ARG002
        """Record the start of a call before it is made."""
        if self.calls is not None:
            self.calls.note_start(call, context)

    @hookimpl
    def on_event(self, event: Event) -> None:
        """Pass on the progress of a call."""
        if event.kind == "progress" and self.calls is not None:
            self.calls.emit(ToolProgress(event.call, **event.detail))

    def approve(self, request: ApprovalRequest) -> Any:
        """Answer a request for approval."""
        return None if self.calls is None else self.calls.approve(request)


def _question(call: ToolCall) -> dict[str, Any]:
    """The request for approval of a call that was started already."""
    try:
        arguments = call.arguments
    except InvalidArguments:
        arguments = {}
    reasons = ["it was started in a run that was killed: making it again may repeat its effects"]
    return {
        "key": "", "call_id": call.id, "tool": call.name, "arguments": arguments, "reasons": reasons,
        "was_started": True,
    }  # fmt: skip


def _is_same(asked: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    """Return whether a request is the one that was answered; its key covers arguments and effects."""
    if asked["key"]:
        return bool(asked["key"] == request["key"])
    has_same_arguments = asked.get("was_started") or asked["arguments"] == request["arguments"]
    return bool(has_same_arguments and asked["tool"] == request["tool"])
