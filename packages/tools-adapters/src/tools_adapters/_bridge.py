"""`Bridge`: the tools of one conversion, and the way from a framework's call to a tool."""

from __future__ import annotations

import base64
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, Unpack

from tools_core import ApprovalRequest, Audio, Context, File, Image, Registry, Result, Tool, ToolCall, Toolset, tool
from tools_core.formats import legal_names, openai

if TYPE_CHECKING:
    from tools_core._values._content import Block

# A registry or other mapping, one tool (also a plain function or a Tool class), a toolset, or a sequence of these.
Tools: TypeAlias = Mapping[str, Tool] | Tool | Toolset | Callable[..., Any] | Iterable[Any]
Approve: TypeAlias = Callable[[ApprovalRequest], object] | Literal["all"]
Progress: TypeAlias = Callable[[float, float | None, str], object]


class Executor(Protocol):
    """Makes calls under its own policy and hooks, as a `tools_runtime.Executor` does."""

    def call(self, call: ToolCall, /, *, context: Context | None = None) -> Result:
        """Make one call."""
        ...

    async def acall(self, call: ToolCall, /, *, context: Context | None = None) -> Result:
        """Make one call in an event loop."""
        ...


class CallInfo(TypedDict, total=False):
    """The facts that a framework passes with a call.

    `call_id` is the provider's, `run_id` names the conversation, `on_progress` receives the tool's reports, in addition
    to `on_progress` of the given context, and `approved` is true if the framework has asked and the call is allowed.
    """

    call_id: str | None
    run_id: str | None
    on_progress: Progress | None
    approved: bool


@contextmanager
def extra(name: str) -> Generator[None]:
    """Import a framework inside; ImportError names the extra to install where it is missing."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{error}; install the extra: pip install 'tools-adapters[{name}]'", name=error.name
        ) from error


class Bridge:
    """The tools of one conversion.

    Args:
        tools: The tools to convert; two of one name are a ValueError.
        executor: Makes the calls, so that its policy and hooks hold. By default the tools are called directly.
        context: Its workspace, state, deadline and progress apply to every call, and cancelling it cancels them. Its
            run id counts where the framework does not name the conversation that a call belongs to.
        approve: Answers for tools that require approval: "all", or a function of an `ApprovalRequest`.
    """

    def __init__(
        self,
        tools: Tools,
        *,
        executor: Executor | None = None,
        context: Context | None = None,
        approve: Approve | None = None,
    ) -> None:
        if executor is not None and approve is not None:
            raise TypeError("give approve= to the executor, which decides about all calls")
        self.executor = executor
        self.context = Context() if context is None else context
        self.approve: Approve | None = approve
        self.registry = tools if isinstance(tools, Registry) else _registered(tools)
        found = dict(self.registry.items())
        names = legal_names(found, "openai")
        self.tools = [BridgedTool(self, names[key], key, each) for key, each in found.items()]

    @contextmanager
    def _context_of(self, info: CallInfo) -> Generator[Context]:
        """Make the context of one call: the given one's parts, in the run that the framework names."""
        given, on_progress = self.context, info.get("on_progress")

        def report(done: float, total: float | None, message: str) -> None:
            given.progress(done, total, message)
            if on_progress is not None:
                on_progress(done, total, message)

        made = Context(
            workspace=given.workspace,
            state=given.state,
            timeout=None if given.remaining is None else max(given.remaining, 1e-6),
            run_id=info.get("run_id") or given.run_id,
            on_progress=report,
            enforced=given.enforced,
        )
        unlink = given.on_cancel(made.cancel)
        try:
            yield made
        finally:
            unlink()


