"""`Turn`: what the user sees of a turn while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.text import Text

from tools_agent._chat.rendering import Painter, arguments_of, call_line, indented, seconds, split_blocks
from tools_agent._events import ToolProgress
from tools_core import ToolCall
from tools_core.text import visible

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@dataclass(slots=True)
class RunningCall:
    """A tool call that runs."""

    call: ToolCall
    name: str
    started: float = field(default_factory=time.monotonic)
    progress: str = ""

    @property
    def duration(self) -> str:
        """The time since its start."""
        return seconds(time.monotonic() - self.started)


class Turn:
    """The incomplete end of the reply, the running calls, and the state of the model."""

    def __init__(self) -> None:
        self.activity = "thinking"
        self.is_interrupted = False
        self.calls: dict[str, RunningCall] = {}
        self._started = time.monotonic()
        self._text = ""

    def add_text(self, piece: str) -> str:
        """Add a piece of the reply, and return the blocks that are complete."""
        self._text += piece
        if "\n" not in piece:
            return ""
        complete, self._text = split_blocks(visible(self._text, keep_layout=True))
        return complete

    def take_text(self) -> str:
        """Return the rest of the reply, and forget it."""
        text, self._text = self._text, ""
        return text

    def start(self, call: ToolCall, name: str) -> None:
        """Add a running call."""
        self.calls[call.id or ""] = RunningCall(call, name)

    def report(self, event: ToolProgress) -> None:
        """Add the progress of a call."""
        if (running := self.calls.get(event.call.id or "")) is not None:
            amount = f"{event.done:g}/{event.total:g} " if event.total else ""
            line = event.message.strip().rpartition("\n")[2]  # commands report their output
            running.progress = visible(f"{amount}{line}".strip())

    def report_copy(self, done: int, total: int) -> None:
        """Show that the workspace is being copied."""
        self.activity = f"copying the workspace: {done:,} of {total:,} files" if done < total else "thinking"

    def live(self, painter: Painter, width: int, *, is_waiting: bool) -> RenderableType:
        """Return the part that still changes; `is_waiting` for an answer of the user."""
        frame = _FRAMES[int(time.monotonic() * 10) % len(_FRAMES)]
        parts: list[RenderableType] = []
        if self._text.strip():
            parts += [Text(""), painter.markdown(self._text)]
        for running in self.calls.values():
            parts.append(call_line(frame, "ask", running.name, arguments_of(running.call), running.duration, width))
            if running.progress:
                parts.append(indented(Text(running.progress, style="note", no_wrap=True, overflow="ellipsis")))
        if self.calls:
            parts.insert(0, Text(""))
        if not parts and not is_waiting:
            passed = seconds(time.monotonic() - self._started)
            parts.append(Text(f"\n{frame} {self.activity} {passed}  (Ctrl-C interrupts)", style="note"))
        return Group(*parts)
