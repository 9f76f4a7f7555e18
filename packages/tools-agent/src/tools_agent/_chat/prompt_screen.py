"""The screen of a capable terminal: the conversation scrolls above an input line that is always there."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, DynamicCompleter, WordCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition, FilterOrBool, has_completions
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import (
    BufferControl,
    CompletionsMenu,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar
from rich.console import RenderableType

from tools_agent._chat.rendering import Painter
from tools_agent._chat.screens import Owner, Terminal
from tools_core.files import state_path

_FRAME = 0.1  # seconds between two pictures of a turn
_MENU = 11  # lines of the menu of completions
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
    """The conversation, the live part of a turn, the input and a status line."""

    def __init__(self, terminal: Terminal) -> None:
        self.completer: Completer | None = None
        self.echoes = False
        self.painter = Painter(is_plain=False)
        self._terminal = terminal
        self._owner: Owner  # set by `run`
        self._texts: list[str] = []  # for the conversation
        self._has_texts = asyncio.Event()
        self._question = ""
        self._answers: WordCompleter | None = None
        self._answer: asyncio.Future[str | None] | None = None
        self._draft = ""  # the input from before a question
        self._interrupted_at = 0.0
        toolbar = SearchToolbar()
        self._input = Buffer(
            history=_history(), completer=DynamicCompleter(lambda: self._answers or self.completer),
            complete_while_typing=Condition(self._wants_completions), accept_handler=self._accept, multiline=True,
        )  # fmt: skip
        self._app: Application[None] = Application(
            layout=self._layout(toolbar), style=_STYLE, erase_when_done=True,
            input=Vt100Input(terminal.input),
            output=Vt100_Output(
                terminal.output, lambda: Size(*reversed(terminal.size)), os.environ.get("TERM"), enable_cpr=False
            ),
        )  # fmt: skip

    @property
    def width(self) -> int:
        """The number of columns."""
        return self._terminal.size.columns

    def print(self, renderable: RenderableType) -> None:
        """Append to the conversation."""
        self._texts.append(self.painter.paint(renderable, self.width))
        self._has_texts.set()

    def refresh(self) -> None:
        """Show the live part and the status line again."""
        self._app.invalidate()

    def ready(self) -> None:
        """Show that the chat waits for the user."""
        self.refresh()

    def insert(self, text: str) -> None:
        """Put text into the input."""
        self._input.text = "\n".join(filter(None, [text, self._input.text]))
        self._input.cursor_position = len(self._input.text)

    async def ask(self, question: str, answers: Sequence[str], default: str) -> str | None:
        """Return the next line of the user, with completion of answers.

        The line that the user is typing returns after the question, so that it is not an answer by accident.
        """
        self._question, self._answers = question, WordCompleter([*answers], sentence=True) if answers else None
        self._draft = self._input.text
        self._input.reset()
        self.insert(default)
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self.refresh()
        try:
            return await answer
        finally:
            if self._answer is answer:
                self._end_question()

    def _end_question(self) -> None:
        """Return to the input from before the question, at once: the user may be typing."""
        self._question, self._answers, self._answer = "", None, None
        self._input.reset()
        self.insert(self._draft)
        self.refresh()

    async def run(self, chat: Owner) -> None:
        """Read lines until the user presses Ctrl-C twice, or Ctrl-D."""
        self._owner = chat
        self._app.key_bindings = self._bindings(chat)
        tasks = [asyncio.create_task(self._show_texts()), asyncio.create_task(self._animate(chat))]
        try:
            await self._app.run_async(handle_sigint=False)
        finally:
            for task in tasks:
                task.cancel()
            self._write()

    # ------------------------------------------------------------------------------------------------ showing

    async def _show_texts(self) -> None:
        while await self._has_texts.wait():
            async with in_terminal():
                self._write()

    def _write(self) -> None:
        texts, self._texts = self._texts, []
        self._has_texts.clear()
        self._terminal.output.write("".join(texts))
        self._terminal.output.flush()

    async def _animate(self, chat: Owner) -> None:
        while True:
            await asyncio.sleep(_FRAME)
            if chat.is_busy:
                self.refresh()

    def _layout(self, toolbar: SearchToolbar) -> Layout:
        control = BufferControl(self._input, search_buffer_control=toolbar.control)
        window = Window(
            control, height=self._height, wrap_lines=True, dont_extend_height=True, get_line_prefix=self._prefix
        )
        live = Window(FormattedTextControl(self._live), dont_extend_height=True)
        status = Window(FormattedTextControl(self._status), height=1, style="class:status")
        menu = Float(CompletionsMenu(max_height=_MENU), xcursor=True, ycursor=True)
        has_live = Condition(lambda: self._owner.live(self.width) is not None)
        top = ConditionalContainer(live, has_live)
        rule = Window(height=1, char="─", style="class:status")
        return Layout(HSplit([top, rule, FloatContainer(window, [menu]), toolbar, status]), focused_element=window)

    def _live(self) -> ANSI:
        part = self._owner.live(self.width)
        text = "" if part is None else self.painter.paint(part, self.width)
        lines = text.rstrip("\n").split("\n")
        rows = max(self._terminal.size.lines - _MENU - 4, 3)
        return ANSI("\n".join(lines[-rows:]))

    def _prefix(self, line: int, wraps: int) -> AnyFormattedText:
        first = line == 0 and wraps == 0
        if self._question:
            return [("class:question", f"{self._question} " if first else "  ")]
        return [("class:prompt", "> " if first else "  ")]

    def _status(self) -> str:
        hint = "Ctrl-C again ends the chat" if time.monotonic() - self._interrupted_at < _TWICE else ""
        return hint or self._owner.status(self.width)

    def _height(self) -> Dimension:
        state = self._input.complete_state
        return Dimension(min=1 + min(len(state.completions), _MENU) if state is not None else 1)

    # ------------------------------------------------------------------------------------------------ reading

    def _wants_completions(self) -> bool:
        before = self._input.document.text_before_cursor
        return before.startswith("/") or before.rpartition(" ")[2].startswith("@")

    def _accept(self, buffer: Buffer) -> bool:
        if text := buffer.text.strip():
            self._owner.submit(text)
        return False  # which empties the input

    def _bindings(self, chat: Owner) -> KeyBindings:
        bindings = KeyBindings()

        def bind(*keys: str, when: FilterOrBool = True) -> Callable[[Callable[[], object]], object]:
            return lambda function: bindings.add(*keys, filter=when, eager=True)(lambda _: function())

        bind("enter")(self._enter)
        bind("escape", "enter")(lambda: self._input.insert_text("\n"))
        bind("c-c")(self._interrupt)
        bind("<sigint>")(self._interrupt)
        bind("c-d", when=Condition(lambda: not self._input.text))(self._app.exit)
        bind("c-z")(self._app.suspend_to_background)
        bind("s-tab", when=~has_completions)(chat.toggle_preview)
        bind("c-o")(chat.unfold)
        return bindings

    def _enter(self) -> None:
        """Accept the search, the answer or the line; after a backslash begin a new line."""
        buffer = self._input
        if not self._app.layout.has_focus(buffer):
            self._app.layout.focus(buffer)
        elif buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        elif (answer := self._answer) is not None:
            text = buffer.text.strip()  # the history has prompts only
            self._end_question()
            answer.set_result(text)
        else:
            buffer.validate_and_handle()

    def _interrupt(self) -> None:
        """Interrupt the turn; else clear the input; if there is neither, a second Ctrl-C ends the chat."""
        if self._answer is not None:
            self._end_question()
        is_second = time.monotonic() - self._interrupted_at < _TWICE
        if is_second:
            self._app.exit()
        elif not self._owner.interrupt() and self._input.text:
            self._input.reset()
        else:
            self._interrupted_at = time.monotonic()
            asyncio.get_running_loop().call_later(_TWICE, self.refresh)
        self.refresh()


def _history() -> FileHistory:
    path = Path(state_path("chat_history"))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(0o600)  # only the user can read prompts
    return FileHistory(path)
