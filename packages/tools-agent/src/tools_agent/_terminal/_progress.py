"""The events of a run as lines: calls, their live output and results; the tokens and the price at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from tools_agent._terminal._prompt import show
from tools_agent._terminal._style import Line, Style, width_of
from tools_core import ToolError
from tools_core.command import is_terminal, json_text, location, one_line
from tools_core.text import visible

if TYPE_CHECKING:
    from tools_agent import Usage
    from tools_core import Result, Tool, ToolCall

MAX_LINES = 8  # of a result
_MAX_WIDTH = 300  # characters of a line
_ERROR_LINES = 16


def call_line(call: ToolCall, agent: str | None = None) -> Line:
    """Return the line for a call that starts."""
    arguments = call.raw_arguments or {}
    text = arguments if isinstance(arguments, str) else json_text(arguments, pretty=False)
    return Line.of("title", f"→ {f'{agent}: ' if agent else ''}{call.name} {_clipped(text)}")


def result_lines(result: Result, tool: Tool | None = None, *, printed: str = "") -> list[Line]:
    """Return a result without the middle of a long one, and the place at which a tool failed.

    `printed` is the beginning that was shown while the tool ran.
    """
    text = str(result)
    text = text.removeprefix(printed)
    style: Style = "text" if result.ok else "error"
    rows, limit = text.rstrip("\n").split("\n"), MAX_LINES if result.ok else _ERROR_LINES
    if (hidden := len(rows) - limit) > 0:
        rows = [*rows[: limit // 2], f"… {hidden} more lines …", *rows[-limit // 2 :]]
    mark = "← " if result.ok else "← error: "
    lines = [
        Line.of(style, f"{'' if number else mark}{_clipped(row)}", "  " * bool(number))
        for number, row in enumerate(rows)
    ]
    return [*lines, *([Line.of("error", f"at {place}", "  ")] if (place := _failure(result, tool)) else [])]


def _failure(result: Result, tool: Tool | None) -> str:
    """Return the file and line at which the code of a tool raised an exception that it did not mean for the model."""
    if tool is None or result.exception is None or isinstance(result.exception, ToolError):
        return ""
    function = getattr(tool, "__wrapped__", None) or type(tool)
    return location(result.exception, function.__module__.partition(".")[0])


def price_of(messages: Iterable[Any]) -> float | None:
    """Return the price of the replies among some messages in US dollars; None if it is not known."""
    from tools_agent import ProviderError, cost_of

    replies = [message for message in messages if message.role == "assistant" and message.usage is not None]
    try:
        return sum(map(cost_of, replies)) if any(reply.usage.input_tokens for reply in replies) else None
    except ProviderError:
        return None


def usage_text(usage: Usage, price: float | None) -> str:
    """Return the tokens, and the price if it is known."""
    text = f"tokens: {usage.input_tokens:,} in, {usage.output_tokens:,} out"
    return text if price is None else f"{text}; ${price:.4f}" if price < 1 else f"{text}; ${price:.2f}"


class RunOutput:
    """Prints the events of a run: text to an output if there is one, everything else to standard error."""

    def __init__(self, output: TextIO | None, tools: Mapping[str, Tool]) -> None:
        self._output, self._tools = output, tools
        self._text = ""  # the last text in the output
        self._live: dict[str | None, str] = {}  # the output of running calls, by call id
        self._width = 0  # of the progress that is shown at the moment
        self.finished: set[str | None] = set()  # the calls whose results were printed

    def event(self, event: Any) -> None:
        """Print an event."""
        from tools_agent import Retrying, TextDelta, ToolFinished, ToolProgress, ToolStarted

        if isinstance(event, TextDelta):
            self.write(event.content)
            return
        if isinstance(event, ToolProgress):
            self._progress(event)
            return
        self.end_line()
        if isinstance(event, ToolStarted):
            show([call_line(event.call, event.agent)])
        elif isinstance(event, ToolFinished):
            self.result(event.call.id, event.call.name, event.result)
        elif isinstance(event, Retrying):
            show([Line.of("note", f"retry in {event.delay:.0f} s: {event.reason}")])

    def result(self, call_id: str | None, name: str, result: Result) -> None:
        """Print the result of a call."""
        self.end_line()
        live = self._live.pop(call_id, "")
        complete = live[: live.rfind("\n") + 1]
        show(result_lines(result, self._tools.get(name), printed=complete))
        self.finished.add(call_id)

    def write(self, text: str) -> None:
        """Write text of the model."""
        self._text = text or self._text
        if self._output is not None:
            self._output.write(visible(text, keep_layout=True) if is_terminal(self._output) else text)
            self._output.flush()

    @property
    def is_empty(self) -> bool:
        """True if no text was written."""
        return not self._text

    def end_line(self) -> None:
        """Begin a new line after text, and erase the progress."""
        if self._text and not self._text.endswith("\n"):
            self.write("\n")
        if self._width:
            sys.stderr.write(f"\r{' ' * self._width}\r")
            self._width = 0

    def _progress(self, event: Any) -> None:
        """Print new output of a command, or show how far a tool is on a line that the next output replaces."""
        if (width := width_of(sys.stderr)) is None:
            return
        id, message = event.call.id, event.message
        # Tools that run commands report new output, with the number of characters so far.
        if event.total is None and ("\n" in message or id in self._live or event.done == len(message)):
            self.end_line()
            before = self._live.get(id, "")
            self._live[id] = text = before + message
            news, end = text[before.rfind("\n") + 1 :], text.rfind("\n") + 1
            if end > before.rfind("\n") + 1:
                show([Line.of("note", row, "  │ ") for row in news[: news.rfind("\n")].split("\n")])
            line = text[end:]
        else:
            line = f"{event.call.name}: {event.done:g}{f'/{event.total:g}' if event.total else ''} {message}"
        line = one_line(line)[: width - 1]
        sys.stderr.write(f"\r{line.ljust(self._width)}")
        sys.stderr.flush()
        self._width = len(line)


def _clipped(text: str) -> str:
    hidden = len(text) - _MAX_WIDTH
    return text if hidden <= 0 else f"{text[:_MAX_WIDTH]}… ({hidden:,} more characters)"
