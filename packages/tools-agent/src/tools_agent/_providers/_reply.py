"""`Reply`: one streamed reply in the making, from the chunks of an SDK to deltas and an `Assistant`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from time import monotonic
from typing import Any, ClassVar
from uuid import uuid4

from tools_agent._events import Delta, TextDelta, ToolCallDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._output import without_absent
from tools_agent._providers._provider import ProviderError, Request
from tools_agent._providers._turns import wire_names
from tools_core import ToolCall
from tools_core.formats import AnswerError, Format


class Reply(ABC):
    """One reply in the making: feed every chunk, then `finish`."""

    # The provider's word for why it stopped -> ours.
    stops: ClassVar[dict[str, str]]

    def __init__(self, provider: str, wire: Format, request: Request) -> None:
        self.provider = provider
        self.request = request
        self.calls = wire.stream(request.tools)
        self.texts: list[str] = []
        self.stop: str | None = None
        self.usage: Usage | None = None
        self.names = wire_names(request, wire)
        self._own_names = {sent: name for name, sent in self.names.items()}
        self._keys: list[Any] = []
        self._deadline = None if request.timeout is None else monotonic() + request.timeout

    @abstractmethod
    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        """Yield what a chunk brings, and keep what the whole needs."""

    @abstractmethod
    def items(self, message: Assistant) -> list[dict[str, Any]]:
        """Return the reply's own parts as the API takes them back; none where `message` says all."""

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
            sent = str(dumped)[:500]
            raise ProviderError(f"{self.provider}: expected an event of its API, the server sent {sent}") from error

    def text(self, delta: str) -> Iterator[Delta]:
        """Keep and yield a piece of text."""
        if not isinstance(delta, str):
            raise TypeError("expected text")
        if delta:
            self.texts.append(delta)
            yield TextDelta(delta)

    def call_delta(self, key: Any, id_: str | None, name: str | None, arguments: str) -> ToolCallDelta:
        """Return a piece of the call that the provider names by `key`."""
        if key not in self._keys:
            self._keys.append(key)
        return ToolCallDelta(self._keys.index(key), id_, self._own_names.get(name, name) if name else None, arguments)

    def finish(self) -> Assistant:
        """Return the whole reply."""
        if self.stop is None:
            raise ProviderError(f"{self.provider}: the connection was cut before the reply ended", retryable=True)
        stop = self.stops.get(self.stop, self.stop)
        calls = () if stop in ("refusal", "content_filter") else self._finished_calls()
        if stop == "tool" and not calls:
            raise ProviderError(f"{self.provider}: the reply stopped for tool calls and has none", retryable=True)
        content = "".join(self.texts)
        if self.request.output_schema is not None and stop == "stop":
            content = without_absent(content, self.request.output_schema)
        message = Assistant(
            content=content,
            tool_calls=calls,
            provider=self.provider,
            model=self.request.model,
            stop_reason="tool" if calls and stop == "stop" else stop,
            usage=self.usage,
        )
        if stop in ("refusal", "content_filter"):  # what came before is not to be continued
            return message
        return message.replace(items=self.items(message))

    def _finished_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls, each with its own id: some servers give none, or one to all."""
        try:
            parsed = self.calls.calls
        except AnswerError as error:
            raise ProviderError(f"{self.provider}: {error}") from None
        ids: set[str | None] = {None, ""}
        calls: list[ToolCall] = []
        for call in parsed:
            calls.append(ToolCall(f"call_{uuid4().hex}", call.name, call.raw_arguments) if call.id in ids else call)
            ids.add(call.id)
        return tuple(calls)
