"""`Output`: everything that one command writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_shell._output._head_tail import HeadTail
from tools_shell._output._redactor import RedactedStream, Redactor

if TYPE_CHECKING:
    from tools_shell._output._head_tail import Text

SHOWN = 30_000  # bytes that a model reads


class Output:
    """Standard output and error, each by itself for programs, and merged in order of arrival for models."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        redactor = redactor or Redactor()
        self._merged = HeadTail(SHOWN // 2)
        self._streams = [(HeadTail(), RedactedStream(redactor)) for _ in range(2)]

    def add_stdout(self, chunk: bytes) -> None:
        self._add(0, chunk)

    def add_stderr(self, chunk: bytes) -> None:
        self._add(1, chunk)

    def _add(self, number: int, chunk: bytes) -> None:
        kept, stream = self._streams[number]
        self._keep(kept, stream.feed(chunk))

    def _keep(self, kept: HeadTail, data: bytes) -> None:
        kept.add(data)
        self._merged.add(data)

    def finish(self) -> None:
        """Add what was held back; nothing follows."""
        for kept, stream in self._streams:
            self._keep(kept, stream.end())

    @property
    def stdout(self) -> Text:
        return self._streams[0][0].text()

    @property
    def stderr(self) -> Text:
        return self._streams[1][0].text()

    @property
    def merged(self) -> Text:
        return self._merged.text()
