"""The events of a run as lines: calls, their live output and results; the tokens and the price at the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from tools_cli._terminal._prompt import show
from tools_cli._terminal._screen import fit, width_of
from tools_core import ToolError
from tools_core.command import is_terminal, json_text, location, one_line, stdout_to_stderr
from tools_core.text import visible
from tools_runtime.approval import Line, Style

if TYPE_CHECKING:
    from tools_agent import Usage
    from tools_core import Result, Tool, ToolCall

MAX_LINES = 8  # of a result
_MAX_WIDTH = 300  # characters of a line
_ERROR_LINES = 16
# In words that no model chooses.
_GRANTS = {
    "network": "a command had no network, or not this host; the option --network [HOST ...] allows it",
    "write": "a command could not write outside the workspace; the option --allow-write PATH allows it",
}
_SHORT = 1.0  # seconds up to which the duration of a call is left out


def call_line(call: ToolCall, agent: str | None = None) -> Line:
    """Return the line for a call that starts."""
    arguments = call.raw_arguments or {}
    text = arguments if isinstance(arguments, str) else json_text(arguments, pretty=False)
    return Line.of("title", f"→ {f'{agent}: ' if agent else ''}{call.name} {_clipped(text)}")


def result_lines(result: Result, tool: Tool | None = None, *, printed: str = "", label: str = "") -> list[Line]:
    """Return a result without the middle of a long one, and the place at which a tool failed.

    `printed` is the beginning that was shown while the tool ran. The label precedes it.
    """
    text = str(result)
    text = text.removeprefix(printed)
    style: Style = "text" if result.ok else "error"
    rows = folded(text.rstrip("\n").split("\n"), MAX_LINES if result.ok else _ERROR_LINES)
    mark = f"← {label}{'' if result.ok else 'error: '}"
    lines = [
        Line.of(style, f"{'' if number else mark}{_clipped(row)}", "  " * bool(number))
        for number, row in enumerate(rows)
    ]
    return [*lines, *([Line.of("error", f"at {place}", "  ")] if (place := _failure(result, tool)) else [])]


def folded(rows: Sequence[str], limit: int) -> Sequence[str]:
    """Return rows without the middle of a long text."""
    hidden = len(rows) - limit
    return [*rows[: limit // 2], f"… {hidden} more lines …", *rows[-limit // 2 :]] if hidden > 0 else rows


def seconds(duration: float) -> str:
    """Return a duration: `0.4 s`, `12 s`, `2:05 min`."""
    if duration < 10:
        return f"{duration:.1f} s"
    return f"{duration:.0f} s" if duration < 100 else f"{int(duration) // 60}:{int(duration) % 60:02} min"


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
    text = (
        f"tokens{' (estimated)' if usage.is_estimated else ''}: {usage.input_tokens:,} in, {usage.output_tokens:,} out"
    )
    return text if price is None else f"{text}; ${price:.4f}" if price < 1 else f"{text}; ${price:.2f}"


class Output(Protocol):
    """A front end: shows lines, text of the model, and the current activity with its progress."""

    @property
    def is_live(self) -> bool:
        """True if `report` shows anything."""
        ...

    def show(self, lines: Sequence[Line]) -> None: ...
    def write(self, text: str) -> None: ...
    def end_line(self) -> None: ...
    def discard_text(self) -> None: ...
    def report(self, activity: str, progress: str = "") -> None: ...


class TerminalOutput:
    """Plain output: text of the model goes to a stream if there is one, everything else to standard error."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._text = ""  # the last text of the model
        self._held = ""  # text that the stream has not received: a request that is repeated replaces it
        self._has_activity = False

    def show(self, lines: Sequence[Line]) -> None:
        """Print lines."""
        self.end_line()
        show(lines)

    def write(self, text: str) -> None:
        """Write text of the model: to a terminal at once, to a file or pipe when its line or reply ends."""
        self._text = text or self._text
        if self._stream is not None and is_terminal(self._stream):
            self.report("")
            self._stream.write(visible(text, keep_layout=True))
            self._stream.flush()
        else:
            self._held += text

    @property
    def is_live(self) -> bool:
        """True on a terminal."""
        return is_terminal(sys.stderr)

    def report(self, activity: str, progress: str = "") -> None:
        """Show progress on a line of the terminal that the next output replaces."""
        columns = width_of(sys.stderr)
        line = fit(one_line(f"{activity}: {progress}"), columns - 1) if progress and columns else ""
        if line or self._has_activity:
            sys.stderr.write(f"\r{' ' * ((columns or 1) - 1)}\r{line}")
            sys.stderr.flush()
        self._has_activity = bool(line)

    @property
    def is_empty(self) -> bool:
        """True if no text was written."""
        return not self._text

    def end_line(self) -> None:
        """Begin a new line after text, and erase the activity."""
        if self._text and not self._text.endswith("\n"):
            self.write("\n")
        if self._stream is not None and self._held:
            self._stream.write(self._held)
            self._stream.flush()
        self._held = ""
        self.report("")

    def discard_text(self) -> None:
        """Drop the text of a truncated reply; on a terminal, only end its line."""
        if self._held:
            self._text = self._held = ""
        self.end_line()


