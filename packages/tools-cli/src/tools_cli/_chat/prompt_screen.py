"""The screen of a capable terminal: the conversation scrolls above an input that is always there."""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import in_terminal
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, FilterOrBool, has_completions, has_focus
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input.vt100 import Vt100Input, cooked_mode
from prompt_toolkit.key_binding import KeyBindings, KeyBindingsBase, merge_key_bindings
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from tools_cli._chat.chat import Chat
from tools_cli._chat.completion import ChatCompleter
from tools_cli._chat.connection import Connection
from tools_cli._chat.editing import editing_bindings
from tools_cli._chat.live_reply import LiveReply
from tools_cli._chat.markdown import render
from tools_cli._chat.questions import Questions
from tools_cli._chat.shell import outcome_of, readable, run_on_terminal
from tools_cli._chat.slash_commands import handle, is_command, is_immediate
from tools_cli._terminal._bell import WAIT, Alarm
from tools_cli._terminal._progress import seconds
from tools_cli._terminal._screen import fit, has_color
from tools_core import Context, Question
from tools_core.command import answer_question
from tools_core.files import state_path
from tools_core.text import visible
from tools_runtime.approval import Line, draw

_FRAME = 0.1  # seconds between two pictures of a turn
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_MENU = 8  # lines of the menu of completions
_EARLY = 0.3  # seconds after the start in which the terminal passes on what was typed before
_TWICE = 2.0  # seconds within which a second Ctrl-C ends the chat
_STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "question": "ansiyellow bold",
        "status": "dim",
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "noinherit reverse",
        "completion-menu.meta.completion": "noinherit dim",
        "completion-menu.meta.completion.current": "noinherit reverse",
        "scrollbar.background": "noinherit dim",
        "scrollbar.button": "noinherit reverse",
    }
)


class _CookedMode(cooked_mode):
    """The mode while text is written: Enter stays a carriage return, since a line feed is Ctrl-J."""

    @classmethod
    def _patch_iflag(cls, attrs: int) -> int:
        return attrs


class _Input(Vt100Input):
    def cooked_mode(self) -> AbstractContextManager[None]:
        return _CookedMode(self.stdin.fileno())


