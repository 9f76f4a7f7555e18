"""A text file that is to be edited: what its bytes mean, so that no byte changes that is not meant to."""

from __future__ import annotations

import codecs
import os
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._edit._occurrences import find_all, line_numbers
from tools_filesystem._read._encoding import CP1252, UTF_8, detect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_filesystem._read._encoding import Encoding

_BLOCK = 256 * 1024
_LONGEST_LINE = 64 * 1024  # bytes in which the end of a line is looked for


class TextFile:
    """An open file with its encoding."""

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor = descriptor
        self.path = path
        self.found = os.fstat(descriptor)
        self.size = self.found.st_size
        detected = detect(os.pread(descriptor, 8, 0))
        # Only a mark decides; without one, bytes are compared as UTF-8, and whatever else there is stays as it is.
        self.encoding = detected if detected is not None and detected.mark else UTF_8
        self._other: Encoding | None = None
        self._is_judged = False

    def find(self, wanted: bytes, most: int, *, overlapping: bool = True) -> Sequence[int]:
        """Where some bytes are, whole code units only."""
        return find_all(self.descriptor, wanted, most, width=self.encoding.width, overlapping=overlapping)

    def lines_of(self, positions: Sequence[int]) -> list[int]:
        """The numbers of the lines that ascending positions are in."""
        return line_numbers(self.descriptor, positions, self.encoding)

    def other_encoding(self) -> Encoding | None:
        """What the file is in when it has no mark and is not UTF-8; None when it is."""
        if not self._is_judged:
            self._other = self._judge()
            self._is_judged = True
        return self._other

    def _judge(self) -> Encoding | None:
        if self.encoding.mark:
            return None
        decoder = codecs.getincrementaldecoder("utf-8")()
        position = 0
        while position < self.size:
            block = os.pread(self.descriptor, _BLOCK, position)
            try:
                decoder.decode(block, final=not block or position + len(block) >= self.size)
            except UnicodeDecodeError:
                judged = detect(block)
                if judged is not None:  # as read_file names and shows it; broken UTF-8 is UTF-8
                    return CP1252 if judged == CP1252 else None
                message = f"{self.path!r} is not UTF-8, and its encoding is not known"
                raise ToolError(f"{message}: here old_string and new_string must be ASCII", "conflict") from None
            position += len(block) or self.size
        return None

    def ends_lines_with_crlf(self, position: int) -> bool:
        """Whether the line that a position is in, or else the one above, ends with CR and LF."""
        start = max(0, position - _LONGEST_LINE)
        start -= start % self.encoding.width
        after = os.pread(self.descriptor, _LONGEST_LINE, position)
        end = self.encoding.find_newline(after)
        text = after
        if end < 0:
            text = os.pread(self.descriptor, position - start, start)
            end = self.encoding.find_last_newline(text, len(text))
        if end < 0:
            return False
        before = position + end if text is after else start + end
        mark = self.encoding.encoded("\r")
        return os.pread(self.descriptor, len(mark), before - len(mark)) == mark if before >= len(mark) else False
