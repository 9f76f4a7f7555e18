"""Keys and lines of a terminal."""

from __future__ import annotations

import string

from tools_core import ToolError

_LONGEST_LINE = 4095  # bytes that the system keeps of a line that is being typed; the rest is lost (termios(3))
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
    """Return what a terminal sends for a key; ToolError for an unknown one."""
    if key.lower() not in _KEYS:
        raise ToolError(f"no key {key!r}; there are {', '.join(_KEYS)}", "validation_error")
    return _KEYS[key.lower()]


def check_lines(data: bytes) -> None:
    """ToolError for a line of which a terminal that waits for whole lines, as a new one does, would lose the end."""
    longest = max(map(len, data.replace(b"\r", b"\n").split(b"\n")))
    if longest > _LONGEST_LINE:
        message = f"a line on a terminal has {_LONGEST_LINE} bytes at most, this one {longest}; do it without tty"
        raise ToolError(message, "limit_exceeded")
