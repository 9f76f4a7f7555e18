"""`Session`: one connection to a server."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
from base64 import b64decode
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, Implementation, TextResourceContents, ToolListChangedNotification
from pydantic import ValidationError

from tools_core import Audio, File, Image, Result, ToolError
from tools_mcp._client._address import expanded
from tools_mcp._client._definition import PARTS, Definition
from tools_mcp._client._messages import Connection, invalid
from tools_mcp._client._questions import Questions
from tools_mcp._client._transport import open_transport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink

    from tools_core import Context
    from tools_mcp._client._address import Address

    T = TypeVar("T")

_HALTED = "ask-tools/halted"  # as `tools_core.formats` writes it into `_meta`
_MAX_PAGES = 100
# Seconds that a program may take for an answer before it is started again: a quarter of the limit, but
_MIN_START, _MAX_START = 5.0, 15.0
_NOT_STARTED = (FileNotFoundError, PermissionError, NotADirectoryError, ValueError)  # starting again is of no use
_CLOSE_LIMIT = 7.0  # seconds; a program that does not end after its input is killed after 4
_CLIENT = Implementation(name="ask-tools", version="0.1.0")
_MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(;[ -~]*)?")
_bytes = partial(b64decode, validate=True)

for _name in ("mcp.client", "client"):  # the SDK logs tracebacks of errors that are reported here
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Session:
    """A connection, held by a task that opens and closes the SDK's client; `timeout` limits the start and a listing.

    All methods run in the background loop.
    """

    _client: Client

    def __init__(self, address: Address, timeout: float | None) -> None:
        self._timeout = math.inf if timeout is None else timeout
        self._tools: dict[str, Definition] = {}
        self._notices, self._listed_notices = 1, 0  # of changed tools
        self._listing = asyncio.Lock()
        self._is_ready = asyncio.Event()  # or cannot be used
        self._error: BaseException | None = None
        self._connection = Connection()
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
        """Call a tool; its structured content is the output, and its content blocks are what the model reads.

        Questions of the server are for the user of the context.
        """
        with self._questions.of(context):
            answer = await self._ask(lambda client: client.call_tool(name, arguments, progress_callback=report))
        parts: Any = [_part(block) for block in answer.content]
        if answer.structured_content is not None and not _is_shown(answer.structured_content, parts):
            parts.append(json.dumps(answer.structured_content, ensure_ascii=False))
        text = "\n".join(part for part in parts if isinstance(part, str))
        content = text if all(isinstance(part, str) for part in parts) else parts
        if answer.is_error:
            result = Result.error(text or "the server reports an error without a text")
        elif answer.structured_content is not None:
            result = Result.ok(answer.structured_content, content=content or None)
        else:
            result = Result.ok(content)
        return Result.halt(result) if (answer.meta or {}).get(_HALTED) is True else result

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
                self._connection = Connection()
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
            if not (is_refused or self._connection.over.is_set() or _is_lost(error)):
                raise ToolError(self._text(error)) from error
            await self.close()
            is_closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
            lost = ConnectionRefusedError if is_refused else ConnectionResetError
            raise lost(self._text((is_closed and self._error) or error, is_lost=True)) from error

    async def _list(self, client: Client) -> dict[str, Definition]:
        definitions, cursor = dict[str, Definition](), None
        self.invalid_tools.clear()
        with anyio.fail_after(self._timeout):
            for _ in range(_MAX_PAGES):
                page = await client.list_tools(cursor=cursor)
                for tool in page.tools:
                    if tool.name in definitions:
                        self.invalid_tools[tool.name] = "two tools have this name; the first one counts"
                        continue
                    fields = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
                    definitions[tool.name] = {part: fields[part] for part in PARTS if part in fields}
                cursor = page.next_cursor
                if not cursor:
                    return definitions
        raise ValueError("the list of tools has no end")

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
        is_unreadable = isinstance(error, MCPError) and error.code == PARSE_ERROR
        text = str(error).partition("\n" if is_unreadable else "\n\n")[0]  # without the details of validators
        if isinstance(error, TimeoutError):
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


def _part(block: ContentBlock) -> str | Image | Audio | File:
    if block.type == "text":
        return block.text
    try:
        return _block(block)
    except ValueError as error:
        return f"[a part of the type {block.type} that cannot be read: {error}]"


def _block(block: ImageContent | AudioContent | ResourceLink | EmbeddedResource) -> str | Image | Audio | File:
    if block.type == "image":
        return Image(_bytes(block.data), _mime_type(block.mime_type))
    if block.type == "audio":
        return Audio(_bytes(block.data), _mime_type(block.mime_type))
    if block.type == "resource_link":
        about = ", ".join(filter(None, (block.mime_type, block.description)))
        return f"[resource {block.name}: {block.uri}{f' ({about})' if about else ''}]"
    resource = block.resource
    if isinstance(resource, TextResourceContents):
        return resource.text
    mime_type = resource.mime_type and _mime_type(resource.mime_type)
    return File(_bytes(resource.blob), mime_type, name=str(resource.uri).rpartition("/")[2])


def _is_shown(data: Any, parts: list[Any]) -> bool:
    """Return whether texts have each single value of some data."""
    if isinstance(data, dict | list):
        return all(_is_shown(item, parts) for item in (data.values() if isinstance(data, dict) else data))
    word = data if isinstance(data, str) else json.dumps(data)
    forms = {word, json.dumps(word)[1:-1], word.capitalize()}  # `True` of Python
    return data is None or any(form in part for part in parts if isinstance(part, str) for form in forms)


def _mime_type(text: str) -> str:
    if not _MIME_TYPE.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a MIME type")
    return text
