"""Encode requests: conversations in the order that the APIs accept, settings, and schemas of output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from tools_agent._messages import Assistant, System, User
from tools_agent._providers._history import CONTINUES, Turn
from tools_agent._providers._provider import JsonObject, ProviderError, Request
from tools_core import InvalidArguments
from tools_core.formats import Format, legal_names, openai_strict
from tools_core.text import is_blank

Own: TypeAlias = Callable[[Assistant, list[JsonObject]], list[JsonObject]]  # a reply, and its encoded form
_UNIONS = frozenset(("$ref", "allOf", "anyOf", "oneOf"))
OUTPUT = "reply"  # the name of an output schema

# ---------------------------------------------------------------------------------------------------- conversations


def conversation(history: Sequence[Turn], wire: Format, own: Own) -> list[JsonObject]:
    """Return the messages as OpenAI's APIs accept them, the instructions first: many models read them only there.

    `own` returns a reply with the parts that its server has sent.
    """
    system = instructions_of(history)
    messages: list[JsonObject] = [{"role": "system", "content": system}] if system else []
    for turn in history:
        if isinstance(turn, User):
            content = wire.content(_parts(turn)) if turn.files else turn.content
            messages.append({"role": "user", "content": content})
        elif isinstance(turn, Assistant):
            messages += own(turn, wire.reply(turn.content, turn.tool_calls))
        elif isinstance(turn, list):
            messages += wire.results(turn)
    return messages


def alternating(history: Sequence[Turn], wire: Format, own: Own, *, model: str, key: str) -> list[JsonObject]:
    """Return alternating messages of the user and the model for Anthropic and Gemini.

    `model` is the role of the model's messages, and `key` the member with the parts of a message.
    """
    messages: list[JsonObject] = []

    def add(role: str, parts: list[JsonObject]) -> None:
        if parts and not messages and role == model:
            add("user", wire.content([CONTINUES]))
        if parts and (not messages or messages[-1]["role"] != role):
            messages.append({"role": role, key: []})
        if parts:
            messages[-1][key] += parts

    for turn in history:
        if isinstance(turn, User):
            add("user", wire.content(_parts(turn)))
        elif isinstance(turn, Assistant):
            encoded = wire.reply(turn.content, turn.tool_calls)
            add(model, own(turn, encoded[0][key] if encoded else []))
        elif isinstance(turn, list):
            for message in wire.results(turn):
                add("user", message[key])
    return messages


def instructions_of(history: Sequence[Turn]) -> str:
    """Return the system messages as one text."""
    return "\n\n".join(turn.content for turn in history if isinstance(turn, System))


def _parts(message: User) -> list[Any]:
    return [*([] if is_blank(message.content) else [message.content]), *message.files]


def wire_names(request: Request, wire: Format) -> dict[str, str]:
    """Return the names on the wire of all tools, including tools of earlier calls."""
    names = [tool["name"] for tool in request.definitions]
    replies = [message for message in request.messages if isinstance(message, Assistant)]
    return legal_names([*names, *(call.name for reply in replies for call in reply.tool_calls)], wire.name)


# ---------------------------------------------------------------------------------------------------- settings


def with_settings(
    arguments: JsonObject, request: Request, provider: str, names: Mapping[str, str | None]
) -> JsonObject:
    """Return the arguments of an SDK's function with the request's settings.

    `names` maps our names to the names of the API: `reasoning.effort` is a member, None a setting that the API lacks.
    Other settings are passed on unchanged.
    """
    merged = dict(arguments)
    for name, setting in request.settings.items():
        if name == "stream" or (name == "tool_choice" and not isinstance(setting, Mapping)):
            continue  # replies are always streamed, and see `tool_choice`
        target = names.get(name, name)
        if target is None:
            raise ProviderError(f"{provider}: the API has no setting {name!r}; remove it from `settings`")
        key, _, member = target.partition(".")
        value = [setting] if key == "stop_sequences" and isinstance(setting, str) else setting
        value = {member: value} if member else value
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            value = {**merged[key], **value}
        if key == "tools":  # of the server, beside those of the request
            value = [*merged.get(key, ()), *value]
        merged[key] = value
    return merged


class ToolChoice(NamedTuple):
    """The setting `tool_choice`: `mode` is "auto", "none", "required" or "tool", with its name on the wire."""

    mode: str
    name: str = ""


def tool_choice(request: Request, wire: Format) -> ToolChoice | None:
    """Return the choice of a request with tools; None for that of the API, also if the setting has its form.

    Raises ProviderError for anything but a mode or the name of a tool of the request.
    """
    choice = request.settings.get("tool_choice")
    if choice is None or isinstance(choice, Mapping) or not request.definitions:
        return None
    if choice in ("auto", "none", "required"):
        return ToolChoice(choice)
    names = [tool["name"] for tool in request.definitions]
    if choice not in names:
        raise ProviderError(
            f'`tool_choice` is "auto", "none", "required" or the name of a tool ({", ".join(names)}), got {choice!r}'
        )
    return ToolChoice("tool", wire_names(request, wire)[choice])


# ---------------------------------------------------------------------------------------------------- output


class StrictSchema(NamedTuple):
    """A schema in a strict format, and whether it is strict; empty unless it describes an object."""

    schema: JsonObject
    is_strict: bool


def strict_schema(schema: JsonObject, wire: Format) -> StrictSchema:
    """Return the schema of output in a strict format."""
    if schema.get("type") != "object" or not _UNIONS.isdisjoint(schema):
        return StrictSchema({}, is_strict=False)
    [tool] = wire.definitions([{"name": OUTPUT, "description": "", "input_schema": schema}])
    tool = tool.get("function", tool)
    return StrictSchema(tool.get("parameters") or tool["input_schema"], tool["strict"])


def without_absent(text: str, schema: Mapping[str, Any]) -> str:
    """Remove the nulls from a reply's JSON that strict mode adds for absent members; other text stays unchanged."""
    call = {"function": {"name": OUTPUT, "arguments": text}}
    definition = {"name": OUTPUT, "description": "", "input_schema": schema}
    try:
        value = json.loads(text)
        if not isinstance(value, dict):  # `null` and `[]` would be calls without arguments
            return text
        arguments = openai_strict.calls([call], [definition])[0].arguments
    except (InvalidArguments, RecursionError, ValueError):
        return text
    return text if arguments == value else json.dumps(arguments, ensure_ascii=False)