class BridgedTool:
    """One tool as the other side sees it: `name` is legal there, `key` is its name in the registry or executor."""

    def __init__(self, bridge: Bridge, name: str, key: str, tool: Tool) -> None:
        self.bridge = bridge
        self.name = name
        self.key = key
        self.tool = tool
        self.definition = {**tool.definition, "name": key}
        # Without keywords at the root that OpenAI and Anthropic refuse: the description has these.
        function = openai.definitions([self.definition])[0]["function"]
        self.description: str = function["description"]
        self.schema: dict[str, Any] = {"properties": {}, **function["parameters"]}

    @property
    def needs_approval(self) -> bool:
        """Return whether the framework has to ask before a call, because neither executor nor `approve` decides."""
        return self.tool.requires_approval and self.bridge.executor is None and self.bridge.approve is None

    def request_in(self, result: Result) -> Mapping[str, Any] | None:
        """Return the request, as plain JSON, of a call that was not made because the framework has to ask first.

        It has the `arguments`, valid and repaired, the `effects` and the `reasons`; call again with `approved=True`.
        """
        return result.metadata.get("pending") if self.needs_approval else None

    def call(self, arguments: Mapping[str, Any] | str | None, **info: Unpack[CallInfo]) -> Result:
        """Call the tool with arguments as the model sent them, JSON text included: the tool itself validates them."""
        call, bridge = ToolCall(info.get("call_id"), self.key, arguments), self.bridge
        with bridge._context_of(info) as context:
            if bridge.executor is not None:
                return bridge.executor.call(call, context=context)
            return bridge.registry.call(call, context, approve="all" if info.get("approved") else bridge.approve)

    async def acall(self, arguments: Mapping[str, Any] | str | None, **info: Unpack[CallInfo]) -> Result:
        """`call` for coroutines: a synchronous tool does not block the event loop."""
        call, bridge = ToolCall(info.get("call_id"), self.key, arguments), self.bridge
        with bridge._context_of(info) as context:
            if bridge.executor is not None:
                return await bridge.executor.acall(call, context=context)
            approve: Approve | None = "all" if info.get("approved") else bridge.approve
            return await bridge.registry.acall(call, context, approve=approve)


def parts_of(result: Result, *, error: str = "") -> list[str | Block]:
    """Return what the model reads, as texts and blocks; `error` begins the text of a failure."""
    content = result.content
    if not result.ok:
        content = f"{error}{content or result.error_type}"
    return [content] if isinstance(content, str) else list(content)


def text_of(result: Result, *, error: str = "") -> str:
    """Return what the model reads as text alone: a file of text with its content, others described."""
    return "\n".join(as_text(part) for part in parts_of(result, error=error))


def as_text(part: str | Block) -> str:
    """Return one part as text: the content of a file of text, a description of other bytes."""
    if isinstance(part, str):
        return part
    text: str | None = openai.content([part])[0].get("text")
    return str(part) if text is None else text


def halt_in(data: Any) -> Result | None:
    """Return the halt that the plain JSON of a result, kept with a framework's message, is; None for anything else."""
    metadata = data.get("metadata") if isinstance(data, Mapping) else None
    return Result.from_dict(data) if isinstance(metadata, Mapping) and metadata.get("halted") is True else None


def block_of(data: bytes, mime_type: str | None = None, name: str | None = None) -> Block:
    """Make a block of bytes of another framework: an image or sound where the type says so, else a file."""
    kind = (mime_type or "").partition("/")[0]
    return {"image": Image, "audio": Audio}.get(kind, File)(data, mime_type, name=name)


def block_of_url(url: Any) -> Block | None:
    """Make a block of a data URL in base64; None for anything else."""
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not (head.startswith("data:") and head.endswith(";base64") and comma):
        return None
    return block_of(base64.b64decode(data), head.removeprefix("data:").partition(";")[0])


def foreign_tool(
    name: str,
    description: str,
    input_schema: Mapping[str, Any],
    body: Callable[[dict[str, Any], Context], Any],
    *,
    requires_approval: bool = False,
) -> Tool:
    """Make a tool that calls another framework's.

    `body`, a function or coroutine function, receives valid arguments and the context, and returns any value or a
    Result. An exception becomes an error result; `ToolError` sets its message and type.
    """

    def execute(tools_adapters_context: Context, **arguments: Any) -> Any:
        return body(arguments, tools_adapters_context)

    async def aexecute(tools_adapters_context: Context, **arguments: Any) -> Any:
        return await body(arguments, tools_adapters_context)

    function = aexecute if iscoroutinefunction(body) else execute
    legal = legal_names([name], "openai")[name]
    legal = legal if legal[0].isalpha() or legal[0] == "_" else f"_{legal}"[:64]
    schema = {"type": "object", "properties": {}, **input_schema}
    return tool(
        function,
        name=legal,
        description=description,
        input_schema=schema,
        requires_approval=requires_approval,
        stateful=True,  # it holds live objects, which cannot go to another process
    )


def _registered(tools: Any) -> Registry:
    made = Registry()
    if isinstance(tools, Mapping):
        for name, each in tools.items():
            made.register(each if each.name == name else each.renamed(name))
        return made
    for each in tools if isinstance(tools, Iterable) and not isinstance(tools, Tool) else [tools]:
        made.register(each)
    return made
