"""`Listing`: the tools as clients see them, in pages, and notices when they change."""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tools_core import Registry, Tool, ToolError
from tools_core.formats import mcp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

PAGE = 1_000  # tools: many clients read the first page only
# Fresh for 10 seconds; other clients may be served other tools.
_ENVELOPE = {"resultType": "complete", "ttlMs": 10_000, "cacheScope": "private"}


class Listed(NamedTuple):
    """A tool, its name here, and its definition as clients get it."""

    name: str
    tool: Tool
    definition: dict[str, Any]


class Listing:
    """The tools in the order of their names on the wire; those that cannot be loaded are left out."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools
        self._refresh: Callable[[], None] = getattr(tools, "refresh", lambda: None)
        self._stamp: tuple[tuple[str, int], ...] | None = None
        self._listed: dict[str, Listed] = {}

    def refresh(self) -> bool:
        """Read the tools again if there are others than before; return whether that is so. Imports packages."""
        self._refresh()
        tools = dict(_loaded(self._tools))
        stamp = tuple((name, id(tool)) for name, tool in tools.items())
        if stamp == self._stamp:
            return False
        definitions = mcp.definitions({**tool.definition, "name": name} for name, tool in tools.items())
        pairs = zip(tools.items(), definitions, strict=True)
        listed = [Listed(name, tool, definition) for (name, tool), definition in pairs]
        self._listed = {
            each.definition["name"]: each for each in sorted(listed, key=lambda each: each.definition["name"])
        }
        is_change, self._stamp = self._stamp is not None, stamp
        return is_change

    @property
    def is_read(self) -> bool:
        """Return whether the tools were read."""
        return self._stamp is not None

    def find(self, name: str) -> Listed | None:
        """Return the tool with a name on the wire."""
        return self._listed.get(name)

    def names(self) -> list[str]:
        """Return the names on the wire."""
        return list(self._listed)

    def page(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the result of `tools/list`; MCPError for a cursor that is not from here."""
        last = "" if cursor is None else _read_cursor(cursor)
        names = [name for name in self._listed if name > last]
        page: dict[str, Any] = {**_ENVELOPE, "tools": [self._listed[name].definition for name in names[:PAGE]]}
        return page | ({"nextCursor": _cursor(names[PAGE - 1])} if len(names) > PAGE else {})


def _loaded(tools: Mapping[str, Tool]) -> Iterable[tuple[str, Tool]]:
    if isinstance(tools, Registry):
        yield from tools.items()
        return
    for name in tools:
        with suppress(ToolError, KeyError):  # broken, or not served
            yield name, tools[name]


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _read_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise MCPError(
            INVALID_PARAMS, "the cursor is not one that tools/list returned; leave it out to start over"
        ) from None
