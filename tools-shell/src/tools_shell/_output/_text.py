"""Encoding and decoding of text."""

from __future__ import annotations


def encoded(text: str) -> bytes:
    """Encode text from a model, which may contain lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def printable(text: str) -> str:
    r"""Return output with `\xNN` for each byte that is not UTF-8, which was decoded by `surrogateescape`."""
    return text.encode("utf-8", "surrogateescape").decode(errors="backslashreplace")
