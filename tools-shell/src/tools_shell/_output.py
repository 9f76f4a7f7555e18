"""What a command writes: head and tail are kept, and what falls out between them is counted."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._text import decoded, split_at_end, split_at_start

if TYPE_CHECKING:
    from tools_shell._secrets import Redactor

KEEP = 64 * 1024  # bytes of the head, and as many of the tail, of one stream
_BEFORE = 4 * 1024  # bytes in front of the tail, in which a secret may begin that reaches into it
_MOST_CHUNKS = 64  # many small ones would take more memory than what is in them


class Text(NamedTuple):
    r"""A stream as text; `left_out` counts the bytes of it that are not shown.

    Bytes that are no UTF-8 are shown as `\xNN`, and where there are such, a backslash that was written in front of an
    `x` as `\x5c`: put a byte for each `\xNN`, and it is as it was written.
    """

    text: str
    left_out: int
    is_utf8: bool


_NOTHING = Text("", 0, True)


class Kept:
    """The head and the tail of one stream, in memory that does not grow with it."""

    __slots__ = ("_head", "_tail", "_tail_size", "size")

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()  # as it came: joining each time would copy all of it
        self._tail_size = 0
        self.size = 0

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        room = KEEP - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk)
        self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0]) >= KEEP + _BEFORE:
            self._tail_size -= len(self._tail.popleft())
        if len(self._tail) > _MOST_CHUNKS:
            joined = b"".join(self._tail)[-KEEP - _BEFORE :]
            self._tail, self._tail_size = deque([joined]), len(joined)

    def take(self) -> Kept:
        """What was kept so far; what comes later is kept apart from it."""
        taken = Kept()
        taken._head, self._head = self._head, taken._head
        taken._tail, self._tail = self._tail, taken._tail
        taken._tail_size, self._tail_size = self._tail_size, 0
        taken.size, self.size = self.size, 0
        return taken

    def text(self, redactor: Redactor | None = None) -> Text:
        """Decode what was kept, without secrets; where bytes are missing, a line in between says how many."""
        if not self.size:
            return _NOTHING
        head, tail = bytes(self._head), b"".join(self._tail)
        if self.size <= 2 * KEEP:
            whole = head + tail
            text, is_utf8 = decoded(redactor.clean(whole, begins=True, ends=True) if redactor else whole)
            return Text(text, 0, is_utf8)
        head, after = _cut(head, len(head) - split_at_end(head))
        start = len(tail) - KEEP
        before, tail = _cut(tail, start + split_at_start(tail[start : start + 4]))
        left_out = self.size - len(head) - len(tail)
        if redactor:
            head = redactor.clean(head, after=after, begins=True)
            tail = redactor.clean(tail, before, ends=True)
        first, first_ok = decoded(head)
        last, last_ok = decoded(tail)
        return Text(f"{first}\n[... {left_out} bytes left out ...]\n{last}", left_out, first_ok and last_ok)


def _cut(data: bytes, at: int) -> tuple[bytes, bytes]:
    return data[:at], data[at:]
