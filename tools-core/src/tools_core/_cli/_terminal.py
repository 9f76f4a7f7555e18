"""Output to terminals, files and pipes; text of tools cannot control a terminal."""

from __future__ import annotations

import sys

from tools_core.text import replace_hidden, visible

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TextIO


class CommandError(Exception):
    """An error that ends the command: a message, hints that are printed below it, and the exit code.

    `type` is the error type in the JSON of `ask-tools call --json`.
    """

    def __init__(self, message: str, *hints: str, status: int = 2, type: str = "validation_error") -> None:
        super().__init__(message)
        self.hints = [hint for hint in hints if hint]
        self.status = status
        self.type = type


def is_terminal(stream: TextIO | None) -> bool:
    """Say whether `stream` is a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def one_line(text: str) -> str:
    """Return `text` on one line: line ends, tabs and invisible characters become escapes."""
    return visible(text, keep_layout=True).replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def json_text(value: Any, *, pretty: bool) -> str:
    """Return `value` as JSON, with invisible characters as escapes."""
    import json  # not needed for plain text

    layout: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    text = json.dumps(value, ensure_ascii=False, **layout)
    return replace_hidden(text, lambda char: json.dumps(char)[1:-1], keep_layout=True)


def write(text: str) -> None:
    """Print text as lines; control characters become escapes on a terminal, and stay in a file or pipe."""
    if is_terminal(sys.stdout):
        text = visible(text, keep_layout=True)
    sys.stdout.write(text + "\n" if text and not text.endswith("\n") else text)


def write_json(value: Any) -> None:
    """Print `value` as JSON, indented on a terminal and on one line elsewhere."""
    sys.stdout.write(json_text(value, pretty=is_terminal(sys.stdout)) + "\n")


def write_table(rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns; on a terminal each row is cut to its width."""
    width = terminal_width(sys.stdout) if is_terminal(sys.stdout) else None
    columns = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(size) for cell, size in zip(row, columns, strict=True))
        line = "  ".join(cells).rstrip()
        sys.stdout.write((line if width is None or len(line) <= width else line[: width - 1] + "…") + "\n")


def note(text: str) -> None:
    """Print to standard error."""
    sys.stdout.flush()  # keeps the order where both streams are one file
    sys.stderr.write(visible(text, keep_layout=True) + "\n")
    sys.stderr.flush()


def error(message: str, hints: Iterable[str] = ()) -> None:
    """Print an error, and below it what to do."""
    note("\n  ".join([f"error: {message}", *hints]))


def show_traceback(failure: BaseException | None) -> None:
    """Print the traceback of a failure if `ASK_TOOLS_DEBUG` is set."""
    import os  # loaded by the interpreter at its start

    if failure is not None and os.environ.get("ASK_TOOLS_DEBUG"):
        from traceback import format_exception  # only here

        note("".join(format_exception(failure)).rstrip())


def location(failure: BaseException | None, package: str) -> str:
    """Return `FILE:LINE` of the innermost code of a top-level package in a traceback; empty if there is none."""
    if isinstance(failure, SyntaxError) and failure.filename:
        return f"{failure.filename}:{failure.lineno}"
    found = ""
    trace = failure.__traceback__ if failure else None
    while trace is not None:
        frame = trace.tb_frame
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package:
            found = f"{frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def counted(number: int, what: str) -> str:
    """Return `1 tool`, `2 tools`."""
    return f"{number} {what}{'s' * (number != 1)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `did you mean list?` if a known name is similar, else an empty string."""
    import difflib  # only for a mistake

    near = difflib.get_close_matches(name[:100], list(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else ""


def terminal_width(stream: TextIO) -> int:
    """Return the columns of a terminal: `COLUMNS` if it is set, and 80 if the width is unknown."""
    import os  # loaded by the interpreter at its start

    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # not a terminal
        return 80
