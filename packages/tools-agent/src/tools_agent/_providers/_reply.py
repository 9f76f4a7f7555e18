"""`Reply`: assembles the chunks of a stream into deltas and an `Assistant`."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from tools_agent._messages import Assistant, Usage, estimate_tokens, with_unique_ids
from tools_agent._providers._encoding import wire_names, without_absent
from tools_agent._providers._errors import reported_error
from tools_agent._providers._provider import ProviderError, Request
from tools_core.formats import AnswerError, Format
from tools_core.text import sendable


def count(usage: Any, *names: str) -> int:
    """Return the sum of numbers in the usage that a server reports; what is no number of tokens counts as zero."""
    values = [usage.get(name) for name in names] if isinstance(usage, Mapping) else []
    numbers = [int(value) if isinstance(value, str) and value.isdecimal() else value for value in values]
    return sum(int(number) for number in numbers if isinstance(number, int | float) and 0 <= number < math.inf)


class Reply(ABC):
    """An incomplete reply: pass every chunk to `feed`, then call `finish`."""

    stops: ClassVar[dict[str, str]]  # the provider's reasons to stop -> our words

    def __init__(self, provider: str, wire: Format, request: Request, server: str | None = None) -> None:
        self.provider = provider
        self.server = server
        self.request = request
        self.calls = wire.stream(request.definitions)
        self.texts: list[str] = []
        self.stop: str | None = None
        self.usage: Usage | None = None
        self.names = wire_names(request, wire)
        self._tools = {wire_name: name for name, wire_name in self.names.items()}
        self._thought_size = 0  # characters
        self._half = ""  # of a surrogate pair
        self._is_empty = True
        self.is_done = False

    @abstractmethod
    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        """Yield the deltas in a chunk, and keep its data for `finish`."""

    @abstractmethod
    def items(self) -> list[dict[str, Any]]:
        """Return the original parts of the reply for later requests; none if they are only text and calls."""

    def dumped(self, chunk: Any) -> dict[str, Any]:
        """Return an SDK's object as JSON values."""
        if isinstance(chunk, dict):
            return chunk
        dumped: dict[str, Any] = chunk.model_dump(mode="json", exclude_unset=True, warnings=False)
        return dumped

    def events_of(self, chunk: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the events in a chunk: some servers ignore `stream`, and send the whole reply at once."""
        return [chunk]

    def feed(self, chunk: Any) -> Iterator[Delta]:
        """Yield the deltas in a chunk."""
        dumped = self.dumped(chunk)
        self._is_empty = False
        try:
            if error := dumped.get("error"):
                raise reported_error(self.provider, dumped if isinstance(error, Mapping) else {"message": error})
            for event in self.events_of(dumped):
                for delta in self.read(event):
                    self._thought_size += len(delta.content) if isinstance(delta, ReasoningDelta) else 0
                    yield delta
                for piece in self.calls.feed(event):
                    name = self._tools.get(piece.name, piece.name) if piece.name else None
                    yield ToolCallDelta(piece.index, piece.id, name, piece.arguments)
        except AnswerError as error:
            raise ProviderError(f"{self.provider}: {error}", retryable=True) from None
        except (AttributeError, KeyError, TypeError) as error:  # some servers are compatible in part
            sent = str(dumped)[:500]
            raise ProviderError(f"{self.provider}: expected an event of its API, the server sent {sent}") from error

    def text(self, delta: str) -> Iterator[Delta]:
        """Keep and yield a piece of text; half of a surrogate pair waits for the other half."""
        if not isinstance(delta, str):
            raise TypeError("expected text")
        delta = self._half + delta
        self._half = delta[-1:] if "\ud800" <= delta[-1:] <= "\udbff" else ""
        if delta := sendable(delta.removesuffix(self._half)):
            self.texts.append(delta)
            yield TextDelta(delta)

    def end(self, *, is_done: bool) -> Iterator[Delta]:
        """Yield the rest of the text; `is_done` if the server has reported the end."""
        if self._half:
            self._half = ""
            yield from self.text("\ufffd")
        if self.stop is None and (is_done or self.is_done):  # some servers send no reason
            self.stop = "stop"
            self.calls.end("stop")

    def finish(self) -> Assistant:
        """Return the whole reply."""
        if self.stop is None:
            reason = "the server sent nothing" if self._is_empty else "the connection was cut before the reply ended"
            raise ProviderError(f"{self.provider}: {reason}", retryable=True)
        stop = str(self.stop)  # some servers send a number
        stop = self.stops.get(stop, stop)
        if stop == "error":
            raise ProviderError(f"{self.provider}: the server ended the reply with an error", retryable=True)
        is_refused = stop in ("refusal", "content_filter")
        try:
            calls = () if is_refused else self.calls.calls
        except (AnswerError, TypeError) as error:  # cut off, or a name that is no text
            raise ProviderError(f"{self.provider}: {error}") from None
        if stop == "tool" and not calls and self.texts:
            stop = "stop"
        elif stop == "tool" and not calls:
            raise ProviderError(f"{self.provider}: the reply stopped for tool calls and has none", retryable=True)
        content = "".join(self.texts)
        if self.request.output_schema is not None and stop == "stop":
            content = without_absent(content, self.request.output_schema)
        stop = "tool" if calls and stop == "stop" else stop
        message = Assistant(
            content=content, tool_calls=calls, provider=self.provider, server=self.server, model=self.request.model,
            stop_reason=stop, usage=self.usage,
        )  # fmt: skip
        if self.usage is None or not self.usage.total_tokens:
            message = message.model_copy(update={"usage": self._estimated(message)})
        if is_refused:  # the model must not continue its incomplete parts
            return message
        return with_unique_ids(message.replace(items=self.items()))

    def _estimated(self, message: Assistant) -> Usage:
        """Return roughly the tokens of a reply, for a server that does not report them."""
        request = self.request
        size = len(json.dumps(request.definitions, default=dict)) // 4
        return Usage(
            input_tokens=size + sum(map(estimate_tokens, request.messages)),
            output_tokens=estimate_tokens(message) + self._thought_size // 4,
            is_estimated=True,
        )
