"""The screen of dumb terminals and pipes: plain lines, as `ask-tools run` prints them."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import AbstractContextManager
from typing import TextIO

from tools_cli._chat.chat import Chat
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

    def dialog(self, context: Context) -> AbstractContextManager[TerminalDialog | None]:
        """Reserve the terminal for questions to the user; None without a terminal."""
        return terminal_dialog(context)

    def answer(self, question: Question) -> str | None:
        """Ask a question of a tool."""
        return answer_on_terminal(question)

    def run(self, chat: Chat, line: str | None, runner: asyncio.Runner) -> None:
        """Send a first line, then read lines until the end of the input, or until Ctrl-C outside of a turn."""
        try:
            chat.begin()
            line = line or self._read(chat)
            while line is not None:
                if line.strip():
                    runner.run(self._handle(chat, line.strip()))
                line = self._read(chat)
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
