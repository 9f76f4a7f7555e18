"""`TextMode`: tools for models that cannot call functions."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

from tools_agent._events import Delta, Retrying, TextDelta, ToolCallDelta
from tools_agent._messages import Assistant, Message, System, User
from tools_agent._providers._forms import instruction
from tools_agent._providers._history import Answers, turns
from tools_agent._providers._provider import Provider, ProviderError, Request, pieces_of
from tools_core import Audio, File, Image, ToolCall
from tools_core.formats import argument_text

_INSTRUCTIONS = """\
You can call tools. To call a tool, end your reply with this, on separate lines and outside code fences:

<tool_call>
{"name": "the_tool", "arguments": {"city": "Oslo", "days": 2}}
</tool_call>

Several calls may follow each other. Then stop: the results come in the next message, in <tool_result> elements. \
These are the tools, with the JSON Schema of their arguments:

"""
_UNNAMED = "unnamed_tool"  # the name of a call without a name, which the agent rejects as it rejects any unknown tool
_START = re.compile(r"^[ \t]{0,3}<tool_call>", re.MULTILINE)
# A call, or the end of a text that may become the beginning of one.
_HELD = re.compile(r"^[ \t]{0,3}(?:(<tool_call>)|(?:<[acelot_]{0,9})?\Z)", re.MULTILINE)
_INVENTED = re.compile(r"^[ \t]{0,3}<tool_result\b", re.MULTILINE)
_MEMBERS = re.compile(r'\{\s*"name"\s*:\s*"([^"]+)"\s*,\s*"(?:arguments|parameters)"\s*:(.*)\}\s*', re.DOTALL)
_FENCE = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
_TAG = re.compile(r"<(?=/?tool_(?:call|result)\b)", re.IGNORECASE)


class TextMode:
    """Let a model without function calling use tools. Wraps the model's provider.

    A system message explains the tools, earlier calls and results are sent as text, and calls are parsed from the end
    of the reply, in the form that most open models were trained on:

        <tool_call>
        {"name": "weather", "arguments": {"city": "Oslo"}}
        </tool_call>

    Sessions contain calls and results as with any provider. A call that the model only quotes (in a sentence, a closed
    code fence or a Markdown quote) stays text, and these tags are escaped in results and in the user's text. If a call
    is invalid, the model reads the error.
    """

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.model: str = getattr(provider, "model", "")

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """Yield the reply, with calls instead of their text."""
        reply = _Reply()
        async with pieces_of(self.provider, _as_text(request)) as pieces:
            async for piece in pieces:
                for event in reply.read(piece):
                    yield event


class _Reply:
    """A reply as it arrives: text passes until a call may begin."""

    def __init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        self._pending = "\n"  # the last character that was yielded, and the text after it
        self._passed = 0  # characters
        self._is_held = False

    def read(self, piece: Delta | Assistant) -> Iterator[Delta | Assistant]:
        """Yield the events that a piece of the model's reply means."""
        if isinstance(piece, Assistant):
            yield from self._finish(piece)
        elif isinstance(piece, TextDelta):
            if not self._is_held:
                yield from self._pass(piece.content)
        else:
            if isinstance(piece, Retrying):
                self._restart()
            yield piece

    def _pass(self, text: str) -> Iterator[Delta]:
        self._pending += text
        match = _HELD.search(self._pending, 1)
        self._is_held = match is not None and match[1] is not None
        end = match.start() if match else len(self._pending)
        if end > 1:
            self._passed += end - 1
            yield TextDelta(self._pending[1:end])
            self._pending = self._pending[end - 1 :]

    def _finish(self, message: Assistant) -> Iterator[Delta | Assistant]:
        text = message.content
        end, bodies = _calls_in(text)
        if bodies and message.stop_reason == "length":
            raise ProviderError("the reply was cut off (length) at a tool call; raise the limit")
        if end > self._passed:
            yield TextDelta(text[self._passed : end])
        calls = [call for body in bodies for call in _read(body)]
        for index, call in enumerate(calls):
            yield ToolCallDelta(index, call.id, call.name, argument_text(call))
        if calls:
            message = message.replace(content=text[:end].strip(), tool_calls=calls, items=(), stop_reason="tool")
        yield message


