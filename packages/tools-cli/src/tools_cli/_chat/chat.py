"""`Chat`: a session, its agent, and the turns of the user and the model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tools_agent import Agent, ProviderError, SessionConflictError, StoreError, Usage, UsageUpdate, User, Window
from tools_agent.approval import add_session_rules
from tools_cli._commands.preview import Preview, confined_tools, has_copy, unfinished, workspace_module
from tools_cli._commands.sessions import request_lines
from tools_cli._commands.start import close_calls, read_files, selected_tools
from tools_cli._terminal._jobs import end_jobs
from tools_cli._terminal._progress import EventPrinter, Output, folded, price_of, usage_text
from tools_cli._terminal._prompt import ask_person
from tools_core.command import CommandError, counted, load_tools, note
from tools_runtime.approval import Line, block

if TYPE_CHECKING:
    from argparse import Namespace

    from tools_agent import Response, Session
    from tools_cli._commands.start import Start
    from tools_cli._terminal._prompt import Dialog
    from tools_core import ApprovalRequest, Context, Question
    from tools_runtime import Policy

_BY_USER = "by the user"
_PATH = re.compile(r'(?<!\S)@(?:"([^"]+)"|(\S+))')
_MAX_MESSAGES = 30  # of a session that is opened
_MAX_LINES = 20  # of a prompt that are shown


class Screen(Output, Protocol):
    """The front end of a chat.

    `dialog` reserves the input for questions to the user, and is None if no user can answer. `answer` asks a question
    of a tool.
    """

    echoes: bool  # the lines of the user stay on the screen

    def dialog(self, context: Context) -> AbstractContextManager[Dialog | None]: ...
    def answer(self, question: Question) -> str | None: ...


class Chat:
    """A conversation of a user and an agent.

    Attributes:
        session: The current session; None before the first prompt.
        is_preview: True if the next turns work in a copy.
        changes: The number of changes in the copy, such as "2 changes"; empty without changes.
        usage: The tokens and dollars of the session.
        has_failed: True if a turn or a command has failed.
    """

    def __init__(self, screen: Screen, options: Namespace, start: Start, policy: Policy) -> None:
        self.screen, self.start = screen, start
        self.session: Session | None = None
        self.is_preview = self.has_failed = False
        self.changes = self.usage = ""
        self._preview: Preview | None = None
        self._options, self._policy = options, policy
        self._files: list[str] = options.file or []  # of the next prompt
        self._task: asyncio.Task[Any] | None = None  # of a turn or a command
        self._is_interrupted = False  # the turn is ending
        self._is_confined = False  # commands run in a sandbox, or not at all
        self.agent: Agent[Any, Any] = Agent(
            store=start.store, model=start.model, tools=selected_tools(options), skills=options.skills, max_steps=50,
            approve="all" if options.yes else self._approve, on_ask=screen.answer, policy=policy, tool_timeout=120.0,
            window=Window(summarize=True), output_budget=30_000, max_cost=options.max_cost,
        )  # fmt: skip
        if options.preview:
            self.toggle_preview()

    def begin(self) -> None:
        """Show the first lines, and the session that the user has named."""
        tools = counted(len(self.agent.tools), "tool")
        self.screen.show([Line.of("title", f"ask-tools chat: {self.model}, {tools}, /help")])
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
        return preview.path if preview is not None and self.is_preview else self.start.workspace

    @property
    def status(self) -> str:
        """The model, the state of the preview, tokens and dollars."""
        state = f"preview {'on' if self.is_preview else 'off'}"
        return "  ".join(filter(None, [self.model, f"{state}, {self.changes}" if self.changes else state, self.usage]))

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
        printer = EventPrinter(self.screen, self.agent.tools)
        stream = self.agent.astream(prompt, session=session)
        try:
            async for event in stream:
                printer.event(event)
                if isinstance(event, UsageUpdate):
                    self._count(session)
        finally:
            printer.show_warnings()
        self._end(stream.response, session)
        waiting = self.agent.runs.waiting(session)
        if waiting and stream.response.outcome == "completed":
            await self.turn(None)
        for message in waiting:
            self.note(f"not sent: {message.content}")
        waiting.clear()
        await asyncio.to_thread(self.compare)
        if self.is_preview and self.changes:
            self.note(f"{self.changes} in the copy: /changes shows and applies them")

    def steer(self, text: str) -> None:
        """Send a message that the model reads before its next step."""
        self.agent.steer(self._message(text), session=self.session)
        self.show_prompt(text)
        self.note("the model reads this before its next step")

    def interrupt(self) -> bool:
        """Interrupt the turn or the command, and return whether there was one."""
        if self._task is not None and self.is_running:
            self._is_interrupted = True
            self.agent.interrupt(_BY_USER, session=self.session)
        elif self._task is not None:
            self._task.cancel()
        return self._task is not None

    def _message(self, text: str) -> User:
        """Return the message of a prompt, with the files that it names as `@path`."""
        paths, self._files = self._files, []
        for match in _PATH.finditer(text):
            path = match[1] or match[2].rstrip(",;:.!?)")
            if Path(self.folder, Path(path).expanduser()).is_file():
                paths.append(path)
            elif not Path(self.folder, path).is_dir():  # the model lists folders
                self.note(f"{path} is not a file: not attached")
        texts, files = read_files(paths, self.folder)
        if paths:
            self.note(f"attached {', '.join(paths)}")
        return User(content=text + texts, files=files)

    def _prepare(self, session: Session) -> None:
        """Copy the workspace for a preview, and let the agent work in the copy, in a sandbox; else in the workspace."""
        if self.is_preview and self.preview is None:
            self._preview = Preview(
                self.start.workspace, session, self.screen, self.screen.dialog, ignore=self._options.ignore
            )
        if self.is_preview != self._is_confined:
            self._is_confined = self.is_preview
            self.agent.tools = selected_tools(self._options, confined_tools if self.is_preview else load_tools)
        self.agent.workspace = self.folder

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
        if preview is not None and self.agent.workspace == preview.path and preview.allows(request, policy):
            return "once"
        with self.screen.dialog(request.context) as dialog:
            return ask_person(request, dialog, policy=policy, session=self.session) if dialog else None

    # ------------------------------------------------------------------------------------------------ sessions

    def use(self, session: Session, *, is_shown: bool = False) -> None:
        """Continue in a session: with its copy, and with the rules that the user has approved for it."""
        self.session = session
        self.agent.policy = copy(self._policy)
        add_session_rules(self.agent.policy, session)
        self._count(session)
        if is_shown:
            self._show_messages(session)
        self._preview = None
        if has_copy(session, self.start.workspace):
            self._preview, self.is_preview = Preview(self.start.workspace, session, self.screen), True
        self.compare()

    def _show_messages(self, session: Session) -> None:
        printer = EventPrinter(self.screen, self.agent.tools)
        for message in session.messages[-_MAX_MESSAGES:]:
            if message.role == "user":
                self.show_prompt(message.content)
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

    def _count(self, session: Session) -> None:
        """Count the tokens and dollars of a session."""
        replies = [message for message in session if message.role == "assistant" and message.usage is not None]
        total = sum((message.usage for message in replies), Usage())
        self.usage = usage_text(total, price_of(replies)).removeprefix("tokens: ") if total.total_tokens else ""

    def compare(self) -> None:
        """Count the changes in the copy."""
        count = len(self.preview.copy.changes().entries()) if self.preview is not None else 0
        self.changes = counted(count, "change") if count else ""

    def toggle_preview(self) -> None:
        """Let the next turns work in a copy of the workspace, or in the workspace."""
        workspace_module()
        self.is_preview = not self.is_preview

    def show_prompt(self, text: str) -> None:
        """Show a prompt that the user has sent."""
        rows = folded(text.splitlines(), _MAX_LINES)
        lines = [Line.of("title", row, "  " if number else "> ") for number, row in enumerate(rows)]
        self.screen.show([Line("text", ""), *lines])

    def note(self, text: str) -> None:
        """Show a remark of the chat."""
        self.screen.show(block(text, "  ", "note"))

    def close(self) -> None:
        """Close the agent, discard a copy without changes, and print how to continue."""
        self.agent.close()
        end_jobs()
        if self.session is not None:
            note(f"continue with: ask-tools chat --session {self.session.id}")
        if self._preview is not None:
            self._preview.leave()
