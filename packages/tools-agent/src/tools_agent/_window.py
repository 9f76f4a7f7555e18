"""`Window`: how much of a long session the model sees."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tools_agent._loop._drive import Do
from tools_agent._messages import Assistant, Message, System, ToolResult, User

if TYPE_CHECKING:
    from tools_agent._session._session import Session

_SUMMARIZE = (
    "Summarize the following part of a conversation between a user, an assistant and its tools, so that the assistant "
    "can continue without it: the user's goal, decisions, facts, names and paths, finished work, and open tasks."
)
_HEADING = "Summary of the conversation so far:\n\n"


def estimate_tokens(message: Message) -> int:
    """Return roughly how many tokens a message has: a quarter of its characters, and 1,500 for each file."""
    size = len(str(getattr(message, "content", "")))
    if isinstance(message, Assistant):
        size += sum(len(call.name) + len(call.raw or json.dumps(call.raw_arguments)) for call in message.tool_calls)
    return 8 + size // 4 + 1500 * len(getattr(message, "files", ()))


class Window:
    """Limit how much of a session the model sees. The session keeps all messages.

    If a session has more than `max_tokens`, the model sees its system messages, the latest prompt and the newest
    messages, up to half as many tokens. The start of its input then stays the same for several requests and can be
    cached. A tool call is never separated from its result.

    Args:
        max_tokens: The number of tokens above which old messages are hidden.
        summarize: True to replace hidden messages by a summary that the model writes, or instructions for it.
        count: Returns the tokens of a message; by default an estimate.
    """

    def __init__(
        self,
        max_tokens: int,
        *,
        summarize: bool | str = False,
        count: Callable[[Any], int] = estimate_tokens,
    ) -> None:
        if max_tokens < 1:
            raise ValueError(f"max_tokens is above 0, got {max_tokens}")
        self.max_tokens = max_tokens
        self.instructions = _SUMMARIZE if summarize is True else summarize or ""
        self.count = count

    def fit(self, session: Session, ask: Callable[[Sequence[Message]], Any]) -> Any:
        """Return the messages that the model sees, as a generator of the loop; `ask` has the model reply to some."""
        messages = session.messages
        view = visible(messages, session.log.summary)
        if self._size(view) <= self.max_tokens:
            return view
        hidden = self._hidden(messages, session)
        if not hidden:
            return view
        until, text = hidden[-1].id, ""
        if self.instructions:
            reply = yield from ask([System(content=self.instructions), User(content=_rendered(hidden, session))])
            text = reply.content
        yield Do(session.log.summarize, (until, text), blocks=session.store is not None)
        return visible(messages, session.log.summary)

    def _size(self, messages: Iterable[Message]) -> int:
        return sum(map(self.count, messages))

    def _hidden(self, messages: Sequence[Any], session: Session) -> list[Any]:
        """The messages to hide now, whole groups of a reply and its results."""
        groups = _groups(_after(messages, session.log.summary))
        left = self.max_tokens // 2
        first = len(groups)
        while first > 0 and (first == len(groups) or left >= self._size(groups[first - 1])):
            first -= 1
            left -= self._size(groups[first])
        return [message for group in groups[:first] for message in group]


def visible(messages: Sequence[Any], summary: Any) -> list[Any]:
    """Return the messages that the model sees: system messages, the summary, the latest prompt and what follows."""
    recent = _after(messages, summary)
    hidden = len(messages) - len(recent)
    if not hidden or summary is None:
        return list(messages)
    head: list[Any] = [message for message in messages[:hidden] if isinstance(message, System)]
    if summary["text"]:
        head.append(User(id="summary", content=_HEADING + summary["text"]))
    if not any(isinstance(message, User) for message in recent):
        head += [message for message in messages[:hidden] if isinstance(message, User)][-1:]
    return [*head, *recent]


def _after(messages: Sequence[Any], summary: Any) -> Sequence[Any]:
    """The messages that a summary does not cover, without system messages before them."""
    if summary is None:
        return messages
    place = next((place for place, message in enumerate(messages) if message.id == summary["until"]), -1)
    while place + 1 < len(messages) and place >= 0 and isinstance(messages[place + 1], ToolResult):
        place += 1
    return messages[place + 1 :]


def _groups(messages: Sequence[Any]) -> list[list[Any]]:
    """Messages, each with the results that follow it."""
    groups: list[list[Any]] = []
    for message in messages:
        if isinstance(message, ToolResult) and groups:
            groups[-1].append(message)
        elif not isinstance(message, System):
            groups.append([message])
    return groups


def _rendered(messages: Sequence[Any], session: Session) -> str:
    summary = session.log.summary
    earlier = [_HEADING + summary["text"]] if summary and summary["text"] else []
    lines = [
        f"{message.role}: {message.content}"
        + "".join(f"\n  calls {call.name}({call.raw_arguments})" for call in _calls(message))
        for message in messages
    ]
    return "\n\n".join([*earlier, *lines])


def _calls(message: Any) -> Sequence[Any]:
    return message.tool_calls if isinstance(message, Assistant) else ()
