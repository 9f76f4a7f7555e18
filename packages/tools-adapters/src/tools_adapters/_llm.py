"""llm, the command and library: tools for its models, tools of its plugins, and the plugin that lists ours."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from inspect import Parameter, Signature, iscoroutinefunction, signature
from keyword import iskeyword
from typing import Any, Unpack

import click
import llm

from tools_adapters._bridge import BridgedTool, Options, block_of, bridge, foreign_tool, parts_of, text_of
from tools_core import ApprovalRequest, Context, Registry, Result, Tool, ToolError, Tools
from tools_core.formats import legal_names

_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


def to_llm(tools: Tools, *, asynchronous: bool = False, **options: Unpack[Options]) -> list[llm.Tool]:
    """Return tools for `model.chain(tools=...)`; see `Options` for `executor`, `context` and `approve`.

    Pictures, sound and PDFs become attachments, a failure is the exception of its `ToolResult`, and a halt raises
    `llm.PauseChain` out of the chain, with our `result`. Calls that require approval are refused without `approve` or
    an executor. With `asynchronous` they are coroutine functions, of which an `AsyncModel` runs several at once; a
    `Model` can call these only if no event loop is running, so not in a notebook.
    """
    return [
        llm.Tool(tool.name, tool.description, tool.schema, _implementation(tool, is_async=asynchronous))
        for tool in bridge(tools, **options)
    ]


def from_llm(tools: Iterable[Any]) -> list[Tool]:
    """Return tools of llm's tools, toolboxes and functions; `from_llm(llm.get_tools().values())` takes all plugins.

    An exception becomes an error, and `llm.PauseChain` a halt with an error.
    """
    result: list[Tool] = []
    for tool in tools:
        item = tool() if isinstance(tool, type) else tool
        if isinstance(item, llm.Toolbox):
            item.prepare()
            theirs = list(item.tools())
        else:
            theirs = [item if isinstance(item, llm.Tool) else llm.Tool.function(item)]
        result += [
            foreign_tool(partial(_call_theirs, tool), tool.name, tool.description, tool.input_schema) for tool in theirs
        ]
    return result


@llm.hookimpl  # type: ignore[untyped-decorator]  # llm is not installed here
def register_tools(register: Callable[[llm.Tool], None]) -> None:
    """Register the installed tools; a problem with these is reported, and keeps llm from nothing else."""
    registry, context = Registry(), Context()  # one context: the calls of a command are one run
    try:
        registry.discover()
    except ValueError as error:  # the lock cannot be read, so that no tool is allowed
        click.echo(f"ask-tools: {error}", err=True)
    for key, name in legal_names(registry, "openai").items():
        # llm takes a name that begins with a capital for a toolbox.
        register(InstalledTool(name[0].lower() + name[1:], partial(registry.__getitem__, key), context))


# An llm without tools, before 0.26, loads this module as well.
class InstalledTool(getattr(llm, "Tool", object)):  # type: ignore[misc]  # a dynamic base
    """A tool that is loaded when more than its name is read; one that cannot be loaded describes why."""

    def __init__(self, name: str, load: Callable[[], Tool], context: Context) -> None:
        self.name = name
        self.plugin: str | None = None
        self._load = load
        self._context = context

    @cached_property
    def _loaded(self) -> llm.Tool:
        try:
            return to_llm({self.name: self._load()}, context=self._context, approve=_approve)[0]
        except ToolError as error:
            problem, empty = f"Unavailable: {error}", {"type": "object", "properties": {}}
            return llm.Tool(self.name, problem, empty, partial(_output, Result.error(str(error))))

    description = property(lambda self: self._loaded.description)
    input_schema = property(lambda self: self._loaded.input_schema)
    implementation = property(lambda self: self._loaded.implementation)


def _approve(request: ApprovalRequest) -> bool:
    """Ask at the terminal, unless llm has asked about this call for `--ta`, or the user has allowed all."""
    command = click.get_current_context(silent=True)
    is_asked = command is not None and bool(command.params.get("tools_approve"))
    if is_asked or os.environ.get("ASK_TOOLS_LLM_APPROVE") == "all":
        return True
    problem = f"{request.tool.name} requires approval"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        problem = f"{problem}, and there is no terminal to ask at"
        click.echo(f"ask-tools: {problem}; ASK_TOOLS_LLM_APPROVE=all allows it", err=True)
        return False
    arguments = json.dumps(dict(request.arguments), default=str)  # JSON escapes control characters of the terminal
    return click.confirm(f"{problem}: {arguments}\nRun it?", err=True)


def _implementation(bridged: BridgedTool, *, is_async: bool) -> Any:
    def run(**arguments: Any) -> Any:
        return _output(bridged.call(arguments))

    async def arun(**arguments: Any) -> Any:
        return _output(await bridged.acall(arguments))

    function: Any = arun if is_async else run
    function.__signature__ = _signature(bridged.schema)
    return function


def _signature(schema: Mapping[str, Any]) -> Signature:
    """Return the signature that `llm tools list` shows."""
    parameters: list[Parameter] = []
    for name, property_schema in schema["properties"].items():
        if name.isidentifier() and not iskeyword(name) and isinstance(property_schema, dict):
            default = Parameter.empty if name in schema.get("required", ()) else property_schema.get("default")
            hint = _TYPES.get(str(property_schema.get("type")), Parameter.empty)
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint))
    return Signature(parameters)


def _output(result: Result) -> Any:
    if result.halted:
        pause = llm.PauseChain(text_of(result))
        pause.result = result
        raise pause
    if not result.ok:
        raise ToolError(text_of(result), result.error_type or "execution_error") from result.exception
    parts = parts_of(result, "image", "audio", "application/pdf")
    files = [llm.Attachment(type=x.mime_type, content=x.data) for x in parts if not isinstance(x, str)]
    return llm.ToolOutput(text_of(result), files)


async def _call_theirs(theirs: Any, arguments: dict[str, Any], context: Context) -> Any:
    keywords = dict(arguments)
    if "llm_tool_call" in signature(theirs.implementation).parameters:  # a name that llm reserves
        keywords["llm_tool_call"] = llm.ToolCall(theirs.name, arguments, context.call_id)
    try:
        if iscoroutinefunction(theirs.implementation):
            output = await theirs.implementation(**keywords)
        else:
            output = await asyncio.to_thread(theirs.implementation, **keywords)
    except llm.PauseChain as pause:
        return Result.halt(Result.error(str(pause) or f"{theirs.name} paused the chain", type="interrupted"))
    if not isinstance(output, llm.ToolOutput):
        return output
    blocks = [block_of(attachment.content_bytes(), attachment.resolve_type()) for attachment in output.attachments]
    return [output.output, *blocks] if blocks else output.output
