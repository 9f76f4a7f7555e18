"""What goes over the channel of a kernel: requests to run code, and replies that are known by the same nonce."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools_core import Image
from tools_shell._kernel._frames import NONCE, pack, unpack
from tools_shell._text import encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

_ERROR = {b"t": "type", b"m": "message", b"b": "traceback"}
_SIGNATURES = {b"p": b"\x89PNG\r\n\x1a\n", b"j": b"\xff\xd8\xff"}


class Reply(NamedTuple):
    """What the kernel says of one piece of code."""

    value: str | None
    is_cut: bool  # something is left out of the value
    markdown: str | None
    error: dict[str, str] | None  # type, message and traceback of what was raised
    exit_code: int | None  # of a SystemExit
    images: Sequence[Image]
    notes: Sequence[str]


def request(nonce: bytes, code: str, name: str, *, once: bool = False, interrupts: int = 0) -> bytes:
    """The frame that has `code` run; so many `interrupts` were sent earlier and may still be on their way."""
    program = code.removeprefix("\ufeff")  # which a file may begin with, too
    fields = [(b"c", encoded(program)), (b"n", name.encode())]
    if once:
        fields.append((b"o", b""))
    if interrupts:
        fields.append((b"s", b"%d" % interrupts))
    return nonce + pack(fields)


def find_reply(data: bytes | bytearray, nonce: bytes, start: int = 0) -> Reply | None:
    """The reply that begins with `nonce`, whatever the code has written around it; None if it is not all there.

    Nothing before `start` is looked at.
    """
    at = data.find(nonce, start)
    content = at + NONCE + 4
    if at < 0 or len(data) < content:
        return None
    end = content + int.from_bytes(data[content - 4 : content], "big")
    return None if len(data) < end else _reply(unpack(bytes(data[content:end])))


def _reply(fields: Sequence[tuple[bytes, bytes]]) -> Reply:
    facts: dict[bytes, str] = {}
    images: list[Image] = []
    notes: list[str] = []
    for letter, data in fields:
        if letter not in _SIGNATURES:
            facts[letter] = text = data.decode(errors="replace")
            if letter == b"n":
                notes.append(text)
        elif data.startswith(_SIGNATURES[letter]):
            images.append(Image(data))
    error = {name: facts.get(letter, "") for letter, name in _ERROR.items()} if b"t" in facts else None
    exit_code = int(facts[b"x"]) if b"x" in facts else None
    return Reply(facts.get(b"v"), b"V" in facts, facts.get(b"r"), error, exit_code, images, notes)
