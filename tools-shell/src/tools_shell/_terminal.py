"""Keys of a terminal."""

from __future__ import annotations

import string

from tools_core import ToolError

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
