"""Questions to the user in the input of the chat, from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.document import Document

from tools_cli._terminal._bell import Alarm
from tools_core import Context
from tools_runtime.approval import Line


class Display(Protocol):
    """The part of a screen that questions need."""

    def show(self, lines: Sequence[Line]) -> None: ...
    def show_answer(self, line: Line) -> None: ...


class Questions:
    """A dialog in the input. The text that the user was typing returns afterwards, so that it is never an answer.

    Attributes:
        text: The question that waits for an answer; empty without one.
    """

    def __init__(self, display: Display, loop: asyncio.AbstractEventLoop, alarm: Alarm) -> None:
        self.text = ""
        self.prompt: PromptSession[str]  # set when the input exists
        self._display, self._loop, self._alarm = display, loop, alarm
        self._lock = Lock()  # calls of one reply may need approval at the same time
        self._context = Context()
        self._answer: asyncio.Future[str | None] | None = None
        self._draft = ""

    @property
    def is_open(self) -> bool:
        """True while a question waits."""
        return self._answer is not None

    @contextmanager
    def dialog(self, context: Context) -> Generator[Questions | None]:
        """Reserve the input, of a thread; None for a run that is cancelled."""
        with self._lock:
            self._context = context
            yield None if context.cancelled else self

    def show(self, lines: Sequence[Line]) -> None:
        """Show lines above the input."""
        self._display.show(lines)

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

    def end(self, answer: str | None) -> None:
        """Return to the input from before the question, at once: the user may be typing."""
        if self._answer is not None:
            self._answer.set_result(answer)
        self.text, self._answer = "", None
        self.fill(self._draft)

    def fill(self, text: str) -> None:
        """Replace the input."""
        self.prompt.default_buffer.reset(Document(text))
        self.prompt.app.invalidate()

    def _ask(self, question: str, default: str) -> str | None:
        return asyncio.run_coroutine_threadsafe(self._answered(question, default), self._loop).result()

    async def _answered(self, question: str, default: str) -> str | None:
        if self._context.cancelled or not self.prompt.app.is_running:
            return None
        self._draft, self.text = self.prompt.default_buffer.text, question
        self._answer = self._loop.create_future()
        self.fill(default)
        self._alarm.set()
        answer = await self._answer
        if answer is not None:
            self._display.show_answer(Line.of("note", f"{question} {answer}", "  "))
        return answer
