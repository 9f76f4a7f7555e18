"""Text as bytes and bytes as text: nothing that a model or a command writes is refused, or lost."""

from __future__ import annotations


def encoded(text: str) -> bytes:
    """What a model wrote as bytes, whatever it is."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> tuple[str, bool]:
    """What a command wrote as text, and whether it is UTF-8; see `Text` for how it is shown where it is not."""
    try:
        return data.decode(), True
    except UnicodeDecodeError:
        return data.replace(b"\\x", b"\\x5cx").decode(errors="backslashreplace"), False


def split_at_end(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character that was cut off."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80 or byte > 0xF4:  # a character by itself, or no part of any
            return 0
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < length else 0
    return 0


def split_at_start(data: bytes) -> int:
    """How many bytes at the start are the end of a character that was cut off."""
    count = 0
    while count < min(3, len(data)) and data[count] & 0xC0 == 0x80:
        count += 1
    return count
