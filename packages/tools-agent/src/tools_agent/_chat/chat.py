"""`Chat`: a session, its agent, and the turns of the user and the model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from copy import copy
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tools_agent._agent import Agent
from tools_agent._chat.attachments import read_prompt
from tools_agent._chat.conversation import Conversation
from tools_agent._chat.questions import Questions
from tools_agent._chat.rendering import cropped, indented
from tools_agent._chat.screens import Screen
from tools_agent._chat.turn import Turn
from tools_agent._chat.working_copy import WorkingCopy
from tools_agent._events import Retrying, TextDelta, TextDone, ToolFinished, ToolProgress, ToolStarted, UsageUpdate
from tools_agent._messages import Assistant, Usage, User
from tools_agent._providers._get_provider import get_provider
from tools_agent._providers._provider import ProviderError, cost_of
from tools_agent._response import Response
from tools_agent._session._session import Session
from tools_agent._stores._store import SessionConflictError, SessionInfo, StoreError
from tools_agent.approval import add_session_rules
from tools_core import ApprovalRequest
from tools_core.command import CommandError, counted
from tools_core.text import visible

_COMMAND = re.compile(r"/[a-z]+( |$)")
_BY_USER = "by the user"
_REASONS = {
    "approval_required": "a call waits for approval",
    "answer_required": "a tool waits for an answer",
    "max_steps": "the limit of steps is reached; /continue runs more",
}


class Chat:
    """A conversation in the terminal.

    Attributes:
        session: The current session; None before the first prompt.
        agent: The agent of all sessions.
        show: The conversation on the screen.
        copy: The workspace, and its copy during a preview.
        usage: The number of replies, tokens and dollars of the session, by model.
    """

    def __init__(
        self,
        screen: Screen,
        agent: Agent[Any, Any],
        working_copy: WorkingCopy,
        *,
        new_session: Callable[[str, str], Session],
        run_command: Callable[[Chat, str], Coroutine[Any, Any, None]],
    ) -> None:
        self.screen = screen
        self.agent = agent
        self.copy = working_copy
        self.show = Conversation(screen)
        self.questions = Questions(self.show)
        self.session: Session | None = None
        self.usage: dict[str, tuple[int, Usage, float | None]] = {}
        self._new_session = new_session
        self._run_command = run_command
        self._turn: Turn | None = None
        self._task: asyncio.Task[None] | None = None  # of a turn or a command
        self._queued: list[User] = []  # what the user typed during the turn
        self._policy = agent.policy  # without the rules of a session
        self._loop = asyncio.get_running_loop()
        agent.approve, agent.on_ask = self._approve, self.questions.answer

    # ------------------------------------------------------------------------------------------------ the screen

    @property
    def model(self) -> str:
        """The name of the model."""
        return str(self.agent.model)

    @property
    def is_busy(self) -> bool:
        """True during a turn or a command."""
        return self._task is not None

    def submit(self, text: str) -> None:
        """Receive a line: a command, a prompt, or during a turn a message for the model's next step."""
        is_command = _COMMAND.match(text) is not None
        if self._turn is not None and not (is_command or self._turn.is_interrupted):
            self._steer(text)
        elif self._task is not None:
            self.show.note(f"waits: {text}")
            self._task.add_done_callback(lambda _: self.submit(text))
        else:
            self.start(self._run_command(self, text) if is_command else self.turn(text))

    def interrupt(self) -> bool:
        """Interrupt the turn or the command, and return whether there was one."""
        if self._task is None:
            return False
        is_asked = self.questions.is_open
        self.questions.cancel()
        if self._turn is not None and self.session in self.agent.runs:
            self._turn.is_interrupted = True
            self.agent.interrupt(_BY_USER, session=self.session)
        elif not is_asked:
            self._task.cancel()
        return True

    def live(self, width: int) -> RenderableType | None:
        """Return the part of the conversation that still changes."""
        if self._turn is None:
            return None
        queued = [indented(Text(f"queued: {visible(message.content)}", style="note")) for message in self._queued]
        return Group(self._turn.live(self.screen.painter, width, is_waiting=self.questions.is_open), *queued)

    def status(self, width: int) -> str:
        """Return the model, tokens, cost and the state of the preview, as far as they fit."""
        parts = [self.model]
        total = sum((usage for _, usage, _ in self.usage.values()), Usage())
        if total.total_tokens:
            parts.append(f"{short_number(total.input_tokens)} in, {short_number(total.output_tokens)} out")
        costs = [cost for _, _, cost in self.usage.values()]
        if costs and None not in costs:
            parts.append(f"${sum(cost or 0.0 for cost in costs):.4f}")
        parts.append(self.copy.status)
        full = "  ".join(parts)
        hint = "  Shift-Tab: preview, /help"
        return cropped(full + hint if len(full + hint) < width else full, width)

    def greet(self) -> None:
        """Print the first line."""
        tools = counted(len(self.agent.parts.tools[0]), "tool")
        self.show.print(Text(f"ask-tools chat: {self.model}, {tools}, /help", "bold"))

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a turn or a command; its errors are shown."""
        self._task = asyncio.create_task(self._run(work))

    async def close(self) -> None:
        """End the turn."""
        if self.interrupt() and self._task is not None:
            await asyncio.wait({self._task})

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except asyncio.CancelledError:
            self.show.note("interrupted")
        except (ProviderError, StoreError, SessionConflictError) as error:
            self.show.note(f"error: {error}", "bad")
        except Exception as error:  # noqa: BLE001  (the chat continues)
            self.show.note(f"error: {type(error).__name__}: {error}", "bad")
        finally:
            self._task = None
            self.screen.ready()

    # ------------------------------------------------------------------------------------------------ turns

    async def turn(self, text: str | None) -> None:
        """Send a prompt to the model, or continue the session, and show what happens."""
        prompt: User | None = None
        notes: list[str] = []
        if text is not None:
            prompt, notes = read_prompt(text, self.copy.folder)
            if not self.screen.echoes:
                self.show.prompt(text)
            for note in notes:
                self.show.note(note)
        if self.session is None:
            self._use(self._new_session(self.model, text or ""))
        turn = self._turn = Turn()
        try:
            self.agent.workspace = await self.copy.prepare(turn.report_copy)
            async for event in (stream := self.agent.astream(prompt, session=self.session)):
                self._show(turn, event)
            self._end(stream.response)
        finally:
            self._flush()
            self._turn = None
        await self._finish_turn(stream.response)

    def _end(self, response: Response[Any]) -> None:
        self._flush()
        if response.halted:
            self.show.reply(response.content)
        reason = response.interrupt_reason or response.detail or (response.tripwire and response.tripwire.reason)
        if response.outcome == "interrupted" and reason == _BY_USER:
            self.show.note("interrupted: write what to do instead, or /continue", "ask")
        elif response.outcome not in ("completed", "halted"):
            self.show.note(f"{response.outcome}: {_REASONS.get(str(reason), reason)}", "ask")

    async def _finish_turn(self, response: Response[Any]) -> None:
        session, waiting = self.session, self.agent.steering(self.session) if self.session else []
        self._show_steering()
        if session is None:
            return
        if response.interrupt_reason == _BY_USER:
            session.discard_pending_tool_calls()  # the next prompt decides, not an old call
        elif waiting:
            await self.turn(None)
        waiting.clear()
        for message in self._queued:
            self.show.note(f"not sent: {message.content}")
        self._queued.clear()
        if self.copy.is_preview and (changes := await self.copy.compare()):
            self.show.note(f"{counted(len(changes), 'change')} in the copy: /changes shows and applies them", "preview")

    def _steer(self, text: str) -> None:
        prompt, notes = read_prompt(text, self.copy.folder)
        self._queued.append(prompt)
        self.agent.steer(prompt, session=self.session)
        for note in notes:
            self.show.note(note)
        self.screen.refresh()

    # ------------------------------------------------------------------------------------------------ events

    def _show(self, turn: Turn, event: Any) -> None:
        self._show_steering()
        match event:
            case TextDelta():
                self.show.reply(turn.add_text(event.content))
            case TextDone():
                self._flush()
            case Retrying():
                turn.take_text()
                self.show.note(f"retry in {event.delay:.0f} s: {event.reason}")
            case ToolStarted():
                turn.start(event.call, _name(event))
                self.show.call_started(event.call, _name(event))
            case ToolProgress():
                turn.report(event)
            case ToolFinished():
                self._show_result(turn, event)
            case UsageUpdate():
                self.count_usage()
            case _:
                pass
        self.screen.refresh()

    def _show_result(self, turn: Turn, event: ToolFinished) -> None:
        running = turn.calls.pop(event.call.id or "", None)
        self.show.call(event.call, event.result, _name(event), running.duration if running else "not run")

    def _show_steering(self) -> None:
        """Append the queued messages that the model has received."""
        waiting = self.agent.steering(self.session) if self.session else []
        for message in [message for message in self._queued if message not in waiting]:
            self._queued.remove(message)
            self._flush()
            self.show.prompt(message.content)

    def _flush(self) -> None:
        """Append the rest of the reply."""
        if self._turn is not None:
            self.show.reply(self._turn.take_text())

    def unfold(self) -> None:
        """Append the last folded call uncut; pressed again, the call before it."""
        self.show.unfold()

    # ------------------------------------------------------------------------------------------------ settings

    def sessions(self) -> list[SessionInfo]:
        """Return the sessions of the store, the latest first."""
        return self.agent.store.sessions() if self.agent.store else []

    async def open_session(self, id: str, *, is_shown: bool = True) -> None:
        """Continue another session, and show its messages."""
        store = self.agent.store
        if store is None:
            raise CommandError("there is no store of sessions")
        session = await Session.aopen(store, id)
        self._use(session)
        if is_shown:
            self.show.messages(session)

    def _use(self, session: Session) -> None:
        """Continue in a session, with the rules that the user has approved for it."""
        self.session = session
        self.agent.policy = copy(self._policy)
        add_session_rules(self.agent.policy, session)
        self.count_usage()

    def set_model(self, name: str) -> None:
        """Use another model from the next turn on. Raises ProviderError for an unknown one."""
        get_provider(name)
        self.agent.model = name

    def models(self) -> list[tuple[str, str]]:
        """Return models that the user has chosen before, and the demo."""
        names = [str(info.metadata.get("model", "")) for info in self.sessions()]
        return [(name, "") for name in dict.fromkeys(filter(None, [*names, "scripted:demo"]))]

    def toggle_preview(self) -> None:
        """Let the next turns work in a copy of the workspace, or in the workspace."""
        try:
            self.copy.toggle()
        except CommandError as error:
            self.show.note("\n".join([str(error), *error.hints]), "bad")
            return
        text = "the next turns work in a copy" if self.copy.is_preview else "the next turns work in the workspace"
        self.show.note(f"{self.copy.status}: {text}", "preview")
        self.screen.refresh()

    def count_usage(self) -> None:
        """Count tokens and dollars of the session, by model."""
        self.usage = {}
        for message in self.session or ():
            if isinstance(message, Assistant) and message.usage is not None:
                name = message.model or message.provider or self.model
                replies, usage, cost = self.usage.get(name, (0, Usage(), 0.0))
                self.usage[name] = (replies + 1, usage + message.usage, _sum(cost, message))

    def _approve(self, request: ApprovalRequest) -> object:
        """Answer a request for approval; in a thread."""
        if self.copy.covers(request):
            return True
        return self.questions.approve(request, self.agent.policy, self.session, self._loop)


def _name(event: ToolStarted | ToolFinished) -> str:
    return f"{event.agent} > {event.name}" if event.agent else event.name


def _sum(cost: float | None, reply: Assistant) -> float | None:
    try:
        return None if cost is None else cost + cost_of(reply)
    except ProviderError:  # without the extra `prices`, or a model without a known price
        return None


def short_number(number: int) -> str:
    """Return a number of tokens: `950`, `12.3k`, `1.2M`."""
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
