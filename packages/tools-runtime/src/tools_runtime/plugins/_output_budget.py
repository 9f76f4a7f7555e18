"""`OutputBudget`: shortens results that are too long for a model, and a tool that reads the rest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Tool, ToolError, tool
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._calls import with_content
from tools_runtime.plugins._memory import Bounded, PerKey

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import Result
    from tools_runtime.plugins._memory import Key


class OutputBudget:
    """Limit the content of a result to its head and tail, and store the whole text for the tool `read_output`.

    A line between them, which does not count, tells the model how much was cut and how to read it. `budget.tool` is
    that tool: `Executor([*tools, budget.tool], hooks=[budget])`. `result.output` stays whole, for programs. Several
    texts are cut as one, followed by the images and files; error messages are cut as well. `metadata["cut"]` has the
    numbers. The tool reads only the outputs of the run that calls it. A tool finds the limit in
    `context.max_characters`, and may return a page that fits.

    Args:
        max_characters: The number of characters of one result that a model receives.
        outputs: The number of stored outputs for a run; the least recently used are dropped first.
        max_stored: The total number of their characters.
        key: Returns the key under which calls share outputs, instead of the run.
    """

    blocks = False
    nested = False  # each agent and executor has its own

    def __init__(
        self,
        max_characters: int = 30_000,
        *,
        outputs: int = 100,
        max_stored: int = 10_000_000,
        key: Key | None = None,
    ) -> None:
        if max_characters < 1:
            raise ValueError(f"max_characters must be at least 1, got {max_characters!r}")
        Bounded(outputs, max_stored)  # checks them
        self.max_characters = max_characters
        self._stores = PerKey(lambda: Bounded[str, str](outputs, max_stored), key, max_keys=200)
        self.tool = self._make_tool()

    @hookimpl
    def around_tool_call(self, tool: Tool | None, context: Context) -> Generator[Any, Any, Result | None]:
        """Cut content that is too long."""
        if tool is self.tool:  # its output is within the budget
            return None
        room = context.max_characters
        context.max_characters = self.max_characters if room is None else min(room, self.max_characters)
        result: Result = yield
        content = result.content
        parts = (content,) if isinstance(content, str) else content
        if sum(len(part) for part in parts if isinstance(part, str)) <= self.max_characters:
            return None
        text, cut = self._cut("\n".join(part for part in parts if isinstance(part, str)), context)
        others = [part for part in parts if not isinstance(part, str)]
        return with_content(result, [text, *others] if others else text, {"cut": cut})

    def _cut(self, text: str, context: Context) -> tuple[str, dict[str, Any]]:
        room = self.max_characters
        start, end = room - room // 2, len(text) - room // 2
        handle = os.urandom(6).hex()
        is_stored = self._stores.of(context).add(handle, text, len(text))
        how = f'read_output(handle="{handle}", offset={start}) continues' if is_stored else "it was not stored"
        lines = text.count("\n", start, end)
        notice = f"[{end - start} of {len(text)} characters ({lines} line breaks) are omitted; {how}]"
        cut: dict[str, Any] = {"characters": end - start, "lines": lines, "of": len(text), "offset": start}
        cut["handle"] = handle if is_stored else None
        return f"{text[:start]}\n{notice}\n{text[end:]}", cut

    def _make_tool(self) -> Tool:
        def read_output(
            context: Context,
            handle: Annotated[str, "The handle from the notice in the output"],
            offset: Annotated[int, "Number of characters to skip"] = 0,
            limit: Annotated[int | None, "Number of characters to read; by default as many as possible"] = None,
        ) -> str:
            """Continue reading an output that was too long to be shown whole."""
            if offset < 0 or (limit is not None and limit < 1):
                raise ToolError("offset must be at least 0, and limit at least 1", "validation_error")
            text = self._stores.of(context).find(handle)
            if text is None:
                raise ToolError("no output is stored under this handle; call the tool again that made it", "not_found")
            start = min(offset, len(text))
            end = min(start + min(limit or self.max_characters, self.max_characters), len(text))
            more = f"continue with offset={end}" if end < len(text) else "this is the end"
            return f"{text[start:end]}\n[characters {start} to {end} of {len(text)}; {more}]"

        return tool(read_output, read_only=True, idempotent=True, open_world=False, stateful=True)
