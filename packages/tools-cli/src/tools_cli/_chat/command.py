"""`ask-tools chat`: a conversation with an agent in the terminal."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from threading import Thread
from typing import IO, TYPE_CHECKING

from tools_cli._commands.sessions import add_store, opened
from tools_cli._commands.start import add_session_options, find_start, make_policy, show_system
from tools_cli._terminal._progress import standard_output

if TYPE_CHECKING:
    import asyncio
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Generator

_DUMB = ("dumb", "unknown", "")  # terminals that cannot move the cursor
_EPILOG = """\
Calls that stay in the workspace run without a question, sandboxed commands included; /undo takes them back. Others need
approval, unless a rule of the policy decides (ask-tools policy). With --mode ask, or after Shift-Tab, each change does;
with --mode preview turns work in a copy, and /changes shows and applies what they changed. Ctrl-C interrupts a turn,
pressed twice it ends the chat. /help lists the commands and keys. `ask-tools sessions` lists the sessions.

examples:
  ask-tools chat --model anthropic:claude-sonnet-5-5
  ask-tools chat --model openai:gpt-5 --mode preview
  ask-tools chat -c             (continues the last session of this folder)
  ask-tools chat --resume       (offers all sessions)
  ask-tools chat --model scripted:demo      (needs no key and no network)
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `chat`."""
    parser.description = "Chat with an agent that has the installed tools."
    parser.epilog = _EPILOG
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="the first prompt")
    parser.add_argument("--resume", action="store_true", help="choose the session to continue from a list")
    parser.add_argument("--plan", action="store_true", help="only read until you accept a plan (/plan)")
    add_session_options(parser)
    add_store(parser)
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Run the chat until the user ends it."""
    import asyncio  # not needed for --help

    if options.show_system:
        return show_system(options)
    from tools_cli._chat.chat import Chat
    from tools_cli._chat.plain_screen import PlainScreen
    from tools_cli._chat.prompt_screen import PromptScreen

    is_capable = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in _DUMB
    with opened(options) as store, standard_output() as stream, asyncio.Runner() as runner:
        screen = PromptScreen(stream, runner.get_loop()) if is_capable else PlainScreen(stream)
        chat = Chat(screen, options, find_start(options, store, may_create=True), make_policy(options))
        line = "/resume" if options.resume else options.prompt
        try:
            if isinstance(screen, PlainScreen):
                screen.run(chat, line, runner)
            else:
                with _reserved_streams(runner.get_loop(), chat.note):
                    runner.run(screen.run(chat, line))
        finally:
            chat.close()
        is_scripted = isinstance(screen, PlainScreen) and not screen.echoes
    return int(is_scripted and chat.has_failed)


@contextmanager
def _reserved_streams(loop: asyncio.AbstractEventLoop, print_line: Callable[[str], object]) -> Generator[None]:
    """Replace the standard streams of tools and their programs: no input, and their output is passed on in lines."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(number) for number in range(3)]
    reader, writer = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, replacement in enumerate((nothing, writer, writer)):
        os.dup2(replacement, number)
    os.close(nothing)
    os.close(writer)

    def pass_on(pipe: IO[str]) -> None:
        for line in pipe:
            try:
                loop.call_soon_threadsafe(print_line, line.rstrip("\n"))
            except RuntimeError:  # the chat has ended
                return

    Thread(target=pass_on, args=(os.fdopen(reader, encoding="utf-8", errors="replace"),), daemon=True).start()
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)
            os.close(descriptor)
