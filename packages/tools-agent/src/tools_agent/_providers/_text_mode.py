"""`TextMode`: tools for models that cannot call functions, by way of text."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from tools_agent._events import Delta, Retrying, TextDelta, ToolCallDelta
from tools_agent._messages import Assistant, Message, System, User
from tools_agent._providers._output import instruction
from tools_agent._providers._provider import Provider, ProviderError, Request
from tools_agent._providers._text_calls import MALFORMED, NOTATIONS, Notation
from tools_agent._providers._turns import argument_text, turns
from tools_core import Result, ToolCall

_INSTRUCTIONS = """\
You can call tools. To call one, write this at the end of your reply, and nothing after it:

{example}

Several calls may follow each other. Then stop: the results come in the next message, in <tool_result> elements. \
These are the tools, with the JSON Schema of their arguments:

{tools}"""


class TextMode:
    """Let a model without function calling use tools. Wraps the model's provider.

    A system message explains the tools, earlier calls and results are sent as text, and calls are parsed from the
    reply. Sessions contain calls and results as with any provider. Notations of calls:

    - "json-with-tag": `<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>`
    - "json-in-xml": `<tool_call name="weather">{"city": "Oslo"}</tool_call>`
    - "xml": `<tool_call name="weather"><parameter name="city">Oslo</parameter></tool_call>`
    - "pythonic": `[weather(city="Oslo")]`

    A call with invalid syntax becomes a call of the tool `malformed_call`, which no registry has; the model reads the
    syntax error.
    """

    def __init__(
        self, provider: Provider, notation: Literal["json-with-tag", "json-in-xml", "xml", "pythonic"] = "json-in-xml"
    ) -> None:
        if notation not in NOTATIONS:
            raise ValueError(f"expected a notation of {', '.join(NOTATIONS)}; got {notation!r}")
        self.provider = provider
        self.model: str = getattr(provider, "model", "")
        self._notation = NOTATIONS[notation]

    def stream(self, request: Request) -> Iterator[Delta | Assistant]:
        """Yield the reply, with calls instead of their text."""
        reply = _Reply(self._notation_for(request), request)
        for piece in self.provider.stream(reply.asked):
            yield from reply.read(piece)

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """`stream` for coroutines."""
        reply = _Reply(self._notation_for(request), request)
        pieces = self.provider.astream(reply.asked)
        try:
            async for piece in pieces:
                for made in reply.read(piece):
                    yield made
        finally:
            if isinstance(pieces, AsyncGenerator):  # nothing else closes it at once
                await pieces.aclose()

    def _notation_for(self, request: Request) -> Notation:
        replies = [message for message in request.messages if isinstance(message, Assistant)]
        called = [call.name for reply in replies for call in reply.tool_calls]
        return self._notation([*(tool["name"] for tool in request.tools), *called])


class _Reply:
    """A reply on its way: text passes until calls may begin."""

    def __init__(self, notation: Notation, request: Request) -> None:
        self._notation = notation
        self._text = ""
        self._shown = 0
        self.asked = _as_text(request, notation)

    def read(self, piece: Delta | Assistant) -> Iterator[Delta | Assistant]:
        """Yield what a piece of the model's reply means."""
        if isinstance(piece, Assistant):
            yield from self._finish(piece)
        elif isinstance(piece, TextDelta):
            self._text += piece.content
            yield from self._show(self._safe_end())
        else:
            if isinstance(piece, Retrying):
                self._text, self._shown = "", 0
            yield piece

    def _safe_end(self) -> int:
        """Return where calls may begin."""
        found = self._notation.start.search(self._text) or self._notation.almost.search(self._text)
        return found.start() if found else len(self._text)

    def _show(self, end: int) -> Iterator[Delta]:
        if end > self._shown:
            yield TextDelta(self._text[self._shown : end])
            self._shown = end

    def _finish(self, message: Assistant) -> Iterator[Delta | Assistant]:
        content, calls = self._notation.read(message.content)
        if calls and message.stop_reason == "length" and calls[-1].name == MALFORMED:
            raise ProviderError("the reply was cut off (length) in a tool call; raise the limit")
        if not calls:
            yield from self._show(len(self._text))
        for index, call in enumerate(calls):
            yield ToolCallDelta(index, call.id, call.name, argument_text(call))
        stop = "tool" if calls else message.stop_reason
        yield message.replace(content=content, tool_calls=(*message.tool_calls, *calls), items=(), stop_reason=stop)


def _as_text(request: Request, notation: Notation) -> Request:
    """Return the request for a model that knows text alone."""
    messages: list[Message] = []
    for turn in turns(request.messages):
        if isinstance(turn, list):
            messages.append(_results(turn, notation))
        elif isinstance(turn, Assistant) and turn.tool_calls:
            text = "\n\n".join(filter(None, [turn.content, notation.write(turn.tool_calls)]))
            messages.append(Assistant(id=turn.id, content=text))
        else:
            messages.append(turn)
    if not request.tools:
        return replace(request, messages=messages)
    keys = {"name": "name", "description": "description", "input_schema": "parameters"}
    tools = [{key: tool[name] for name, key in keys.items() if tool.get(name)} for tool in request.tools]
    lines = "\n".join(json.dumps(tool, ensure_ascii=False, default=dict) for tool in tools)
    text = _INSTRUCTIONS.format(example=notation.example, tools=lines)
    if request.output_schema is not None:
        text += f"\n\nOnce you need no more tools: {instruction(request.output_schema)}"
    system = [message.content for message in messages if isinstance(message, System)]
    others = [message for message in messages if not isinstance(message, System)]
    messages = [System(content="\n\n".join([*system, text])), *others]
    return replace(request, messages=messages, tools=(), output_schema=None)


def _results(answers: Sequence[tuple[ToolCall, Result]], notation: Notation) -> User:
    """Return results as a message of the user; pictures follow the text."""
    texts: list[str] = []
    files: list[Any] = []
    for call, given in answers:
        result = given
        if call.name == MALFORMED:
            problem = notation.problem(argument_text(call))
            result = Result.error(f"This call could not be read: {problem}. Write it as:\n{notation.example}")
        content = result.content if result.ok else str(result)
        parts = (content,) if isinstance(content, str) else content
        files += [part for part in parts if not isinstance(part, str)]
        body = "\n".join(str(part) for part in parts).replace("</tool_result", "<\\/tool_result")
        failed = "" if result.ok else ' error="true"'
        texts.append(f'<tool_result name="{call.name}"{failed}>\n{body}\n</tool_result>')
    return User(content="\n".join(texts), files=tuple(files))
