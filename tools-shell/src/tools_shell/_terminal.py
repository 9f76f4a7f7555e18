"""Keys and line lengths of a terminal."""

from __future__ import annotations

import string

from tools_core import ToolError

_LONGEST_LINE = 4095  # bytes of an input line in canonical mode; the rest is lost (termios(3))
_KEYS = {
    "enter": b"\r",
    "tab": b"\t",
    "escape": b"\x1b",
    "backspace": b"\x7f",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "delete": b"\x1b[3~",
    "page-up": b"\x1b[5~",
    "page-down": b"\x1b[6~",
    **{f"ctrl-{letter}": bytes([number]) for number, letter in enumerate(string.ascii_lowercase, 1)},
}


def typed(key: str) -> bytes:
    """Return the bytes that a terminal sends for a key; ToolError for an unknown key."""
    if key.lower() not in _KEYS:
        raise ToolError(f"no key {key!r}; there are {', '.join(_KEYS)}", "validation_error")
    return _KEYS[key.lower()]


def check_lines(data: bytes) -> None:
    """Raise ToolError for a line that is too long for a terminal in canonical mode."""
    longest = max(map(len, data.replace(b"\r", b"\n").split(b"\n")))
    if longest > _LONGEST_LINE:
        message = f"a line on a terminal has {_LONGEST_LINE} bytes at most, this one {longest}; do it without tty"
        raise ToolError(message, "limit_exceeded")
