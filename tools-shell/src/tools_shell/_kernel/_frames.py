"""Frames: what goes over the channel between the kernel and its host.

A frame is 16 random bytes, four of length, and fields; a reply begins with the bytes of its request. They are new each
time, so that nothing which the code prints can pass for a reply.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing for it would cost more than all of this module
if TYPE_CHECKING:
    from collections.abc import Iterable

NONCE = 16


def pack(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Fields, each a letter and what it says, in one piece with its length in front."""
    data = b"".join([letter + len(value).to_bytes(4, "big") + value for letter, value in fields])
    return len(data).to_bytes(4, "big") + data


def unpack(data: bytes) -> list[tuple[bytes, bytes]]:
    """The inverse of `pack`, without the length in front; ValueError when it is none."""
    fields, at = [], 0
    while at < len(data):
        start = at + 5
        end = start + int.from_bytes(data[at + 1 : start], "big")
        if not start <= end <= len(data):
            raise ValueError("a field is incomplete")
        fields.append((data[at : at + 1], data[start:end]))
        at = end
    return fields


def encoded(text: str) -> bytes:
    """Text as UTF-8; lone surrogates become visible."""
    return text.encode("utf-8", "backslashreplace")
