"""`ThinkingTags`: thoughts that a server sends in tags at the start of a reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tools_agent._events import Delta, ReasoningDelta

_TAGS = {
    "<think>": "</think>", "<thinking>": "</thinking>", "<thought>": "</thought>", "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]", "◁think▷": "◁/think▷",
}  # fmt: skip
_ALONE = re.compile(r"^[ \t]*</think>[ \t]*$\s*", re.MULTILINE)


class ThinkingTags:
    """Split the text of a reply into thoughts and the rest, which `text` receives.

    Only tags at the start count: a model may write about them later.
    """

    def __init__(self, text: Callable[[str], Iterator[Delta]]) -> None:
        self._text = text
        self._pending: str | None = ""  # text that may become a tag; None after the first other text
        self._end: str | None = None  # the tag that ends the thoughts
        self._thoughts: list[str] = []

    def feed(self, delta: str) -> Iterator[Delta]:
        """Yield the deltas in a piece of text."""
        if self._pending is None:
            yield from self._text(delta)
            return
        self._pending += delta
        while self._pending is not None:
            if self._end is not None:
                thought, tag, rest = self._pending.partition(self._end)
                start = "" if tag else _start_of(self._end, thought)
                thought = thought.removesuffix(start)
                if thought:
                    self._thoughts.append(thought)
                    yield ReasoningDelta(thought)
                self._pending = rest if tag else start
                if not tag:
                    return
                self._end = None
            text = self._pending.lstrip()
            opened = next((tag for tag in _TAGS if text.startswith(tag)), None)
            if opened is not None:
                self._pending, self._end = text.removeprefix(opened), _TAGS[opened]
            elif not text or any(tag.startswith(text) for tag in _TAGS):
                return
            else:
                pending = text if self._thoughts else self._pending
                self._pending = None
                yield from self._text(pending)

    def close(self) -> Iterator[Delta]:
        """Yield the rest of the text; thoughts that never ended are the reply itself."""
        pending, self._pending = self._pending, None
        if self._end is not None and (text := "".join(self._thoughts) + (pending or "")).strip():
            yield from self._text(text.lstrip())
        elif pending and not (self._thoughts and pending.isspace()):
            yield from self._text(pending)


def without_thoughts(text: str) -> str:
    """Return a reply without the thoughts before `</think>`: some servers send only the end of these tags."""
    matches = list(_ALONE.finditer(text))
    if len(matches) != 1 or "<think>" in text or text[: matches[0].start()].count("```") % 2:
        return text
    return text[matches[0].end() :]


def _start_of(tag: str, text: str) -> str:
    """Return the end of a text that may be the start of a tag."""
    return next((tag[:size] for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), "")
