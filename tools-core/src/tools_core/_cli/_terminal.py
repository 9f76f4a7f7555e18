"""Ask the user on the terminal: one question at a time, as long as the caller waits."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from tools_core._cli._output import is_terminal
from tools_core._values._context import Context, Question
from tools_core.text import visible

_POLL = 0.1  # seconds between checks of the deadline
_lock = threading.Lock()  # the process has one terminal


@contextmanager
def reserved_terminal(context: Context) -> Generator[Callable[[str], str | None] | None]:
    """Reserve the terminal, and yield a function that shows a prompt and returns the line that the user types.

    The function returns None when the caller stops waiting. The value is None if there is no terminal, or if the
    caller has stopped waiting.
    """
    if not (sys.stdin and is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        yield None
        return
    while not _lock.acquire(timeout=_POLL):
        if _is_over(context):
            yield None
            return
    try:
        _discard_typed()
        yield None if _is_over(context) else lambda prompt: _line(prompt, context)
    finally:
        _lock.release()


def answer_on_terminal(question: Question) -> str | None:
    """Ask a tool's question on the terminal: `Context(on_ask=answer_on_terminal)`.

    Returns None without a terminal, and if the caller stops waiting. A choice can be typed as its number.
    """
    with reserved_terminal(question.context) as ask:
        return None if ask is None else answer_question(question, ask)


def answer_question(question: Question, ask: Callable[[str], str | None]) -> str | None:
    """Ask a tool's question with a function that shows a prompt and returns the line that the user types."""
    choices = question.choices
    lines = [f"{visible(question.tool)} asks: {visible(question.text, keep_layout=True)}"]
    lines += [f"  {number}  {visible(choice)}" for number, choice in enumerate(choices, 1)]
    prompt = "\n".join([*lines, "answer: "])
    while line := ask(prompt):
        answer = line.strip()
        if answer in choices or not choices:
            return answer
        if answer.isdecimal() and 0 < int(answer) <= len(choices):
            return choices[int(answer) - 1]
        prompt = "answer: "
    return None


def _line(prompt: str, context: Context) -> str | None:
    """Return the line that is typed, None when the caller stops waiting: a later line is for another reader."""
    import select  # not for terminals of Windows

    sys.stderr.write(prompt)
    sys.stderr.flush()
    with suppress(OSError):
        while not select.select([sys.stdin], [], [], _POLL)[0]:
            if _is_over(context):
                return None
    try:
        return sys.stdin.readline()
    except UnicodeDecodeError:  # a key of another keyboard is not an answer
        return "?\n"


def _is_over(context: Context) -> bool:
    return context.cancelled or context.remaining == 0


def _discard_typed() -> None:
    """Discard what was typed before the question was shown."""
    with suppress(ImportError, OSError):
        import termios  # not on Windows

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