def _calls_in(text: str) -> tuple[int, list[str]]:
    """Return where the text before the calls at the end of a reply ends, and what is in the calls.

    Results that the model invents after its calls are dropped.
    """
    starts = list(_START.finditer(text))
    invented = _INVENTED.search(text, starts[0].end()) if starts else None
    end = last = invented.start() if invented else len(text)
    bodies: list[str] = []
    for start in reversed([start for start in starts if start.end() <= last]):
        body, tag, rest = text[start.end() : end].partition("</tool_call>")
        if rest.strip() or (not tag and bodies):
            break
        bodies.insert(0, body.strip())
        end = start.start()
    return (end, bodies) if bodies else (len(text), [])


def _read(body: str) -> list[ToolCall]:
    """Return the call of a body; some models write a code fence around it, or a list of calls."""
    text = fence[1] if (fence := _FENCE.fullmatch(body)) else body
    try:
        value = json.loads(text)
    except (RecursionError, ValueError):
        members = _MEMBERS.fullmatch(text)  # with invalid arguments, which the model reads about
        name, arguments = (members[1], members[2].strip()) if members else (_UNNAMED, body)
        return [ToolCall(f"call_{uuid4().hex}", name, arguments)]
    return [_call(each, body) for each in (value if isinstance(value, list) and value else [value])]


def _call(value: Any, body: str) -> ToolCall:
    id = f"call_{uuid4().hex}"
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str):
        return ToolCall(id, _UNNAMED, body)
    return ToolCall(id, name, value.get("arguments", value.get("parameters", {})))


def _as_text(request: Request) -> Request:
    """Return the request for a model that reads and writes text only."""
    messages: list[Message] = []
    for turn in turns(request, {}):
        if isinstance(turn, list):
            messages.append(_results(turn))
        elif isinstance(turn, Assistant) and turn.tool_calls:
            text = "\n".join(map(_written, turn.tool_calls))
            messages.append(Assistant(id=turn.id, content="\n\n".join(filter(None, [turn.content, text]))))
        else:
            messages.append(turn.replace(content=_escaped(turn.content)) if isinstance(turn, User) else turn)
    if not request.tools:
        return replace(request, messages=messages)
    keys = {"name": "name", "description": "description", "input_schema": "parameters", "examples": "examples"}
    tools = [{key: tool[name] for name, key in keys.items() if tool.get(name)} for tool in request.tools]
    text = _INSTRUCTIONS + "\n".join(json.dumps(tool, ensure_ascii=False, default=dict) for tool in tools)
    if request.output_schema is not None:
        text += f"\n\nOnce you need no more tools: {instruction(request.output_schema)}"
    system = [message.content for message in messages if isinstance(message, System)]
    others = [message for message in messages if not isinstance(message, System)]
    messages = [System(content="\n\n".join([*system, text])), *others]
    return replace(request, messages=messages, tools=(), output_schema=None)


def _written(call: ToolCall) -> str:
    """Return a call as text."""
    # JSON has `</` only in strings, and reads the replacement as the same.
    members = f'{{"name": {json.dumps(call.name)}, "arguments": {argument_text(call)}}}'.replace("</", "<\\/")
    return f"<tool_call>\n{members}\n</tool_call>"


def _results(answers: Answers) -> User:
    """Return results as a message of the user; pictures follow the text."""
    texts: list[str] = []
    files: list[Image | Audio | File] = []
    for call, result in answers:
        content = result.content if result.ok else str(result)
        parts = (content,) if isinstance(content, str) else content
        files += [part for part in parts if isinstance(part, Image | Audio | File)]
        text = _escaped("\n".join(map(str, parts)))
        texts.append(f"<tool_result>\n{call.name}: {text}\n</tool_result>")
    return User(content="\n".join(texts), files=files)


def _escaped(text: str) -> str:
    """Return text whose tags cannot be taken for calls or results."""
    return _TAG.sub("&lt;", text)
