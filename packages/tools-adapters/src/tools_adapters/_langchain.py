"""LangChain and LangGraph: tools for `create_agent`, `ToolNode` and `bind_tools`, and their tools as ours."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tools_adapters._bridge import (
    Approve,
    Bridge,
    BridgedTool,
    Executor,
    Progress,
    Tools,
    as_text,
    block_of,
    extra,
    foreign_tool,
    halt_in,
    parts_of,
)
from tools_core import Context, Result, Tool, ToolError

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.tools import BaseTool

    from tools_core._values._content import Block


def to_langchain(
    tools: Tools, *, executor: Executor | None = None, context: Context | None = None, approve: Approve | None = None
) -> list[BaseTool]:
    """Make LangChain tools.

    A ToolMessage has the content for the model, pictures and PDFs included, and `result.to_dict()` as its artifact. A
    failure has the status "error"; without a tool call, as in `tool.invoke({...})`, it raises ToolException. The run of
    a call is the `thread_id`. In a graph, progress goes to the stream "custom". A tool that requires approval
    interrupts `create_agent`: resume with `{"decisions": [{"type": "approve"}]}` or another answer of the
    human-in-the-loop middleware. Elsewhere, as in a ToolNode of your own, it refuses to run. `langchain_halt()` is the
    middleware that ends a run after a halt.

    Args:
        tools: A registry or other mapping, a tool, a toolset, or a sequence of these.
        executor: Makes the calls, under its policy and hooks.
        context: Its workspace, state, deadline and progress apply to every call.
        approve: "all", as where the human-in-the-loop middleware asks, or a function that answers an
            `ApprovalRequest`; instead of the interrupt.
    """
    bridge = Bridge(tools, executor=executor, context=context, approve=approve)
    with extra("langchain"):
        made = _tool_class()
    return [made(name=x.name, description=x.description, args_schema=x.schema, bridged=x) for x in bridge.tools]


def from_langchain(tools: Iterable[Any]) -> list[Tool]:
    """Convert LangChain tools, to call them directly, in an executor or over MCP.

    The artifact of a result is its output. A tool with `return_direct` halts.
    """
    return [foreign_tool(each.name, each.description, _schema_of(each), partial(_call_theirs, each)) for each in tools]


def langchain_halt() -> AgentMiddleware:
    """Make the middleware that ends a run of `create_agent` after a tool halted, before the model is asked again."""
    with extra("langchain"):
        from langchain.agents.middleware import before_model

    def end_after_halt(state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG001  (LangChain's signature)
        for message in reversed(state["messages"]):
            if message.type != "tool":
                break
            if halt_in(message.artifact) is not None:
                return {"jump_to": "end"}
        return None

    made: AgentMiddleware = before_model(can_jump_to=["end"])(end_after_halt)
    return made


@cache
def _tool_class() -> Any:
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables.config import ensure_config
    from langchain_core.tools import BaseTool, ToolException

    class AskTool(BaseTool):
        """A tool of ours; LangChain validates nothing, so that the tool's own messages and repairs hold."""

        bridged: Any

        def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: str | None) -> tuple[Any, Any]:
            # As two of our own, arguments of the tool cannot be taken for LangChain's, such as `config`.
            return (), {"given": tool_input, "call_id": tool_call_id}

        def _run(self, given: Any, call_id: str | None) -> Any:
            info = _call_info(call_id, ensure_config())
            result = self.bridged.call(given, **info)
            answer = _ask(self.bridged, result)
            if isinstance(answer, Mapping):
                answer = self.bridged.call(answer, approved=True, **info)
            return self._output(answer, call_id)

        async def _arun(self, given: Any, call_id: str | None) -> Any:
            info = _call_info(call_id, ensure_config())
            result = await self.bridged.acall(given, **info)
            answer = _ask(self.bridged, result)
            if isinstance(answer, Mapping):
                answer = await self.bridged.acall(answer, approved=True, **info)
            return self._output(answer, call_id)

        def _output(self, result: Result, call_id: str | None) -> Any:
            content = _content(result)
            if call_id is not None:
                status = "success" if result.ok else "error"
                artifact = result.to_dict()
                return ToolMessage(content, artifact=artifact, tool_call_id=call_id, name=self.name, status=status)
            if not result.ok:
                raise ToolException(content) from result.exception
            return content

    return AskTool


