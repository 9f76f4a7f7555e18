"""The code as a model: its calls are the replies, and its output is the last one."""

from __future__ import annotations

import asyncio
import json
from itertools import takewhile
from typing import TYPE_CHECKING

from tools_agent import Assistant, ToolResult
from tools_core import Result, ToolCall, ToolError
from tools_core.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from tools_agent import Delta, Message, Request
    from tools_code._interpreter import CodeCall, Interpreter

_PATIENCE = 30.0  # seconds without a call after which code that resumes has taken another path


class CodeModel:
    """The provider of the replies of one run of code.

    Each reply has the calls that the code waits for, and the last one the output. If the conversation has replies
    already, the code runs again from its start, and receives the results of the calls that it repeats.
    """

    def __init__(self, start: Callable[[], Interpreter], max_calls: int) -> None:
        self._start = start
        self._max_calls = max_calls
        self._interpreter: Interpreter | None = None
        self._calls: dict[str, CodeCall] = {}  # of the last reply, by id
        self._count = 0  # of the calls of all replies
        self._early: list[CodeCall] = []  # calls that a repeated reply does not have

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """Yield the next reply."""
        yield await asyncio.wrap_future(in_thread(lambda: self._reply(request.messages)))

    def close(self) -> None:
        """End the interpreter."""
        if self._interpreter is not None:
            self._interpreter.close()

    def _reply(self, messages: Sequence[Message]) -> Assistant:
        try:
            interpreter = self._interpreter
            if interpreter is None:
                interpreter = self._interpreter = self._start()
                self._repeat_all(interpreter, messages)
            else:
                results = _results_of(takewhile(lambda message: not isinstance(message, Assistant), reversed(messages)))
                for id, call in self._calls.items():
                    interpreter.answer(call, results[id])
            calls, self._early = self._early or interpreter.next_calls(), []
            if not calls:
                return _last(interpreter.result())
            if self._count + len(calls) > self._max_calls:
                text = f"{interpreter.stop()}[stopped at the limit of {self._max_calls} calls]"
                return _last(Result.error(text, type="limit_exceeded"))
        except ToolError as error:
            return _last(Result.error(str(error), type=error.type))
        self._calls = {f"call_{number}": call for number, call in enumerate(calls, start=self._count + 1)}
        self._count += len(calls)
        tool_calls = [ToolCall(id, call.name, call.arguments) for id, call in self._calls.items()]
        return Assistant(tool_calls=tuple(tool_calls), stop_reason="tool", provider="code")

    def _repeat_all(self, interpreter: Interpreter, messages: Sequence[Message]) -> None:
        results = _results_of(messages)
        for reply in messages:
            if isinstance(reply, Assistant):
                self._repeat(interpreter, reply, results)
                self._count += len(reply.tool_calls)

    def _repeat(self, interpreter: Interpreter, reply: Assistant, results: dict[str, Result]) -> None:
        """Let the code repeat the calls of a reply, and answer them with the results."""
        missing = list(reply.tool_calls)
        pairs: list[tuple[CodeCall, ToolCall]] = []
        arrived, self._early = self._early, []
        while True:
            for call in arrived:
                match = next((other for other in missing if _is_same(call, other)), None)
                if match is None:
                    self._early.append(call)
                else:
                    missing.remove(match)
                    pairs.append((call, match))
            if not missing:
                break
            alone = next((call for call in self._early if call.is_alone), None)
            if alone is not None:
                raise _diverged(self._count, missing[0], f"is {_text_of(alone)} now")
            try:
                arrived = interpreter.next_calls(_PATIENCE)
            except TimeoutError:
                raise _diverged(self._count, missing[0], "did not follow") from None
            if not arrived:
                raise _diverged(self._count, missing[0], "did not follow: the code ended before it")
            if len(self._early) + len(arrived) > self._max_calls:
                raise _diverged(self._count, missing[0], f"did not follow within {self._max_calls} calls")
        for call, match in pairs:
            interpreter.answer(call, results[match.id or ""])


def _results_of(messages: Iterable[Message]) -> dict[str, Result]:
    return {message.tool_call_id: message.result for message in messages if isinstance(message, ToolResult)}


def _is_same(call: CodeCall, other: ToolCall) -> bool:
    texts = [json.dumps(value, sort_keys=True) for value in (call.arguments, other.arguments)]
    return call.name == other.name and texts[0] == texts[1]


def _diverged(position: int, expected: ToolCall, difference: str) -> ToolError:
    return ToolError(
        f"the code took another path when it resumed: after {position} calls, {_text_of(expected)} {difference}. "
        "Calls must not depend on the time or on random values; the completed calls were not repeated",
        "diverged",
    )


def _text_of(call: CodeCall | ToolCall) -> str:
    return f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)[:200]})"


def _last(result: Result) -> Assistant:
    return Assistant(content=str(result), output=result.to_dict(), stop_reason="stop", provider="code")
