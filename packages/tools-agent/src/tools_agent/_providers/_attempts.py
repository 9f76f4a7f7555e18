"""`Attempts`: the attempts to get the reply to one request."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar, Protocol, TypeAlias

from pydantic import BaseModel

from tools_agent._events import Delta, Retrying
from tools_agent._messages import Assistant
from tools_agent._providers._errors import provider_error
from tools_agent._providers._event_stream import EventDecoder
from tools_agent._providers._forbid import check_allowed
from tools_agent._providers._forms import LACKING, in_another_form, is_about_files, uses
from tools_agent._providers._provider import JsonObject, ProviderError, Request
from tools_agent._providers._reply import Api, Reply
from tools_agent._providers._retry import Retry
from tools_core.text import is_blank

Chunks: TypeAlias = Any  # a stream of an SDK, which is imported with the first request
Response: TypeAlias = Any  # of httpx


class RequestApi(Api, Protocol):
    """The parts of a provider that attempts need."""

    reply: ClassVar[type[Reply]]
    retry: Retry
    lacking: set[tuple[str, str]]

    @property
    def address(self) -> str:
        """The address of the server, for messages."""
        ...

    def arguments(self, request: Request) -> JsonObject:
        """Return the arguments of the SDK's function."""
        ...


class Attempts:
    """The arguments of the SDK's function, and the reply of the current attempt.

    If the API refuses a part of the request that it lacks, or the original parts of earlier replies, such as the
    signature of another account, the request is repeated in another form.
    """

    def __init__(self, provider: RequestApi, request: Request) -> None:
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
        self._reply = provider.reply(provider, self._request)
        self._decoder = EventDecoder(provider.name, provider.address)
        self._left = self._request.timeout
        self._since = time.monotonic()

    async def read(self, chunks: Chunks) -> AsyncIterator[Delta | Assistant]:
        """Yield the deltas of a reply, then the whole."""
        response = _response_of(chunks)
        async for piece in chunks if response is None else response.aiter_bytes():
            for delta in self._feed(piece):
                yield delta
            self._since = time.monotonic()  # the time of the consumer does not count
        for last in self._finish():
            yield last

    def _feed(self, piece: bytes | BaseModel) -> Iterator[Delta]:
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
        message = self._reply.finish()
        is_empty = message.stop_reason == "stop" and is_blank(message.content) and not message.tool_calls
        if is_empty and self._count == 1 < self._provider.retry.attempts:
            raise ProviderError(f"{self._provider.name}: the reply is empty", retryable=True)
        yield message

    def after(self, error: Exception) -> Retrying | None:
        """Return when to try again, None for at once; raises the error if not at all."""
        failure = provider_error(error, self._provider.name, self._provider.address)
        is_refused = failure.status in (400, 422) and not (failure.is_too_long or failure.retryable)
        is_refused |= failure.status in (404, 415, 500) and is_about_files(self._request, str(failure))
        if is_refused and (request := self._in_another_form(str(failure))) is not None:
            self._request, self._refusal = request, self._refusal or failure
            self.arguments = self._provider.arguments(request)
            self._count -= 1
            return None
        if self._refusal is not None and is_refused:
            raise self._refusal from error
        return self._provider.retry.after(failure, self._count)

    def _in_another_form(self, reason: str) -> Request | None:
        """Return the request in a form that the API may accept, None if there is no other."""
        provider, request = self._provider, self._request
        for part, words in LACKING.items():
            place = (request.model, part)
            if place not in provider.lacking and words.search(reason) and uses(request, part):
                provider.lacking.add(place)
                return request
        return in_another_form(request, reason, provider.name, provider.server)


def _response_of(chunks: Chunks) -> Response | None:
    """Return the HTTP response of an SDK's stream, since the SDK hides what is not an event; None if it is not text."""
    module = type(chunks).__module__.partition(".")[0]
    response = getattr(chunks, "response", None) if module in ("anthropic", "openai") else None
    is_binary = response is None or "amazon.eventstream" in response.headers.get("content-type", "")  # Bedrock
    return None if is_binary else response
