"""Shared parts of the adapters: call our tools, wrap tools of frameworks, convert content."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from tools_core import ApprovalRequest, Audio, Context, File, Image, Registry, Result, Tool, ToolCall, Tools, tool
from tools_core.formats import legal_names, openai, responses_strict

Approve: TypeAlias = Callable[[ApprovalRequest], object] | Literal["all"]


class Executor(Protocol):
    """Runs calls under its own policy and hooks, as a `tools_runtime.Executor` does."""

    def call(self, call: ToolCall, /, *, context: Context | None = None) -> Result: ...
    async def acall(self, call: ToolCall, /, *, context: Context | None = None) -> Result: ...


class Options(TypedDict, total=False):
    """The options of each `to_...` function.

    `executor` runs the calls under its policy and hooks; without it the tools are called directly. The workspace, state
    and deadline of `context` apply to every call, and cancelling it cancels them; its `on_progress` replaces the
    framework's own progress, and its run id applies if the framework does not name the conversation. `approve`, "all"
    or a function of an `ApprovalRequest`, answers for tools that require approval instead of the framework's own way
    to ask.
    """

    executor: Executor | None
    context: Context | None
    approve: Approve | None


def bridge(
    tools: Tools, *, executor: Executor | None = None, context: Context | None = None, approve: Approve | None = None
) -> list[BridgedTool]:
    """Return the tools as another framework sees them; two of one name are a ValueError."""
    if executor is not None and approve is not None:
        raise TypeError("pass approve= to the executor, which decides about all calls")
    registry = tools if isinstance(tools, Registry) else Registry(tools)
    loaded = dict(registry.items())  # without broken tools
    names = legal_names(loaded, "openai")
    shared = Context() if context is None else context
    caller, options = (registry, {"approve": approve}) if executor is None else (executor, {})
    return [BridgedTool(names[key], key, tool, caller, options, shared) for key, tool in loaded.items()]


class BridgedTool:
    """A tool as a framework sees it: a legal `name`, and a `schema` without keywords that providers refuse."""

    def __init__(
        self, name: str, key: str, tool: Tool, caller: Executor | Registry, options: dict[str, Any], context: Context
    ) -> None:
        self.name = name
        self.definition = {**tool.definition, "name": name}
        if tool.examples:
            self.definition["examples"] = tool.examples  # a part of the description
        function = openai.definitions([self.definition])[0]["function"]
        self.description: str = function["description"]
        self.schema: dict[str, Any] = function["parameters"]
        # The framework has to ask before a call if neither an executor nor `approve` decides.
        self.needs_approval = tool.requires_approval and options == {"approve": None}
        self._key = key  # its name in the registry or executor
        self._caller = caller
        self._options = options
        self._context = context

    @property
    def strict(self) -> dict[str, Any]:
        """The definition with a schema for strict mode: optional parameters are nullable, and required."""
        return responses_strict.definitions([self.definition])[0]

    def call(self, arguments: Mapping[str, Any] | str | None, **facts: Any) -> Result:
        """Call the tool with the model's arguments, a mapping or JSON text, which the tool itself validates.

        Args:
            arguments: The arguments as the model sent them.
            **facts: Facts that the framework passes with a call. `call_id` is the provider's, `run_id` names the
                conversation, `on_progress` receives the tool's reports unless the shared context does, `approved` is
                true if the framework has asked a person and the call is allowed, and `strict` drops the nulls of absent
                arguments.
        """
        call, options, unlink = self._prepare(arguments, **facts)
        try:
            return self._caller.call(call, **options)
        finally:
            unlink()

    async def acall(self, arguments: Mapping[str, Any] | str | None, **facts: Any) -> Result:
        """`call` for coroutines: a synchronous tool does not block the event loop."""
        call, options, unlink = self._prepare(arguments, **facts)
        try:
            return await self._caller.acall(call, **options)
        finally:
            unlink()

    def request_in(self, result: Result) -> Mapping[str, Any] | None:
        """Return the request, as plain JSON, of a call that waits for the framework's approval.

        It has the `arguments`, valid and repaired, the `effects` and the `reasons`; retry with `approved=True`.
        """
        return result.metadata.get("pending") if self.needs_approval else None

    def _prepare(
        self,
        arguments: Mapping[str, Any] | str | None,
        *,
        call_id: str | None = None,
        run_id: str | None = None,
        on_progress: Callable[[float, float | None, str], object] | None = None,
        approved: bool = False,
        strict: bool = False,
    ) -> tuple[ToolCall, dict[str, Any], Callable[[], None]]:
        """Return a call, the options of the caller, and a function that unlinks the call's context from the shared."""
        if strict:
            item = {"type": "function_call", "name": self.name, "arguments": arguments}
            arguments = responses_strict.calls(item, [self.definition])[0].raw_arguments
        shared = self._context
        context = Context(workspace=shared.workspace, state=shared.state, run_id=str(run_id or shared.run_id))
        context.deadline, context.timeout = shared.deadline, shared.timeout
        context.on_progress = shared.on_progress or on_progress
        options = {**self._options, "context": context}
        if approved and self.needs_approval:
            options["approve"] = "all"
        return ToolCall(call_id, self._key, arguments), options, shared.on_cancel(context.cancel)


