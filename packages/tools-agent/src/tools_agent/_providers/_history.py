"""The history that is sent: the messages of a request in a form that every API accepts.

Sessions contain whatever models have sent: ids and arguments that other APIs reject, replies without text, calls that
were never answered. `turns` replaces or leaves out all that, and the formats of tools-core encode the rest.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tools_agent._messages import Assistant, Message, System, ToolResult, User, short_id
from tools_agent._providers._provider import JsonObject, Request
from tools_core import Result, ToolCall
from tools_core.text import is_blank
from tools_runtime.search import MATCHES, NAME

Answers: TypeAlias = list[tuple[ToolCall, Result]]
Turn: TypeAlias = System | User | Assistant | Answers
_MISSING = Result.error("the call has no result", type="interrupted")
CONTINUES = "(the conversation continues)"


def turns(
    request: Request, names: Mapping[str, str], *, provider: str | None = None, server: str | None = None
) -> list[Turn]:
    """Return the messages of a request, each reply with calls followed by one result for each call.

    `names` are the names of tools on the wire. Items of a reply stay if the same provider and server sent it. Calls of
    other models have ids of 9 letters and digits: Mistral accepts no others, and all APIs accept these.
    """
    history = _History(names)
    for message in request.messages:
        if isinstance(message, Assistant):
            is_own = (message.provider, message.server) == (provider, server)
            history.add_reply(message, keeps_items=is_own, keeps_ids=is_own and message.model == request.model)
        elif isinstance(message, ToolResult):
            history.add_result(message)
        elif isinstance(message, User):
            is_empty = is_blank(message.content) and not message.files
            history.turns.append(_copy(message, content="(empty)") if is_empty else message)
        elif isinstance(message, System) and not is_blank(message.content):
            history.turns.append(message)
    last = history.turns[-1] if history.turns else None
    if not isinstance(last, User | list) and getattr(last, "stop_reason", None) != "pause_turn":
        history.turns.append(User(content=CONTINUES))  # many models do not continue a reply
    return history.turns


class _History:
    """The turns so far, with the calls that wait for their results."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.turns: list[Turn] = []
        self._names = names
        self._ids: set[str] = set()
        self._waiting: dict[str | None, deque[tuple[Answers, int]]] = {}  # places of results, by the id of the session

    def add_reply(self, reply: Assistant, *, keeps_items: bool, keeps_ids: bool) -> None:
        items = reply.items if keeps_items else ()
        if is_blank(reply.content) and not (reply.tool_calls or items):
            return
        if not reply.tool_calls:
            self.turns.append(reply if items == reply.items else _copy(reply, items=items))
            return
        answers: Answers = []
        places: dict[str | None, deque[tuple[Answers, int]]] = defaultdict(deque)
        for call in reply.tool_calls:
            name = self._names.get(call.name, call.name)
            answers.append((ToolCall(self._new_id(call.id, keeps=keeps_ids), name, call.raw_arguments), _MISSING))
            places[call.id].append((answers, len(answers) - 1))
        self._waiting |= places
        self.turns += [_copy(reply, tool_calls=tuple(call for call, _ in answers), items=items), answers]

    def add_result(self, message: ToolResult) -> None:
        """Put a result after its call; one without a call becomes a message of the user."""
        if places := self._waiting.get(message.tool_call_id):
            answers, index = places.popleft()
            answers[index] = (answers[index][0], message.result)
        else:
            self.turns.append(User(content=f"Result of {message.name}:\n{message.content}"))

    def _new_id(self, id: str | None, *, keeps: bool) -> str:
        """Return an id that no other call of the request has."""
        new, number = id if id and keeps else short_id(id or "0"), 1
        while new in self._ids:
            new, number = short_id(f"{id} {number}"), number + 1
        self._ids.add(new)
        return new


def _copy(message: Message, **changes: Any) -> Any:
    return message.model_copy(update=changes)  # `replace` would validate the rest again


def with_own_parts(
    items: Sequence[JsonObject],
    encoded: list[JsonObject],
    *,
    is_call: Callable[[JsonObject], bool],
    is_empty: Callable[[JsonObject], bool],
    is_thought: Callable[[JsonObject], bool],
) -> list[JsonObject]:
    """Return the parts of a reply as its server sent them, without empty ones.

    Their calls have the ids, names and arguments of the encoded calls. Thoughts at the end are removed: the APIs
    require something after them.
    """
    calls = [part for part in encoded if is_call(part)]
    if not items or sum(map(is_call, items)) != len(calls):
        return encoded
    rest = iter(calls)
    parts = [{**item, **next(rest)} if is_call(item) else item for item in items if is_call(item) or not is_empty(item)]
    while parts and is_thought(parts[-1]):
        parts.pop()
    return parts


def searches(history: Sequence[Turn]) -> dict[str, Sequence[str]]:
    """Return the names that searches of tools have found, by the ids of their calls."""
    answers = [answer for turn in history if isinstance(turn, list) for answer in turn]
    return {
        call.id or "": result.metadata[MATCHES]
        for call, result in answers
        if call.name == NAME and MATCHES in result.metadata
    }
