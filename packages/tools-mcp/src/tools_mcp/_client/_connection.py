"""`Connection`: a session with a server, opened at the first use and again when the server has gone.

All methods run in the background loop.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from tools_core import ToolError
from tools_core._values._problem import clip
from tools_mcp._client._background import close_at_exit
from tools_mcp._client._definition import changed_parts
from tools_mcp._client._http import HttpServer
from tools_mcp._client._process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable

    from mcp.shared.dispatcher import ProgressFnT

    from tools_mcp._client._address import Address
    from tools_mcp._client._definition import Definition


_MOST_PAGES = 100
_MOST_TOOLS = 5_000
_CLOSE_LIMIT = 7.0  # seconds
_FIELDS = {"name", "title", "description", "input_schema", "output_schema", "annotations"}


class Connection:
    """The server called `name`; `timeout` limits the start with the first list, in seconds.

    `fix` says how a changed definition is accepted.
    """

    def __init__(self, name: str, server: Address, timeout: float | None, fix: str) -> None:
        self._name = name
        self._server = server
        self._timeout = timeout
        self._fix = fix
        self._opening: asyncio.Task[_Session] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    async def tools(self) -> dict[str, Definition]:
        """Return the definitions that the server lists now, by name."""
        session = await self._session()
        await self._limited(session.list())
        return session.tools

    async def facts(self) -> dict[str, str]:
        """Return the version of the protocol, and what the server calls itself."""
        client = (await self._session()).client
        info = client.server_info
        return {"protocol": client.protocol_version, "server": clip(f"{info.name} {info.version}", 100) if info else ""}

    async def call(
        self, pinned: Definition, arguments: dict[str, Any], *, may_repeat: bool, report: ProgressFnT | None
    ) -> types.CallToolResult:
        """Call a tool, if its definition is still `pinned`; ToolError for whatever goes wrong.

        A call that is lost with its connection is repeated once if `may_repeat`.
        """
        while True:
            session = await self._session()
            if session.is_stale:
                await self._limited(session.list())
            self._check(pinned, session.tools.get(pinned["name"]))
            try:
                return await session.client.call_tool(pinned["name"], arguments, progress_callback=report)
            except Exception as error:
                if not await session.is_lost(error):
                    raise ToolError(f"{self._name}: {_text(error)}") from error
                reason = session.account(_text(error))
                if not may_repeat:
                    text = f"the connection to the server was lost in the call: {reason}"
                    raise self._error(f"{text}. It may have had effects, and was not repeated") from error
                may_repeat = False

    async def close(self) -> None:
        """End the session, and the server if we have started it."""
        opening, self._opening = self._opening, None
        close_at_exit(self, None)
        if opening is not None:
            opening.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await (await opening).close()
        if self._closing:
            await asyncio.wait(self._closing)

    def _check(self, pinned: Definition, listed: Definition | None) -> None:
        """Refuse a definition that has changed; what it says now is not shown, because it could mislead the model."""
        if listed == pinned:
            return
        what = "is no longer there"
        if listed is not None:
            what = f"has another definition ({', '.join(changed_parts(pinned, listed))}) than when it was accepted"
        raise ToolError(f"{self._name}: {pinned['name']} {what}, and was not called; {self._fix}", "conflict")

    async def _session(self) -> _Session:
        opening = self._opening
        if opening is None or (opening.done() and (opening.exception() or opening.result().has_ended)):
            opening = self._opening = asyncio.create_task(self._open())
            opening.add_done_callback(lambda task: task.cancelled() or task.exception())  # retrieved
            close_at_exit(self, self.close)
        return await asyncio.shield(opening)  # others may wait for it as well

    async def _open(self) -> _Session:
        session = _Session(self._server)
        try:
            await asyncio.wait({session.ready}, timeout=self._timeout)
            if session.ready.done():
                session.ready.result()
                return session
        except asyncio.CancelledError:
            await session.close()
            raise
        except Exception as error:
            await session.close()  # tells how the program has ended
            raise self._error(f"the server cannot be used: {session.account(_text(error))}") from error
        reason = session.account(f"the server did not answer within {self._timeout:g} s")
        closing = asyncio.create_task(session.close())  # which may take seconds
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        raise self._error(reason)

    async def _limited(self, listing: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                await listing
        except TimeoutError:
            raise self._error(f"the server did not list its tools within {self._timeout:g} s") from None
        except Exception as error:
            raise self._error(f"the tools of the server cannot be listed: {_text(error)}") from error

    def _error(self, text: str) -> ToolError:
        return ToolError(f"{self._name}: {clip(text, 4_000)}", "unavailable")


class _Session:
    """One session; its own task opens the SDK's client and closes it."""

    client: Client

    def __init__(self, server: Address) -> None:
        self.tools: dict[str, Definition] = {}
        self.is_stale = False
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())  # retrieved
        self._listing = asyncio.Lock()
        self._over = asyncio.Event()
        self._error: BaseException | None = None
        self._peer: ServerProcess | HttpServer | None = None
        self._task = asyncio.create_task(self._hold(server))

    @property
    def has_ended(self) -> bool:
        return self._over.is_set() or self._task.done()

    async def list(self) -> None:
        """Read the definitions of all tools."""
        async with self._listing:
            self.is_stale = False
            found: dict[str, Definition] = {}
            cursor, seen = None, set[str]()
            while True:
                page = await self.client.list_tools(cursor=cursor)
                for tool in page.tools:
                    found[tool.name] = tool.model_dump(by_alias=True, mode="json", exclude_none=True, include=_FIELDS)
                cursor = page.next_cursor
                if not cursor:
                    break
                if cursor in seen or len(seen) == _MOST_PAGES or len(found) > _MOST_TOOLS:
                    raise RuntimeError("the list of tools has no end")
                seen.add(cursor)
            self.tools = found

    async def is_lost(self, error: BaseException) -> bool:
        """Return whether an error means that the session has ended; then it is closed."""
        is_gone = isinstance(error, MCPError) and (error.code == CONNECTION_CLOSED or "terminated" in error.message)
        if not is_gone and not self.has_ended:
            return False
        await self.close()
        return True

    def account(self, error: str) -> str:
        """Return why the session has ended, or is of no use."""
        if self._error is not None and not isinstance(self._error, asyncio.CancelledError):
            error = _text(self._error)
        return error if self._peer is None else self._peer.account(error)

    async def close(self) -> None:
        """End the session; a program that does not end by itself is killed."""
        self._over.set()
        if not self.ready.done():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=_CLOSE_LIMIT)

    async def _hold(self, server: Address) -> None:
        try:
            async with (
                self._streams(server.expanded()) as streams,
                Client(streams, cache=None, message_handler=self._notice, client_info=_CLIENT) as self.client,
            ):
                await self.list()
                self.ready.set_result(None)
                listening = asyncio.create_task(self._listen())
                await self._over.wait()
                listening.cancel()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  (the SDK raises groups of anything)
            self._error = error
            if not self.ready.done():
                self.ready.set_exception(ToolError("closed") if isinstance(error, asyncio.CancelledError) else error)
        finally:
            self._over.set()

    @asynccontextmanager
    async def _streams(self, server: Address) -> AsyncGenerator[Any]:
        if server.url:
            self._peer = http = HttpServer()
            yield http.streams(server)
            return
        process = ServerProcess()
        await process.start(server)
        self._peer = process
        watch = asyncio.create_task(self._end_with(process))
        try:
            yield process.streams()
        finally:
            watch.cancel()
            await process.stop()

    async def _end_with(self, process: ServerProcess) -> None:
        await process.ended.wait()
        self._over.set()

    async def _notice(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.is_stale = True

    async def _listen(self) -> None:
        """Hear of changes where the protocol wants a subscription for it."""
        tools = self.client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with self.client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.is_stale = True


_CLIENT = types.Implementation(name="ask-tools", version="0.1.0")


def _text(error: BaseException) -> str:
    """Return what an error of the SDK or the system says, in a bounded form."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        return f"it sent what the protocol does not have: {where}: {first['msg']}"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename}"
    return clip(str(error).partition("\n\n")[0] or type(error).__name__, 1_000)
