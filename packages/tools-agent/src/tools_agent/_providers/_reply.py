"""`Reply`: assembles the chunks of a stream into deltas and an `Assistant`."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, Protocol

from pydantic import BaseModel

from tools_agent._events import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from tools_agent._messages import Assistant, Usage, estimate_tokens, with_unique_ids
from tools_agent._providers._encoding import wire_names, without_absent
from tools_agent._providers._errors import failure_in, reported_error
from tools_agent._providers._provider import JsonObject, ProviderError, Request
from tools_core.formats import AnswerError, Format
from tools_core.text import sendable

_STOPS = {  # reasons to stop, by our word for them; an "error" is retried
    "stop": (
        "complete", "completed", "end_turn", "eos", "eos_token", "stop_sequence",
    ),
    "tool": ("function_call", "tool_call", "tool_calls", "tool_use"),
    "length": (
        "incomplete", "max_output_tokens", "max_tokens", "model_context_window_exceeded", "model_length",
    ),
    "content_filter": (
        "blocklist", "content_filtered", "guardrail_intervened", "image_safety", "jailbreak", "model_armor",
        "prohibited_content", "recitation", "safety", "sensitive", "spii",
    ),
    "error": (
        "abort", "aborted", "cancelled", "insufficient_system_resource", "malformed_function_call",
        "malformed_model_output", "malformed_response", "malformed_tool_use", "missing_thought_signature",
        "network_error", "other", "too_many_tool_calls", "unexpected_tool_call",
    ),
}  # fmt: skip
_OURS = {word: ours for ours, words in _STOPS.items() for word in words}


def stop_of(reason: object) -> str:
    """Return our word for a server's reason to stop, or its own one.

    Gateways pass on the words of other APIs: `STOP`, or `function_call_filter: MALFORMED_FUNCTION_CALL`.
    """
    word = str(reason).rpartition(": ")[2].lower()
    return _OURS.get(word, word if word in (*_STOPS, "refusal") else str(reason))


def count(usage: object, *names: str) -> int:
    """Return the sum of numbers in the usage that a server reports; what is no number of tokens counts as zero."""
    values = [usage.get(name) for name in names] if isinstance(usage, Mapping) else []
    numbers = [int(value) if isinstance(value, str) and value.isdecimal() else value for value in values]
    return sum(int(number) for number in numbers if isinstance(number, int | float) and 0 <= number < math.inf)


class Api(Protocol):
    """The provider of a reply."""

    name: ClassVar[str]
    format: Format

    @property
    def server(self) -> str | None:
        """The address of the server; None for the provider's usual one."""
        ...


class Reply(ABC):
    """An incomplete reply: pass every chunk to `feed`, then call `finish`."""

    def __init__(self, api: Api, request: Request) -> None:
        self.provider = api.name
        self.request = request
        self._server = api.server
        self.calls = api.format.stream(request.definitions)
        self.texts: list[str] = []
        self.stop: str | None = None  # the server's reason
        self.usage: Usage | None = None
        self._tools = {wire_name: name for name, wire_name in wire_names(request, api.format).items()}
        self._thought_size = 0  # characters
        self._half = ""  # of a surrogate pair
        self._last: JsonObject | None = None  # what the server sent last
        self._event_count = 0
        self.is_done = False

    @abstractmethod
    def read(self, chunk: JsonObject) -> Iterator[Delta]:
        """Yield the deltas in a chunk, and keep its data for `finish`."""

    @abstractmethod
    def items(self) -> list[JsonObject]:
        """Return the original parts of the reply for later requests; none if they are only text and calls."""

    def dumped(self, chunk: BaseModel | JsonObject) -> JsonObject:
        """Return an SDK's object as JSON values."""
        if isinstance(chunk, dict):
            return chunk
        return chunk.model_dump(mode="json", exclude_unset=True, warnings=False)

    def events_of(self, chunk: JsonObject) -> list[JsonObject]:
        """Return the events in a chunk: some servers ignore `stream`, and send the whole reply at once.

        A gateway's own event, which is not part of the API, has none.
        """
        return [chunk]

    def feed(self, chunk: BaseModel | JsonObject) -> Iterator[Delta]:
        """Yield the deltas in a chunk."""
        dumped = self.dumped(chunk)
        self._last = dumped
        try:
            if failure := failure_in(dumped):
                raise reported_error(self.provider, failure)
            for event in self.events_of(dumped):
                self._event_count += 1
                for delta in self.read(event):
                    self._thought_size += len(delta.content) if isinstance(delta, ReasoningDelta) else 0
                    yield delta
                for piece in self.calls.feed(event):
                    name = self._tools.get(piece.name, piece.name) if piece.name else None
                    yield ToolCallDelta(piece.index, piece.id, name, piece.arguments)
        except AnswerError as error:
            raise ProviderError(f"{self.provider}: {error}", retryable=True) from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # some servers are compatible in part
            raise self._unexpected() from error

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
        if self.stop is None or not self._event_count:
            raise self._incomplete()
        stop = stop_of(self.stop)
        if stop == "error":
            text = f"{self.provider}: the server ended the reply with an error ({self.stop})"
            raise ProviderError(text, retryable=True)
        if stop == "length":
            self.calls.end(stop, is_cut=True)
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
            content=content, tool_calls=calls, provider=self.provider, server=self._server, model=self.request.model,
            stop_reason=stop, usage=self.usage,
        )  # fmt: skip
        if self.usage is None or not self.usage.total_tokens:
            message = message.model_copy(update={"usage": self._estimated(message)})
        if is_refused:  # the model must not continue its incomplete parts
            return message
        return with_unique_ids(message.replace(items=self.items()))

    def _unexpected(self) -> ProviderError:
        sent = str(self._last)[:500]
        return ProviderError(f"{self.provider}: expected an event of its API, the server sent {sent}")

    def _incomplete(self) -> ProviderError:
        if self._last is not None and not self._event_count:
            return self._unexpected()
        reason = "the connection was cut before the reply ended"
        if self._last is None:
            reason = "the server sent nothing"
        elif self._event_count == 1 and not ("".join(self.texts) or self.calls.members):
            reason = f"the server sent no reply: {str(self._last)[:500]}"
        return ProviderError(f"{self.provider}: {reason}", retryable=True)

    def _estimated(self, message: Assistant) -> Usage:
        """Return roughly the tokens of a reply, for a server that does not report them."""
        request = self.request
        size = len(json.dumps(request.definitions, default=dict)) // 4
        return Usage(
            input_tokens=size + sum(map(estimate_tokens, request.messages)),
            output_tokens=estimate_tokens(message) + self._thought_size // 4,
            is_estimated=True,
        )
