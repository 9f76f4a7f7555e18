"""`McpToolset`: the tools of a server."""

from __future__ import annotations

import asyncio
import json
import math
import os
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast
from urllib.parse import urlsplit

from tools_core import Context, DefinitionError, Result, Tool, ToolError, schema, tool
from tools_mcp._client._address import address_of, described
from tools_mcp._client._background import submit
from tools_mcp._client._definition import PARTS, Definition, differences, read_object, tool_names

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from mcp.shared.dispatcher import ProgressFnT

    from tools_mcp._client._session import Session

    T = TypeVar("T")


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
            a client's configuration: `{"command": "npx", "args": [...], "env": {...}, "cwd": "..."}` or
            `{"url": "...", "headers": {...}}`. `${NAME}` in a text is the value of a variable. A command gets HOME,
            PATH, four similar variables and the variables in `env`. With `"resources": True` the toolset also has the
            tool `resources`, which lists and reads the resources of the server; with `"prompts": True`, `prompts`.
        name: The server's name in errors, and the prefix of its tools.
        prefix: Put the name before the name of each tool: `github_search`.
        timeout: Seconds for the start of the server, and for a call; None for no limit.
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
        pins: Mapping[str, Definition] | str | os.PathLike[str] | None = None,
    ) -> None:
        if timeout is not None and not 0 < timeout < math.inf:
            raise ValueError(f"timeout must be seconds above 0, or None for no limit; got {timeout!r}")
        self.address = address_of(server)
        short = self.address.get("command") or urlsplit(self.address["url"]).hostname or ""
        self.name = name or os.path.basename(short)
        self.timeout = timeout
        self.fix = "a person has to review that: `changes()` shows it, and a toolset without these pins accepts it"
        self._prefix = f"{self.name}_" if prefix else ""
        self._file = os.fspath(pins) if isinstance(pins, str | os.PathLike) else None
        accepted = read_object(self._file) or None if self._file is not None else pins
        self._definitions = cast("dict[str, Definition] | None", accepted)
        self._tools: dict[str, Tool] | None = None  # by the names of the server
        self._problems: dict[str, str] = {}
        self._remarks: dict[str, str] = {}
        self._session: Session | None = None

    @property
    def definitions(self) -> dict[str, Definition]:
        """The accepted definitions by name, as the server has sent them: the value for `pins`."""
        if self._definitions is None:
            self._accept(submit(self._list()).result())
        return dict(self._definitions or {})

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, without pins from the server; ToolError if it cannot be used."""
        return tuple(self._make().values())

    @property
    def problems(self) -> list[str]:
        """The excluded tools, with the reasons."""
        self._make()
        return [f"{name}: {problem}" for name, problem in self._problems.items()]

    @property
    def remarks(self) -> list[str]:
        """The tools with keywords in their schemas that cannot be enforced here."""
        self._make()
        return [f"{name}: {remark}" for name, remark in self._remarks.items()]

    def tool(self, name: str) -> Tool:
        """Return the tool that the server calls `name`; ToolError for a tool that is missing or invalid."""
        match = self._make().get(name)
        if match is None:
            raise ToolError(f"{self.name}: {name}: {self._problems.get(name, 'no such tool')}", "unavailable")
        return match

    def changes(self) -> list[str]:
        """Ask the server for its tools, and return what differs from the accepted definitions, line by line."""
        return differences(self.definitions, submit(self._list()).result())

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

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __repr__(self) -> str:
        return f"<McpToolset {self.name!r} of {described(self.address)}>"

    def _accept(self, listed: dict[str, Definition]) -> None:
        self._definitions = listed
        if self._file is not None:
            from tools_core.files import replace  # only for a file of pins

            replace(self._file, (json.dumps(listed, indent=2) + "\n").encode())

    def _make(self) -> dict[str, Tool]:
        if self._tools is None:
            definitions, tools = self.definitions, dict[str, Tool]()
            for remote, name in tool_names(definitions, self._prefix).items():
                try:
                    tools[remote] = self._tool(name, definitions[remote])
                except (DefinitionError, LookupError, TypeError, AttributeError) as error:
                    self._problems[remote] = str(error)
            self._tools = tools
        return self._tools

    def _tool(self, name: str, definition: Definition) -> Tool:
        """Make a tool that validates the arguments here, and calls the server.

        As the protocol says, it is destructive and reaches an open world unless its annotations deny it.
        """
        hints = definition.get("annotations", {})
        read_only, idempotent = hints.get("readOnlyHint"), hints.get("idempotentHint")
        destructive = None if read_only else hints.get("destructiveHint", True)
        output = _validator(definition.get("outputSchema"))
        usable, unchecked = schema.enforceable(definition["inputSchema"])
        if unchecked:
            self._remarks[definition["name"]] = f"the server alone checks {', '.join(unchecked)}"

        # No argument of a server has the name of the first parameter.
        async def execute(_ask_tools_context: Context, **arguments: Any) -> Result:
            listener = _report(_ask_tools_context), _ask_tools_context
            call = self._call(definition, arguments, *listener, may_repeat=bool(read_only or idempotent))
            return _checked(await asyncio.wrap_future(submit(call)), output)

        # A policy knows the tool by both, under any name; so do errors.
        execute.__module__, execute.__qualname__ = f"mcp:{self.name}", definition["name"]
        return tool(
            execute,
            input_schema=usable,
            output_schema=None if output is None else schema.enforceable(definition["outputSchema"])[0],
            name=name,
            description=definition.get("description", ""),
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            open_world=hints.get("openWorldHint", True),
            timeout=self.timeout,
            stateful=True,  # it uses the connection of this process
        )

    async def _list(self) -> dict[str, Definition]:
        async def list_tools(session: Session) -> dict[str, Definition]:
            definitions = await session.listed(again=True)
            self._problems |= session.invalid_tools
            return definitions

        return await self._ask(list_tools)

    async def _call(
        self,
        definition: Definition,
        arguments: dict[str, Any],
        report: ProgressFnT | None,
        context: Context,
        *,
        may_repeat: bool,
    ) -> Result:
        name = definition["name"]

        async def call(session: Session) -> Result:
            listed = (await session.listed()).get(name)
            if listed != definition:  # without the new one, because it could mislead the model
                parts = [part for part in PARTS if listed and definition.get(part) != listed.get(part)]
                change = f"has changed since it was accepted ({', '.join(parts)})" if listed else "is no longer there"
                raise ToolError(f"{name} {change}, and was not called; {self.fix}", "conflict")
            return await session.call(name, arguments, report, context)

        return await self._ask(call, may_repeat=may_repeat)

    async def _ask(self, question: Callable[[Session], Awaitable[T]], *, may_repeat: bool = True) -> T:
        """Send a request, again if the connection is lost and `may_repeat`; ToolError for any failure."""
        from tools_mcp._client._session import Session  # brings the SDK: 0.9 s

        is_repeated = False
        while True:
            if self._session is None or self._session.has_ended:
                self._session = Session(self.name, self.address, self.timeout)
            try:
                return await question(self._session)
            except ToolError as error:
                raise ToolError(f"{self.name}: {error}", error.type) from error
            except ConnectionError as error:
                is_safe = may_repeat or isinstance(error, ConnectionRefusedError)
                if is_repeated or not is_safe:
                    effects = "" if is_safe else ". The call may have had effects, and was not repeated"
                    text = f"{self.name}: the connection was lost: {str(error).rstrip('.')}{effects}"
                    raise ToolError(text, "unavailable") from error
                is_repeated = True

    async def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None and not session.has_ended:
            await session.close()


def _validator(output_schema: dict[str, Any] | None) -> schema.Validator | None:
    """Return the validator of structured content; None without a schema, or for one that is none."""
    try:
        return None if output_schema is None else schema.compile(schema.enforceable(output_schema)[0])
    except DefinitionError:
        return None


def _checked(result: Result, output: schema.Validator | None) -> Result:
    if output is None or not result.ok or not (problems := output.check(result.output, repair=False).problems):
        return result
    remark = f"[The structured content does not match the output schema of the server: {'; '.join(map(str, problems))}]"
    is_text = isinstance(result.content, str)
    content = f"{result.content}\n{remark}" if is_text else [*result.content, remark]
    return Result.ok(result.output, content=content, metadata=result.metadata)


def _report(context: Context) -> ProgressFnT | None:
    """Return a function that reports progress in the caller's event loop; None if the caller wants no reports."""
    if context.on_progress is None:
        return None
    loop = asyncio.get_running_loop()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        loop.call_soon_threadsafe(context.progress, progress, total, message or "")

    return report