def foreign_tool(
    body: Callable[[dict[str, Any], Context], Awaitable[Any]],
    name: str,
    description: str | None,
    parameters: Mapping[str, Any],
    requires_approval: bool = False,
) -> Tool:
    """Return a tool that calls another framework's.

    `body` receives valid arguments and the context, and returns any value or a Result. An exception becomes an error
    result; `ToolError` sets its message and type.
    """

    async def execute(tools_adapters_context: Context, **arguments: Any) -> Any:
        return await body(arguments, tools_adapters_context)

    execute.__qualname__ = name  # for messages about the schema
    name = name if name[:1].isalpha() or name.startswith("_") else f"_{name}"
    return tool(
        execute,
        name=legal_names([name], "openai")[name],
        description=description or "",
        input_schema=dict(parameters),
        requires_approval=requires_approval,
        stateful=True,  # it holds live objects, which cannot go to another process
    )


def parts_of(result: Result, *kinds: str) -> list[Any]:
    """Return the content for the model: texts, and blocks of these kinds and MIME types; text describes the others."""
    content = result.content if result.ok else result.error or str(result.error_type)
    parts = (content,) if isinstance(content, str) else content
    return [
        part if not isinstance(part, str) and (part.kind in kinds or part.mime_type in kinds) else _text(part)
        for part in parts
    ]


def content_of(result: Result, write: Callable[[Any], Any], *kinds: str) -> Any:
    """Return the content for the model: one text, or every part as `write` renders it if there are such blocks."""
    parts = parts_of(result, *kinds)
    return "\n".join(parts) if all(isinstance(part, str) for part in parts) else [write(part) for part in parts]


def text_of(result: Result) -> str:
    """Return the content for the model as text alone."""
    return "\n".join(parts_of(result))


def halt_in(data: Any) -> str | None:
    """Return the content of a halt from a framework's copy of `Result.to_dict()`; None for anything else."""
    metadata = data.get("metadata") if isinstance(data, Mapping) else None
    is_halt = isinstance(metadata, Mapping) and metadata.get("halted") is True
    return str(Result.from_dict(data)) if is_halt else None


def block_of(data: bytes | str, mime_type: str | None = None, name: str | None = None) -> Any:
    """Return a block with another framework's bytes or base64: an image, audio or a file by its type."""
    kind = (mime_type or "").partition("/")[0]
    content = base64.b64decode(data) if isinstance(data, str) else data
    return {"image": Image, "audio": Audio}.get(kind, File)(content, mime_type, name=name)


def _text(part: Any) -> str:
    """Return a part as text: the content of a text file, a description of other blocks."""
    return openai.content([part])[0].get("text") or str(part)
