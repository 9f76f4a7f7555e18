"""`Screen`: where the chat reads and writes, its form for plain lines, and the terminal that it reserves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import IO, Protocol, TextIO

from rich.console import RenderableType

from tools_agent._chat.rendering import Painter
from tools_core.text import visible


class Owner(Protocol):
    """The chat, as its screen sees it."""

    def submit(self, text: str) -> None:
        """Receive a line of the user."""
        ...

    def interrupt(self) -> bool:
        """Interrupt the turn, and return whether there was one to interrupt."""
        ...

    def live(self, width: int) -> RenderableType | None:
        """Return the part of the conversation that still changes."""
        ...

    def status(self, width: int) -> str:
        """Return the status line."""
        ...

    def toggle_preview(self) -> None:
        """Let the next turns work in a copy of the workspace, or in the workspace."""
        ...

    def unfold(self) -> None:
        """Show the last folded call uncut."""
        ...

    @property
    def is_busy(self) -> bool:
        """True during a turn or a command."""
        ...


class Screen(Protocol):
    """Shows the conversation, and reads lines of the user."""

    painter: Painter
    echoes: bool
    """True if the user's own lines stay on the screen."""

    @property
    def width(self) -> int:
        """The number of columns."""
        ...

    def print(self, renderable: RenderableType) -> None:
        """Append to the conversation."""
        ...

    def refresh(self) -> None:
        """Show the live part and the status line again."""
        ...

    def ready(self) -> None:
        """Show that the chat waits for the user."""
        ...

    async def ask(self, question: str, answers: Sequence[str], default: str) -> str | None:
        """Return the next line of the user; None if no user can answer."""
        ...

    async def run(self, chat: Owner) -> None:
        """Read lines until the user ends the chat."""
        ...


class Terminal:
    """The standard streams, reserved for the chat: programs and tools have other ones meanwhile.

    Text that tools print is passed on line by line, and they read an empty standard input.
    """

    def __init__(self) -> None:
        self.input: TextIO = os.fdopen(os.dup(0), encoding="utf-8", errors="replace")
        self.output: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")

    @property
    def is_capable(self) -> bool:
        """True if the terminal can move the cursor."""
        is_terminal = self.input.isatty() and self.output.isatty()
        return is_terminal and os.environ.get("TERM", "dumb") not in ("dumb", "unknown", "")

    @property
    def size(self) -> os.terminal_size:
        """The number of columns and lines."""
        try:
            columns, lines = os.get_terminal_size(self.output.fileno())
        except OSError:
            columns = lines = 0
        return os.terminal_size((columns or 80, lines or 24))

    @contextmanager
    def reserved(self, print_line: Callable[[str], object]) -> Generator[None]:
        """Replace the standard streams, and pass on the lines that are written to them."""
        loop = asyncio.get_running_loop()
        sys.stdout.flush()
        sys.stderr.flush()
        saved = [os.dup(number) for number in range(3)]
        reader, writer = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, replacement in enumerate((nothing, writer, writer)):
            os.dup2(replacement, number)
        os.close(nothing)
        os.close(writer)
        pipe = os.fdopen(reader, encoding="utf-8", errors="replace")
        Thread(target=_pass_on, args=(pipe, loop, print_line), daemon=True).start()
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, descriptor in enumerate(saved):
                os.dup2(descriptor, number)
                os.close(descriptor)


def _pass_on(pipe: IO[str], loop: asyncio.AbstractEventLoop, print_line: Callable[[str], object]) -> None:
    for line in pipe:
        try:
            loop.call_soon_threadsafe(print_line, line.rstrip("\n"))
        except RuntimeError:  # the chat has ended
            return


class LineScreen:
    """Plain lines, for dumb terminals, pipes and files."""

    def __init__(self, terminal: Terminal) -> None:
        self.painter = Painter(is_plain=True)
        self._terminal = terminal
        self._is_interactive = self.echoes = terminal.input.isatty()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()  # None at the end of the input
        self._question: asyncio.Future[str | None] | None = None
        self._is_ready = asyncio.Event()
        self._chat: Owner | None = None

    @property
    def width(self) -> int:
        """The number of columns."""
        return self._terminal.size.columns

    def print(self, renderable: RenderableType) -> None:
        """Append to the conversation."""
        self._write(self.painter.paint(renderable, self.width))

    def refresh(self) -> None:
        """Do nothing: lines that are printed do not change."""

    def ready(self) -> None:
        """Show that the chat waits for the user."""
        if self._is_interactive and self._chat is not None:
            self._write(f"{self._chat.status(self.width)}\n> ")
        self._is_ready.set()

    async def ask(self, question: str, answers: Sequence[str], default: str) -> str | None:  # noqa: ARG002
        """Return the next line; None without a terminal."""
        if not self._is_interactive:
            return None
        self._write(f"{visible(question)} ")
        self._question = asyncio.get_running_loop().create_future()
        try:
            return await self._question
        finally:
            self._question = None

    async def run(self, chat: Owner) -> None:
        """Read lines until the end of the input; from a pipe, only when the chat has answered the previous one."""
        loop = asyncio.get_running_loop()
        self._chat = chat
        loop.add_signal_handler(signal.SIGINT, self._interrupt, chat)
        Thread(target=_read_lines, args=(self._terminal.input.fileno(), loop, self._lines), daemon=True).start()
        self.ready()
        while True:
            if not self._is_interactive:
                await self._is_ready.wait()
            line = await self._lines.get()
            if line is None:
                break
            if self._question is not None and not self._question.done():
                self._question.set_result(line)
            elif line.strip():
                self._is_ready.clear()
                chat.submit(line)
            elif self._is_ready.is_set():
                self.ready()
        await self._is_ready.wait()
        loop.remove_signal_handler(signal.SIGINT)

    def _interrupt(self, chat: Owner) -> None:
        if not chat.interrupt():
            self._lines.put_nowait(None)

    def _write(self, text: str) -> None:
        self._terminal.output.write(text)
        self._terminal.output.flush()


def _read_lines(descriptor: int, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str | None]) -> None:
    """Put the lines of a file into a queue. Buffered reading would hold a lock when the interpreter ends."""
    rest = b""
    try:
        while data := os.read(descriptor, 65_536):
            *complete, rest = (rest + data).split(b"\n")
            for line in complete:
                loop.call_soon_threadsafe(lines.put_nowait, line.decode(errors="replace"))
        for last in (rest.decode(errors="replace") or None, None):
            loop.call_soon_threadsafe(lines.put_nowait, last)
    except (OSError, RuntimeError):  # the terminal has disconnected, or the chat has ended
        return
