"""LangChain and LangGraph: tools for `create_agent`, `ToolNode` and `bind_tools`, and their tools as ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Any, Unpack

from langchain_core.messages import ToolMessage
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool

from tools_adapters._bridge import BridgedTool, Options, block_of, bridge, content_of, foreign_tool, halt_in
from tools_core import Context, Result, Tool, ToolError, Tools


def to_langchain(tools: Tools, **options: Unpack[Options]) -> list[BaseTool]:
    """Return LangChain tools; see `Options` for `executor`, `context` and `approve`.

    A ToolMessage has the content for the model, pictures and PDFs included, and `result.to_dict()` as its artifact. A
    failure has the status "error"; without a tool call, as in `tool.invoke({...})`, it raises ToolException. The run of
    a call is the `thread_id`. In a graph, progress goes to the stream "custom". A call that requires approval
    interrupts `create_agent`: resume with `{"decisions": [{"type": "approve"}]}` or another answer of the
    human-in-the-loop middleware; elsewhere it is refused. Where that middleware asks, pass `approve="all"`.
    """
    bridged = bridge(tools, **options)
    return [
        AskTool(name=tool.name, description=tool.description, args_schema=tool.schema, bridged=tool) for tool in bridged
    ]


def from_langchain(tools: Iterable[Any]) -> list[Tool]:
    """Return tools of LangChain's: the artifact of a result is its output, and a tool with `return_direct` halts."""
    return [foreign_tool(partial(_call_theirs, tool), **convert_to_openai_tool(tool)["function"]) for tool in tools]


def langchain_halt() -> Any:
    """Return the middleware that ends a run of `create_agent` after a tool halted, before the model is asked again."""
    from langchain.agents.middleware import before_model  # 0.2 s

    def end_after_halt(state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG001  (LangChain's signature)
        answers = takewhile(lambda message: message.type == "tool", reversed(state["messages"]))
        return {"jump_to": "end"} if any(halt_in(message.artifact) is not None for message in answers) else None

    return before_model(can_jump_to=["end"])(end_after_halt)


class AskTool(BaseTool):
    """A tool of ours; LangChain validates nothing, so that the tool's own messages and repairs hold."""

    bridged: Any

    def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: str | None) -> tuple[Any, Any]:
        # As two of our own, arguments of the tool cannot be taken for LangChain's, such as `config`.
        return (), {"arguments": tool_input, "call_id": tool_call_id}

    def _run(self, arguments: Any, call_id: str | None) -> Any:
        facts = _facts(call_id)
        answer = _ask(self.bridged, self.bridged.call(arguments, **facts))
        if isinstance(answer, Mapping):
            answer = self.bridged.call(answer, approved=True, **facts)
        return self._output(answer, call_id)

    async def _arun(self, arguments: Any, call_id: str | None) -> Any:
        facts = _facts(call_id)
        answer = _ask(self.bridged, await self.bridged.acall(arguments, **facts))
        if isinstance(answer, Mapping):
            answer = await self.bridged.acall(answer, approved=True, **facts)
        return self._output(answer, call_id)

    def _output(self, result: Result, call_id: str | None) -> Any:
        content = content_of(result, _block, "image", "application/pdf")  # models take no sound from tools
        if call_id is not None:
            facts = {"name": self.name, "status": "success" if result.ok else "error", "artifact": result.to_dict()}
            return ToolMessage(content, tool_call_id=call_id, **facts)
        if not result.ok:
            raise ToolException(content) from result.exception
        return content


def _facts(call_id: str | None) -> dict[str, Any]:
    from langgraph.config import get_stream_writer  # 0.3 s, when a tool is first called

    facts = {"call_id": call_id, "run_id": ensure_config().get("configurable", {}).get("thread_id")}
    with suppress(KeyError, RuntimeError):  # outside of a graph
        write = get_stream_writer()
        facts["on_progress"] = lambda *report: write(dict(zip(("done", "total", "message"), report, strict=True)))
    return facts


def _ask(bridged: BridgedTool, result: Result) -> Any:
    """Interrupt the graph for a call that needs approval; return the approved arguments, or else the result."""
    request = bridged.request_in(result)
    # Agents run each call as a task, by Send. A node with several calls would repeat them all after an interrupt, and
    # could take the answer for one call as that for another.
    path = (ensure_config().get("metadata") or {}).get("langgraph_path") or ("",)
    if request is None or path[0] != "__pregel_push":
        return result
    from langgraph.types import interrupt  # only in its graphs

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


def _block(part: Any) -> dict[str, Any]:
    """Write a content block of LangChain."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": part.kind, "base64": part.to_dict()["data"], "mime_type": part.mime_type}


async def _call_theirs(theirs: Any, arguments: dict[str, Any], context: Context) -> Result:
    call = {"type": "tool_call", "id": context.call_id or "call", "name": theirs.name, "args": arguments}
    try:
        answer: Any = await theirs.ainvoke(call, {"configurable": {"thread_id": context.run_id}})
    except ToolException as error:
        raise ToolError(str(error)) from error
    if not isinstance(answer, ToolMessage):
        return Result.ok(answer)
    if answer.status == "error":
        return Result.error(answer.text)
    parts = [_part(block) for block in answer.content_blocks]
    content: Any = parts if any(not isinstance(part, str) for part in parts) else "".join(parts)
    output = content if answer.artifact is None else answer.artifact
    return (Result.halt if theirs.return_direct else Result.ok)(output, content=content)


def _part(block: Mapping[str, Any]) -> Any:
    if "base64" in block:
        return block_of(block["base64"], block.get("mime_type"))
    return block["text"] if block["type"] == "text" else json.dumps(block, ensure_ascii=False)
