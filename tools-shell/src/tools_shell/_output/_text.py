"""Text as bytes, and bytes as text."""

from __future__ import annotations


def encoded(text: str) -> bytes:
    """Encode what a model wrote; lone surrogates are allowed."""
    return text.encode("utf-8", "surrogatepass")


def printable(text: str) -> str:
    r"""Return output with `\xNN` for each byte that is not UTF-8, which was decoded by `surrogateescape`."""
    return text.encode("utf-8", "surrogateescape").decode(errors="backslashreplace")
