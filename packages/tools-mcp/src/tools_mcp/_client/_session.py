"""`Session`: a connection to a server, from its opening to its end."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import anyio
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, Implementation, ToolListChangedNotification
from pydantic import ValidationError

from tools_core import ToolError
from tools_core._values._problem import clip
from tools_mcp._client._address import expanded
from tools_mcp._client._definition import Definition
from tools_mcp._client._transport import connect, run_program

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from tools_mcp._client._address import Address

    T = TypeVar("T")

_MOST_PAGES = 100
_CLOSE_LIMIT = 7.0  # seconds; a program that does not end by itself is killed after 4
_CLIENT = Implementation(name="ask-tools", version="0.1.0")
_FIELDS = {"name", "title", "description", "input_schema", "output_schema", "annotations"}

logging.getLogger("mcp.client").addHandler(logging.NullHandler())  # errors have what it reports, without tracebacks


class Session:
    """A session whose own task opens the SDK's client and closes it; `timeout` limits its start, and a list.

    All methods run in the background loop.
    """

    client: Client

    def __init__(self, address: Address, timeout: float | None) -> None:
        self._timeout = math.inf if timeout is None else timeout
        self._tools: dict[str, Definition] = {}
        self._notices, self._listed_notices = 1, 0  # of changed tools
        self._listing = asyncio.Lock()
        self._is_ready = asyncio.Event()  # or cannot be used
        self._over = asyncio.Event()
        self._error = ""
        self._facts: dict[str, str] = {}  # what the transport knows of the server
        self._task = asyncio.create_task(self._hold(address))

    @property
    def has_ended(self) -> bool:
        """Return whether a new session is needed: also in a process that was forked since."""
        return self._over.is_set() or self._task.get_loop() is not asyncio.get_running_loop()

    async def opened(self) -> None:
        """Wait for the server; ToolError if it cannot be used."""
        await self._is_ready.wait()
        if self._error:
            raise ToolError(f"the server cannot be used: {self._error}", "unavailable")

    async def ask(self, question: Awaitable[T]) -> T:
        """Await an answer of the server; ConnectionError if the session ends before it."""
        try:
            return await question
        except Exception as error:
            is_closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
            if not (is_closed or self._over.is_set() or "Session terminated" in str(error)):
                raise ToolError(_text(error)) from error
            await self.close()
            raise ConnectionError(self._described(error)) from error

    async def listed(self, *, again: bool = False) -> dict[str, Definition]:
        """Return the definitions of all tools by name; the server is asked if they have changed, or `again`."""
        async with self._listing:
            if again or self._notices != self._listed_notices:
                with anyio.fail_after(self._timeout):
                    await self.ask(self._list())
            return self._tools

    async def close(self) -> None:
        """End the session; a program that does not end by itself is killed."""
        self._over.set()
        if not self._is_ready.is_set():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=_CLOSE_LIMIT)

    async def _hold(self, address: Address) -> None:
        try:
            with anyio.fail_after(self._timeout) as start:
                way = connect if "url" in address else run_program
                streams = way(expanded(address), self._facts, self._over)
                client = Client(streams, cache=None, message_handler=self._notice, client_info=_CLIENT)
                async with client as self.client:
                    start.deadline = math.inf
                    self._is_ready.set()
                    listening = asyncio.create_task(self._listen())
                    await self._over.wait()
                    listening.cancel()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  (the SDK raises groups of anything)
            if not self._is_ready.is_set():
                self._error = self._described(error)
        finally:
            self._over.set()
            self._is_ready.set()

    async def _list(self) -> None:
        notices, found, cursor = self._notices, dict[str, Definition](), None
        for _ in range(_MOST_PAGES):
            page = await self.client.list_tools(cursor=cursor)
            for tool in page.tools:
                found[tool.name] = tool.model_dump(by_alias=True, mode="json", exclude_none=True, include=_FIELDS)
            cursor = page.next_cursor
            if not cursor:
                self._tools, self._listed_notices = found, notices
                return
        raise ValueError("the list of tools has no end")

    async def _notice(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._notices += 1

    async def _listen(self) -> None:
        """Receive notices of changes where the protocol requires a subscription for them."""
        tools = self.client.server_capabilities.tools
        if tools is not None and tools.list_changed:
            with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
                async with self.client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._notices += 1

    def _described(self, error: BaseException) -> str:
        facts = [self._facts[key] for key in ("size", "noise", "status", "exit", "log") if key in self._facts]
        text = f"no answer within {self._timeout:g} s" if isinstance(error, TimeoutError) else _text(error)
        return clip("; ".join([text, *facts]), 4_000)


def _text(error: BaseException) -> str:
    """Return the message of an error of the SDK or the system, in a bounded form."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        return f"it sent what the protocol does not have: {where}: {first['msg']}"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename}"
    is_unreadable = isinstance(error, MCPError) and error.code == PARSE_ERROR
    text = str(error).partition("\n" if is_unreadable else "\n\n")[0]  # without the details of validators
    return clip(text or type(error).__name__, 1_000)
