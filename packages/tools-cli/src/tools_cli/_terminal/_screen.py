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


def has_color(stream: TextIO) -> bool:
    """Return whether to print colors: not with NO_COLOR, on a dumb terminal, or in a file or pipe."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
