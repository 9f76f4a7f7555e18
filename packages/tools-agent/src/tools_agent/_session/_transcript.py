"""`Transcript`: the messages of a session and the state of its tool calls, as its records leave them.

A message owns the results of its calls. So a call has at most one result, directly after the message with the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tools_agent._session._entry import CallState, Entry
from tools_agent._stores._store import Record, damaged
from tools_core import Result, ToolCall

Change = tuple[str, dict[str, Any]]


class Transcript:
    """The messages of a session, from records that no rollback has undone."""

    def __init__(self, session: str, records: Iterable[Record] = ()) -> None:
        self._record = (session, 0)  # the record that is being read, for errors
        self.entries: list[Entry] = []
        self.calls: dict[str, CallState] = {}  # calls that were started or need approval, by id
        self.summary: Mapping[str, Any] | None = None
        self.approved_keys: dict[str, str] = {}  # who approved a request for the whole session, by its key
        self.reply_count = 0
        self.spent: Mapping[str, float] = {}  # what the last run had used of its limits, if it waits for the user
        self._by_id: dict[str, Entry] = {}  # results included
        self._unanswered: dict[str, Entry] = {}  # the messages that ask for calls without a result, by call id
        self._messages: list[Any] | None = []  # None after reading, and after a change that is not at its end
        self.askers: dict[str | None, Entry] = {}  # the messages that ask for calls, by call id
        self.read(records)

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def messages(self) -> Sequence[Any]:
        """The messages, in order; not a copy."""
        if self._messages is None:
            self._messages = [message for entry in self.entries for message in entry]
        return self._messages

    @property
    def unanswered(self) -> list[str]:
        """The ids of the calls without a result, in order."""
        askers = list(self._unanswered.values())
        if all(entry is askers[0] for entry in askers):
            return askers[0].unanswered if askers else []
        return [id for entry in self.entries for id in entry.unanswered]

    def find(self, id: str) -> Entry | None:
        """Return the entry of the message with this id, results included."""
        return self._by_id.get(id)

    def state(self, call_id: str | None) -> CallState:
        """Return the attempts of a call, and the approval that it waits for or has."""
        return self.calls.get(call_id or "") or CallState()

    def is_waiting(self, call_id: str) -> bool:
        """Return whether a call waits for an answer of the user."""
        state = self.state(call_id)
        return state.question is not None or (state.pending is not None and state.approved is None)

    @property
    def last_entry(self) -> Entry | None:
        """The entry of the last reply; only its calls may still run."""
        return next((entry for entry in reversed(self.entries) if entry.is_assistant), None)

    @property
    def last_reply(self) -> Any:
        """The last reply of the model, or None."""
        entry = self.last_entry
        return None if entry is None else entry.message

    @property
    def last_results(self) -> list[Result]:
        """The results of the calls of the last message."""
        return [result.message.result for result in self.entries[-1].results.values()] if self.entries else []

    @property
    def pending_calls(self) -> list[ToolCall]:
        """The calls of the last reply without a result."""
        entry = self.last_entry
        unanswered = entry.unanswered if entry is not None else []
        return [call for call in entry.message.tool_calls if call.id in unanswered] if entry and unanswered else []

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What pending calls wait for: approvals, answers and results, as JSON values."""
        requests: list[dict[str, Any]] = []
        for call in self.pending_calls:
            state = self.state(call.id)
            if state.question is not None:
                requests.append(dict(state.question))
            if state.pending is None or state.approved is not None:
                continue
            inner = state.pending.get("pending")  # of a sub-agent
            if inner is None:
                requests.append(dict(state.pending))
                continue
            requests.extend(
                {**request, "call_id": f"{call.id}/{request['call_id']}", "agent": call.name}
                for request in inner
                if request["call_id"] not in state.answers
            )
        return requests

    # ------------------------------------------------------------------------------------------------ changing

    def read(self, records: Iterable[Record]) -> None:
        """Apply records of a store. Raises StoreError for a damaged one."""
        session = self._record[0]
        for record in records:
            self._messages = None  # converted when they are needed
            self._record = (session, record.seq)
            try:
                self.apply(record.kind, record.data)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise damaged(*self._record, error) from error

    def apply(self, kind: str, data: Mapping[str, Any]) -> None:
        """Make the change that a record is about; kinds that are unknown, or change no message, are ignored."""
        change = getattr(self, f"_apply_{kind}", None)
        if change is not None:
            change(data)

    def _apply_message(self, data: Mapping[str, Any]) -> None:
        entry = Entry(data["message"], self._record)
        after = data.get("after")
        if after is None:
            self.entries.append(entry)
            if self._messages is not None:
                self._messages.append(entry.message)
        else:
            self.entries.insert(self._position(after) + 1 if after else 0, entry)
            self._messages = None
        self.reply_count += entry.is_assistant
        self._by_id[entry.id] = entry
        if entry.call_ids:
            self._ask(entry)

    def _apply_update(self, data: Mapping[str, Any]) -> None:
        value = data["message"]
        entry = self.find(value["id"] if isinstance(value, dict) else value.id)
        if entry is None:
            return
        before = entry.message.tool_calls if entry.is_assistant else ()
        entry.set(value, self._record)
        self._messages = None
        if not entry.is_assistant:
            return
        for call in before:
            if call not in entry.message.tool_calls:  # approvals and starts were of another call
                self._forget(call.id)
            if call.id not in entry.call_ids:
                self._drop_result(entry, call.id)
        self._ask(entry)

    def _apply_remove(self, data: Mapping[str, Any]) -> None:
        for id in data["ids"]:
            entry = self._by_id.pop(id)
            del self.entries[self._position(id)]
            self.reply_count -= entry.is_assistant
            for call_id in entry.call_ids:
                self._forget(call_id)
                self._drop_result(entry, call_id)
        self._messages = None

    def _apply_tool_started(self, data: Mapping[str, Any]) -> None:
        state = self.calls.setdefault(data["call_id"], CallState())
        state.attempts, state.key = data["attempt"], data.get("key", "")

    def _apply_tool_finished(self, data: Mapping[str, Any]) -> None:
        id = data["call_id"]
        asker = self.askers[id]
        if self._messages is not None and asker is self.entries[-1]:
            del self._messages[-1 - len(asker.results) :]
        else:
            self._messages = None
        self._drop_result(asker, id)
        asker.results[id] = result = Entry(data["message"], self._record)
        self._by_id[result.id] = result
        if self._messages is not None:
            self._messages.extend(asker)
        self._unanswered.pop(id, None)
        self.calls.pop(id, None)

    def _apply_approval_asked(self, data: Mapping[str, Any]) -> None:
        state = self.calls.setdefault(data["call_id"], CallState())
        state.pending, state.approved, state.answers = data["pending"], None, {}
        if not data["pending"].get("was_started"):  # the attempt has ended, by waiting
            state.attempts_settled = state.attempts

    def _apply_approval_given(self, data: Mapping[str, Any]) -> None:
        if data.get("scope") == "run":
            self.approved_keys[data["key"]] = data["by"]
        if not self._answer_sub_agent(data) and data["approved"]:
            state = self.calls.setdefault(data["call_id"], CallState())
            state.approved, state.attempts_settled = data, state.attempts

    def _answer_sub_agent(self, data: Mapping[str, Any]) -> bool:
        """Keep an answer to a request of a sub-agent, and return whether it is one."""
        for id, state in self.calls.items():
            inner = (data["call_id"] or "").removeprefix(f"{id}/")
            requests = (state.pending or {}).get("pending", ())
            if inner != data["call_id"] and any(request["call_id"] == inner for request in requests):
                state.answers[inner], state.attempts_settled = data, state.attempts
                return True
        return False

    def _apply_question_asked(self, data: Mapping[str, Any]) -> None:
        state = self.calls.setdefault(data["call_id"], CallState())
        state.question, state.attempts_settled = data, state.attempts

    def _apply_question_answered(self, data: Mapping[str, Any]) -> None:
        if not self._answer_sub_agent(data):
            state = self.calls.setdefault(data["call_id"], CallState())
            state.question, state.replies[data["number"]] = None, data

    def _apply_run_finished(self, data: Mapping[str, Any]) -> None:
        self.spent = data.get("spent", {})

    def _apply_result_given(self, data: Mapping[str, Any]) -> None:
        self._answer_sub_agent(data)

    def _apply_summary(self, data: Mapping[str, Any]) -> None:
        self.summary = data

    def _position(self, id: str) -> int:
        """The place of a message among the entries; most changes are near the end."""
        for place in range(len(self.entries) - 1, -1, -1):
            if self.entries[place].id == id:
                return place
        raise ValueError(f"the session has no message {id!r}")

    def _ask(self, entry: Entry) -> None:
        for id in entry.call_ids:
            self.askers[id] = entry
            if id not in entry.results:
                self._unanswered[id] = entry

    def _drop_result(self, entry: Entry, call_id: str) -> None:
        result = entry.results.pop(call_id, None)
        if result is not None:
            self._by_id.pop(result.id, None)

    def _forget(self, call_id: str) -> None:
        self.askers.pop(call_id, None)
        self._unanswered.pop(call_id, None)
        self.calls.pop(call_id, None)


def effective(session: str, records: Iterable[Record]) -> Iterable[Record]:
    """Return the records that no rollback has undone."""
    records = list(records)
    if not any(record.kind == "rollback" for record in records):
        return records
    valid: list[Record] = []
    for record in records:
        if record.kind != "rollback":
            valid.append(record)
            continue
        try:
            valid = [earlier for earlier in valid if earlier.seq <= record.data["to"]]
        except (LookupError, TypeError) as error:
            raise damaged(session, record.seq, error) from error
    return valid
