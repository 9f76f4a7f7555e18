"""The screen of dumb terminals and pipes: plain lines, as `ask-tools run` prints them."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import AbstractContextManager
from typing import TextIO

from tools_cli._chat.chat import Chat
from tools_cli._chat.shell import user_shell
from tools_cli._chat.slash_commands import handle
from tools_cli._terminal._progress import TerminalOutput
from tools_cli._terminal._prompt import TerminalDialog, terminal_dialog
from tools_core import Context, Question
from tools_core.command import answer_on_terminal, is_terminal


class PlainScreen(TerminalOutput):
    """Reads a line for each prompt; replies go to standard output, everything else to standard error."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.echoes = is_terminal(sys.stdin)  # the user sees what they type
        self._has_ended = False

    def dialog(self, context: Context) -> AbstractContextManager[TerminalDialog | None]:
        """Reserve the terminal for questions to the user; None without a terminal."""
        return terminal_dialog(context)

    def propose(self, text: str) -> None:
        """Do nothing: a line of a plain terminal cannot be edited."""

    def end(self) -> None:
        """Read no more lines."""
        self._has_ended = True

    def answer(self, question: Question) -> str | None:
        """Ask a question of a tool."""
        return answer_on_terminal(question)

    async def run_shell(self, command: str, folder: str) -> tuple[int, bytes]:
        """Run a command in the user's shell, pass its output on to standard error, and return both."""
        stdin = None if self.echoes else asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            user_shell(), "-c", command, cwd=folder, stdin=stdin, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output = bytearray()
        if process.stdout is not None:
            while data := await process.stdout.read(65_536):
                output += data
                sys.stderr.write(data.decode(errors="replace"))
                sys.stderr.flush()
        return await process.wait(), bytes(output)

    def offer(self, command: str) -> bool:  # noqa: ARG002  (has no menus)
        """Return False: lines cannot show a menu."""
        return False

    def run(self, chat: Chat, line: str | None, runner: asyncio.Runner) -> None:
        """Send a first line, then read lines until the end of the input, or until Ctrl-C outside of a turn."""
        try:
            chat.begin()
            line = line or self._read(chat)
            while line is not None:
                if line.strip():
                    runner.run(self._handle(chat, line.strip()))
                line = None if self._has_ended else self._read(chat)
        except KeyboardInterrupt:
            self.end_line()

    def _read(self, chat: Chat) -> str | None:
        self.end_line()
        if self.echoes:
            sys.stderr.write(f"{chat.status}\n> ")
            sys.stderr.flush()
        return sys.stdin.readline() or None

    async def _handle(self, chat: Chat, line: str) -> None:
        """Run a turn or a command, which Ctrl-C interrupts; pressed again, it ends the chat."""
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            chat.interrupt()

        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            await handle(chat, line)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
