"""`SDKProvider`: clients of official SDKs, streams and retries."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from typing import Any, ClassVar, Self, TypeAlias, TypedDict
from urllib.parse import urlsplit
from weakref import finalize

from tools_agent._events import Delta
from tools_agent._messages import Assistant
from tools_agent._providers._attempts import Attempts, Chunks
from tools_agent._providers._encoding import wire_names
from tools_agent._providers._errors import provider_error
from tools_agent._providers._forbid import check_allowed
from tools_agent._providers._forms import with_instruction, without_files, without_system
from tools_agent._providers._history import Turn, turns
from tools_agent._providers._provider import JsonObject, ProviderError, Request
from tools_agent._providers._reply import Reply
from tools_agent._providers._retry import Retry
from tools_core.formats import Format
from tools_core.threads import in_thread

Sdk: TypeAlias = Any  # the module
Client: TypeAlias = Any  # of the SDK


class SDKOptions(TypedDict, total=False):
    """The keyword arguments of `SDKProvider`, for type checkers."""

    api_key: str | None
    base_url: str | None
    client: Callable[[], Client] | None
    retry: Retry | None
    loads_definitions: bool | None
    strict: bool


class SDKProvider(ABC):
    """A model behind an official SDK, which is imported with the first request.

    By default the SDK reads its environment variables. Its retries are disabled, since `retry` replaces them.

    There is one client for each event loop, since connections cannot be used in another one. They stay open for later
    requests, until `close` or `aclose`, or the end of the event loop. A closed provider can be used again.

    Args:
        model: The name of the model that agents use.
        api_key: The key of the API.
        base_url: The address of the server.
        client: A function that creates an asynchronous client of the SDK, instead of `api_key` and `base_url`.
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
        client: Callable[[], Client] | None = None,
        retry: Retry | None = None,
        loads_definitions: bool | None = None,
        strict: bool = False,
    ) -> None:
        self.model = model
        self._loads_definitions = loads_definitions
        self.format = self.formats[strict]
        self._base_url = base_url
        options = {"api_key": api_key, "base_url": base_url}
        self._options: JsonObject = {key: value for key, value in options.items() if value is not None}
        if client is not None and not callable(client):
            raise TypeError(f"client is a function, such as `lambda: AsyncOpenAI()`, got {type(client).__name__}")
        self._make_client = client
        self._clients: dict[asyncio.AbstractEventLoop, tuple[Client, AsyncGenerator[None]]] = {}
        self.retry = retry or Retry()
        self.lacking: set[tuple[str, str]] = set()  # models, and parts of requests that their server has refused

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
        text = self._made_url or self._base_url or os.environ.get(self.variable, "")
        try:
            url = urlsplit(text)
            host, port = url.hostname or "", f":{url.port}" if url.port else ""
        except ValueError as error:
            raise ProviderError(f"{self.name}: base_url is not an address: {error}") from error
        if text.strip() and not host:
            raise ProviderError(f"{self.name}: base_url begins with http:// or https://")
        return host, f"{host}{port}{url.path.rstrip('/')}"

    def _history(self, request: Request) -> list[Turn]:
        """Return the messages of a request in a form that the API accepts."""
        return turns(request, wire_names(request, self.format), provider=self.name, server=self.server)

    @cached_property
    def _made_url(self) -> str:
        """The address of clients that the user makes."""
        return "" if self._make_client is None else str(getattr(self._make_client(), "base_url", ""))

    @abstractmethod
    def _create_client(self, sdk: Sdk) -> Client:
        """Create a client that does not retry."""

    def _without_retries(self, client: Client) -> Client:
        return client.with_options(max_retries=0)

    @abstractmethod
    def _encode(self, request: Request) -> JsonObject:
        """Return the arguments of the SDK's function, apart from `timeout`."""

    @abstractmethod
    async def _send(self, client: Client, arguments: JsonObject) -> Chunks:
        """Call the SDK's function, and return its stream."""

    def arguments(self, request: Request) -> JsonObject:
        """Return the arguments of the SDK's function."""
        lacking = {part for model, part in self.lacking if model == request.model}
        if "output_schema" in lacking or not self._takes_schema(request):
            request = with_instruction(request)
        if "system" in lacking:
            request = without_system(request)
        if "files" in lacking:
            request = without_files(request) or request
        timeout = {} if request.timeout is None else {"timeout": request.timeout}
        encoded: JsonObject = _unicode(self._encode(request) | timeout)
        return {name: value for name, value in encoded.items() if name not in lacking}

    @abstractmethod
    def _takes_schema(self, request: Request) -> bool:
        """Return whether the API accepts the output schema of a request; else the model is instructed."""

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """Yield the pieces of a reply, then the whole."""
        attempts = Attempts(self, request)
        while True:
            try:
                client = await self._client()
                attempts.start()
                chunks = await self._send(client, attempts.arguments)
                try:
                    async for piece in attempts.read(chunks):
                        yield piece
                finally:
                    await (chunks.aclose if hasattr(chunks, "aclose") else chunks.close)()
            except Exception as error:  # noqa: BLE001  (raised again unless it is about the API)
                retrying = attempts.after(error)
            else:
                return
            if retrying is not None:
                yield retrying
                await self.retry.sleep(retrying.delay)

    async def models(self) -> list[str]:
        """Return the names of the models that the server offers. Raises ProviderError if it does not answer."""
        check_allowed(self.name, self.address.partition("/")[0].partition(":")[0])
        try:
            models = (await self._client()).models.list()
            names = [
                str(getattr(model, "id", None) or model.name).removeprefix("models/")
                async for model in (await models if inspect.iscoroutine(models) else models)
            ]
        except (AttributeError, TypeError) as error:  # a page, or an object without a list
            raise ProviderError(f"{self.name}: {self.address} sent no list of models") from error
        except Exception as error:
            raise provider_error(error, self.name, self.address) from error
        return sorted(names)

    def close(self) -> None:
        """Close connections, apart from those of event loops that are running."""
        for loop in [loop for loop in self._clients if not loop.is_running()]:
            _, lifetime = self._clients.pop(loop)
            if not loop.is_closed():
                in_thread(partial(loop.run_until_complete, lifetime.aclose())).result()

    async def aclose(self) -> None:
        """Close connections, those of this event loop included."""
        await asyncio.to_thread(self.close)
        _, lifetime = self._clients.pop(asyncio.get_running_loop(), (None, None))
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

    async def _client(self) -> Client:
        """Return the client of this event loop."""
        for loop in [loop for loop in self._clients if loop.is_closed()]:
            abandoned, _ = self._clients.pop(loop)
            with suppress(Exception):  # without this, its destructor would log that the loop is closed
                await abandoned.close()
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            client = self._new_client()
            self._clients[loop] = client, _closed_with_the_loop(client)
            await anext(self._clients[loop][1])
            finalize(self, _close_soon, loop, self._clients[loop][1]).atexit = False
        return self._clients[loop][0]

    def _new_client(self) -> Client:
        if self._make_client is not None:
            client = self._make_client()
            if not hasattr(client, "__aenter__"):
                name = type(client).__name__
                raise TypeError(f"client= of {type(self).__name__} creates an asynchronous client, got {name}")
            return self._without_retries(client)
        try:
            sdk = import_module(self.sdk)  # takes a second
        except ModuleNotFoundError as error:
            from tools_core.command import install_command

            fix = install_command("tools-agent", self.extra)
            raise ProviderError(f"{self.name}: the SDK is not installed; {fix}") from error
        try:
            return self._create_client(sdk)
        except Exception as error:
            raise ProviderError(f"{self.name}: the client cannot be created: {error}") from error


async def _closed_with_the_loop(client: Client) -> AsyncGenerator[None]:
    """Close a client when the event loop ends: `asyncio.run` closes asynchronous generators that have begun."""
    try:
        yield
    finally:
        await client.close()


def _close_soon(loop: asyncio.AbstractEventLoop, lifetime: AsyncGenerator[None]) -> None:
    """Close the client of a provider that is no longer used, when its event loop runs again."""
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(lambda: loop.create_task(lifetime.aclose()))


def _unicode(value: Any) -> Any:
    """Return arguments without halves of surrogate pairs, as file names have them: no SDK can encode these."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {key: _unicode(item) for key, item in value.items()}
    return [_unicode(item) for item in value] if isinstance(value, list) else value
