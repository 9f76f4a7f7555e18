"""Line endings as units: LF in the text of a model means any line ending, and the file keeps its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENDING = re.compile(rb"\r\n|\n")
# LF is no unit in the middle of a CRLF, and neither is CR.
_UNITS = {b"\n": rb"(?:\r\n|(?<!\r)\n)", b"\r": rb"\r(?!\n)"}


def places_of(data: bytes, old: bytes, *, overlapping: bool) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each occurrence of a text with LF line endings."""
    step = 1 if overlapping else len(old)
    if b"\r" not in data or (b"\n" not in old and b"\r" not in old):
        at = data.find(old)
        while at >= 0:
            yield at, at + len(old)
            at = data.find(old, at + step)
        return
    pattern = re.compile(b"".join(_UNITS.get(part, re.escape(part)) for part in re.split(rb"([\r\n])", old)))
    match = pattern.search(data)
    while match is not None:
        yield match.span()
        match = pattern.search(data, match.start() + 1 if overlapping else match.end())


def with_endings_of(new: bytes, old: bytes, place: bytes, fallback: bytes) -> bytes:
    """Return `new`, which has LF line endings, for the place where `old` is; `place` is its text there.

    Lines that are the same in both keep their endings; other lines get the ending that the line in their place had, or
    else that of the line above. `fallback` is for a place without line endings.
    """
    *before, last = old.split(b"\n")
    *after, new_last = new.split(b"\n")
    endings: list[bytes] = _ENDING.findall(place)
    shared = min(len(before), len(after))
    top = next((at for at in range(shared) if before[at] != after[at]), shared)
    below = 0
    if last == new_last:
        below = next((at for at in range(shared - top) if before[-1 - at] != after[-1 - at]), shared - top)
    middle = endings[top : len(endings) - below]
    fill = (middle or endings[:top] or endings or [fallback])[-1]
    middle = [*middle, *[fill] * len(after)][: len(after) - top - below]
    chosen = [*endings[:top], *middle, *endings[len(endings) - below :]]
    return b"".join(line + ending for line, ending in zip(after, chosen, strict=True)) + new_last


def ending_at(data: bytes, at: int) -> bytes:
    """Return the ending of the line at a position, or else of the line above; LF if there is neither."""
    end = data.find(b"\n", at)
    end = data.rfind(b"\n", 0, at) if end < 0 else end
    return b"\r\n" if end > 0 and data[end - 1 : end] == b"\r" else b"\n"
