"""`Listing`: the tools as clients see them, and notices of changes."""

from __future__ import annotations

import asyncio
import fnmatch
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged

from tools_core import DefinitionError, Registry, Tool, ToolError, UnknownToolError, schema
from tools_core.formats import mcp
from tools_mcp._server._defaults import with_defaults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_INTERVAL = 0.5  # seconds between checks, each of which takes 0.2 ms


@dataclass(frozen=True)
class Listed:
    """A tool, its name here, and its definition as clients get it."""

    name: str
    tool: Tool
    definition: dict[str, Any]

    @property
    def is_wrapped(self) -> bool:
        """Return whether the output is the member `result` of the structured content."""
        schema = self.tool.output_schema
        return schema is not None and schema.get("type") != "object"

    @cached_property
    def output(self) -> schema.Validator | None:
        """The validator of records; None without an output schema, or for one of another server that is unusual."""
        try:
            return schema.compile(self.definition["outputSchema"])
        except (KeyError, DefinitionError):
            return None


class Listing:
    """The served tools, without tools that cannot be loaded.

    `tools` has them by their own names, `listed` by their names on the wire, in alphabetical order. `changes` has an
    event when tools have come or gone: a package was installed or removed, a tool registered or unregistered.
    """

    def __init__(self, tools: Mapping[str, Tool] | None, only: Sequence[str] | None, *, read_only: bool) -> None:
        self._installed: Registry | None = None
        if tools is None:
            tools = self._installed = Registry()
        self._source = tools
        self._only = only
        self._read_only = read_only
        self._reading = anyio.Lock()
        self._stamps: list[int] = []
        self._is_read = False
        self._read_tools: dict[str, Tool] = {}
        self.tools: dict[str, Tool] = {}
        self.listed: dict[str, Listed] = {}
        self.changes = InMemorySubscriptionBus()

    async def refresh(self) -> None:
        """Read the tools again, in a thread because this imports packages, and notify subscribers of a change."""
        async with self._reading:
            is_change = await anyio.to_thread.run_sync(self._read) and self._is_read
            self._is_read = True
        if is_change:
            await self.changes.publish(ToolsListChanged())

    async def watch(self) -> None:
        """Refresh twice a second, once a client has listed the tools."""
        while True:
            await asyncio.sleep(_INTERVAL)
            if self._is_read:
                await self.refresh()

    async def find(self, name: str) -> Listed | None:
        """Return the tool with a name on the wire; one that is not known yet may have been added."""
        if name not in self.listed:
            await self.refresh()
        return self.listed.get(name)

    def schema(self, name: str) -> dict[str, Any] | None:
        """Return the input schema of a tool that was listed."""
        return self.listed[name].definition["inputSchema"] if name in self.listed else None

    def _read(self) -> bool:
        """Read the tools, and return whether they have changed."""
        if self._installed is not None:
            self._discover(self._installed)
        tools: dict[str, Tool] = {}
        for name in self._names():
            try:
                tool = self._source[name]
            except (ToolError, KeyError):  # broken, or removed meanwhile
                continue
            if not self._read_only or tool.annotations.get("read_only"):
                tools[name] = tool
        if tools == self._read_tools:
            return False
        self._read_tools = dict(tools)
        self.listed = dict(sorted(_listed(tools).items()))
        for gone in self.tools.keys() - tools.keys():
            del self.tools[gone]
        self.tools.update(tools)
        return True

    def _names(self) -> list[str]:
        """Return the names of the tools to serve; a pattern that matches nothing now may match later."""
        if self._only is None:
            return list(self._source)
        names: set[str] = set()
        for pattern in self._only:
            if isinstance(self._source, Registry):
                with suppress(UnknownToolError):
                    names.update(self._source.select(pattern))
            else:
                names.update(fnmatch.filter(self._source, pattern))
        return [name for name in self._source if name in names]

    def _discover(self, installed: Registry) -> None:
        """Find the packages that were installed or removed, if an installer has written to one of their folders."""
        stamps = [path.stat().st_mtime_ns for path in map(Path, sys.path) if path.is_dir()]
        if stamps != self._stamps:
            self._stamps = stamps
            installed.discover()


def _listed(tools: Mapping[str, Tool]) -> dict[str, Listed]:
    """Return tools by their names on the wire."""
    definitions = mcp.definitions({**tool.definition, "name": name} for name, tool in tools.items())
    pairs = zip(definitions, tools.items(), strict=True)
    return {
        definition["name"]: Listed(name, tool, {**definition, "title": _title(name), **_schemas(definition, tool)})
        for definition, (name, tool) in pairs
    }


def _schemas(definition: dict[str, Any], tool: Tool) -> dict[str, Any]:
    """Return the schemas of a tool; output that is no object is `result` of one, for the protocol has objects alone."""
    schemas = {"inputSchema": with_defaults(definition["inputSchema"])}
    output = tool.output_schema
    if output is None or "outputSchema" in definition:
        return schemas
    shared = {key: output[key] for key in ("$defs", "definitions") if key in output}
    part = {key: value for key, value in output.items() if key not in shared}
    wrapped = {"type": "object", "properties": {"result": part}, "required": ["result"], **shared}
    return schemas | {"outputSchema": wrapped}


def _title(name: str) -> str:
    """Return the title that clients show their users: `read_file` is "Read file"."""
    words = re.sub(r"[\W_]+", " ", name).strip()
    return words[:1].upper() + words[1:]
