"""`SDKProvider`: what the providers over official SDKs share: attempts, deadlines, and a reply in the making."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from importlib import import_module
from itertools import count
from time import monotonic
from typing import Any, ClassVar
from uuid import uuid4
from weakref import WeakKeyDictionary

from tools_agent._events import Delta, TextDelta, ToolCallDelta
from tools_agent._messages import Assistant, System, Usage, User
from tools_agent._providers._output import value_of
from tools_agent._providers._provider import ProviderError, Request
from tools_agent._providers._retry import Retry, provider_error
from tools_agent._providers._turns import turns
from tools_core import ToolCall
from tools_core.formats import AnswerError, Format, legal_names


def sdk(module: str, extra: str) -> Any:
    """Import the SDK of an extra, which takes a second."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        message = f"{extra}: the SDK is not installed; pip install 'tools-agent[{extra}]'"
        raise ProviderError(message) from error


class SDKProvider(ABC):
    """A model behind an official SDK, which is imported with the first request.

    `client` and `async_client` are the SDK's own, in place of those made of `api_key` and `base_url`; what is not given
    comes from the SDK's environment variables. The SDK's own retries are turned off.
    """

    name: ClassVar[str]
    format: Format

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: Any = None,
        async_client: Any = None,
        retry: Retry | None = None,
    ) -> None:
        self._options = {
            key: value for key, value in (("api_key", api_key), ("base_url", base_url)) if value is not None
        }
        self._client = None if client is None else self._without_retries(client)
        self._async_client = None if async_client is None else self._without_retries(async_client)
        self._async_clients: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # connections belong to an event loop
        self._retry = retry or Retry()

    @abstractmethod
    def _make_client(self, *, is_async: bool) -> Any:
        """Make a client that does not retry."""

    def _without_retries(self, client: Any) -> Any:
        """Return a client like a given one that does not retry."""
        return client.with_options(max_retries=0)

    @abstractmethod
    def _encode(self, request: Request) -> dict[str, Any]:
        """Return the arguments of the SDK's function."""

    @abstractmethod
    def _send(self, client: Any, arguments: dict[str, Any], timeout: float | None) -> Any:
        """Call the SDK's function: chunks, or with an asynchronous client an awaitable of them."""

    @abstractmethod
    def _reply(self, request: Request) -> Reply:
        """Return an empty reply, to be fed with chunks."""

    def stream(self, request: Request) -> Iterator[Delta | Assistant]:
        """Yield the pieces of a reply, then the whole."""
        arguments = self._encode(request)
        for attempt in count(1):
            reply = self._reply(request)
            try:
                with closing(self._send(self._sync_client(), arguments, request.timeout)) as chunks:
                    for chunk in chunks:
                        yield from reply.feed(chunk)
                message = reply.finish()
            except Exception as error:  # noqa: BLE001  (raised again unless it is about the API)
                retrying = self._retry.after(provider_error(error, self.name), attempt)
            else:
                yield message
                return
            yield retrying
            self._retry.sleep(retrying.delay)

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """`stream` for coroutines."""
        arguments = self._encode(request)
        for attempt in count(1):
            reply = self._reply(request)
            try:
                chunks = await self._send(self._loop_client(), arguments, request.timeout)
                try:
                    async for chunk in chunks:
                        for delta in reply.feed(chunk):
                            yield delta
                finally:
                    await (chunks.aclose if hasattr(chunks, "aclose") else chunks.close)()
                message = reply.finish()
            except Exception as error:  # noqa: BLE001  (raised again unless it is about the API)
                retrying = self._retry.after(provider_error(error, self.name), attempt)
            else:
                yield message
                return
            yield retrying
            await self._retry.async_sleep(retrying.delay)

    def _sync_client(self) -> Any:
        if self._client is None:
            self._client = self._make_client(is_async=False)
        return self._client

    def _loop_client(self) -> Any:
        if self._async_client is not None:
            return self._async_client
        loop = asyncio.get_running_loop()
        if loop not in self._async_clients:
            self._async_clients[loop] = self._make_client(is_async=True)
        return self._async_clients[loop]

    def _wire_names(self, request: Request) -> dict[str, str]:
        """Return the names on the wire of all tools, those of earlier calls included."""
        names = [tool["name"] for tool in request.tools]
        replies = [message for message in request.messages if isinstance(message, Assistant)]
        return legal_names([*names, *(call.name for reply in replies for call in reply.tool_calls)], self.format.name)


def alternating(
    provider: SDKProvider, request: Request, model: str, key: str, own: Callable[[Assistant], list[dict[str, Any]]]
) -> tuple[str, list[dict[str, Any]]]:
    """Return the instructions, and the messages in turn by the user and the model, as Anthropic and Gemini want them.

    `model` is the role of the model's messages, `key` the member with the parts of a message, and `own` the parts of a
    reply.
    """
    system: list[str] = []
    made: list[dict[str, Any]] = []

    def add(role: str, parts: list[dict[str, Any]]) -> None:
        if not made and role == model:
            add("user", provider.format.content(["(the conversation goes on)"]))
        if not made or made[-1]["role"] != role:
            made.append({"role": role, key: []})
        made[-1][key] += parts

    for turn in turns(request.messages):
        if isinstance(turn, System):
            system.append(turn.content)
        elif isinstance(turn, User):
            texts = [turn.content] if turn.content.strip() else []
            add("user", provider.format.content([*texts, *turn.files] or ["(empty)"]))
        elif isinstance(turn, Assistant):
            add(model, list(turn.items) if turn.provider == provider.name and turn.items else own(turn))
        else:
            for message in provider.format.results(turn, request.tools):
                add("user", message[key])
    return "\n\n".join(text for text in system if text.strip()), made


class Reply(ABC):
    """One reply in the making: feed every chunk, then `finish`."""

    # The provider's word for why it stopped -> ours.
    stops: ClassVar[dict[str, str]]

    def __init__(self, provider: SDKProvider, request: Request) -> None:
        self.provider = provider.name
        self.request = request
        self.calls = provider.format.stream(request.tools)
        self.texts: list[str] = []
        self.stop: str | None = None
        self.usage: Usage | None = None
        self._own_names = {wire: name for name, wire in provider._wire_names(request).items()}
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
        yield from self.read(dumped)
        try:
            self.calls.feed(dumped)
        except AnswerError as error:
            raise ProviderError(f"{self.provider}: {error}", retryable=True) from None

    def text(self, delta: str) -> Iterator[Delta]:
        """Keep and yield a piece of text."""
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
        message = Assistant(
            content="".join(self.texts),
            tool_calls=calls,
            provider=self.provider,
            model=self.request.model,
            stop_reason="tool" if calls and stop == "stop" else stop,
            usage=self.usage,
        )
        schema = self.request.output_schema
        if schema is not None and message.stop_reason == "stop":
            message = message.replace(structured_output=value_of(message.content, schema))
        if stop in ("refusal", "content_filter"):  # what came before is not to be continued
            return message
        return message.replace(items=self.items(message))

    def _finished_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls, each with its own id: some servers give none, or one to all."""
        try:
            found = self.calls.calls
        except AnswerError as error:
            raise ProviderError(f"{self.provider}: {error}") from None
        taken: set[str | None] = {None, ""}
        calls: list[ToolCall] = []
        for call in found:
            calls.append(ToolCall(f"call_{uuid4().hex}", call.name, call.given) if call.id in taken else call)
            taken.add(call.id)
        return tuple(calls)
