"""The screen of a capable terminal: the conversation scrolls above an input that is always there."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, current_thread, main_thread
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, FilterOrBool, has_completions, has_focus
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from tools_cli._chat.chat import Chat
from tools_cli._chat.completion import ChatCompleter
from tools_cli._chat.markdown import render, split_blocks
from tools_cli._chat.slash_commands import handle, is_command, is_immediate
from tools_cli._terminal._progress import seconds
from tools_cli._terminal._screen import has_color
from tools_core import Context, Question
from tools_core.command import answer_question
from tools_core.files import state_path
from tools_core.text import visible
from tools_runtime.approval import Line, draw

_FRAME = 0.1  # seconds between two pictures of a turn
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_MENU = 8  # lines of the menu of completions
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


class PromptScreen:
    """The conversation, the part of a reply that still changes, a status line and the input."""

    is_live, echoes = True, False

    def __init__(self, stream: TextIO, loop: asyncio.AbstractEventLoop) -> None:
        self._input = Vt100Input(os.fdopen(os.dup(0), encoding="utf-8", errors="replace"))
        self._output, self._loop = stream, loop
        self._chat: Chat  # set by `run`, as the next two
        self._prompt: PromptSession[str]
        self._buffer: Buffer
        self._pending: list[str] = []  # text that is to be written above the input
        self._tasks: set[asyncio.Task[None]] = set()
        self._kind = "lines"  # of the last paragraph
        self._reply = ""  # the incomplete end of the reply
        self._activity, self._since = "", 0.0
        self._is_working = False  # a turn or a command runs, or is about to
        self._waiting: list[str] = []  # commands and prompts for the time after the turn
        self._dialog = Lock()  # calls of one reply may need approval at the same time
        self._context = Context()  # of the questions
        self._question = ""
        self._answer: asyncio.Future[str | None] | None = None
        self._draft = ""  # the input from before a question
        self._interrupted_at = 0.0

    async def run(self, chat: Chat, line: str | None) -> None:
        """Send a first line, then read lines until the user presses Ctrl-C twice, or Ctrl-D."""
        self._chat = chat
        completer = ChatCompleter(chat)
        completes = Condition(lambda: self._answer is None and completer.matches(self._buffer.document))
        self._prompt = PromptSession(
            self._message, multiline=True, prompt_continuation="  ", history=_history(), style=_STYLE,
            completer=completer, complete_while_typing=completes,
            reserve_space_for_menu=_MENU, key_bindings=self._bindings(), enable_suspend=True, erase_when_done=True,
            input=self._input,
            output=Vt100_Output(self._output, self._size, os.environ.get("TERM"), enable_cpr=False),
        )  # fmt: skip
        self._buffer = self._prompt.default_buffer
        self._buffer.accept_handler = self._accept
        chat.begin()
        if line:
            self._submit(line)
        try:
            await self._prompt.prompt_async(handle_sigint=False)
        finally:
            self._end_question(None)
            self._waiting.clear()
            chat.interrupt()
            while self._tasks:
                await asyncio.wait(self._tasks)

    # ------------------------------------------------------------------------------------------------ showing

    def show(self, lines: Sequence[Line]) -> None:
        """Append lines; of any thread."""
        if current_thread() is not main_thread():
            self._loop.call_soon_threadsafe(self.show, lines)
            return
        is_block = lines[0] == Line("text", "")
        text = draw(lines[is_block:], color=has_color(self._output), width=self._size().columns)
        self._append(f"{text}\n", "block" if is_block else "lines")

    def write(self, text: str) -> None:
        """Append the complete blocks of a reply; the last one may continue."""
        self._reply += text
        if "\n" in text:
            complete, self._reply = split_blocks(self._reply)
            self._append_reply(complete)

    def report(self, activity: str, progress: str = "") -> None:
        """Show the activity, with its progress, until the next one."""
        if activity != self._activity.partition(":")[0]:
            self._since = time.monotonic()
        self._activity = f"{activity}: {progress}" if progress else activity

    def end_line(self) -> None:
        """Append the rest of the reply."""
        rest, self._reply = self._reply, ""
        self._append_reply(rest)

    def discard_text(self) -> None:
        """Drop the incomplete end of a truncated reply."""
        self._reply = ""

    def _append_reply(self, text: str) -> None:
        if text.strip():
            self._append(render(text, self._size().columns), "reply")

    def _append(self, text: str, kind: str) -> None:
        """Write above the input, with an empty line between paragraphs."""
        self._pending.append(text if kind == self._kind == "lines" else f"\n{text}")
        self._kind = kind
        if len(self._pending) == 1:
            self._spawn(self._write())

    async def _write(self) -> None:
        async with in_terminal():
            texts, self._pending = self._pending, []
            self._output.write("".join(texts))
            self._output.flush()

    def _message(self) -> StyleAndTextTuples:
        """Return what is above and before the input: the end of the reply, the activity, the status and the prompt."""
        columns, rows = self._size().columns, self._size().rows
        live = render(self._reply, columns) if self._reply.strip() else ""
        live = "\n".join(live.split("\n")[-max(rows - _MENU - 4, 3) :])
        if self._chat.is_busy and self._answer is None:
            frame = _FRAMES[int(time.monotonic() / _FRAME) % len(_FRAMES)]
            passed = seconds(time.monotonic() - self._since)
            text = f"{frame} {visible(self._activity or 'thinking')} {passed}  (Ctrl-C interrupts)"
            live += f"\n{text[: columns - 1]}\n"
        status = "Ctrl-C again ends the chat" if self._was_interrupted else visible(self._chat.status)
        status = f"── {status} ─"[: columns - 1].ljust(columns - 1, "─")
        sign = ("class:question", f"{visible(self._question)} ") if self._question else ("class:prompt", "> ")
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

    @contextmanager
    def dialog(self, context: Context) -> Generator[PromptScreen | None]:
        """Reserve the input for questions to the user, of a thread."""
        with self._dialog:
            self._context = context
            yield None if context.cancelled else self

    def ask(self, prompt: str) -> str | None:
        """Return the line that the user enters; None after Ctrl-C. Lines before the last one are shown above."""
        *lines, question = prompt.strip().split("\n")
        if lines:
            self.show([Line.of("text", line) for line in lines])
        answer = self._ask(question, "")
        return None if answer is None else f"{answer.strip()}\n"

    def edit(self, name: str, text: str) -> str | None:
        """Let the user change a text in the input."""
        return self._ask(f"{name}:", text)

    def answer(self, question: Question) -> str | None:
        """Ask a question of a tool."""
        with self.dialog(question.context) as dialog:
            return answer_question(question, self.ask) if dialog is not None else None

    def _ask(self, question: str, default: str) -> str | None:
        return asyncio.run_coroutine_threadsafe(self._answered(question, default), self._loop).result()

    async def _answered(self, question: str, default: str) -> str | None:
        """Return the answer; what the user was typing returns after it, so that it is not an answer by accident."""
        if self._context.cancelled or not self._prompt.app.is_running:
            return None
        self._draft, self._question = self._buffer.text, question
        self._answer = self._loop.create_future()
        self._fill(default)
        answer = await self._answer
        if answer is not None:
            self._kind = "lines"  # no empty line before it
            self.show([Line.of("note", f"{question} {answer}", "  ")])
        return answer

    def _end_question(self, answer: str | None) -> None:
        """Return to the input from before the question, at once: the user may be typing."""
        if self._answer is not None:
            self._answer.set_result(answer)
        self._question, self._answer = "", None
        self._fill(self._draft)

    def _fill(self, text: str) -> None:
        self._buffer.reset(Document(text))
        self._prompt.app.invalidate()

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
        if not self._chat.is_busy:
            self._since = time.monotonic()
        ticker = asyncio.create_task(self._animate())
        try:
            await handle(self._chat, line)
        finally:
            ticker.cancel()
            self._prompt.app.invalidate()
        if not self._chat.is_busy:  # a command may run during a turn
            self.end_line()
            self.report("")

    async def _animate(self) -> None:
        while True:
            self._prompt.app.invalidate()
            await asyncio.sleep(_FRAME)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _accept(self, buffer: object) -> bool:  # noqa: ARG002
        if line := self._buffer.text.strip():
            self._submit(line)
        return False  # which empties the input

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        def bind(*keys: str, when: FilterOrBool = True) -> Callable[[Callable[[], object]], object]:
            return lambda function: bindings.add(*keys, filter=when, eager=True)(lambda _: function())

        bind("enter", when=has_focus(DEFAULT_BUFFER))(self._enter)
        bind("escape", "enter")(lambda: self._buffer.insert_text("\n"))
        bind("c-c")(self._interrupt)
        bind("c-d", when=Condition(lambda: not self._buffer.text))(self._end)
        bind("s-tab", when=~has_completions)(lambda: self._submit("/preview"))
        bind("c-o")(lambda: self._submit("/show"))
        return bindings

    def _enter(self) -> None:
        """Accept the answer or the line; after a backslash begin a new line."""
        if self._buffer.document.current_line_before_cursor.endswith("\\"):
            self._buffer.delete_before_cursor()
            self._buffer.insert_text("\n")
        elif self._answer is not None:
            self._end_question(self._buffer.text)  # the history has prompts only
        else:
            self._buffer.validate_and_handle()

    def _interrupt(self) -> None:
        """Interrupt the turn, else clear the input; a second Ctrl-C ends the chat."""
        if self._was_interrupted:
            self._end()
            return
        is_busy = self._chat.interrupt()
        if self._answer is not None:
            self._end_question(None)
        elif self._buffer.text and not is_busy:
            self._fill("")
            return
        self._interrupted_at = time.monotonic()
        self._loop.call_later(_TWICE, self._prompt.app.invalidate)

    def _end(self) -> None:
        self._prompt.app.exit(result="")


def _history() -> FileHistory:
    path = Path(state_path("chat_history"))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(0o600)  # only the user can read prompts
    return FileHistory(path)
