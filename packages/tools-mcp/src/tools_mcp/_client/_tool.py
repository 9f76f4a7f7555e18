"""`McpTool`: a tool of a server, by its definition."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, Self

from tools_core import DefinitionError, Result, Tool
from tools_core._definition._spec import Spec
from tools_core._jsonschema import compile_schema
from tools_core._tools._tool import annotations_of
from tools_core._values._frozen import FrozenList
from tools_mcp._client._background import submit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.shared.dispatcher import ProgressFnT

    from tools_core import Context
    from tools_mcp._client._connection import Connection
    from tools_mcp._client._definition import Definition


class Peer(Protocol):
    """The parts of a toolset that its tools need."""

    name: str
    timeout: float | None

    @property
    def connection(self) -> Connection: ...
    def diagnose(self) -> Mapping[str, object]: ...


_CONTEXT = "the context of this call"  # no argument of a server has this name
_MOST_REPORTS = 100  # of progress that wait for the caller's loop


class McpTool(Tool, abstract=True):
    """Validates the arguments here, and calls the server. Other defaults hold than for tools of our own.

    As the protocol says, a tool is destructive and reaches an open world unless its annotations deny it.
    """

    stateful = True  # it uses the connection of this process

    def __new__(cls, *_: Any, **__: Any) -> Self:
        return object.__new__(cls)

    def __init__(self, name: str, definition: Definition, peer: Peer) -> None:
        schema = {"type": "object", "properties": {}, **definition["inputSchema"]}
        if schema["type"] != "object":
            raise DefinitionError(f"{definition['name']}: its inputSchema is not of an object")
        output = definition.get("outputSchema")
        self._spec = Spec(schema, output_schema=output, context=_CONTEXT, is_async=True)
        self._spec._validator = compile_schema(schema)
        self.input_schema, self.output_schema = self._spec.input_schema, self._spec.output_schema
        self.parameters = self._spec.parameters
        self.name = name
        self.description = definition.get("description", "").strip()
        self.timeout = peer.timeout
        hints = definition.get("annotations", {})
        self.read_only = hints.get("readOnlyHint")
        self.destructive = None if self.read_only else hints.get("destructiveHint", True)
        self.idempotent = hints.get("idempotentHint")
        self.open_world = hints.get("openWorldHint", True)
        self.annotations = annotations_of(self)
        self.tags = FrozenList(())
        self._peer = peer
        self.accepted = definition

    async def execute(self, /, **arguments: Any) -> Result:
        """Call the tool at the server; a cancelled call is cancelled there as well."""
        from tools_mcp._client._results import result_of  # brings the SDK

        context: Context = arguments.pop(_CONTEXT)
        report = None if context.on_progress is None else _report(context)
        may_repeat = bool(self.read_only or self.idempotent)
        call = self._peer.connection.call(self.accepted, arguments, may_repeat=may_repeat, report=report)
        answer = await asyncio.wrap_future(submit(call))
        try:
            return result_of(answer)
        except ValueError as error:
            return Result.error(f"{self._peer.name}: its result cannot be read: {error}", exception=error)

    def diagnose(self) -> Mapping[str, object]:
        """Return what is known of the server, once for all of its tools; ToolError if it cannot be used."""
        return self._peer.diagnose()


def _report(context: Context) -> ProgressFnT:
    """Return a function that reports progress in the caller's loop, where calls of the background would be foreign."""
    loop, waiting = asyncio.get_running_loop(), 0

    def arrive(done: float, total: float | None, message: str) -> None:
        nonlocal waiting
        waiting -= 1
        context.progress(done, total, message)

    async def report(progress: float, total: float | None, message: str | None) -> None:
        nonlocal waiting
        if waiting < _MOST_REPORTS and not loop.is_closed():
            waiting += 1
            loop.call_soon_threadsafe(arrive, progress, total, message or "")

    return report
