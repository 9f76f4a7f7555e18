"""Bytes as text, without losing any."""

from __future__ import annotations


def encoded(text: str) -> bytes:
    """Encode what a model wrote; lone surrogates are allowed."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> tuple[str, bool]:
    r"""Decode the output of a command; returns the text, and whether the bytes were UTF-8.

    Bytes that are not UTF-8 become `\xNN`. Where there are any, a backslash before an `x` becomes `\x5c`, so that the
    original bytes can be restored.
    """
    try:
        return data.decode(), True
    except UnicodeDecodeError:
        return data.replace(b"\\x", b"\\x5cx").decode(errors="backslashreplace"), False


def incomplete_end(data: bytes) -> int:
    """Return the number of bytes at the end that begin an incomplete character."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80 or byte > 0xF4:  # a whole character, or not UTF-8
            return 0
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < length else 0
    return 0


def incomplete_start(data: bytes) -> int:
    """Return the number of bytes at the start that end a character."""
    count = 0
    while count < min(3, len(data)) and data[count] & 0xC0 == 0x80:
        count += 1
    return count
