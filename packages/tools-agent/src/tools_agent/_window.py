"""`Window`: how much of a long session the model sees."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from tools_agent._messages import Assistant, Message, System, ToolResult, User, estimate_tokens
from tools_agent._providers._provider import ProviderError
from tools_agent._session._log import SessionLog
from tools_agent._session._session import Session
from tools_core import Result

Ask = Callable[[Sequence[Message]], Awaitable[Assistant]]

_SUMMARIZE = (
    "Summarize the following part of a conversation between a user, an assistant and its tools, so that the assistant "
    "can continue without it: the user's goal, decisions, facts, names and paths, finished work, and open tasks."
)
_HEADING = "Summary of the conversation so far:\n\n"
_HIDDEN = "(Earlier messages of this conversation are hidden.)"
_ROOM = 100_000  # tokens, if the caller does not know the model
_MAX_MESSAGE = 8_000  # characters of a message that is summarized
_MAX_PIECES = 20  # of a conversation that is summarized
_MIN_TEXT = 1_000  # characters that stay of a message that is larger than the model's window
_PAUSE = 8  # messages after a failed summary before the next attempt
_RANK = {"tool": 2, "system": 0}
_LOGGER = logging.getLogger("tools_agent")


class Window:
    """Limit how much of a session the model sees. The session keeps all messages.

    If a session has more than `max_tokens`, the model sees its system messages, the latest prompt and the newest
    messages, up to half as many tokens. The start of its input then stays the same for several requests and can be
    cached. A tool call is never separated from its result. Texts that are larger than the model's context window are
    shortened in the middle, so that a session can always continue.

    Args:
        max_tokens: The number of tokens above which old messages are hidden; by default three quarters of the model's
            context window, without the definitions of tools.
        summarize: True to replace hidden messages by a summary that the model writes, or instructions for it. If the
            model writes none, or only a part, they are hidden without a summary until a later attempt succeeds.
        count: Returns the tokens of a message; by default an estimate.

    Attributes:
        problem: Why the last summary failed; None if it succeeded.
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        *,
        summarize: bool | str = False,
        count: Callable[[Any], int] = estimate_tokens,
    ) -> None:
        if max_tokens is not None and max_tokens < 1:
            raise ValueError(f"max_tokens is above 0, got {max_tokens}")
        self.max_tokens = max_tokens
        self.instructions = _SUMMARIZE if summarize is True else summarize or ""
        self.count = count
        self.problem: str | None = None
        self._failures: WeakKeyDictionary[SessionLog, int] = WeakKeyDictionary()  # messages at the last failed summary

    async def fit(
        self, session: Session, ask: Ask, room: int = _ROOM, *, write: Callable[..., Awaitable[object]]
    ) -> list[Message]:
        """Return the messages that the model sees.

        `ask` has the model reply to messages, `room` is the number of tokens that the model can read, and `write` calls
        a function of the session's log.
        """
        messages, log = session.messages, session.log
        limit = min(self.max_tokens or room, room)
        view = visible(messages, log.summary)
        if self._size(view) <= limit:
            return view
        if hidden := self._hidden(messages, session, limit):
            earlier = log.summary["text"] if log.summary else ""
            summary = {"until": hidden[-1].id, "text": earlier}
            is_due = len(messages) >= self._failures.get(log, -_PAUSE) + _PAUSE
            text = (await self._summarize(hidden, earlier, ask, room)) if self.instructions and is_due else None
            if text is not None or not self.instructions:
                self._failures.pop(log, None)
                summary["text"] = text or earlier
                await write(log.summarize, summary["until"], summary["text"])
            elif is_due:
                self._failures[log] = len(messages)
            view = visible(messages, summary, is_lost=text is None and bool(self.instructions))
        return self._shortened(view, room)

    async def _summarize(self, hidden: Sequence[Message], earlier: str, ask: Ask, room: int) -> str | None:
        """Return a summary of messages, piece by piece; None if the model fails to write one."""
        self.problem = None
        for piece in _pieces(hidden, max(room // 2, 1_000) * 3):
            content = f"{_HEADING}{earlier}\n\n{piece}" if earlier else piece
            try:
                reply = await ask([System(content=self.instructions), User(content=content)])
            except ProviderError as error:
                self.problem = str(error)
            else:
                self.problem = _problem_of(reply)
                earlier = _clipped(reply.content, max(room, 2_000))
            if self.problem is not None:
                _LOGGER.warning("hidden messages have no summary: %s", self.problem)
                return None
        return earlier

    def _size(self, messages: Iterable[Message]) -> int:
        return sum(map(self.count, messages))

    def _hidden(self, messages: Sequence[Message], session: Session, limit: int) -> list[Message]:
        """The messages to hide now, whole groups of a reply and its results."""
        groups = _groups(_after(messages, session.log.summary))
        left = limit // 2
        first = len(groups)
        while first > 0 and (first == len(groups) or left >= self._size(groups[first - 1])):
            first -= 1
            left -= self._size(groups[first])
        return [message for group in groups[:first] for message in group]

    def _shortened(self, view: list[Message], room: int) -> list[Message]:
        """Shorten the longest texts, results first, until the model can read all messages."""
        sizes = [self.count(message) for message in view]
        while (total := sum(sizes)) > room:
            long = [index for index, message in enumerate(view) if len(_text(message)) > _MIN_TEXT + 100]
            if not long:
                break
            index = max(long, key=lambda index: (_RANK.get(view[index].role, 1), len(_text(view[index]))))
            text = _text(view[index])
            size = max(_MIN_TEXT, len(text) // 2, len(text) - 4 * (total - room) - 100)
            view[index] = _with_text(view[index], _clipped(text, size))
            sizes[index] = self.count(view[index])
        return view


def visible(messages: Sequence[Message], summary: Mapping[str, Any] | None, *, is_lost: bool = False) -> list[Message]:
    """Return the messages that the model sees: system messages, the summary, the latest prompt and what follows.

    `is_lost` if the summary lacks messages before them.
    """
    recent = _after(messages, summary)
    hidden = len(messages) - len(recent)
    if not hidden or summary is None:
        return list(messages)
    head: list[Message] = [message for message in messages[:hidden] if isinstance(message, System)]
    texts = [_HEADING + summary["text"]] if summary["text"] else []
    if is_lost or not texts:
        texts.append(_HIDDEN)
    head.append(User(id="summary", content="\n\n".join(texts)))
    if not any(isinstance(message, User) for message in recent):
        head += [message for message in messages[:hidden] if isinstance(message, User)][-1:]
    return [*head, *recent]


def _after(messages: Sequence[Message], summary: Mapping[str, Any] | None) -> Sequence[Message]:
    """The messages that a summary does not cover, without system messages before them."""
    if summary is None:
        return messages
    place = next((place for place, message in enumerate(messages) if message.id == summary["until"]), -1)
    while place + 1 < len(messages) and place >= 0 and isinstance(messages[place + 1], ToolResult):
        place += 1
    return messages[place + 1 :]


def _groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages, each with the results that follow it."""
    groups: list[list[Message]] = []
    for message in messages:
        if isinstance(message, ToolResult) and groups:
            groups[-1].append(message)
        elif not isinstance(message, System):
            groups.append([message])
    return groups


def _pieces(messages: Sequence[Message], size: int) -> list[str]:
    """Return messages as texts of at most so many characters; of a very long conversation the newest ones."""
    pieces: list[str] = []
    for message in messages:
        calls = message.tool_calls if isinstance(message, Assistant) else ()
        lines = [_text(message), *(f"  calls {call.name}({call.raw_arguments})" for call in calls)]
        text = _clipped(f"{message.role}: " + "\n".join(lines), min(_MAX_MESSAGE, size))
        if pieces and len(pieces[-1]) + len(text) < size:
            pieces[-1] += f"\n\n{text}"
        else:
            pieces.append(text)
    return pieces[-_MAX_PIECES:]


def _text(message: Message) -> str:
    return str(getattr(message, "content", ""))


def _clipped(text: str, size: int) -> str:
    """Return the start and the end of a text that is longer than `size` characters."""
    if len(text) <= size:
        return text
    start, end = size * 2 // 3, size // 3
    return f"{text[:start]}\n[... {len(text) - start - end:,} characters are left out ...]\n{text[len(text) - end :]}"


def _with_text(message: Any, text: str) -> Any:
    """Return a copy of a message with another text."""
    if not isinstance(message, ToolResult):
        return message.model_copy(update={"content": text})
    result = message.result
    if result.ok:
        return message.model_copy(update={"result": Result.ok(text, metadata=result.metadata)})
    return message.model_copy(update={"result": Result.error(text, type=result.error_type or "execution_error")})


def _problem_of(reply: Assistant) -> str | None:
    """Return why a reply is not a whole summary."""
    if reply.stop_reason not in ("stop", None):
        return f"the reply ended with {reply.stop_reason!r}"
    return None if reply.content.strip() else "the reply was empty"
