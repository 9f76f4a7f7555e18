"""`Listing`: the tools as clients see them, in pages, and the news that they have changed."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.to_thread
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tools_core import Registry, Tool, ToolError
from tools_core.formats import mcp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.shared.subscriptions import ServerEvent

PAGE = 1_000  # tools: many clients read the first page only
_INTERVAL = 0.5  # seconds between checks while a client listens; each takes 0.2 ms


class Listed(NamedTuple):
    """A tool, its name here, and its definition as clients get it."""

    name: str
    tool: Tool
    definition: dict[str, Any]


class Listing(InMemorySubscriptionBus):
    """The tools by their names on the wire, in alphabetical order; those that cannot be loaded are left out.

    Subscribers get an event when the tools have changed: a package was installed or removed, a tool registered or
    unregistered.
    """

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        super().__init__()
        self._tools = tools
        self._rediscover: Callable[[], None] = getattr(tools, "refresh", lambda: None)
        self._reading = anyio.Lock()
        self._stamp: list[tuple[str, int]] | None = None
        self._listed: dict[str, Listed] = {}
        self._subscribers = 0

    async def refresh(self) -> None:
        """Read the tools again, in a thread since this imports packages, and tell subscribers about a change."""
        async with self._reading:
            is_first = self._stamp is None
            is_change = await anyio.to_thread.run_sync(self._read)
        if is_change and not is_first:
            await self.publish(ToolsListChanged())

    async def watch(self) -> None:
        """Refresh twice a second while there are subscribers."""
        while True:
            await asyncio.sleep(_INTERVAL)
            if self._subscribers:
                await self.refresh()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Call `listener` with each event, until the function that is returned is called."""
        unsubscribe = super().subscribe(listener)
        self._subscribers += 1

        def end() -> None:
            self._subscribers -= 1
            unsubscribe()

        return end

    async def find(self, name: str) -> Listed | None:
        """Return the tool with a name on the wire; one that is not known yet may have been added."""
        if name not in self._listed:
            await self.refresh()
        return self._listed.get(name)

    def schema(self, name: str) -> dict[str, Any] | None:
        """Return the input schema of a tool that was listed."""
        listed = self._listed.get(name)
        return None if listed is None else listed.definition["inputSchema"]

    def names(self) -> list[str]:
        """Return the names on the wire."""
        return list(self._listed)

    def page(self, cursor: str | None) -> dict[str, Any]:
        """Return one page, as `tools/list` has it; MCPError for a cursor that is not from here."""
        last = "" if cursor is None else _read_cursor(cursor)
        names = [name for name in self._listed if name > last]
        page: dict[str, Any] = {"tools": [self._listed[name].definition for name in names[:PAGE]]}
        return page | ({"nextCursor": _cursor(names[PAGE - 1])} if len(names) > PAGE else {})

    def _read(self) -> bool:
        self._rediscover()
        tools = _loaded(self._tools)
        stamp = [(name, id(tool)) for name, tool in tools.items()]
        if stamp == self._stamp:
            return False
        definitions = mcp.definitions({**tool.definition, "name": name} for name, tool in tools.items())
        pairs = zip(definitions, tools.items(), strict=True)
        listed = {definition["name"]: Listed(name, tool, definition) for definition, (name, tool) in pairs}
        self._listed = dict(sorted(listed.items()))
        self._stamp = stamp
        return True


def _loaded(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    if isinstance(tools, Registry):
        return dict(tools.items())
    loaded: dict[str, Tool] = {}
    for name in tools:
        try:
            loaded[name] = tools[name]
        except (ToolError, KeyError):  # broken, or not served
            continue
    return loaded


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _read_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except ValueError:
        message = "Invalid cursor: it is not one that tools/list returned; leave it out to start over"
        raise MCPError(INVALID_PARAMS, message) from None
