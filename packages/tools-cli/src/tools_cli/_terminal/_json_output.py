"""`--output-format json` and `stream-json`: a run as JSON for other programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from tools_core.command import CommandError, is_terminal, json_text

if TYPE_CHECKING:
    from tools_agent import Response, Session

FORMATS = ("text", "json", "stream-json")


class JsonLines:
    """Writes the start of a run, and each of its events, as one line of JSON; nothing unless the format is a stream."""

    def __init__(self, stream: TextIO, output_format: str) -> None:
        self._stream = stream if output_format == "stream-json" else None

    def start(self, session: Session, model: str, workspace: str, tools: list[str]) -> None:
        """Write the line `start`."""
        self._write({"type": "start", "session": session.id, "model": model, "workspace": workspace, "tools": tools})

    def event(self, event: Any) -> None:
        """Write the line of an event."""
        from tools_agent import event_to_dict

        if self._stream is not None:
            self._write(event_to_dict(event))

    def _write(self, value: dict[str, Any]) -> None:
        if self._stream is not None:
            self._stream.write(json_text(value, pretty=False) + "\n")
            self._stream.flush()


def write_last(value: dict[str, Any], output_format: str) -> None:
    """Write the last object of a run to standard output; nothing as text."""
    if output_format != "text":
        is_pretty = output_format == "json" and is_terminal(sys.stdout)
        sys.stdout.write(json_text(value, pretty=is_pretty) + "\n")


def end_of(session: Session, response: Response[Any] | None, price: float | None, code: int) -> dict[str, Any]:
    """Return the end of a run as JSON values; without a response a signal has interrupted it."""
    end = {"type": "end", "session": session.id, "exit_code": code}
    if response is None:
        return {**end, "outcome": "interrupted", "reason": "by Ctrl-C" if code == 130 else "by SIGTERM"}
    return {
        **end,
        "outcome": response.outcome,
        "content": response.content,
        "reason": response.interrupt_reason or response.detail,
        "pending": [dict(request) for request in response.pending],
        "steps": response.steps,
        "usage": response.usage.model_dump(),
        "price": price,
    }


def error_of(error: Exception) -> dict[str, Any]:
    """Return an error that ends the command as JSON values."""
    is_expected = isinstance(error, CommandError)
    hints, code = (list(error.hints), error.status) if isinstance(error, CommandError) else ([], 1)
    message = str(error) if is_expected else f"{type(error).__name__}: {error}"
    return {"type": "error", "message": message, "hints": hints, "exit_code": code}
