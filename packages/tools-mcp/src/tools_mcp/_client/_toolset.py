"""`McpToolset`: the tools of a server."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from tools_core import DefinitionError, Result, Tool, ToolError
from tools_core._definition._spec import Spec
from tools_core._jsonschema import compile_schema
from tools_core._tools._tool import annotations_of
from tools_core._values._frozen import FrozenList
from tools_mcp._client._address import address_of, described
from tools_mcp._client._background import submit
from tools_mcp._client._definition import Definition, changed_parts, differences, tool_names

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import CallToolResult

    from tools_core import Context
    from tools_mcp._client._session import Session

    T = TypeVar("T")

_CONTEXT = "the context of this call"  # no argument of a server has this name


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
        name: The server's name in errors, and the prefix of its tools.
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
        self.address = address_of(server, env, headers)
        short = self.address.get("command") or urlsplit(self.address["url"]).hostname or ""
        self.name = name or os.path.basename(short)
        self.timeout = timeout
        self.fix = "a person has to review that: `changes()` shows it, and `refresh()` accepts it"
        self._prefix = f"{self.name}_" if prefix else ""
        self._file = os.fspath(pins) if isinstance(pins, str | os.PathLike) else None
        self._definitions: dict[str, Definition] | None = None
        if self._file is not None and os.path.exists(self._file):
            self._definitions = _read(self._file)
        elif pins is not None and not isinstance(pins, str | os.PathLike):
            self._definitions = {name: dict(pin) for name, pin in pins.items()}
        self._tools: tuple[McpTool, ...] | None = None
        self._problems: list[str] = []
        self._session: Session | None = None

    @property
    def tools(self) -> tuple[McpTool, ...]:
        """The tools; the server is asked for them where there are no pins. ToolError if it cannot be used."""
        if self._definitions is None:
            self._accept(submit(self._list()).result())
        if self._tools is None:
            self._tools = self._make(self._definitions or {})
        return self._tools

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
        return differences(self.definitions, submit(self._list()).result())

    def refresh(self) -> list[str]:
        """Accept the definitions that the server has now, write them to the file of pins, and return the changes.

        Tools that were taken from the toolset before keep the old definition; take them again.
        """
        accepted, listed = self._definitions or {}, submit(self._list()).result()
        self._accept(listed)
        return differences(accepted, listed)

    def close(self) -> None:
        """End the connection, and the server if this process has started it; the next call connects again."""
        if self._session is not None:
            submit(self._close()).result()

    async def aclose(self) -> None:
        """`close` for coroutines."""
        if self._session is not None:
            await asyncio.wrap_future(submit(self._close()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        """List the tools, if there are no pins, without blocking the event loop."""
        if self._definitions is None:
            self._accept(await asyncio.wrap_future(submit(self._list())))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __iter__(self) -> Iterator[McpTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __repr__(self) -> str:
        return f"<McpToolset {self.name!r} of {described(self.address)}>"

    def _accept(self, listed: dict[str, Definition]) -> None:
        self._definitions, self._tools = listed, None
        if self._file is not None:
            from tools_core._registry._replace_file import replace  # only for a file of pins

            replace(self._file, (json.dumps(listed, indent=2) + "\n").encode())

    def _make(self, definitions: dict[str, Definition]) -> tuple[McpTool, ...]:
        names = tool_names(definitions, self._prefix)
        made: list[McpTool] = []
        self._problems = []
        for remote, definition in definitions.items():
            try:
                made.append(McpTool(names[remote], definition, self))
            except (DefinitionError, LookupError, TypeError, AttributeError) as error:
                self._problems.append(f"{remote}: {error}")
        return tuple(made)

    async def _list(self) -> dict[str, Definition]:
        return await self._ask(lambda session: session.listed(again=True))

    async def _ask(self, question: Callable[[Session], Awaitable[T]], *, may_repeat: bool = True) -> T:
        """Ask the server, once more if the connection is lost and `may_repeat`; ToolError for whatever goes wrong."""
        from tools_mcp._client._session import Session  # brings the SDK: 0.9 s

        try:
            while True:
                if self._session is None or self._session.has_ended:
                    self._session = Session(self.address, self.timeout)
                session = self._session
                await session.opened()
                try:
                    return await question(session)
                except ConnectionError as error:
                    if not may_repeat:
                        text = f"the connection to the server was lost in the call: {error}"
                        raise ToolError(
                            f"{text}. It may have had effects, and was not repeated", "unavailable"
                        ) from error
                may_repeat = False
        except ToolError as error:
            raise ToolError(f"{self.name}: {error}", error.type) from error

    async def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None and not session.has_ended:
            await session.close()


class McpTool(Tool, abstract=True):
    """Validates the arguments here, and calls the server. Other defaults hold than for tools of our own.

    As the protocol says, a tool is destructive and reaches an open world unless its annotations deny it.
    """

    stateful = True  # it uses the connection of this process

    def __new__(cls, *_: Any, **__: Any) -> Self:
        return object.__new__(cls)

    def __init__(self, name: str, definition: Definition, toolset: McpToolset) -> None:
        schema = {"type": "object", "properties": {}, **definition["inputSchema"]}
        if schema["type"] != "object":
            raise DefinitionError(f"{definition['name']}: its inputSchema is not of an object")
        validator = compile_schema(schema)
        output = definition.get("outputSchema")
        self._spec = Spec(schema, output_schema=output, context=_CONTEXT, is_async=True, validator=validator)
        self.input_schema, self.output_schema = self._spec.input_schema, self._spec.output_schema
        self.parameters = self._spec.parameters
        self.name = name
        self.description = definition.get("description", "").strip()
        self.timeout = toolset.timeout
        hints = definition.get("annotations", {})
        self.read_only = hints.get("readOnlyHint")
        self.destructive = None if self.read_only else hints.get("destructiveHint", True)
        self.idempotent = hints.get("idempotentHint")
        self.open_world = hints.get("openWorldHint", True)
        self.annotations = annotations_of(self)
        self.tags = FrozenList(())
        self._toolset = toolset
        self.accepted = definition

    async def execute(self, /, **arguments: Any) -> Result:
        """Call the tool at the server; a cancelled call is cancelled there as well."""
        from tools_mcp._client._results import result_of  # brings the SDK

        context: Context = arguments.pop(_CONTEXT)
        report = None if context.on_progress is None else _report(context)
        may_repeat = bool(self.read_only or self.idempotent)

        async def call(session: Session) -> CallToolResult:
            self._check((await session.listed()).get(self.accepted["name"]))
            return await session.ask(
                session.client.call_tool(self.accepted["name"], arguments, progress_callback=report)
            )

        answer = await asyncio.wrap_future(submit(self._toolset._ask(call, may_repeat=may_repeat)))
        try:
            return result_of(answer)
        except ValueError as error:
            return Result.error(f"{self._toolset.name}: its result cannot be read: {error}", exception=error)

    def _check(self, listed: Definition | None) -> None:
        """Refuse a definition that has changed, without the new one, because it could mislead the model."""
        if listed == self.accepted:
            return
        what = "is no longer there"
        if listed is not None:
            what = (
                f"has another definition ({', '.join(changed_parts(self.accepted, listed))}) than when it was accepted"
            )
        raise ToolError(f"{self.accepted['name']} {what}, and was not called; {self._toolset.fix}", "conflict")


def _report(context: Context) -> ProgressFnT:
    """Return a function that reports progress in the caller's loop, where calls of the background would be foreign."""
    loop = asyncio.get_running_loop()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        loop.call_soon_threadsafe(context.progress, progress, total, message or "")

    return report


def _read(path: str) -> dict[str, Definition]:
    with open(path, encoding="utf-8") as file:
        try:
            found: Any = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise ValueError(f"{path} does not have definitions of tools by name")
    return found
