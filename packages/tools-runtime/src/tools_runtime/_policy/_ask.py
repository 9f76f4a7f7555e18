"""Asking a person, on the terminal: nothing that a model has written can act on it, or look like our own words."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tools_core.text import visible
from tools_runtime._effects import LOOK
from tools_runtime._policy._errors import NobodyToAskError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tools_core import Tool, ToolCall
    from tools_runtime._policy._approvals import Scope
    from tools_runtime._policy._rule import Decision

_MOST_SHOWN = 4_000  # characters of all arguments, so that none is out of sight
_MOST_ARGUMENTS = 20
_WORDS: Mapping[str, Scope] = {
    "o": "once", "once": "once", "y": "once", "yes": "once",
    "s": "session", "session": "session",
    "p": "project", "project": "project",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody is asked to approve: this call, with these arguments, for one of these scopes.

    `arguments` are as the tool will get them; `key` is the hash that an approval is bound to.
    """

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, Any]
    decision: Decision
    scopes: Sequence[Scope]
    key: str


def ask_on_terminal(request: Request, is_over: Callable[[], bool]) -> Scope | None:
    """Ask whoever sits at the terminal, until it is over; None for no. NobodyToAskError where there is no terminal."""
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        raise NobodyToAskError
    _forget_typed()
    question = f"{', '.join(f'[{each[0]}]{each[1:]}' for each in request.scopes)}, [N]o"
    is_cut = _show(request, _MOST_SHOWN)
    while True:
        _write(f"approve? {question}{', [v]iew all of it' if is_cut else ''}: ")
        line = _line(is_over)
        answer = line.strip().lower()
        if is_cut and answer in ("v", "view"):
            is_cut = _show(request, None)
            continue
        scope = _WORDS.get(answer)
        if scope in request.scopes:
            return scope
        if answer in ("", "n", "no"):
            if not line:
                _write("\n")
            return None
        _write("that is no answer\n")


def _show(request: Request, most: int | None) -> bool:
    """Write down the question; whether something was left out."""
    decision = request.decision
    hints = ", ".join(decision.facts.hints)
    _write(f"\n{visible(request.tool.name)} wants to run ({hints or 'it says nothing of what it does'})\n")
    count = len(request.arguments)
    left_out = 0 if most is None else max(0, count - _MOST_ARGUMENTS)
    is_cut = left_out > 0
    for name, value in islice(request.arguments.items(), count - left_out):
        text, was_cut = _clipped(f"{visible(name)} = {shown(value)}", most and most // (count - left_out))
        is_cut |= was_cut
        _write(f"  {text}\n")
    if left_out:
        _write(f"  <<< {left_out:,} more arguments are not shown >>>\n")
    if not count:
        _write("  without arguments\n")
    if decision.facts.paths:
        text, was_cut = _clipped(shown(list(decision.facts.paths)), most)
        is_cut |= was_cut
        _write(f"files: {text}\n")
    _write(f"asked by {visible(decision.by)}: {visible('; '.join(decision.reasons))}\n")
    return is_cut


def shown(value: Any) -> str:
    """A value as JSON on one line, with all that is not seen as escapes."""
    return visible(json.dumps(value, ensure_ascii=False, default=str))


def _clipped(text: str, most: int | None) -> tuple[str, bool]:
    if most is None or len(text) <= most:
        return text, False
    head, tail = most * 3 // 4, most // 4
    return f"{text[:head]} <<< {len(text) - head - tail:,} characters are not shown >>> {text[-tail:]}", True


def _write(text: str) -> None:
    # What the encoding of the terminal lacks is escaped, too.
    encoding = getattr(sys.stderr, "encoding", None) or "ascii"
    sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stderr.flush()


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except ValueError:  # it is closed
        return False


def _line(is_over: Callable[[], bool]) -> str:
    """What is typed; nothing once it is over, since what is typed then is meant for others."""
    import select  # only for who asks

    with suppress(OSError, ValueError):  # on Windows, where nobody can look at a terminal
        while not select.select([sys.stdin], [], [], LOOK)[0] and not is_over():
            pass
    try:
        return "" if is_over() else sys.stdin.readline()
    except UnicodeDecodeError:  # a key of another keyboard is no answer
        return "?"


def _forget_typed() -> None:
    """What was typed before the question was seen is no answer to it."""
    try:
        import termios  # not on Windows
    except ImportError:
        return
    with suppress(OSError, ValueError, termios.error):  # no such terminal, or it is closed
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
