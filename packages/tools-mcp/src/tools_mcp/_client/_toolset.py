"""`McpToolset`: the tools of a server."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from typing import TYPE_CHECKING, Any, Self

from tools_core import DefinitionError, ToolError
from tools_mcp._client._address import Address
from tools_mcp._client._background import submit
from tools_mcp._client._definition import Definition, differences
from tools_mcp._client._names import tool_names
from tools_mcp._client._tool import McpTool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools_mcp._client._connection import Connection

_DIAGNOSIS_LIMIT = 8.0  # seconds; `ask-tools doctor` gives a package 10


class McpToolset:
    """The tools of an MCP server, which is started or reached when they are first listed or called.

    ```python
    with McpToolset("npx -y @modelcontextprotocol/server-filesystem /tmp") as files:
        agent = Agent(tools=[*files])
    ```

    A call validates the arguments before anything is sent. It may come from any thread or event loop: one background
    thread has all connections of the process. A server that has ended is started again by the next call; the call
    that was lost with it is an error, or repeated once where the tool is read-only or idempotent.

    Args:
        server: A command as a list or one text, the URL of a server with streamable HTTP, or the entry of a server in
            a client's configuration. `${NAME}` in a text is the value of a variable.
        name: What errors call the server, and the prefix of its tools.
        prefix: Put the name before the name of each tool: `github_search`.
        timeout: Seconds for the start of the server, and for a call; None for no limit.
        env: Variables for a command, which otherwise gets HOME, PATH and the like alone.
        headers: Headers for a URL.
        pins: The definitions that were accepted: a mapping as `definitions` returns it, or a file, which is written at
            the first use. Only these tools are offered, and one that the server defines differently is not called,
            because a description can mislead a model. Without pins the first list of this process counts.
    """

    def __init__(
        self,
        server: str | Sequence[str] | Mapping[str, Any],
        *,
        name: str = "",
        prefix: bool = False,
        timeout: float | None = 60.0,
        env: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        pins: Mapping[str, Definition] | str | os.PathLike[str] | None = None,
    ) -> None:
        self.server = Address.of(server, env, headers)
        self.name = name or _short(self.server)
        self.timeout = timeout
        self._prefix = f"{self.name}_" if prefix else ""
        self._file = os.fspath(pins) if isinstance(pins, str | os.PathLike) else None
        self._definitions: dict[str, Definition] | None = None
        if self._file is not None and os.path.exists(self._file):
            self._definitions = _read(self._file)
        elif pins is not None and not isinstance(pins, str | os.PathLike):
            self._definitions = {name: dict(pin) for name, pin in pins.items()}
        self._tools: tuple[McpTool, ...] | None = None
        self._problems: list[str] = []
        self._connection: Connection | None = None
        self._process = 0  # that has the connection
        self._is_diagnosed = False
        self.fix = "a person has to review that: `changes()` shows it, and `refresh()` accepts it"
        self._lock = threading.RLock()

    @property
    def connection(self) -> Connection:
        """The connection, which is opened when it is first used."""
        with self._lock:
            if self._connection is None or self._process != os.getpid():  # a fork has none of its parent's threads
                from tools_mcp._client._connection import Connection  # brings the SDK: 0.9 s

                self._connection = Connection(self.name, self.server, self.timeout, self.fix)
                self._process = os.getpid()
            return self._connection

    @property
    def tools(self) -> tuple[McpTool, ...]:
        """The tools; the server is asked for them where there are no pins. ToolError if it cannot be used."""
        with self._lock:
            if self._tools is None:
                if self._definitions is None:
                    self._accept(submit(self.connection.tools()).result())
                self._make()
            return self._tools or ()

    @property
    def definitions(self) -> dict[str, Definition]:
        """The accepted definitions by name, as the server has sent them: the value for `pins`."""
        _ = self.tools
        return {name: dict(definition) for name, definition in (self._definitions or {}).items()}

    @property
    def problems(self) -> list[str]:
        """The tools that are left out, with the reasons."""
        _ = self.tools
        return list(self._problems)

    def tool(self, name: str) -> McpTool:
        """Return the tool that the server calls `name`; ToolError if there is none, or it cannot be used."""
        found = next((tool for tool in self.tools if tool.accepted["name"] == name), None)
        if found is None:
            problem = next((each for each in self._problems if each.startswith(f"{name}: ")), f"no tool {name}")
            raise ToolError(f"{self.name}: {problem}", "unavailable")
        return found

    def changes(self) -> list[str]:
        """Ask the server for its tools, and return what differs from the accepted definitions, line by line."""
        return differences(self.definitions, submit(self.connection.tools()).result())

    def refresh(self) -> list[str]:
        """Accept the definitions that the server has now, write them to the file of pins, and return the changes.

        Tools that were taken from the toolset before keep the old definition; take them again.
        """
        with self._lock:
            listed = submit(self.connection.tools()).result()
            changed = differences(self._definitions or {}, listed)
            self._accept(listed)
            self._make()
            return changed

    def diagnose(self) -> Mapping[str, object]:
        """Return facts about the server for the first of its tools that asks; ToolError if it cannot be used."""
        with self._lock:
            if self._is_diagnosed:
                return {}
            self._is_diagnosed = True
        try:
            facts = submit(self.connection.facts()).result(_DIAGNOSIS_LIMIT)
            changed = self.changes()
        except TimeoutError:
            raise ToolError(f"{self.name}: no answer within {_DIAGNOSIS_LIMIT:g} s", "unavailable") from None
        finally:
            self.close()
        if changed:
            raise ToolError(f"{self.name} has other definitions than those that were accepted", "conflict")
        return facts

    def close(self) -> None:
        """End the connection, and the server if this process has started it; the next call connects again."""
        if self._connection is not None and self._process == os.getpid():
            submit(self._connection.close()).result()

    async def aclose(self) -> None:
        """`close` for coroutines."""
        if self._connection is not None and self._process == os.getpid():
            await asyncio.wrap_future(submit(self._connection.close()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        """List the tools, if there are no pins, without blocking the event loop."""
        if self._definitions is None:
            listed = await asyncio.wrap_future(submit(self.connection.tools()))
            with self._lock:
                self._accept(listed)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __iter__(self) -> Iterator[McpTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __repr__(self) -> str:
        return f"<McpToolset {self.name!r} of {self.server}>"

    def _accept(self, listed: dict[str, Definition]) -> None:
        self._definitions = listed
        if self._file is not None:
            from tools_core._registry._replace_file import replace  # only for a file of pins

            replace(self._file, (json.dumps(listed, indent=2) + "\n").encode())

    def _make(self) -> None:
        definitions = self._definitions or {}
        names = tool_names(definitions, self._prefix)
        made: list[McpTool] = []
        self._problems = []
        for remote, definition in definitions.items():
            try:
                made.append(McpTool(names[remote], definition, self))
            except (DefinitionError, LookupError, TypeError, AttributeError) as error:
                self._problems.append(f"{remote}: {error}")
        self._tools = tuple(made)


def _short(server: Address) -> str:
    """Return a name for a server that has none: its host, or its program."""
    if server.url:
        from urllib.parse import urlsplit  # only here

        return urlsplit(server.url).hostname or server.url
    return os.path.basename(server.command[0])


def _read(path: str) -> dict[str, Definition]:
    with open(path, encoding="utf-8") as file:
        try:
            found: Any = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise ValueError(f"{path} does not have definitions of tools by name")
    return found
