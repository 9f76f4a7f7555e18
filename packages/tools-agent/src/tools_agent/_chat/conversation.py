"""`Conversation`: the lines above the input, which no longer change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tools_agent._chat.rendering import arguments_of, call_line, folded, indented, whole_call
from tools_agent._chat.screens import Screen
from tools_agent._messages import Assistant, Message, ToolResult, User
from tools_agent.approval import Line
from tools_core import Result, ToolCall
from tools_core.text import visible

_MAX_MESSAGES = 30  # of a session that is opened
_FILE = "\n\n<file path="  # begins an attached text file


class Conversation:
    """Appends prompts, replies, folded tool calls and remarks to the screen, with empty lines between paragraphs."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._last = ""  # the kind of the last output
        self._calls: list[tuple[ToolCall, Result]] = []  # for `unfold`
        self._unfolded = 0

    def print(self, renderable: RenderableType, kind: str = "text") -> None:
        """Append a paragraph; calls follow each other without an empty line, and so do remarks."""
        has_gap = not (kind == self._last and kind in ("call", "note"))
        self._last = kind
        self.screen.print(Group(Text(""), renderable) if has_gap else renderable)

    def lines(self, lines: Sequence[Line]) -> None:
        """Append lines, such as a diff."""
        self.print(self.screen.painter.lines(lines, self.screen.width))

    def note(self, text: str, style: str = "note") -> None:
        """Append a remark of the chat, or a line that a tool has printed."""
        self.print(indented(Text(visible(text, keep_layout=True), style=style)), "note")

    def prompt(self, text: str) -> None:
        """Append a prompt, without its attachments."""
        lines = visible(text.partition(_FILE)[0], keep_layout=True).splitlines() or [""]
        self.print(Text("\n".join([f"> {lines[0]}", *(f"  {line}" for line in lines[1:])]), style="user"))

    def reply(self, text: str) -> None:
        """Append Markdown of the model."""
        if text.strip():
            self.print(self.screen.painter.markdown(text))

    def call_started(self, call: ToolCall, name: str) -> None:
        """Append a running call, if the screen cannot show it elsewhere."""
        if self.screen.painter.is_plain:
            self.print(call_line("*", "ask", name, arguments_of(call), "", self.screen.width), "call")

    def call(self, call: ToolCall, result: Result, name: str, duration: str = "") -> None:
        """Append a call with its result, folded to two lines."""
        self._calls.append((call, result))
        self._unfolded = 0
        width = self.screen.width
        mark = ("+" if result.ok else "x") if self.screen.painter.is_plain else ("●" if result.ok else "✗")
        line = call_line(mark, "good" if result.ok else "bad", name, arguments_of(call), duration, width)
        self.print(Group(line, folded(result, width)), "call")

    def unfold(self) -> None:
        """Append the last folded call uncut; the next time the call before it."""
        if self._unfolded >= len(self._calls):
            self.note("no other call to show")
            return
        self._unfolded += 1
        call, result = self._calls[-self._unfolded]
        self.lines(whole_call(call.name, arguments_of(call), result))

    def messages(self, messages: Iterable[Message]) -> None:
        """Append the end of a session that is opened."""
        self._calls.clear()
        calls: dict[str, ToolCall] = {}
        for message in [*messages][-_MAX_MESSAGES:]:
            if isinstance(message, User):
                self.prompt(message.content)
            elif isinstance(message, Assistant):
                calls |= {call.id or "": call for call in message.tool_calls}
                self.reply(message.content)
            elif isinstance(message, ToolResult) and (call := calls.get(message.tool_call_id)):
                self.call(call, message.result, message.name)
