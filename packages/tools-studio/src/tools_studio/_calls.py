"""`Calls`: run tools for a person, in the background, and remember what happened."""

from __future__ import annotations

import asyncio
import secrets
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from tools_core import Context, InvalidArguments, Result, ToolCall
from tools_core.threads import in_thread
from tools_runtime import Executor, Policy, PolicyError
from tools_studio._exchange import exchange
from tools_workspace import Workspace, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from tools_core import ApprovalRequest, Effects, Question, Tool
    from tools_core.schema import Problem
    from tools_studio._events import Hub
    from tools_studio._exchange import Message
    from tools_workspace import Changes, WorkspaceCopy

_GRACE = 2.0  # seconds for a tool to return after it was cancelled
_MAX_ENDED = 200  # calls that pages can still show


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The decision of the policy about a call of a model, and the effects of the call; nothing has run.

    `key` identifies the call with its effects. `outcome` is allow, ask, deny, or invalid for arguments with `problems`.
    """

    outcome: str
    reasons: Sequence[str] = ()
    rule: str = ""
    effects: Effects | None = None
    key: str = ""
    problems: Sequence[Problem] = ()


@dataclass(eq=False, kw_only=True)
class Call:
    """A call that was started on the bench; `result` is None while it runs."""

    id: int
    name: str  # of the tool in the catalog
    tool: Tool
    arguments: Mapping[str, Any]
    in_copy: bool = False
    started_at: float = field(default_factory=time)
    duration: float = 0.0
    result: Result | None = None
    progress: tuple[float, float | None, str] | None = None
    question: Question | None = None
    questions: int = 0  # so far
    is_cancelled: bool = False
    copy: WorkspaceCopy | None = None
    changes: Sequence[Mapping[str, Any]] = ()  # in the copy, each with its diff
    shown: Changes | None = None  # the same, to apply no others
    outcome: str = ""  # of the changes: applied or discarded
    context: Context | None = None
    task: asyncio.Task[None] | None = None
    answer: Future[str | None] = field(default_factory=Future)
    messages: Collection[Message] = ()  # to and from its MCP server

    @property
    def topic(self) -> str:
        """The topic of its events."""
        return f"call:{self.id}"

    @property
    def status(self) -> str:
        """The state in one word: running, waiting, cancelling, done, denied, cancelled or failed."""
        if self.result is None:
            return "waiting" if self.question else "cancelling" if self.is_cancelled else "running"
        if self.result.ok:
            return "done"
        kind = self.result.error_type
        return "denied" if kind in ("denied", "approval_required") else "cancelled" if kind == "cancelled" else "failed"

    @property
    def percent(self) -> float | None:
        """The progress from 0 to 100; None if the total is unknown."""
        done, total, _ = self.progress or (0, None, "")
        return min(100.0, 100 * done / total) if total else None


class Calls:
    """The calls of the bench: all of one run, so that tools remember earlier calls as in a conversation."""

    def __init__(self, workspace: Workspace, hub: Hub) -> None:
        self.workspace = workspace
        self._hub = hub
        self._run_id = f"ui-{secrets.token_hex(8)}"
        self._ids = count(1)
        self._calls: dict[int, Call] = {}

    def get(self, id: int) -> Call | None:
        """Return a call, or None."""
        return self._calls.get(id)

    def of(self, name: str) -> list[Call]:
        """Return the calls of a tool that run, and the latest one, which is the first."""
        calls = [call for call in reversed(self._calls.values()) if call.name == name]
        return [call for call in calls if call is calls[0] or call.result is None]

    def forecast(self, tool: Tool, arguments: Mapping[str, Any]) -> Forecast:
        """Return what the policy would decide about a call of a model."""
        context = Context(workspace=self.workspace.path, run_id=self._run_id)
        try:
            evaluation = Policy().evaluate(ToolCall(None, tool.name, arguments), tool, context)
        except InvalidArguments as error:
            return Forecast(outcome="invalid", problems=error.problems)
        except PolicyError as error:
            return Forecast(outcome="deny", reasons=[str(error)])
        except Exception as error:  # noqa: BLE001  (the tool's own code)
            return Forecast(outcome="deny", reasons=[f"it cannot be evaluated: {type(error).__name__}: {error}"])
        outcome, rule, reasons, facts = evaluation
        return Forecast(
            outcome=outcome, reasons=reasons, rule=str(rule or ""), effects=facts.effects, key=facts.hash
        )  # fmt: skip

    def start(self, name: str, tool: Tool, arguments: Mapping[str, Any], key: str, *, in_copy: bool) -> Call:
        """Start a call that a person has approved after they saw the forecast with this key."""
        call = Call(id=next(self._ids), name=name, tool=tool, arguments=arguments, in_copy=in_copy)
        finished = [call.id for call in self._calls.values() if call.result is not None]
        for id in finished[:-_MAX_ENDED]:
            del self._calls[id]
        self._calls[call.id] = call
        call.task = asyncio.get_running_loop().create_task(self._run(call, key))
        self._hub.publish(f"calls:{name}")
        return call

    def cancel(self, call: Call) -> None:
        """Cancel a call; a tool that does not return soon is abandoned."""
        if call.task is None or call.result is not None:
            return
        call.is_cancelled = True
        self.reply(call, None)
        if call.context is not None:
            call.context.cancel()
        asyncio.get_running_loop().call_later(_GRACE, call.task.cancel)
        self._hub.publish(call.topic)

    def reply(self, call: Call, answer: str | None) -> None:
        """Answer the question of a running tool; None leaves it without an answer."""
        call.question = None
        with suppress(InvalidStateError):
            call.answer.set_result(answer)
        self._hub.publish(call.topic)

    def apply(self, call: Call) -> None:
        """Apply what a call changed in its copy. Raises WorkspaceError for a conflict; the copy remains."""
        self._end_copy(
            call, "applied", lambda copy: copy.apply(shown=call.shown, title=f"{call.tool.name}, ask-tools ui")
        )

    def discard(self, call: Call) -> None:
        """Remove the copy of a call with its changes."""
        self._end_copy(call, "discarded")

    def _end_copy(self, call: Call, outcome: str, use: Callable[[WorkspaceCopy], object] = lambda _: None) -> None:
        copy, call.copy = call.copy, None  # so that a second click finds none
        if copy is None:
            return
        try:
            use(copy)
            copy.discard()
        except BaseException:
            call.copy = copy
            raise
        call.outcome = outcome
        self._hub.publish(call.topic)

    async def _run(self, call: Call, key: str) -> None:
        started = monotonic()
        try:
            with exchange(call.tool, lambda: self._hub.publish(call.topic)) as call.messages:
                call.result = await self._result(call, key)
        except (WorkspaceError, PolicyError) as error:
            call.result = Result.error(str(error), type="denied", exception=error)
        except KeyboardInterrupt as error:
            call.result = Result.error("KeyboardInterrupt", type="execution_error", exception=error)
        except asyncio.CancelledError:
            call.result = Result.error("Cancelled; the tool did not return.", type="cancelled")
        finally:
            call.duration = monotonic() - started
            call.context = None
            self._hub.publish(call.topic)

    async def _result(self, call: Call, key: str) -> Result:
        if call.in_copy:
            call.copy = await asyncio.to_thread(self.workspace.copy)
        workspace = self.workspace if call.copy is None else call.copy
        call.context = Context(
            workspace=workspace.path,
            run_id=self._run_id,
            on_progress=lambda done, total, message: self._report(call, (done, total, message)),
            on_ask=lambda question: self._ask(call, question),
        )

        def approve(request: ApprovalRequest) -> str | None:
            # In a copy the paths differ. The tool and its arguments are the same.
            return "once" if call.in_copy or request.key.endswith(f".{key}") else None

        with Executor([call.tool], policy=Policy(), approve=approve, default_timeout=None) as executor:
            run = partial(executor.call, ToolCall(f"ui_{call.id}", call.tool.name, call.arguments), call.context)
            result = await asyncio.wrap_future(in_thread(run))  # a KeyboardInterrupt would end the event loop
        if call.copy is not None:
            call.shown = await asyncio.to_thread(call.copy.changes)
            call.changes = await asyncio.to_thread(call.shown.to_list)
            if not call.changes:
                await asyncio.to_thread(self.discard, call)
        return result

    def _report(self, call: Call, progress: tuple[float, float | None, str]) -> None:
        call.progress = progress
        self._hub.publish(call.topic)

    def _ask(self, call: Call, question: Question) -> str | None:
        """Show a question, and wait for its answer in the thread of the tool."""
        call.answer = Future()
        if call.is_cancelled:
            return None
        call.question = question
        call.questions += 1
        self._hub.publish(call.topic)
        return call.answer.result()
