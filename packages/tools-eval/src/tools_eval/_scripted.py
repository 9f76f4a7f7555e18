"""`scripted:words`: a script, not a model, that chooses tools by the words of their descriptions. Needs no network."""

from __future__ import annotations

import re
from typing import Any

from tools_agent import Request, ScriptedProvider, ToolResult, User
from tools_core import ToolCall
from tools_eval._words import similarity, tool_words, words

_EMPTY: dict[Any, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}


def words_provider() -> ScriptedProvider:
    """Return a provider that calls the tool whose name and description have the most words of the question."""
    return ScriptedProvider(default=_reply)


def _reply(request: Request) -> Any:
    message = request.messages[-1]
    if isinstance(message, ToolResult) or not isinstance(message, User):
        return "Done."
    question = words(message.content)
    tools = {tool["name"]: tool for tool in request.tools}
    common = {name: len(question.keys() & tool_words(tool).keys()) for name, tool in tools.items()}
    best = max(tools, key=lambda name: (common[name], similarity(question, tool_words(tools[name]))), default=None)
    if best is None or not common[best]:
        return "No description has a word of the question."
    return ToolCall(None, best, _arguments(tools[best]["input_schema"], message.content))


def _arguments(schema: dict[str, Any], question: str) -> dict[str, Any]:
    """Return required arguments: quoted text, paths, names and numbers of the question, in their order."""
    numbers = [int(number) for number in re.findall(r"(?<![\w.])\d+(?![\w.])", question)]
    texts = re.findall(r"[\"'`]([^\"'`]+)[\"'`]", question) or re.findall(r"\S*\w[./*]\w\S*|(?<=\s)[A-Z]\w+", question)
    texts = texts or [question]
    arguments: dict[str, Any] = {}
    for name in schema.get("required", ()):
        member = schema.get("properties", {}).get(name)
        member = member if isinstance(member, dict) else {}  # any value
        kind = member.get("type")
        if "enum" in member:
            arguments[name] = next((choice for choice in member["enum"] if str(choice) in question), member["enum"][0])
        elif kind in ("integer", "number") and numbers:
            arguments[name] = numbers.pop(0)
        elif kind == "string":
            arguments[name] = texts.pop(0) if len(texts) > 1 else texts[0]
        else:
            arguments[name] = _EMPTY.get(kind)
    return arguments
