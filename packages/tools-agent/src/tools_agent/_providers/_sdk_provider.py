"""`SDKProvider`: clients of official SDKs, streams and retries."""

from __future__ import annotations

import asyncio
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import closing, suppress
from importlib import import_module
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from tools_agent._events import Delta
from tools_agent._messages import Assistant
from tools_agent._providers._attempts import Attempts
from tools_agent._providers._encoding import wire_names
from tools_agent._providers._history import Turn, turns
from tools_agent._providers._provider import ProviderError, Request
from tools_agent._providers._reply import Reply
from tools_agent._providers._retry import Retry
from tools_core.formats import Format


class SDKProvider(ABC):
    """A model behind an official SDK, which is imported with the first request.

    By default the SDK reads its environment variables. Its retries are disabled, since `retry` replaces them.

    Connections stay open for later requests, until `close` or `aclose`, or the end of their event loop. A closed
    provider can be used again. A client that was passed in is never closed.

    Args:
        model: The name of the model that agents use.
        api_key: The key of the API.
        base_url: The address of the server.
        client: A client of the SDK for synchronous runs, instead of `api_key` and `base_url`.
        async_client: The same for asynchronous runs.
        retry: When to retry failed requests; see `Retry`.
        loads_definitions: Whether the API loads the definitions of deferred tools that a search has found, so that its
            cache keeps the start of the conversation. By default this depends on the server and the model.
        strict: Use the provider's strict mode, which guarantees arguments that match the schemas of the tools. Gemini
            and some servers compatible with OpenAI have no strict mode.
    """

    name: ClassVar[str]
    sdk: ClassVar[str]  # the module
    extra: ClassVar[str]  # installs the SDK
    formats: ClassVar[tuple[Format, Format]]  # the usual one, and the strict one
    reply: ClassVar[type[Reply]]
    variable: ClassVar[str]  # of the environment, with the address of another server
    hosts: ClassVar[tuple[str, ...]]  # the provider's usual server, and the ends of the names of its other servers
    loading_models: ClassVar[re.Pattern[str] | None] = None  # models that can load definitions; None for no model

    def __init__(
        self,
        model: str = "",
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: Any = None,
        async_client: Any = None,
        retry: Retry | None = None,
        loads_definitions: bool | None = None,
        strict: bool = False,
    ) -> None:
        self.model = model
        self._loads_definitions = loads_definitions
        self.format = self.formats[strict]
        self._base_url = base_url
        options = {"api_key": api_key, "base_url": base_url}
        self._options: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
        self._client = None if client is None else self._without_retries(client)
        self._async_client = None if async_client is None else self._without_retries(async_client)
        self._created_client: Any = None
        self._loop_clients: dict[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[None]]] = {}
        self.retry = retry or Retry()

    def loads_definitions(self, model: str) -> bool:
        """Return whether the API loads the definitions of deferred tools that a search has found."""
        if self.loading_models is None or self._loads_definitions is not None:
            return self.loading_models is not None and bool(self._loads_definitions)
        return self._is_official and self.loading_models.match(model) is not None

    @property
    def server(self) -> str | None:
        """The address of the server; None for the provider's usual one."""
        host, address = self._address
        return None if host in ("", *self.hosts[:1]) else address

    @property
    def address(self) -> str:
        """The address of the server, for messages."""
        return self._address[1] or self.hosts[0]

    @property
    def _is_official(self) -> bool:
        """Return whether the server belongs to the provider."""
        host, _ = self._address
        return not host or host.endswith(self.hosts)

    @property
    def _address(self) -> tuple[str, str]:
        """The host of the server, and its address without a scheme and credentials; empty without a setting."""
        client = self._client or self._async_client
        url = urlsplit(str(getattr(client, "base_url", None) or self._base_url or os.environ.get(self.variable, "")))
        host = url.hostname or ""
        return host, f"{host}{f':{url.port}' if url.port else ''}{url.path.rstrip('/')}"

    def _history(self, request: Request) -> list[Turn]:
        """Return the messages of a request in a form that the API accepts."""
        return turns(request, wire_names(request, self.format), provider=self.name, server=self.server)

    @abstractmethod
    def _create_client(self, sdk: Any, *, is_async: bool) -> Any:
        """Create a client that does not retry."""

    def _without_retries(self, client: Any) -> Any:
        return client.with_options(max_retries=0)

    @abstractmethod
    def _encode(self, request: Request) -> dict[str, Any]:
        """Return the arguments of the SDK's function, apart from `timeout`."""

    @abstractmethod
    def _function(self, client: Any) -> Callable[..., Any]:
        """Return the SDK's function. It returns chunks, or an awaitable of them if the client is asynchronous."""

    def with_reasoning(self, request: Request) -> Request | None:
        """Return a request that has reasoning in each reply, as some servers require; None if nothing changes."""
        del request
        return None

    def arguments(self, request: Request) -> dict[str, Any]:
        """Return the arguments of the SDK's function."""
        timeout = {} if request.timeout is None else {"timeout": request.timeout}
        arguments: dict[str, Any] = _unicode(self._encode(request) | timeout)
        return arguments

    def stream(self, request: Request) -> Iterator[Delta | Assistant]:
        """Yield the pieces of a reply, then the whole."""
        attempts = Attempts(self, request)
        while True:
            try:
                send = self._function(self._sync_client())
                attempts.start()
                with closing(send(**attempts.arguments)) as chunks:
                    yield from attempts.read(chunks)
            except Exception as error:  # noqa: BLE001  (raised again unless it is about the API)
                retrying = attempts.after(error)
            else:
                return
            if retrying is not None:
                yield retrying
                self.retry.sleep(retrying.delay)

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """`stream` for coroutines."""
        attempts = Attempts(self, request)
        while True:
            try:
                send = self._function(await self._loop_client())
                attempts.start()
                chunks = await send(**attempts.arguments)
                try:
                    async for piece in attempts.aread(chunks):
                        yield piece
                finally:
                    await (chunks.aclose if hasattr(chunks, "aclose") else chunks.close)()
            except Exception as error:  # noqa: BLE001  (raised again unless it is about the API)
                retrying = attempts.after(error)
            else:
                return
            if retrying is not None:
                yield retrying
                await self.retry.async_sleep(retrying.delay)

    def close(self) -> None:
        """Close the connections of synchronous requests."""
        client, self._created_client = self._created_client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections of synchronous requests, and the connections of this event loop."""
        self.close()
        _, lifetime = self._loop_clients.pop(asyncio.get_running_loop(), (None, None))
        if lifetime is not None:
            await lifetime.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _new_client(self, *, is_async: bool) -> Any:
        try:
            sdk = import_module(self.sdk)  # takes a second
        except ModuleNotFoundError as error:
            from tools_core.command import install_command

            fix = install_command("tools-agent", self.extra)
            raise ProviderError(f"{self.name}: the SDK is not installed; {fix}") from error
        return self._create_client(sdk, is_async=is_async)

    def _sync_client(self) -> Any:
        if self._client is not None:
            return self._client
        if self._created_client is None:
            self._created_client = self._new_client(is_async=False)
        return self._created_client

    async def _loop_client(self) -> Any:
        """Return the client of this event loop: connections cannot be used in another one."""
        if self._async_client is not None:
            return self._async_client
        for loop in [loop for loop in self._loop_clients if loop.is_closed()]:
            abandoned, _ = self._loop_clients.pop(loop)
            with suppress(Exception):  # without this, its destructor would log that the loop is closed
                await abandoned.close()
        loop = asyncio.get_running_loop()
        if loop not in self._loop_clients:
            client = self._new_client(is_async=True)
            lifetime = _closed_with_the_loop(client)
            self._loop_clients[loop] = client, lifetime
            await anext(lifetime)
        return self._loop_clients[loop][0]


async def _closed_with_the_loop(client: Any) -> AsyncGenerator[None]:
    """Close a client when the event loop ends: `asyncio.run` closes asynchronous generators that have begun."""
    try:
        yield
    finally:
        await client.close()


def _unicode(value: Any) -> Any:
    """Return arguments without halves of surrogate pairs, as file names have them: no SDK can encode these."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {key: _unicode(item) for key, item in value.items()}
    return [_unicode(item) for item in value] if isinstance(value, list) else value
