"""Results too long for a model: their head and tail, and a tool that reads the rest."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Tool, ToolError, tool
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._content import with_content
from tools_runtime.plugins._output_store import Store
from tools_runtime.plugins._utf8 import boundary, decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from tools_core import Result

_LEAST = 8  # bytes that read_output gives at least: a pair of surrogates, and so one step on
_PARTS = 10  # texts of one result that are cut each by itself; where there are more, those in a row are one


class OutputBudget:
    """Cuts what the model reads of a result to its head and its tail, and keeps the whole for the tool `read_output`.

    A line between them, which is not counted, says how much was left out and how to read it. `budget.tool` is that
    tool: `Executor([*tools, budget.tool], hooks=[budget])`. `result.output` stays whole, for programs; images and files
    are left alone; the message of an error is cut, too. `metadata["cut"]` has the numbers. Who knows a handle can read
    the output, and nobody can guess one.

    Args:
        max_bytes: How many bytes of UTF-8 a model is given of one result; 50,000 by default.
        tokens: The same in tokens, in place of `max_bytes`.
        count: Counts the tokens of a text; by default 4 bytes are taken for one.
        outputs: How many outputs are kept; the oldest go first.
        max_kept: How many bytes they may take together. Long ones are kept in temporary files without a name.
    """

    def __init__(
        self,
        max_bytes: int | None = None,
        *,
        tokens: int | None = None,
        count: Callable[[str], int] | None = None,
        outputs: int = 100,
        max_kept: int = 100_000_000,
    ) -> None:
        if max_bytes is not None and tokens is not None:
            raise ValueError("the budget is in max_bytes or in tokens, not in both")
        if count is not None and tokens is None:
            raise ValueError("count counts tokens: say how many there may be, tokens=...")
        if min(1 if tokens is None else tokens, 1 if max_bytes is None else max_bytes, outputs, max_kept) < 1:
            raise ValueError("max_bytes, tokens, outputs and max_kept are 1 or more")
        self.max_bytes = (50_000 if max_bytes is None else max_bytes) if tokens is None else tokens * 4
        self.tokens = tokens
        self._count = count
        self._store = Store(outputs, max_kept)
        # A part that the tool reads: with tokens counted it may hold more than 4 bytes for each.
        self._part = max(self.max_bytes * (1 if count is None else 4), _LEAST)
        self.tool = _reader(self._store, self._part, self._start_of)

    @hookimpl
    def around_tool_call(self, tool: Tool | None) -> Generator[Any, Any, Result | None]:
        """Cut what is too long."""
        if tool is self.tool:  # keeps to the budget by itself
            return None
        result: Result = yield
        content = result.content
        if isinstance(content, str):
            if self._fits(content):
                return None
            text, cut = self._cut(content, 1)
            return with_content(result, text, {"cut": cut})
        texts = [part for part in content if isinstance(part, str)]
        if not texts or self._fits("\n".join(texts)):
            return None
        blocks: Sequence[Any] = content
        if len(texts) > _PARTS:
            blocks = _joined(content)
            texts = [part for part in blocks if isinstance(part, str)]
        parts: list[Any] = []
        cuts: list[dict[str, Any]] = []
        for part in blocks:
            if isinstance(part, str) and not self._fits(part, len(texts)):
                text, cut = self._cut(part, len(texts))
                parts.append(text)
                cuts.append(cut)
            else:
                parts.append(part)
        return with_content(result, parts, {"cut": cuts[0] if len(cuts) == 1 else cuts})

    def close(self) -> None:
        """Forget the outputs that are kept; their handles are unknown from then on."""
        self._store.clear()

    def _fits(self, text: str, parts: int = 1) -> bool:
        """Whether a text is within its part of the budget."""
        if self._count is not None and self.tokens is not None:
            return self._count(text) <= self.tokens // parts
        most = self.max_bytes // parts
        return len(text) <= most and (len(text) * 4 <= most or text.isascii() or len(encoded(text)) <= most)

    def _room(self, data: bytes, parts: int) -> int:
        """How many bytes of a text are about within its part of the budget."""
        if self._count is None or self.tokens is None:
            return self.max_bytes // parts
        return len(data) * (self.tokens // parts) // max(1, self._count(decoded(data)))

    def _cut(self, text: str, parts: int) -> tuple[str, dict[str, Any]]:
        data = encoded(text)
        room = min(self._room(data, parts), len(data))
        while True:
            start = boundary(data, room - room // 2)
            end = max(start, boundary(data, len(data) - room // 2, 1))
            head, tail = decoded(data[:start]), decoded(data[end:])
            if self._count is None or room == 0 or self._fits(head + tail, parts):
                break
            room = room * 9 // 10  # tokens are not spread evenly
        handle = self._store.keep(data)
        how = "could not be kept" if handle is None else f'read_output(handle="{handle}", offset={start}) reads on'
        lines = data.count(b"\n", start, end)
        notice = f"[{end - start} of {len(data)} bytes, with {lines} line breaks, are left out here; {how}]"
        return f"{head}\n{notice}\n{tail}", {
            "bytes": end - start, "lines": lines, "of": len(data), "offset": start, "handle": handle,
        }  # fmt: skip

    def _start_of(self, data: bytes, limit: int | None) -> int:
        """How many bytes of a part of an output may be shown."""
        most = self._part if limit is None else min(self._part, max(limit, _LEAST))
        at = boundary(data, min(most, len(data)))
        while self._count is not None and at > _LEAST and not self._fits(decoded(data[:at])):
            at = boundary(data, max(_LEAST, min(self._room(data[:at], 1), at * 9 // 10)))
        return at


def _joined(content: Sequence[Any]) -> list[Any]:
    """Texts in a row as one: the notice about each would take more than what it is about."""
    made: list[Any] = []
    for is_text, group in groupby(content, lambda part: isinstance(part, str)):
        parts = list(group)
        made += ["\n".join(parts)] if is_text else parts
    return made


def _reader(store: Store, part: int, start_of: Callable[[bytes, int | None], int]) -> Tool:
    def read_output(
        handle: Annotated[str, "The handle that the notice in the output gives"],
        offset: Annotated[int, "How many bytes to skip"] = 0,
        limit: Annotated[int | None, "How many bytes to read; by default as many as may be shown at once"] = None,
    ) -> str:
        """Read on in an output that was too long to be shown as a whole."""
        if offset < 0 or (limit is not None and limit < 1):
            raise ToolError("offset is 0 or more, and limit 1 or more", "validation_error")
        found = store.read(handle, offset, part + _LEAST)  # some more, to see where a character ends
        if found is None:
            raise ToolError("no output is kept under this handle; call the tool again that made it", "not_found")
        data, size = found
        skipped = 0
        while skipped < len(data) and skipped < 4 and data[skipped] & 0xC0 == 0x80:
            skipped += 1  # an offset in the middle of a character
        data = data[skipped:]
        start = min(offset + skipped, size)
        end = start + start_of(data, limit)
        more = f"go on with offset={end}" if end < size else "this is the end"
        return f"{decoded(data[: end - start])}\n[bytes {start} to {end} of {size}; {more}]"

    # The outputs are in this process, so that is where they are read.
    return tool(read_output, read_only=True, idempotent=True, open_world=False, runtime="inline")
