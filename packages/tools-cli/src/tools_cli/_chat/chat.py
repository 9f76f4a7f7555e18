"""`Chat`: a session, its agent, and the turns of the user and the model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tools_agent import Agent, ProviderError, Session, SessionConflictError, StoreError, UsageUpdate, User, Window
from tools_agent.approval import add_session_rules
from tools_cli._chat.planning import PLAN_REQUEST, ask_about_plan, planning_policy
from tools_cli._chat.shell import outcome_of, readable
from tools_cli._chat.usage import SessionUsage
from tools_cli._commands.attachments import Attachments
from tools_cli._commands.modes import MODES, Mode, chosen_mode, tools_for
from tools_cli._commands.preview import Preview, has_copy, unfinished
from tools_cli._commands.sessions import request_lines, short
from tools_cli._commands.start import close_calls
from tools_cli._commands.turns import Turns, undo_lines
from tools_cli._terminal._jobs import end_jobs
from tools_cli._terminal._progress import EventPrinter, Output, folded
from tools_cli._terminal._prompt import ask_person
from tools_core import Context
from tools_core.command import CommandError, counted, note
from tools_runtime.approval import Line, block

if TYPE_CHECKING:
    from argparse import Namespace

    from tools_agent import Response
    from tools_cli._commands.start import Start
    from tools_cli._terminal._prompt import Dialog
    from tools_core import ApprovalRequest, Question
    from tools_runtime import Policy

T = TypeVar("T")
_BY_USER = "by the user"
_MAX_MESSAGES = 30  # of a session that is opened
_MAX_LINES = 20  # of a prompt that are shown


class Screen(Output, Protocol):
    """The front end of a chat.

    `dialog` reserves the input for questions to the user, and is None if no user can answer. `answer` asks a question
    of a tool. `run_shell` lets the user's shell run a command, and returns its
    exit code and output. `offer` lets the user choose an argument of a command, and returns False if it cannot.
    `propose` puts text into the input, for the user to edit. `end` ends the chat.
    """

    echoes: bool  # the lines of the user stay on the screen

    def dialog(self, context: Context) -> AbstractContextManager[Dialog | None]: ...
    def answer(self, question: Question) -> str | None: ...
    async def run_shell(self, command: str, folder: str) -> tuple[int, bytes]: ...
    def offer(self, command: str) -> bool: ...
    def propose(self, text: str) -> None: ...
    def end(self) -> None: ...


class Chat:
    """A conversation of a user and an agent.

    Attributes:
        session: The current session; None before the first prompt.
        mode: The mode of the next turns.
        is_planning: True if the next turns only read, and end with a plan.
        changes: The number of changes in the copy, such as "2 changes"; empty without changes.
        has_failed: True if a turn or a command has failed.
    """

    def __init__(self, screen: Screen, options: Namespace, start: Start, policy: Policy) -> None:
        self.screen, self.start = screen, start
        self.session: Session | None = None
        self.has_failed = False
        self.mode: Mode
        tools, self.mode = tools_for(chosen_mode(options.mode), options)
        self.is_planning: bool = options.plan
        self.changes = ""
        self.models: list[tuple[str, str]] = []  # that servers offer, after they were asked
        self._usage = SessionUsage()
        self._preview: Preview | None = None
        self._options, self._policy = options, policy
        self.attachments = Attachments(self.note, options.file or ())
        self._task: asyncio.Task[Any] | None = None  # of a turn or a command
        self._is_interrupted = False  # the turn is ending
        self._mode_of_tools = self.mode
        self._turns = Turns(start.workspace, start.store, screen, is_auto=self.mode == "auto")
        self.agent: Agent[Any, Any] = Agent(
            store=start.store, model=start.model, tools=tools, skills=options.skills, max_steps=50, hooks=[self._turns],
            approve="all" if options.yes else self._approve, on_ask=screen.answer, policy=policy, tool_timeout=120.0,
            window=Window(summarize=True), output_budget=30_000, max_cost=options.max_cost,
        )  # fmt: skip

    def begin(self) -> None:
        """Show the first lines, and the session that the user has named."""
        tools = counted(len(self.agent.tools), "tool")
        self.screen.show([Line.of("title", f"ask-tools chat: {self.model}, {tools}, /help")])
        self.note(f"mode {self.mode}: {MODES[self.mode]}")
        for problem in self._policy.problems(self.agent.tools.values()):
            self.note(f"warning: {problem}")
        if self.start.is_stored:
            self.use(self.start.open(""), is_shown=True)
            return
        if names := unfinished(self.start.store, self.start.workspace):
            self.note(f"sessions with a copy of this folder: {', '.join(names)}; to continue: /resume {names[0]}")

    # ------------------------------------------------------------------------------------------------ state

    @property
    def is_busy(self) -> bool:
        """True during a turn or a command."""
        return self._task is not None

    @property
    def model(self) -> str:
        """The name of the model."""
        return str(self.agent.model)

    @property
    def preview(self) -> Preview | None:
        """The copy of the session, unless all its changes are applied or discarded."""
        return self._preview if self._preview is not None and self._preview.is_open else None

    @property
    def folder(self) -> str:
        """The folder of the next turn, or the workspace if its copy does not exist yet."""
        preview = self.preview
        return preview.path if preview is not None and self.mode == "preview" else self.start.workspace

    @property
    def usage(self) -> str:
        """Tokens, dollars and the part of the window; empty without tokens."""
        return self._usage.text(self.model)

    @property
    def status(self) -> str:
        """The model, the mode with the changes in the copy, tokens and dollars."""
        mode = ", ".join(filter(None, [f"mode {self.mode}", "plan first" if self.is_planning else "", self.changes]))
        return "  ".join(filter(None, [self.model, mode, self.usage]))

    @property
    def is_running(self) -> bool:
        """True while the model and its tools run; a message reaches them before their next step."""
        return self.session in self.agent.runs and not self._is_interrupted

    # ------------------------------------------------------------------------------------------------ turns

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a turn or a command, and show its errors."""
        is_first = self._task is None  # some commands run during a turn
        if is_first:
            self._task = asyncio.current_task()
        try:
            await work
        except asyncio.CancelledError:
            self.note("interrupted")
        except (CommandError, ProviderError, StoreError, SessionConflictError) as error:
            self.has_failed = True
            self.screen.discard_text()
            self.screen.show(block("\n".join([str(error), *getattr(error, "hints", [])]), "  ", "error"))
        except Exception as error:  # noqa: BLE001  (the chat continues)
            self.has_failed = True
            self.screen.show(block(f"{type(error).__name__}: {error}", "  ", "error"))
        finally:
            if is_first:
                self._task = None

    async def turn(self, text: str | None) -> None:
        """Send a prompt to the model, or continue the session, and show what happens."""
        self._is_interrupted = False
        prompt = None if text is None else self._message(text)
        session = self.session
        if session is None:
            session = self.start.open(text or "", self.model)
            self.use(session)
        await asyncio.to_thread(self._prepare, session)
        if prompt is not None:
            await asyncio.to_thread(close_calls, session)
            session.log.write([("turn", {"prompt": short(text or "")})])
        if self.mode != "preview":
            self._turns.begin(short(text or "continued"), session.id)
        printer = EventPrinter(self.screen, self.agent.tools)
        policy: Any = self.agent.policy
        policy = planning_policy(policy) if self.is_planning else policy
        stream = self.agent.astream(prompt, session=session, policy=policy)
        try:
            async for event in stream:
                printer.event(event)
                if isinstance(event, UsageUpdate):
                    self._usage.add(session)
        finally:
            printer.show_warnings()
            await asyncio.shield(asyncio.to_thread(self._end_turn))
        self._end(stream.response, session)
        waiting = self.agent.runs.waiting(session)
        if waiting and stream.response.outcome == "completed":
            await self.turn(None)
        for message in waiting:
            self.note(f"not sent: {message.content}")
        waiting.clear()
        await asyncio.to_thread(self.compare)
        if self.mode == "preview" and self.changes:
            self.note(f"{self.changes} in the copy: /changes shows and applies them")
        if self.is_planning and stream.response.outcome == "completed":
            await self._decide_plan(stream.response.content)

    async def _decide_plan(self, plan: str) -> None:
        """Let the user decide about a plan, and continue with their answer."""
        answer = await self.ask(lambda dialog: ask_about_plan(plan, self.mode, dialog))
        if answer is None:
            self.note("still planning; to change the files without a plan: /plan")
            return
        self.is_planning = not answer.is_accepted
        self.show_prompt(answer.prompt)
        self.attachments.is_confined = True
        await self.turn(answer.prompt)

    async def ask(self, question: Callable[[Dialog], T | None]) -> T | None:
        """Return the answer of the user to a question, which runs in a thread; None without a user."""
        context = Context()

        def in_dialog() -> T | None:
            with self.screen.dialog(context) as dialog:
                return question(dialog) if dialog is not None else None

        try:
            return await asyncio.to_thread(in_dialog)
        finally:
            context.cancel()  # after Ctrl-C there are no other questions

    def steer(self, text: str) -> None:
        """Send a message that the model reads before its next step."""
        self.agent.steer(self._message(text), session=self.session)
        self.show_prompt(text)
        self.note("the model reads this before its next step")

    async def shell(self, command: str) -> None:
        """Run a command in the user's shell; its output goes with the next prompt, unless it begins with `!`."""
        is_private = command.startswith("!")
        command = command.removeprefix("!").strip()
        if not command:
            raise CommandError("which command? !COMMAND, or !!COMMAND to keep its output private")
        code, output = await self.screen.run_shell(command, self.folder)
        text = None if is_private else readable(output)
        if text is not None:
            self.attachments.add_report(command, text, outcome_of(code))
        state = "private" if text is None else "the next prompt tells the model; !!COMMAND keeps it private"
        self.note(f"{outcome_of(code)}; {state}")

    def interrupt(self) -> bool:
        """Interrupt the turn or the command, and return whether there was one."""
        if self._task is not None and self.is_running:
            self._is_interrupted = True
            self.agent.interrupt(_BY_USER, session=self.session)
        elif self._task is not None:
            self._task.cancel()
        return self._task is not None

    def _message(self, text: str) -> User:
        """Return the message of a prompt, with its attachments."""
        files = self.attachments.take(text, self.folder)
        return User(content=text, files=[PLAN_REQUEST, *files] if self.is_planning else files)

    def _prepare(self, session: Session) -> None:
        """Copy the workspace for a preview, and let the agent work in the copy, in a sandbox; else in the workspace."""
        if self.mode != self._mode_of_tools:
            self.agent.tools, self.mode = tools_for(self.mode, self._options)
            self._mode_of_tools = self.mode
        self._turns.is_auto = self.mode == "auto"
        if self.mode == "preview" and self.preview is None:
            self._preview = Preview(
                self.start.workspace, session, self.screen, self.screen.dialog, ignore=self._options.ignore
            )
        self.agent.workspace = self.folder

    def _end_turn(self) -> None:
        """Record what the turn has changed in the workspace, and say how it is undone."""
        if (changeset := self._turns.end()) is not None:
            self.screen.show(undo_lines(changeset, "/undo"))
        if self._turns.error and self.mode == "auto":
            self.mode = "ask"

    def _end(self, response: Response[Any], session: Session) -> None:
        """Show how a turn has ended, unless the model has replied."""
        if response.halted:
            self.screen.write(response.content)
        reason = response.interrupt_reason or response.detail or (response.tripwire and response.tripwire.reason)
        if reason == _BY_USER:
            session.discard_pending_tool_calls()  # the next prompt decides, not an old call
            self.note("interrupted: write what to do instead, or /continue")
        elif response.outcome not in ("completed", "halted"):
            self.has_failed = True
            for request in response.pending:
                self.note("\n".join(request_lines(request, session.id, self._options.store)))
            self.note(f"{response.outcome}{f': {reason}' if reason else ''}; to continue: /continue")

    def _approve(self, request: ApprovalRequest) -> Any:
        """Answer a request for approval; in a thread."""
        policy: Any = self.agent.policy
        preview = self._preview
        scope = preview if preview is not None and self.agent.workspace == preview.path else self._turns
        if scope.allows(request, policy):
            return "once"
        with self.screen.dialog(request.context) as dialog:
            return ask_person(request, dialog, policy=policy, session=self.session) if dialog else None

    # ------------------------------------------------------------------------------------------------ sessions

    def resume(self, id: str) -> None:
        """Continue in an earlier session, with its model unless the user has named one."""
        metadata = next((info.metadata for info in self.start.store.sessions() if info.id == id), {})
        if self._options.model is None and metadata.get("model"):
            self.agent.model = metadata["model"]
        self.use(Session.open(self.start.store, id), is_shown=True)

    def clear(self) -> None:
        """Begin a new session with the next prompt; the earlier one stays in the store."""
        if self.preview is not None:
            raise CommandError("the session has a copy with changes", "apply or discard them first: /changes")
        self.session, self._usage = None, SessionUsage()
        self.start = replace(self.start, name=None, is_stored=False)

    def use(self, session: Session, *, is_shown: bool = False) -> None:
        """Continue in a session: with its copy, and with the rules that the user has approved for it."""
        self.session = session
        self.agent.policy = copy(self._policy)
        add_session_rules(self.agent.policy, session)
        self._usage = SessionUsage()
        self._usage.add(session)
        if is_shown:
            self._show_messages(session)
        self._preview = None
        if has_copy(session, self.start.workspace):
            self._preview, self.mode = Preview(self.start.workspace, session, self.screen), "preview"
        self.compare()

    def _show_messages(self, session: Session) -> None:
        printer = EventPrinter(self.screen, self.agent.tools)
        for message in session.messages[-_MAX_MESSAGES:]:
            if message.role == "user":
                self.show_prompt(message.content)
                if message.files:
                    self.note(f"attached {', '.join(str(file.name) for file in message.files)}")
            elif message.role == "assistant":
                self.screen.write(message.content)
                self.screen.end_line()
                for call in message.tool_calls:
                    printer.call(call)
            elif message.role == "tool":
                printer.result(message.tool_call_id, message.name, message.result)
        self.screen.report("")
        if session.pending_tool_calls or [message.role for message in session.messages[-1:]] in (["user"], ["tool"]):
            self.note("the last turn did not end; to continue it: /continue")

    def compare(self) -> None:
        """Count the changes in the copy."""
        count = len(self.preview.copy.changes().entries()) if self.preview is not None else 0
        self.changes = counted(count, "change") if count else ""

    def set_mode(self, mode: Mode) -> None:
        """Let the next turns run in a mode; if it is not `auto`, the present turn asks from now on."""
        self.mode = mode
        self._turns.is_auto = self._turns.is_auto and mode == "auto"
        self.note(f"mode {mode}: {MODES[mode]}")

    def show_prompt(self, text: str) -> None:
        """Show a prompt that the user has sent."""
        rows = folded(text.splitlines(), _MAX_LINES)
        lines = [Line.of("title", row, "  " if number else "> ") for number, row in enumerate(rows)]
        self.screen.show([Line("text", ""), *lines])

    def note(self, text: str) -> None:
        """Show a remark of the chat."""
        self.screen.show(block(text, "  ", "note"))

    def close(self) -> None:
        """Close the agent, discard a copy without changes, and print how to continue, as the last line."""
        self.agent.close()
        end_jobs()
        self._turns.close()
        if self._preview is not None:
            self._preview.leave()
        if self.session is not None:
            note(f"continue with: ask-tools chat --session {self.session.id}")
