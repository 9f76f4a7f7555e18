"""Other forms of a request, for servers that refuse the first."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tools_agent._messages import Assistant, Message, System, ToolResult, User
from tools_agent._providers._provider import Request
from tools_core import Block, Result

_FILE = r"\b(image|vision|picture|audio|document|pdf|file|media|modalit|multi.?modal)"
# What servers say about a part of a request that they lack.
LACKING = {
    "output_schema": re.compile(r"(?i)response.?format|json.?schema|json mode|structured output|output_config|grammar"),
    "stream_options": re.compile(r"stream_options"),
    "system": re.compile(
        r"(?i)system (role|message|prompt|instruction)s? (is |are )?not|(role|developer) .*not enabled"
    ),
    "limit": re.compile(  # under this name
        r"(?i)(?=.*max_completion_tokens)"
        r".*(instead|un(supported|recogni|known|expected)|extra|not (support|permit|allow))"
    ),
    "null": re.compile(r"(?i)\bcontent\b.*(string|null|none)|null, expected a string"),
    "turns": re.compile(r"(?i)unexpected role 'user' after role 'tool'|roles must alternate"),
    "files": re.compile(
        rf"(?i)^(?!.*\b(format|type|size|limit)).*({_FILE}.*(support|accept|mmproj)|(support|accept).*{_FILE})"
    ),
}
_ABOUT_FILES = re.compile(rf"(?i){_FILE}")
_NEEDS_REASONING = re.compile(r"(?i)reasoning_content.*(missing|passed back)|missing.*reasoning_content")
_NEEDS_THINKING = re.compile(r"Expected `thinking`|must start with a thinking block")
_TEXTS = ("text/", "application/json")


def uses(request: Request, part: str) -> bool:
    """Return whether a request has a part that its server may lack."""
    if part == "files":
        return without_files(request) is not None
    if part == "limit":
        return "max_tokens" in request.settings
    if part == "null":
        return any(isinstance(message, Assistant) and not message.content for message in request.messages)
    return part != "output_schema" or request.output_schema is not None


def is_about_files(request: Request, reason: str) -> bool:
    """Return whether a server refuses a request for its files: too large, damaged, or of any kind."""
    return _ABOUT_FILES.search(reason) is not None and uses(request, "files")


def in_another_form(request: Request, reason: str, provider: str, server: str | None) -> Request | None:
    """Return a request in a form that its server may accept, None if there is no other."""
    if provider == "openai" and _NEEDS_REASONING.search(reason):
        return _with_reasoning(request, provider, server)
    if provider == "anthropic" and _NEEDS_THINKING.search(reason) and "thinking" in request.settings:
        # The calls that wait for a reply are those of another model: the reply to them has no thoughts.
        return replace(
            request, settings={name: request.settings[name] for name in request.settings if name != "thinking"}
        )
    return without_files(request) if is_about_files(request, reason) else _without_items(request)


def instruction(schema: Mapping[str, Any]) -> str:
    """Return the instruction for a model whose API does not accept the schema."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"Reply with JSON that fits this JSON Schema, and with nothing else:\n{text}"


def with_instruction(request: Request) -> Request:
    """Return a request that asks for its output in the system message."""
    schema = request.output_schema
    if schema is None:
        return request
    place = next((at for at, message in enumerate(request.messages) if not isinstance(message, System)), 0)
    messages = [*request.messages[:place], System(content=instruction(schema)), *request.messages[place:]]
    return replace(request, messages=messages, output_schema=None)


def without_system(request: Request) -> Request:
    """Return a request with its instructions as a message of the user: the templates of some models have no others."""
    texts = [message.content for message in request.messages if isinstance(message, System)]
    others = [message for message in request.messages if not isinstance(message, System)]
    return replace(request, messages=[User(content="\n\n".join(texts)), *others]) if texts else request


def without_files(request: Request) -> Request | None:
    """Return a request with remarks instead of pictures and other files that are not text; None if it has none."""

    def change(message: Message) -> Message:
        if isinstance(message, User) and not all(map(_is_text, message.files)):
            remarks = [_remark(file) for file in message.files if not _is_text(file)]
            content = "\n".join(filter(None, [message.content, *remarks]))
            return message.model_copy(update={"content": content, "files": tuple(filter(_is_text, message.files))})
        parts = message.result.content if isinstance(message, ToolResult) else ""
        if isinstance(parts, str) or all(map(_is_text, parts)):
            return message
        kept = [part if _is_text(part) else _remark(part) for part in parts]
        has_files = not all(isinstance(part, str) for part in kept)
        return message.model_copy(update={"result": Result.ok(kept if has_files else "\n".join(map(str, kept)))})

    return _changed(request, change)


def _without_items(request: Request) -> Request | None:
    """Return a request whose replies have text and calls only; None if it has no others."""

    def change(message: Message) -> Message:
        has_items = isinstance(message, Assistant) and message.items
        return message.model_copy(update={"items": ()}) if has_items else message

    return _changed(request, change)


def _with_reasoning(request: Request, provider: str, server: str | None) -> Request | None:
    """Return a request that has reasoning in each reply, as thinking models of DeepSeek and Kimi require."""
    own = {"items": ({"reasoning_content": " "},), "provider": provider, "server": server}

    def change(message: Message) -> Message:
        lacks_items = isinstance(message, Assistant) and not message.items
        return message.model_copy(update=own) if lacks_items else message

    return _changed(request, change)


def _changed(request: Request, change: Callable[[Message], Message]) -> Request | None:
    """Return a request with other messages, None if no message changes."""
    messages = [change(message) for message in request.messages]
    is_same = all(new is old for new, old in zip(messages, request.messages, strict=True))
    return None if is_same else replace(request, messages=messages)


def _is_text(part: str | Block) -> bool:
    return isinstance(part, str) or part.mime_type.startswith(_TEXTS)


def _remark(part: str | Block) -> str:
    kind = part if isinstance(part, str) else f"{part.mime_type}, {len(part.data):,} bytes"
    return f"[{kind}: left out, since the model's server refuses it]"
