"""Text as bytes, cut between characters."""

from __future__ import annotations


def encoded(text: str) -> bytes:
    """UTF-8, lone surrogates included."""
    return text.encode(errors="surrogatepass")


def decoded(data: bytes) -> str:
    """What `encoded` was given."""
    return data.decode(errors="surrogatepass")


def boundary(data: bytes, at: int, step: int = -1) -> int:
    """The nearest place, backwards or forwards, that cuts no character in two, nor a pair of surrogates."""
    while 0 < at < len(data) and data[at] & 0xC0 == 0x80:
        at += step
    if 3 <= at < len(data) and _is_high(data, at - 3) and _is_low(data, at):
        at += 3 * step
    return at


def _is_high(data: bytes, at: int) -> bool:
    return data[at] == 0xED and 0xA0 <= data[at + 1] <= 0xAF


def _is_low(data: bytes, at: int) -> bool:
    return data[at] == 0xED and data[at + 1 : at + 2] >= b"\xb0"
