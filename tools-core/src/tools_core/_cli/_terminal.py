"""What reaches a terminal: the output of tools is foreign text, and must not be able to act on it."""

from __future__ import annotations

import sys

from tools_core.text import replace_hidden, visible

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TextIO


class CommandError(Exception):
    """Ends the command: `message`, what to do about it under it, and the exit code (2 for wrong usage).

    `type` is the error type that a call reports as JSON.
    """

    def __init__(self, message: str, *hints: str, status: int = 2, type: str = "validation_error") -> None:
        super().__init__(message)
        self.hints = [hint for hint in hints if hint]
        self.status = status
        self.type = type


def is_terminal(stream: TextIO | None) -> bool:
    """Say whether a person is at the other end of `stream`."""
    return stream is not None and not stream.closed and stream.isatty()


def one_line(text: str) -> str:
    """Show `text` in a line of its own: all that hides, and what would end the line, as escapes."""
    return visible(text, keep_layout=True).replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def json_text(value: Any, *, pretty: bool) -> str:
    """Write `value` as JSON that is safe on a terminal and the same value everywhere else."""
    import json  # 2 ms that the plain listings need not pay

    layout: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    text = json.dumps(value, ensure_ascii=False, **layout)
    return replace_hidden(text, lambda char: json.dumps(char)[1:-1], keep_layout=True)


def write(text: str) -> None:
    """Print text as lines: made visible on a terminal, as it is into a file or pipe."""
    if is_terminal(sys.stdout):
        text = visible(text, keep_layout=True)
    sys.stdout.write(text + "\n" if text and not text.endswith("\n") else text)


def write_json(value: Any) -> None:
    """Print `value` as JSON: laid out for a person on a terminal, on one line elsewhere."""
    sys.stdout.write(json_text(value, pretty=is_terminal(sys.stdout)) + "\n")


def write_table(rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns; on a terminal each row keeps to one line of its width."""
    width = terminal_width(sys.stdout) if is_terminal(sys.stdout) else None
    columns = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(size) for cell, size in zip(row, columns, strict=True))
        line = "  ".join(cells).rstrip()
        sys.stdout.write((line if width is None or len(line) <= width else line[: width - 1] + "…") + "\n")


def note(text: str) -> None:
    """Tell the person something that is not the output."""
    if sys.stderr is not None:
        sys.stdout.flush()  # so that the two streams stay in order where both go to one place
        sys.stderr.write(visible(text, keep_layout=True) + "\n")
        sys.stderr.flush()


def error(message: str, hints: Iterable[str] = ()) -> None:
    """Report a failure, and under it what to do about it."""
    note("\n  ".join([f"error: {message}", *hints]))


def counted(number: int, what: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number} {what}{'s' * (number != 1)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean list?` for a near miss, else nothing."""
    import difflib  # only for a mistake: 4 ms

    near = difflib.get_close_matches(name[:100], list(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else ""


def terminal_width(stream: TextIO) -> int:
    """Columns of the terminal; `COLUMNS` says it for what is none, else 80."""
    import os  # loaded already, by the interpreter

    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # no terminal, or one without a size
        return 80
