"""`Session`: one connection to a server."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, PARSE_ERROR, Implementation, ToolListChangedNotification
from pydantic import ValidationError

from tools_core import ToolError
from tools_mcp._client import _resources
from tools_mcp._client._address import expanded
from tools_mcp._client._content import result_of
from tools_mcp._client._definition import PARTS, Definition
from tools_mcp._client._messages import Connection
from tools_mcp._client._questions import Questions
from tools_mcp._client._repairs import invalid, plain
from tools_mcp._client._transport import open_transport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.shared.dispatcher import ProgressFnT

    from tools_core import Context, Result
    from tools_mcp._client._address import Address

    T = TypeVar("T")

# Seconds that a program may take for an answer before it is started again: a quarter of the limit, but
_MIN_START, _MAX_START = 5.0, 15.0
_NOT_STARTED = (FileNotFoundError, PermissionError, NotADirectoryError, ValueError)  # starting again is of no use
_CLOSE_LIMIT = 7.0  # seconds; a program that does not end after its input is killed after 4
# Messages about a session that has ended, with a status that means something else.
_NO_SESSION = re.compile(
    r"(?i)(bad request: )?((no such|no valid|unknown|invalid|expired) session|session (id )?(not found|expired)"
    r"|server not initialized)\b"
)
_CLIENT = Implementation(name="ask-tools", version="0.1.0")

for _name in ("mcp.client", "client"):  # the SDK logs tracebacks of errors that are reported here
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Session:
    """A connection, held by a task that opens and closes the SDK's client; `timeout` limits the start and a listing.

    All methods run in the background loop.
    """

    _client: Client

    def __init__(self, name: str, address: Address, timeout: float | None) -> None:
        self._address = address
        self._timeout = math.inf if timeout is None else timeout
        self._tools: dict[str, Definition] = {}
        self._own: set[str] = set()  # the tools that are not the server's, but for its resources and prompts
        self._notices, self._listed_notices = 1, 0  # of changed tools
        self._listing = asyncio.Lock()
        self._is_ready = asyncio.Event()  # or cannot be used
        self._error: BaseException | None = None
        self._connection = Connection(name)
        self._questions = Questions()
        self._task = asyncio.create_task(self._hold(address))

    @property
    def has_ended(self) -> bool:
        """Return whether a new session is needed, such as in a forked process."""
        is_over = self._is_ready.is_set() and self._connection.over.is_set()
        return is_over or self._task.get_loop() is not asyncio.get_running_loop()

    @property
    def invalid_tools(self) -> dict[str, str]:
        """The tools of the last list that are invalid, with the reasons."""
        return self._connection.invalid_tools

    async def listed(self, *, again: bool = False) -> dict[str, Definition]:
        """Return the definitions of all tools by name; the server is asked if they have changed, or `again`."""
        async with self._listing:
            if again or self._notices != self._listed_notices:
                notices = self._notices
                self._tools, self._listed_notices = await self._ask(self._list), notices
            return self._tools

    async def call(self, name: str, arguments: dict[str, Any], report: ProgressFnT | None, context: Context) -> Result:
        """Call a tool; questions of the server are for the user of the context."""
        with self._questions.of(context):
            if name in self._own:
                return await self._ask(lambda client: _resources.answer(client, name, arguments))
            return result_of(
                await self._ask(lambda client: client.call_tool(name, arguments, progress_callback=report))
            )

    async def close(self) -> None:
        """End the session; a program that does not end with its input is killed."""
        self._connection.over.set()
        if not self._is_ready.is_set():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=_CLOSE_LIMIT)

    async def _hold(self, address: Address) -> None:
        """Hold a connection. A program that does not survive the first question is started again without it."""
        begin = asyncio.get_running_loop().time()
        try:
            address = expanded(address)
            is_program = "command" in address
            first = min(max(_MIN_START, self._timeout / 4), _MAX_START, self._timeout / 2)
            try:
                await self._connect(address, "auto", first if is_program else self._timeout)
            except Exception as error:
                if not is_program or self._is_ready.is_set() or isinstance(_first(error), _NOT_STARTED):
                    raise
                self._connection = Connection(self._connection.name)
                left = begin + self._timeout - asyncio.get_running_loop().time()
                await self._connect(address, "legacy", max(left, 0.1))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  (the SDK raises groups of anything)
            self._error = error
        finally:
            self._connection.over.set()
            self._is_ready.set()

    async def _connect(self, address: Address, mode: str, limit: float) -> None:
        """Connect within the limit, and stay connected until the connection is over."""
        with anyio.fail_after(limit) as start:
            auth = None
            if address.get("login"):
                from tools_mcp._client._login import stored_login  # few servers have one

                auth = stored_login(address["url"])
            streams = open_transport(address, self._connection, auth)
            client = Client(
                streams, mode=mode, cache=None, message_handler=self._notice, client_info=_CLIENT,
                elicitation_callback=self._questions.answer,
            )  # fmt: skip
            async with client as self._client:
                # The toolset validates results; a pattern of the server could stall the SDK's validator.
                client.session.validate_tool_result = _accept  # type: ignore[method-assign, assignment]
                start.deadline = math.inf
                self._is_ready.set()
                listening = asyncio.create_task(self._listen())
                await self._connection.over.wait()
                listening.cancel()

    async def _ask(self, question: Callable[[Client], Awaitable[T]]) -> T:
        """Send a request once the server is ready; ToolError for an error, ConnectionError if the connection is lost.

        ConnectionRefusedError means that the server did not process the request.
        """
        await self._is_ready.wait()
        if (failure := self._error) is not None:
            raise ToolError(f"the server cannot be used: {self._text(failure, is_lost=True)}", "unavailable")
        try:
            return await question(self._client)
        except Exception as error:
            is_refused = self._connection.session_refused
            is_unknown = self._connection.has_session and _NO_SESSION.match(str(error)) is not None
            if not (is_refused or is_unknown or self._connection.over.is_set() or _is_lost(error)):
                raise ToolError(self._text(error)) from error
            await self.close()
            is_closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
            lost = ConnectionRefusedError if is_refused else ConnectionResetError
            raise lost(self._text((is_closed and self._error) or error, is_lost=True)) from error

    async def _list(self, client: Client) -> dict[str, Definition]:
        definitions = dict[str, Definition]()
        self.invalid_tools.clear()
        try:
            with anyio.fail_after(self._timeout):
                async for page in _resources.pages(client.list_tools, "tools"):
                    for tool in page.tools:
                        fields = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
                        definition = {part: fields[part] for part in PARTS if part in fields}
                        if definitions.setdefault(tool.name, definition) != definition:
                            self.invalid_tools[tool.name] = "two tools have this name; the first one counts"
        except MCPError as error:  # a server may have resources alone
            if error.code != METHOD_NOT_FOUND or client.server_capabilities.tools is not None:
                raise
        self._own.clear()
        for name, problem in _resources.wanted(self._address, client.server_capabilities).items():
            if problem or name in definitions:
                self.invalid_tools[f"the {name}"] = problem or f"the server has a tool called {name}"
            else:
                definitions[name] = _resources.DEFINITIONS[name]
                self._own.add(name)
        return definitions

    async def _notice(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._notices += 1

    async def _listen(self) -> None:
        """Receive notices of changes, if the protocol requires a subscription for them."""
        tools = self._client.server_capabilities.tools
        if tools is not None and tools.list_changed:
            with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
                async with self._client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._notices += 1

    def _text(self, error: BaseException, *, is_lost: bool = False) -> str:
        """Return the message of an error of the SDK or the system, with details about a server that `is_lost`."""
        error = _first(error)
        text = str(error).partition("\n\n")[0]  # without the details of validators
        if isinstance(error, MCPError) and error.code == PARSE_ERROR and text.startswith("Failed to parse"):
            text = "the answer of the server is not a message of JSON-RPC"
        elif isinstance(error, MCPError) and error.data and plain(error.data) not in text:
            text = f"{text}: {plain(error.data)}"
        elif isinstance(error, TimeoutError):
            text = f"no answer within {self._timeout:g} s"
        elif isinstance(error, ValidationError):
            text = invalid(error)
        connection = self._connection
        details = [connection.status, *([connection.noise, connection.log] if is_lost else [])]
        return _clip("; ".join(filter(None, [_clip(text or type(error).__name__, 1_000), *details])), 4_000)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _accept(*_: object) -> None:
    """Accept any structured content."""


def _is_lost(error: Exception) -> bool:
    """Return whether the SDK reports that the response to a request over HTTP has ended early.

    A server can have sent the same code: the protocols leave -32000 to servers.
    """
    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED and error.message.startswith("SSE stream ")


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
