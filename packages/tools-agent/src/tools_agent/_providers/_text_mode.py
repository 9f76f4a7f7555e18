"""`TextMode`: tools for models that cannot call functions."""

from __future__ import annotations

import html
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from tools_agent._events import Delta, Retrying, TextDelta, ToolCallDelta
from tools_agent._messages import Assistant, Message, System, User
from tools_agent._providers._encoding import instruction
from tools_agent._providers._history import turns
from tools_agent._providers._provider import Provider, ProviderError, Request
from tools_core import InvalidArguments, Result, ToolCall
from tools_core.formats import argument_text

_EXAMPLE = '<tool_call name="the_tool">\n{"city": "Oslo", "days": 2}\n</tool_call>'
_INSTRUCTIONS = f"""\
You can call tools. To call a tool, end your reply with this, on separate lines and outside code fences:

{_EXAMPLE}

Several calls may follow each other. Then stop: the results come in the next message, in <tool_result> elements. \
These are the tools, with the JSON Schema of their arguments:

"""
_UNNAMED = "unnamed_tool"  # the name of a call without a name, which the agent rejects as it rejects any unknown tool

# A line that opens or closes a code fence, or begins a call.
_MARK = re.compile(r"^ {0,3}(?:(`{3,}|~{3,})(.*)|<tool_call\b)", re.MULTILINE)
# A call, or the end of a text that may become the beginning of one.
_START = re.compile(r"^ {0,3}(?:(<tool_call\b)|(?:<[acelot_]{0,9})?\Z)", re.MULTILINE)
_TAG = re.compile(r"\s*<tool_call\b([^<>]*)>")
_CLOSE = re.compile(r"</tool_call>\s*|\Z")
_NAME = re.compile(r"""\bname=(?:"([^"]*)"|'([^']*)')""")
_ESCAPED = re.compile(r"<(?=/?tool_(?:call|result)\b)", re.IGNORECASE)


class TextMode:
    """Let a model without function calling use tools. Wraps the model's provider.

    A system message explains the tools, earlier calls and results are sent as text, and calls are parsed from the end
    of the reply:

        <tool_call name="weather">{"city": "Oslo"}</tool_call>

    Sessions contain calls and results as with any provider. A call that the model only quotes (in a sentence, a code
    fence or a Markdown quote) stays text, and these tags are escaped in results and in the user's text. If a call is
    invalid, the model reads the error.
    """

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.model: str = getattr(provider, "model", "")

    def stream(self, request: Request) -> Iterator[Delta | Assistant]:
        """Yield the reply, with calls instead of their text."""
        reply = _Reply()
        for piece in self.provider.stream(_as_text(request)):
            yield from reply.read(piece)

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """`stream` for coroutines."""
        reply = _Reply()
        pieces = self.provider.astream(_as_text(request))
        try:
            async for piece in pieces:
                for event in reply.read(piece):
                    yield event
        finally:
            if isinstance(pieces, AsyncGenerator):  # nothing else closes it at once
                await pieces.aclose()


class _Reply:
    """A reply as it arrives: text passes until a call may begin."""

    def __init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        self._pending = "\n"  # the last character that was yielded, and the text after it
        self._length = 0  # of the text that was yielded
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
        match = _START.search(self._pending, 1)
        end = match.start() if match else len(self._pending)
        self._is_held = match is not None and match[1] is not None
        if end > 1:
            self._length += end - 1
            yield TextDelta(self._pending[1:end])
            self._pending = self._pending[end - 1 :]

    def _finish(self, message: Assistant) -> Iterator[Delta | Assistant]:
        end, calls, is_cut = _calls_at_the_end(message.content)
        if is_cut and message.stop_reason == "length":
            raise ProviderError("the reply was cut off (length) in a tool call; raise the limit")
        if end > self._length:
            yield TextDelta(message.content[self._length : end])
        for index, call in enumerate(calls):
            yield ToolCallDelta(index, call.id, call.name, argument_text(call))
        if calls:
            content = message.content[:end].strip()
            message = message.replace(content=content, tool_calls=calls, items=(), stop_reason="tool")
        yield message


def _calls_at_the_end(text: str) -> tuple[int, list[ToolCall], bool]:
    """Return where the text before the calls ends, the calls, and whether the last one lacks its end tag.

    Drops results that the model invents after its calls.
    """
    fence = ""
    position = 0
    for mark in _MARK.finditer(text):
        if mark.start() < position:
            continue
        if mark[1] and not fence:
            fence = mark[1]
        elif mark[1] and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif not fence:
            calls, position, is_cut = _calls_at(text, mark.start())
            if calls and (position == len(text) or text.startswith("<tool_result", position)):
                return mark.start(), calls, is_cut
    return len(text), [], False


def _calls_at(text: str, position: int) -> tuple[list[ToolCall], int, bool]:
    """Return consecutive calls, where the text after them begins, and whether the last one lacks its end tag."""
    calls: list[ToolCall] = []
    is_cut = False
    while (tag := _TAG.match(text, position)) and (close := _CLOSE.search(text, tag.end())):
        name = _NAME.search(tag[1])
        tool = html.unescape(name[1] or name[2] or "") if name else ""
        body = text[tag.end() : close.start()].strip()
        calls.append(ToolCall(f"call_{uuid4().hex}", tool or _UNNAMED, body or None))
        position = close.end()
        is_cut = not close[0]
    return calls, position, is_cut


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
            messages.append(turn.replace(content=_escape(turn.content)) if isinstance(turn, User) else turn)
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
    arguments = argument_text(call).replace("</", "<\\/")
    return f'<tool_call name="{html.escape(call.name)}">\n{arguments}\n</tool_call>'


def _results(answers: Sequence[tuple[ToolCall, Result]]) -> User:
    """Return results as a message of the user; pictures follow the text."""
    texts: list[str] = []
    files: list[Any] = []
    for call, result in answers:
        content = result.content if result.ok else str(result)
        parts = (content,) if isinstance(content, str) else content
        files += [part for part in parts if not isinstance(part, str)]
        text = _escape("\n".join(str(part) for part in parts))
        if not _is_readable(call):
            text += f"\nWrite calls like this:\n{_EXAMPLE}"
        failed = "" if result.ok else ' error="true"'
        texts.append(f'<tool_result name="{html.escape(call.name)}"{failed}>\n{text}\n</tool_result>')
    return User(content="\n".join(texts), files=tuple(files))


def _is_readable(call: ToolCall) -> bool:
    try:
        _ = call.arguments
    except InvalidArguments:
        return False
    return call.name != _UNNAMED


def _escape(text: str) -> str:
    """Return text whose tags cannot be taken for calls or results."""
    return _ESCAPED.sub("&lt;", text)
