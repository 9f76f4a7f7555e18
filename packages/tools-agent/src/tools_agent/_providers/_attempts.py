"""`Attempts`: the attempts to get the reply to one request."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar, Protocol

from tools_agent._events import Delta, Retrying
from tools_agent._messages import Assistant
from tools_agent._providers._errors import provider_error
from tools_agent._providers._event_stream import EventDecoder
from tools_agent._providers._forbid import check_allowed
from tools_agent._providers._history import without_items
from tools_agent._providers._provider import ProviderError, Request
from tools_agent._providers._reply import Reply
from tools_agent._providers._retry import Retry
from tools_core.formats import Format

_NEEDS_REASONING = re.compile(r"reasoning_content.*(missing|passed back)|missing.*reasoning_content", re.IGNORECASE)


class Api(Protocol):
    """The parts of a provider that attempts need."""

    name: ClassVar[str]
    reply: ClassVar[type[Reply]]
    format: Format
    retry: Retry

    @property
    def server(self) -> str | None:
        """The address of the server; None for the provider's usual one."""
        ...

    @property
    def address(self) -> str:
        """The address of the server, for messages."""
        ...

    def arguments(self, request: Request) -> dict[str, Any]:
        """Return the arguments of the SDK's function."""
        ...

    def with_reasoning(self, request: Request) -> Request | None:
        """Return a request that has reasoning in each reply."""
        ...


class Attempts:
    """The arguments of the SDK's function, and the reply of the current attempt.

    If the API refuses the original parts of earlier replies, such as the signature of another account, the request is
    repeated without them.
    """

    def __init__(self, provider: Api, request: Request) -> None:
        check_allowed(provider.name, provider.address.partition("/")[0].partition(":")[0])
        self._provider = provider
        self._request = request
        self._count = 0
        self._refusal: ProviderError | None = None  # of the first form of the request
        self.arguments = provider.arguments(request)

    def start(self) -> None:
        """Start an attempt: its time limit begins."""
        provider = self._provider
        self._count += 1
        self._reply = provider.reply(provider.name, provider.format, self._request, provider.server)
        self._decoder = EventDecoder(provider.name, provider.address)
        self._left = self._request.timeout
        self._since = time.monotonic()

    def read(self, chunks: Any) -> Iterator[Delta | Assistant]:
        """Yield the deltas of a reply, then the whole."""
        response = _response_of(chunks)
        pieces = iter(chunks if response is None else response.iter_bytes())
        while (piece := next(pieces, None)) is not None:
            yield from self._feed(piece)
            self._since = time.monotonic()  # the time of the consumer does not count
        yield from self._finish()

    async def aread(self, chunks: Any) -> AsyncIterator[Delta | Assistant]:
        """`read` for coroutines."""
        response = _response_of(chunks)
        async for piece in chunks if response is None else response.aiter_bytes():
            for delta in self._feed(piece):
                yield delta
            self._since = time.monotonic()
        for last in self._finish():
            yield last

    def _feed(self, piece: Any) -> Iterator[Delta]:
        if self._left is not None:
            self._left -= time.monotonic() - self._since
            if self._left < 0:
                raise TimeoutError(f"the reply took longer than {self._request.timeout:g} s")
        for event in self._decoder.feed(piece) if isinstance(piece, bytes) else [piece]:
            yield from self._reply.feed(event)

    def _finish(self) -> Iterator[Delta | Assistant]:
        for event in self._decoder.end():
            yield from self._reply.feed(event)
        yield from self._reply.end(is_done=self._decoder.is_done)
        yield self._reply.finish()

    def after(self, error: Exception) -> Retrying | None:
        """Return when to try again, None for at once; raises the error if not at all."""
        failure = provider_error(error, self._provider.name, self._provider.address)
        is_refused = failure.status in (400, 422) and not failure.is_too_long
        if self._refusal is not None and is_refused:
            raise self._refusal from error
        if is_refused:
            is_required = _NEEDS_REASONING.search(str(failure)) is not None
            request = self._provider.with_reasoning(self._request) if is_required else without_items(self._request)
            if request is not None:
                self._request, self._refusal = request, failure
                self.arguments = self._provider.arguments(request)
                self._count -= 1
                return None
        return self._provider.retry.after(failure, self._count)


def _response_of(chunks: Any) -> Any:
    """Return the HTTP response of an SDK's stream, since the SDK hides what is not an event; None if it is not text."""
    module = type(chunks).__module__.partition(".")[0]
    response = getattr(chunks, "response", None) if module in ("anthropic", "openai") else None
    is_binary = response is None or "amazon.eventstream" in response.headers.get("content-type", "")  # Bedrock
    return None if is_binary else response