def _call_info(call_id: str | None, config: Mapping[str, Any]) -> dict[str, Any]:
    thread = config.get("configurable", {}).get("thread_id")
    return {"call_id": call_id, "run_id": None if thread is None else str(thread), "on_progress": _progress()}


def _progress() -> Progress | None:
    """Return a writer to the stream "custom" of the graph that runs this call; None without a graph."""
    try:
        from langgraph.config import get_stream_writer

        write = get_stream_writer()
    except (ImportError, KeyError, RuntimeError):
        return None
    return lambda done, total, message: write({"done": done, "total": total, "message": message})


def _ask(bridged: BridgedTool, result: Result) -> Any:
    """Interrupt the graph for a call that needs approval; return the approved arguments, or else the result."""
    from langchain_core.runnables.config import ensure_config

    request = bridged.request_in(result)
    # Agents run each call as a task, by Send. A node with several calls would repeat them all after an interrupt, and
    # could take the answer for one call as that for another.
    path = (ensure_config().get("metadata") or {}).get("langgraph_path") or ("",)
    if request is None or path[0] != "__pregel_push":
        return result
    from langgraph.types import interrupt

    action = {"name": bridged.name, "args": request["arguments"], "description": "; ".join(request["reasons"])}
    review = {"action_name": bridged.name, "allowed_decisions": ["approve", "edit", "reject"]}
    answer: Any = interrupt({"action_requests": [action], "review_configs": [review]})
    try:
        (decision,) = answer["decisions"]
        if decision["type"] == "edit":
            return decision["edited_action"]["args"]
        if decision["type"] == "approve":
            return request["arguments"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f'resume with {{"decisions": [{{"type": "approve"}}]}}, not with {answer!r}') from error
    return Result.error(decision.get("message") or f"{bridged.name} was not approved", type="denied")


def _content(result: Result) -> str | list[dict[str, Any]]:
    blocks = [_block(part) for part in parts_of(result)]
    is_text = all(block["type"] == "text" for block in blocks)
    return "\n".join(block["text"] for block in blocks) if is_text else blocks


def _block(part: str | Block) -> dict[str, Any]:
    """Write a content block of LangChain; its models take no sound from tools."""
    if isinstance(part, str) or not (part.kind == "image" or part.mime_type == "application/pdf"):
        return {"type": "text", "text": as_text(part)}
    return {"type": part.kind, "base64": part.to_dict()["data"], "mime_type": part.mime_type}


def _schema_of(tool: Any) -> dict[str, Any]:
    schema: Any = tool.tool_call_schema
    made: dict[str, Any] = schema if isinstance(schema, dict) else schema.model_json_schema()
    return {key: value for key, value in made.items() if key not in ("title", "description")}


async def _call_theirs(theirs: Any, arguments: dict[str, Any], context: Context) -> Result:
    call = {"type": "tool_call", "id": context.call_id or "call", "name": theirs.name, "args": arguments}
    with extra("langchain"):
        from langchain_core.messages import ToolMessage
        from langchain_core.tools import ToolException
    try:
        answer: Any = await theirs.ainvoke(call, {"configurable": {"thread_id": context.run_id}})
    except ToolException as error:
        raise ToolError(str(error)) from error
    if not isinstance(answer, ToolMessage):
        return Result.ok(answer)
    if answer.status == "error":
        return Result.error(answer.text)
    content = [_part(block) for block in answer.content_blocks]
    texts = [part for part in content if isinstance(part, str)]
    shown: Any = "".join(texts) if len(texts) == len(content) else content
    output = shown if answer.artifact is None else answer.artifact
    return (Result.halt if theirs.return_direct else Result.ok)(output, content=shown)


def _part(block: Mapping[str, Any]) -> Any:
    if "base64" in block:
        return block_of(base64.b64decode(block["base64"]), block.get("mime_type"))
    return block["text"] if block["type"] == "text" else json.dumps(block, ensure_ascii=False)
