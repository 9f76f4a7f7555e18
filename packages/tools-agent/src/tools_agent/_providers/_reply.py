"""`Reply`: assembles the chunks of a stream into deltas and an `Assistant`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from time import monotonic
from typing import Any, ClassVar

from tools_agent._events import Delta, TextDelta, ToolCallDelta
from tools_agent._messages import Assistant, Usage, with_unique_ids
from tools_agent._providers._encoding import wire_names, without_absent
from tools_agent._providers._provider import ProviderError, Request
from tools_core.formats import AnswerError, Format


class Reply(ABC):
    """An incomplete reply: pass every chunk to `feed`, then call `finish`."""

    stops: ClassVar[dict[str, str]]  # the provider's reasons to stop -> our words

    def __init__(self, provider: str, wire: Format, request: Request) -> None:
        self.provider = provider
        self.request = request
        self.calls = wire.stream(request.definitions)
        self.texts: list[str] = []
        self.stop: str | None = None
        self.usage: Usage | None = None
        self.names = wire_names(request, wire)
        self._tools = {wire_name: name for name, wire_name in self.names.items()}
        self._keys: list[Any] = []
        self._deadline = None if request.timeout is None else monotonic() + request.timeout

    @abstractmethod
    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        """Yield the deltas in a chunk, and keep its data for `finish`."""

    @abstractmethod
    def items(self, message: Assistant) -> list[dict[str, Any]]:
        """Return the original parts of the reply for later requests; none if `message` has all of their content."""

    def dumped(self, chunk: Any) -> dict[str, Any]:
        """Return an SDK's object as JSON values."""
        dumped: dict[str, Any] = chunk.model_dump(mode="json", exclude_unset=True, warnings=False)
        return dumped

    def feed(self, chunk: Any) -> Iterator[Delta]:
        """Yield the deltas in a chunk."""
        if self._deadline is not None and monotonic() > self._deadline:
            raise TimeoutError(f"the reply took longer than {self.request.timeout:g} s")
        dumped = self.dumped(chunk)
        try:
            yield from self.read(dumped)
            self.calls.feed(dumped)
        except AnswerError as error:
            raise ProviderError(f"{self.provider}: {error}", retryable=True) from None
        except (AttributeError, KeyError, TypeError) as error:  # some servers are compatible in part
            event = str(dumped)[:500]
            raise ProviderError(f"{self.provider}: expected an event of its API, the server sent {event}") from error

    def text(self, delta: str) -> Iterator[Delta]:
        """Keep and yield a piece of text."""
        if not isinstance(delta, str):
            raise TypeError("expected text")
        if delta:
            self.texts.append(delta)
            yield TextDelta(delta)

    def call_delta(self, key: Any, id_: str | None, name: str | None, arguments: str) -> ToolCallDelta:
        """Return a piece of the call that the provider identifies by `key`."""
        if key not in self._keys:
            self._keys.append(key)
        return ToolCallDelta(self._keys.index(key), id_, self._tools.get(name, name) if name else None, arguments)

    def finish(self) -> Assistant:
        """Return the whole reply."""
        if self.stop is None:
            raise ProviderError(f"{self.provider}: the connection was cut before the reply ended", retryable=True)
        stop = self.stops.get(self.stop, self.stop)
        is_refused = stop in ("refusal", "content_filter")
        try:
            calls = () if is_refused else self.calls.calls
        except AnswerError as error:
            raise ProviderError(f"{self.provider}: {error}") from None
        if stop == "tool" and not calls:
            raise ProviderError(f"{self.provider}: the reply stopped for tool calls and has none", retryable=True)
        content = "".join(self.texts)
        if self.request.output_schema is not None and stop == "stop":
            content = without_absent(content, self.request.output_schema)
        stop = "tool" if calls and stop == "stop" else stop
        message = Assistant(
            content=content, tool_calls=calls, provider=self.provider, model=self.request.model, stop_reason=stop,
            usage=self.usage,
        )  # fmt: skip
        if is_refused:  # the model must not continue its incomplete parts
            return message
        message = with_unique_ids(message)
        return message.replace(items=self.items(message))
