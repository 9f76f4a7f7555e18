"""`Entry`, a message with the results of its calls; `CallState`, what is known of a call without a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from tools_agent._messages import Assistant, Message, message_from_dict
from tools_agent._stores._store import damaged

Stored = Message | dict[str, Any]


class Entry:
    """A message, read from JSON when it is first needed, with the results of its tool calls by call id."""

    __slots__ = ("_record", "_value", "call_ids", "id", "is_assistant", "results")

    def __init__(self, value: Stored, record: tuple[str, int]) -> None:
        self.results: dict[str, Entry] = {}
        self.set(value, record)

    def set(self, value: Stored, record: tuple[str, int]) -> None:
        """Replace the message; `record` is the session and the sequence number, for errors."""
        self._value = value
        self._record = record
        self.call_ids: Sequence[str] = ()
        if isinstance(value, dict):
            self.id: str = value["id"]
            self.is_assistant = value["role"] == "assistant"
            if self.is_assistant and value["tool_calls"]:
                self.call_ids = [call["id"] for call in value["tool_calls"]]
            return
        self.id = value.id
        self.is_assistant = isinstance(value, Assistant)
        if isinstance(value, Assistant):
            self.call_ids = [cast("str", call.id) for call in value.tool_calls]

    @property
    def message(self) -> Any:
        """The message. Raises StoreError if its record is damaged."""
        if isinstance(self._value, dict):
            try:
                self._value = cast("Message", message_from_dict(self._value))
            except ValueError as error:
                raise damaged(*self._record, error) from error
        return self._value

    @property
    def unanswered(self) -> list[str]:
        """The ids of the calls without a result."""
        return [id for id in self.call_ids if id not in self.results]

    def __iter__(self) -> Iterator[Message]:
        yield self.message
        if self.results:
            for id in self.call_ids:
                if id in self.results:
                    yield self.results[id].message


class CallState:
    """The state of a tool call without a result."""

    __slots__ = ("answers", "approved", "attempts", "attempts_settled", "key", "pending", "question", "replies")

    def __init__(self) -> None:
        self.attempts = 0  # how many times it was started
        self.key = ""  # the same for all attempts; a rollback of the first one ends it
        self.attempts_settled = 0  # how many of these have ended, or are known to the user who approved the call
        self.pending: Mapping[str, Any] | None = None  # the request for approval, as JSON
        self.approved: Mapping[str, Any] | None = None  # the answer to it
        self.answers: dict[str, Mapping[str, Any]] = {}  # the answers to the requests of a sub-agent, by call id
        self.question: Mapping[str, Any] | None = None  # the question that it waits for, as JSON
        self.replies: dict[int, Mapping[str, Any]] = {}  # the answers to its questions, by number
