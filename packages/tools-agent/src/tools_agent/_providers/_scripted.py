"""`ScriptedProvider`: a provider for tests, which replies what it was given."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from inspect import isawaitable
from itertools import count
from typing import Any, TypeAlias, Union

from tools_agent._events import Delta, TextDelta, ToolCallDelta
from tools_agent._messages import Assistant
from tools_agent._providers._provider import ProviderError, Request
from tools_core import ToolCall

Part: TypeAlias = str | ToolCall | BaseException
Reply: TypeAlias = Union[  # noqa: UP007  (it names itself, which `|` cannot do with a string)
    Part, Assistant, Sequence[Part], Callable[[Request], "Reply"], Callable[[Request], Awaitable["Reply"]]
]


class ScriptedProvider:
    """Return scripted replies, one for each request, and record the requests in `calls`.

    A reply is text, a ToolCall, a list of texts and calls, an Assistant, an exception to raise, or a function of the
    request that returns one of these, also a coroutine function. In a list, the items before an
    exception are streamed first. Calls without an id receive one.

        >>> from tools_agent import Agent, ScriptedProvider
        >>> from tools_core import ToolCall, tool
        >>> @tool
        ... def add(a: int, b: int) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> provider = ScriptedProvider(["Let me add.", ToolCall(None, "add", {"a": 1, "b": 2})], "It is 3.")
        >>> Agent(model=provider, tools=[add]).generate("1 + 2?").content
        'It is 3.'
        >>> [request.messages[-1].content for request in provider.calls]
        ['1 + 2?', '3']
    """

    def __init__(self, *replies: Reply, default: Reply | None = None) -> None:
        """Queue `replies`; `default` answers the requests after them, which without it raise ProviderError."""
        self.calls: list[Request] = []
        self._queue = deque(replies)
        self._default = default
        self._numbers = count(1)

    def add(self, *replies: Reply) -> None:
        """Queue more replies."""
        self._queue.extend(replies)

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """Yield the next reply: its text word by word, its calls, and the whole."""
        reply = self._next(request)
        while isawaitable(reply):
            reply = _resolved(await reply, request)
        for piece in self._pieces(reply, request):
            yield piece

    def _next(self, request: Request) -> Any:
        self.calls.append(replace(request, messages=tuple(request.messages), tools=tuple(request.tools)))
        if self._queue:
            return _resolved(self._queue.popleft(), request)
        if self._default is None:
            number = len(self.calls)
            raise ProviderError(f"the script has no reply to request {number}: add replies, or pass default=")
        return _resolved(self._default, request)

    def _pieces(self, reply: Any, request: Request) -> Iterator[Delta | Assistant]:
        message = reply if isinstance(reply, Assistant) else None
        parts = [message.content, *message.tool_calls] if message else reply
        texts: list[str] = []
        calls: list[ToolCall] = []
        for part in [parts] if isinstance(parts, str | ToolCall | BaseException) else parts:
            if isinstance(part, BaseException):
                raise part
            if isinstance(part, str):
                texts.append(part)
                yield from map(TextDelta, re.findall(r"\s*\S+\s*$|\s*\S+|\s+", part))
            elif isinstance(part, ToolCall):
                call = part if part.id else ToolCall(self._new_id(request), part.name, part.raw_arguments)
                text = call.raw if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False)
                yield ToolCallDelta(len(calls), call.id, call.name, text)
                calls.append(call)
            else:
                raise TypeError(f"a reply is text, a ToolCall, a list of these or an Assistant; got {part!r:.60}")
        if message:
            yield message.replace(tool_calls=calls)
            return
        stop = "tool" if calls else "stop"
        yield Assistant(
            content="".join(texts), tool_calls=tuple(calls), stop_reason=stop, provider="scripted", model=request.model
        )

    def _new_id(self, request: Request) -> str:
        """Return an id that the conversation does not have: a session may come from another provider."""
        earlier = [message.tool_calls for message in request.messages if isinstance(message, Assistant)]
        ids = {call.id for calls in earlier for call in calls}
        return next(id_ for number in self._numbers if (id_ := f"call_{number}") not in ids)


def _resolved(reply: Any, request: Request) -> Any:
    while callable(reply) and not isinstance(reply, type):
        reply = reply(request)
    return reply