@contextmanager
def standard_output() -> Generator[TextIO]:
    """Yield standard output for text of the model; tools print to standard error meanwhile."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace") as stream, stdout_to_stderr():
        yield stream


class EventPrinter:
    """Shows the events of a run."""

    def __init__(self, output: Output, tools: Mapping[str, Tool]) -> None:
        self._output, self._tools = output, tools
        self._started: dict[str | None, tuple[str, float]] = {}  # the names and times of running calls, by call id
        self._live: dict[str | None, str] = {}  # the output of running calls, by call id
        self._latest: str | None = None  # the call whose lines are the last ones
        self.finished: set[str | None] = set()  # the calls whose results were shown
        self._warnings: dict[str, None] = {}  # of all results, once each
        self._missing: dict[str, None] = {}  # the grants that commands did not have

    def event(self, event: Any) -> None:
        """Show an event."""
        from tools_agent import Retrying, TextDelta, TextDone, ToolFinished, ToolProgress, ToolStarted

        if isinstance(event, TextDelta):
            self._output.write(event.content)
        elif isinstance(event, TextDone):
            self._output.end_line()
        elif isinstance(event, ToolProgress):
            self._progress(event)
        elif isinstance(event, ToolStarted):
            self.call(event.call, event.agent)
        elif isinstance(event, ToolFinished):
            self.result(event.call.id, event.call.name, event.result)
        elif isinstance(event, Retrying):
            self._output.discard_text()
            self._output.show([Line.of("note", f"the reply begins again in {event.delay:.0f} s: {event.reason}")])

    def call(self, call: ToolCall, agent: str | None = None) -> None:
        """Show a call that starts."""
        self._started[call.id] = (call.name, time.monotonic())
        self._latest = call.id
        self._output.show([call_line(call, agent)])
        self._report()

    def result(self, call_id: str | None, name: str, result: Result) -> None:
        """Show the result of a call."""
        live = self._live.pop(call_id, "")
        _, started = self._started.pop(call_id, (name, time.monotonic()))
        duration = time.monotonic() - started
        label = "" if call_id == self._latest else f"{name}: "
        if duration > _SHORT:
            label += f"({seconds(duration)}) "
        complete = live[: live.rfind("\n") + 1]
        self._latest = None
        self._output.show(result_lines(result, self._tools.get(name), printed=complete, label=label))
        self.finished.add(call_id)
        metadata = result.metadata or {}
        self._warnings |= dict.fromkeys(map(str, metadata.get("warnings", ())))
        self._missing |= dict.fromkeys(
            text for name, text in _GRANTS.items() if name in metadata.get("missing_grants", ())
        )
        self._report()

    def show_warnings(self) -> None:
        """Repeat the warnings of all results, and name the options that grant commands what they did not have."""
        if lines := [Line.of("error", f"warning: {text}") for text in self._warnings]:
            self._output.show(lines)
        if lines := [Line.of("note", text) for text in self._missing]:
            self._output.show(lines)

    def _report(self) -> None:
        self._output.report(", ".join(name for name, _ in self._started.values()))

    def _progress(self, event: Any) -> None:
        """Show new output of a command, or how far a tool is."""
        if not self._output.is_live:
            return
        id, progress = event.call.id, event.message
        # Tools that run commands report new output, with the number of characters so far.
        if event.total is None and ("\n" in progress or id in self._live or event.done == len(progress)):
            before = self._live.get(id, "")
            self._live[id] = text = before + progress
            news, end = text[before.rfind("\n") + 1 :], text.rfind("\n") + 1
            if end > before.rfind("\n") + 1:
                self._output.show([Line.of("note", row, "  │ ") for row in news[: news.rfind("\n")].split("\n")])
            progress = text[end:]
        else:
            progress = f"{event.done:g}{f'/{event.total:g}' if event.total else ''} {progress}"
        self._output.report(event.call.name, progress)


def _clipped(text: str) -> str:
    hidden = len(text) - _MAX_WIDTH
    return text if hidden <= 0 else f"{text[:_MAX_WIDTH]}… ({hidden:,} more characters)"