class PromptScreen:
    """The conversation, the part of a reply that still changes, a status line and the input."""

    is_live, echoes = True, False

    def __init__(self, stream: TextIO, loop: asyncio.AbstractEventLoop) -> None:
        self._input = _Input(os.fdopen(os.dup(0), encoding="utf-8", errors="replace"))
        self._output, self._loop = stream, loop
        self._connection = Connection(self._input.fileno())
        self._chat: Chat  # set by `run`, as the next two
        self._prompt: PromptSession[str]
        self._buffer: Buffer
        self._pending: list[str] = []  # text that is to be written above the input
        self._tasks: set[asyncio.Task[None]] = set()
        self._kind = "lines"  # of the last paragraph
        self._reply = LiveReply()
        self._activity, self._since = "", 0.0
        self._is_working = False  # a turn or a command runs, or is about to
        self._waiting: list[str] = []  # commands and prompts for the time after the turn
        self._interrupted_at = 0.0
        self._is_early = True  # the terminal sent Enter as a line feed before the chat had begun to read keys
        self._alarm = Alarm(loop, stream)
        self._questions = Questions(self, loop, self._alarm)

    async def run(self, chat: Chat, line: str | None) -> None:
        """Send a first line, then read lines until the user presses Ctrl-C twice, or Ctrl-D."""
        self._chat = chat
        completer = ChatCompleter(chat)
        completes = Condition(lambda: not self._questions.is_open and completer.matches(self._buffer.document))
        self._prompt = PromptSession(
            self._message, multiline=True, prompt_continuation="  ", history=_history(), style=_STYLE,
            completer=completer, complete_while_typing=completes,
            reserve_space_for_menu=_MENU, key_bindings=self._bindings(), enable_suspend=True, erase_when_done=True,
            input=self._input,
            output=Vt100_Output(self._output, self._size, os.environ.get("TERM"), enable_cpr=False),
        )  # fmt: skip
        self._buffer = self._prompt.default_buffer
        self._questions.prompt = self._prompt
        self._buffer.accept_handler = self._accept
        self._prompt.app.key_processor.before_key_press += lambda _: self._alarm.cancel()
        chat.begin()

        def start() -> None:
            self._loop.call_later(_EARLY, setattr, self, "_is_early", False)
            if line:
                self._submit(line)

        try:
            # An exception handler of prompt_toolkit would wait for Enter, of a terminal that may be gone.
            prompt = self._prompt.prompt_async(handle_sigint=False, pre_run=start, set_exception_handler=False)
            await self._connection.run(prompt)
        finally:
            self._questions.end(None)
            self._waiting.clear()
            chat.interrupt()
            await self._connection.end(self._tasks)

    def end(self) -> None:
        """End the chat, unless it has just ended."""
        if self._prompt.app.is_running and not self._prompt.app.is_done:
            self._prompt.app.exit(result="")

    # ------------------------------------------------------------------------------------------------ showing

    def show(self, lines: Sequence[Line]) -> None:
        """Append lines; of any thread."""
        if current_thread() is not main_thread():
            self._loop.call_soon_threadsafe(self.show, lines)
            return
        is_block = lines[0] == Line("text", "")
        text = draw(lines[is_block:], color=has_color(self._output), width=self._size().columns)
        self._append(f"{text}\n", "block" if is_block else "lines")

    def show_answer(self, line: Line) -> None:
        """Append the answer to a question, below its last line."""
        self._kind = "lines"
        self.show([line])

    def write(self, text: str) -> None:
        """Append the complete blocks of a reply; the last one may continue."""
        self._append_reply(self._reply.feed(text))

    def report(self, activity: str, progress: str = "") -> None:
        """Show the activity, with its progress, until the next one."""
        if activity != self._activity.partition(":")[0]:
            self._since = time.monotonic()
        self._activity = f"{activity}: {progress}" if progress else activity

    def end_line(self) -> None:
        """Append the rest of the reply."""
        self._append_reply(self._reply.take())

    def discard_text(self) -> None:
        """Drop the incomplete end of a truncated reply."""
        self._reply.take()

    def _append_reply(self, text: str) -> None:
        if text.strip():
            self._append(render(text, self._size().columns), "reply")

    def _append(self, text: str, kind: str) -> None:
        """Write above the input, with an empty line between paragraphs."""
        if self._connection.is_lost:
            return
        self._pending.append(text if kind == self._kind == "lines" else f"\n{text}")
        self._kind = kind
        if len(self._pending) == 1:
            self._spawn(self._write())

    async def _write(self) -> None:
        async with in_terminal():
            self._write_pending()

    def _write_pending(self) -> None:
        texts, self._pending = self._pending, []
        try:
            self._output.write("".join(texts))
            self._output.flush()
        except OSError:
            self._connection.is_lost = True

    async def run_shell(self, command: str, folder: str) -> tuple[int, bytes]:
        """Give the terminal to a command of the user's shell, and return its exit code and output."""
        async with in_terminal():
            self._write_pending()
            with self._input.raw_mode():
                source, target = self._input.fileno(), self._output.fileno()
                return await asyncio.to_thread(run_on_terminal, command, folder, source, target)

    async def _edit(self) -> None:
        """Let the user write the input in their editor, which has the terminal."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "prompt.md")
            await asyncio.to_thread(path.write_text, self._buffer.text, encoding="utf-8")
            editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
            code, output = await self.run_shell(f"{editor} {shlex.quote(str(path))}", folder)
            text = await asyncio.to_thread(path.read_text, encoding="utf-8", errors="replace")
        self._buffer.document = Document(text.rstrip("\n"))
        if code:
            self._chat.note(f"{editor}: {outcome_of(code)}; set $EDITOR to another program\n{readable(output) or ''}")

    def offer(self, command: str) -> bool:
        """Begin a command in the input, with the menu of its arguments, which typing filters; not over a draft."""
        if self._buffer.text or self._questions.is_open:
            return False
        self._questions.fill(command)
        self._buffer.cursor_position = len(command)
        with set_app(self._prompt.app):
            self._buffer.start_completion()
        return True

    def _message(self) -> StyleAndTextTuples:
        """Return what is above and before the input: the end of the reply, the activity, the status and the prompt."""
        columns, rows = self._size().columns, self._size().rows
        live = self._reply.view(columns, max(rows - _MENU - 4, 3))
        if self._chat.is_busy and not self._questions.is_open:
            frame = _FRAMES[int(time.monotonic() / _FRAME) % len(_FRAMES)]
            passed = seconds(time.monotonic() - self._since)
            text = f"{frame} {visible(self._activity or 'thinking')} {passed}  (Ctrl-C interrupts)"
            live += f"\n{fit(text, columns - 1)}\n"
        status = "Ctrl-C again ends the chat" if self._was_interrupted else visible(self._chat.status)
        status = fit(f"── {status} {'─' * columns}", columns - 1)
        question = self._questions.text
        sign = ("class:question", f"{visible(question)} ") if question else ("class:prompt", "> ")
        return [*to_formatted_text(ANSI(live)), ("class:status", f"{status}\n"), sign]

    @property
    def _was_interrupted(self) -> bool:
        return time.monotonic() - self._interrupted_at < _TWICE

    def _size(self) -> Size:
        try:
            columns, lines = os.get_terminal_size(self._output.fileno())
        except OSError:
            columns = lines = 0
        return Size(columns=columns or 80, rows=lines or 24)

    # ------------------------------------------------------------------------------------------------ asking

    def dialog(self, context: Context) -> AbstractContextManager[Questions | None]:
        """Reserve the input for questions to the user, of a thread."""
        return self._questions.dialog(context)

    def propose(self, text: str) -> None:
        """Put a text into the empty input."""
        if not self._buffer.text:
            self._questions.fill(text)

    def answer(self, question: Question) -> str | None:
        """Ask a question of a tool."""
        with self.dialog(question.context) as dialog:
            return answer_question(question, dialog.ask) if dialog is not None else None

    # ------------------------------------------------------------------------------------------------ reading

    def _submit(self, line: str) -> None:
        """Send a prompt or run a command; during a turn send a message, or let the line wait."""
        if is_immediate(line):
            self._spawn(self._handle(line))
        elif not self._is_working:
            self._is_working = True  # before the task begins: the next line may come earlier
            self._spawn(self._work(line))
        elif self._chat.is_running and not is_command(line):
            self._chat.steer(line)
        else:
            self._waiting.append(line)
            self._chat.note(f"waits: {line}")

    async def _work(self, line: str) -> None:
        """Handle a line, then the lines that have waited."""
        try:
            await self._handle(line)
            while self._waiting:
                await self._handle(self._waiting.pop(0))
        finally:
            self._is_working = False

    async def _handle(self, line: str) -> None:
        began = time.monotonic()
        if not self._chat.is_busy:
            self._since = began
        ticker = asyncio.create_task(self._animate())
        try:
            await handle(self._chat, line)
        finally:
            ticker.cancel()
            self._prompt.app.invalidate()
        if not self._chat.is_busy:  # a command may run during a turn
            self.end_line()
            self.report("")
            if time.monotonic() - began > WAIT:
                self._alarm.set()

    async def _animate(self) -> None:
        while True:
            self._prompt.app.invalidate()
            await asyncio.sleep(_FRAME)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _accept(self, buffer: object) -> bool:  # noqa: ARG002  (a callback of prompt_toolkit)
        if line := self._buffer.text.strip():
            self._submit(line)
        return False  # which empties the input

    def _bindings(self) -> KeyBindingsBase:
        bindings = KeyBindings()

        def bind(*keys: str, when: FilterOrBool = True) -> Callable[[Callable[[], object]], object]:
            return lambda function: bindings.add(*keys, filter=when, eager=True)(lambda _: function())

        bind("enter", when=has_focus(DEFAULT_BUFFER))(self._enter)
        bind("c-j", when=Condition(lambda: self._is_early))(self._enter)
        bind("c-c")(self._interrupt)
        bind("c-d", when=Condition(lambda: not self._buffer.text))(self.end)
        bind("s-tab", when=~has_completions)(lambda: self._submit("/mode next"))
        bind("c-x", "c-e")(lambda: self._spawn(self._edit()))
        bind("c-o")(lambda: self._submit("/show"))
        bindings.add("escape", filter=Condition(lambda: self._chat.is_busy))(lambda _: self._interrupt())
        is_question = lambda: self._questions.is_open  # noqa: E731
        return merge_key_bindings([editing_bindings(self._chat.attachments, is_question, self._chat.note), bindings])

    def _enter(self) -> None:
        """Accept the answer or the line; after a backslash begin a new line."""
        if self._buffer.document.current_line_before_cursor.endswith("\\"):
            self._buffer.delete_before_cursor()
            self._buffer.insert_text("\n")
        elif self._questions.is_open:
            self._questions.end(self._buffer.text)  # the history has prompts only
        else:
            self._buffer.validate_and_handle()

    def _interrupt(self) -> None:
        """Interrupt the turn, else clear the input; a second Ctrl-C ends the chat."""
        if self._was_interrupted:
            self.end()
            return
        is_busy = self._chat.interrupt()
        if self._questions.is_open:
            self._questions.end(None)
        elif self._buffer.text and not is_busy:
            self._questions.fill("")
            return
        self._interrupted_at = time.monotonic()
        self._loop.call_later(_TWICE, self._prompt.app.invalidate)


def _history() -> FileHistory:
    path = Path(state_path("chat_history"))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(0o600)  # only the user can read prompts
    return FileHistory(path)
