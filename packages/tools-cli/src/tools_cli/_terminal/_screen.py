"""The terminal: its width and its colors."""

from __future__ import annotations

import os
from typing import TextIO

from tools_core.command import is_terminal


def width_of(stream: TextIO) -> int | None:
    """Return the columns of a terminal; None for a file or pipe."""
    if not is_terminal(stream):
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def fit(text: str, columns: int) -> str:
    """Return the beginning of a text that fits in some columns: Chinese letters and emoji take two."""
    from rich.cells import cell_len, set_cell_size  # 20 ms that a pipe does not need

    return text if cell_len(text) <= columns else set_cell_size(text, columns)


def has_color(stream: TextIO) -> bool:
    """Return whether to print colors: not with NO_COLOR, on a dumb terminal, or in a file or pipe."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
