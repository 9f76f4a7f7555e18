"""Show a call, and the definition of a tool, in the form that other programs use."""

from __future__ import annotations

import json
import shlex
from pprint import pformat
from typing import TYPE_CHECKING, Any

from tools_core import InvalidArguments, Result
from tools_core.formats import FORMATS, legal_names
from tools_core.schema import accepted_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core import Tool, ToolCall

PROVIDERS = {
    "openai": "OpenAI",
    "openai_strict": "OpenAI, strict",
    "responses": "OpenAI Responses",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "mcp": "MCP",
}


def definition(tool: Tool, provider: str) -> str:
    """Return the definition that a provider receives, as JSON text. Raises KeyError for an unknown provider."""
    name = provider if provider in FORMATS else provider.replace("_", "-")
    return pretty(FORMATS[name].definitions([tool])[0])


def snippets(name: str, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return a call by the name of its form: a shell command, Python, and a request of MCP."""
    params = {"name": legal_names([tool.name], "mcp")[tool.name], "arguments": arguments}
    return {
        "ask-tools call": _command(name, tool, arguments),
        "Python": _python(name, arguments),
        "MCP": pretty({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
    }


def arguments_of(call: ToolCall) -> Any:
    """Return the arguments of a call, decoded, or the text of a model that is no JSON object."""
    try:
        return call.arguments
    except InvalidArguments:
        return call.raw_arguments


def pretty(value: Any) -> str:
    """Return a value as JSON text for people; other values as a result of a tool has them."""
    return json.dumps(Result.ok(value).to_dict()["output"], ensure_ascii=False, indent=2)


def _command(name: str, tool: Tool, arguments: Mapping[str, Any]) -> str:
    words = ["ask-tools", "call", name]
    if not all(key.isidentifier() for key in arguments):  # a dot in a key would be a member of an object
        return shlex.join([*words, json.dumps(arguments, ensure_ascii=False)])
    schema = dict(tool.input_schema)
    for key, value in arguments.items():
        is_text = isinstance(value, str) and "string" in accepted_types(
            schema.get("properties", {}).get(key, {}), schema
        )
        words.append(f"{key}={value}" if is_text else f"{key}:={json.dumps(value, ensure_ascii=False)}")
    return shlex.join(words)


def _python(name: str, arguments: Mapping[str, Any]) -> str:
    values = pformat(dict(arguments), width=100, sort_dicts=False)
    if ".py:" in name:
        return f"from tools_core.command import load_tool\n\nprint(load_tool({name!r}).call({values}).unwrap())"
    return f"from tools_core import registry\n\nprint(registry[{name!r}].call({values}).unwrap())"
