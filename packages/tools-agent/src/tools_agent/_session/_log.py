"""`SessionLog`: the records of a session, read and written by its runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any
from uuid import uuid4

from tools_agent._messages import Assistant, Message, ToolResult, message_from_dict, with_unique_ids
from tools_agent._session._entry import Stored
from tools_agent._session._transcript import Change, Transcript, effective
from tools_agent._stores._store import Record, SessionConflictError, Store
from tools_core import Result, ToolCall

INTERRUPTED = "Tool call interrupted before completion."


class SessionLog(Transcript):
    """The log of a session: each record is in the store, if there is one, before the session shows it.

    A run calls `begin`, records messages and calls, and calls `end` even if it fails:

    ```python
    log = session.log
    log.begin(run_id)
    try:
        log.start_run(User(content="Tidy up"))
        ...
        log.finish_run("completed")
    finally:
        log.end(run_id)
    ```

    Attributes:
        key: The identity of the session, unique among all stores; a run's Context has it as `run_id`.
        callbacks: The functions that `Session.on_message` has added.
    """

    def __init__(self, id: str, store: Store | None = None) -> None:
        super().__init__(id)
        self.id = id
        self.key = uuid4().hex
        self.store = store
        self.callbacks: list[Callable[[Any], object]] = []
        self._records: list[Record] = []  # of a session without a store
        self._seq = 0
        self._run: str | None = None  # the active run
        self._lock = RLock()

    # ------------------------------------------------------------------------------------------------ runs

    def begin(self, run: str) -> None:
        """Reserve the session for a run, and read what has happened since the last one.

        Raises SessionConflictError during another run.
        """
        with self._lock:
            if self._run is not None:
                raise SessionConflictError(f"session {self.id!r} is in use by another run; wait until it ends")
            key = self.key if self.store is None else self.store.acquire(self.id, run)
            self._run = run
        if key != self.key:
            self.end(run)
            raise SessionConflictError(f"session {self.id!r} was deleted and created again: open it again")
        try:
            self.refresh()
        except BaseException:
            self.end(run)
            raise

    def end(self, run: str) -> None:
        """Let another run begin, if this one has begun."""
        with self._lock:
            if self._run != run:
                return
            self._run = None
        if self.store is not None:
            self.store.release(self.id, run)

    def start_run(self, prompt: Message | None = None, changes: Sequence[Change] = ()) -> None:
        """Record that a run starts, with its prompt after other changes."""
        changes = [("run_started", {}), *changes]
        if prompt is not None:
            changes.append(("message", {"message": prompt}))
        self.write(changes)

    def finish_run(self, outcome: str, **data: Any) -> None:
        """Record how the run ended; `data` is JSON."""
        self.write([("run_finished", {"outcome": outcome, **data})])

    # ------------------------------------------------------------------------------------------------ messages

    def add(self, message: Message) -> None:
        """Record a message."""
        self.write([("message", {"message": message})])

    def with_unique_ids(self, reply: Assistant) -> Assistant:
        """Return a reply whose calls have ids that no other call of the session has."""
        return with_unique_ids(reply, self.askers)

    def summarize(self, until: str, text: str) -> None:
        """Record a summary of the messages up to an id."""
        self.write([("summary", {"until": until, "text": text})])

    # ------------------------------------------------------------------------------------------------ calls

    def start_call(self, call: ToolCall, *, is_read_only: bool = False) -> None:
        """Record that a call starts. If this raises, the call must not run."""
        state = self.state(call.id)
        key = state.key or uuid4().hex[:12]
        started = {"call_id": call.id, "name": call.name, "attempt": state.attempts + 1, "key": key}
        if is_read_only:
            started["read_only"] = True
        self.write([("tool_started", started)])

    def finish_call(self, call_id: str, result: Result) -> ToolResult:
        """Record the result of a call, and return its message. Raises KeyError for an unknown call."""
        change = self.result_of(call_id, result)
        self.write([change])
        message: ToolResult = change[1]["message"]
        return message

    def close_calls(self, call_ids: Sequence[str], result: Result | None = None) -> list[str]:
        """Give calls the same result, by default the placeholder for interrupted calls; return their ids."""
        if call_ids:
            placeholder = Result.error(INTERRUPTED, type="interrupted") if result is None else result
            self.write([self.result_of(id, placeholder) for id in call_ids])
        return list(call_ids)

    def ask_approval(self, call_id: str, request: Mapping[str, Any]) -> None:
        """Record that a call waits for an approval, unless it does already. `request` is JSON."""
        request = {**request, "call_id": call_id}
        state = self.state(call_id)
        if state.pending != request or state.attempts > state.attempts_settled:
            self.write([("approval_asked", {"call_id": call_id, "pending": request})])

    def approve_key(self, key: str, call_id: str | None, by: str) -> None:
        """Record an approval for the rest of the session, given for a call."""
        data = {"call_id": call_id, "approved": True, "by": by, "scope": "run", "key": key}
        self.write([("approval_given", data)])

    def approver_of(self, key: str) -> str | None:
        """Return who approved a request for the rest of the session; None if nobody did."""
        return self.approved_keys.get(key)

    def ask_question(self, call_id: str, question: Mapping[str, Any]) -> None:
        """Record that a call waits for the answer to a question, unless it does already. `question` is JSON."""
        question = {**question, "call_id": call_id}
        state = self.state(call_id)
        if state.question != question or state.attempts > state.attempts_settled:
            self.write([("question_asked", question)])

    def answer(self, question: Mapping[str, Any], answer: str, by: str) -> None:
        """Record the answer to a question."""
        data = {name: question[name] for name in ("call_id", "number", "question")}
        self.write([("question_answered", {**data, "answer": answer, "by": by})])

    def result_of(self, call_id: str, result: Result) -> Change:
        """Return the change that gives a call its result."""
        entry = self.askers.get(call_id)
        if entry is None:
            raise KeyError(f"the session has no call {call_id!r}")
        call = next(call for call in entry.message.tool_calls if call.id == call_id)
        message = ToolResult(id=f"result_{call_id}", tool_call_id=call_id, name=call.name, result=result)
        return "tool_finished", {"call_id": call_id, "message": message}

    # ------------------------------------------------------------------------------------------------ records

    @property
    def records(self) -> list[Record]:
        """All records, including the records that a rollback has undone."""
        if self.store is not None:
            return self.store.read(self.id)
        return [replace(record, data=as_json(record.data)) for record in self._records]

    def create(
        self, changes: Sequence[Change], metadata: Mapping[str, Any] | None, parent: str = "", call: str = ""
    ) -> None:
        """Create the session in its store; in one transaction, so that no session lacks its instructions."""
        if self.store is None:
            self.write(changes)
            return
        records = [Record(kind, as_json(data)) for kind, data in changes]
        self.key = self.store.create(self.id, metadata, records, parent=parent, call=call)
        self._seq = len(records)
        for kind, data in changes:
            self.apply(kind, data)

    def load(self) -> None:
        """Read the session from its store. Raises KeyError if the store does not have it."""
        if self.store is not None:
            self.key, records = self.store.open(self.id)
            self.replay(records)

    def write(self, changes: Sequence[Change]) -> None:
        """Append changes to the store, then apply them to the messages."""
        with self._lock:
            run = self._run or ""
            if self.store is None:
                for kind, data in changes:
                    self._seq += 1
                    self._records.append(Record(kind, data, run, self._seq, time.time()))
            else:
                records = [Record(kind, as_json(data), run) for kind, data in changes]
                self._seq = self.store.append(self.id, records, after=self._seq, owner=self._run)
            for kind, data in changes:
                self.apply(kind, data)

    def refresh(self) -> None:
        """Read records that other processes have appended."""
        if self.store is None:
            return
        with self._lock:
            records = self.store.read(self.id, self._seq)
            if any(record.kind == "rollback" for record in records):
                self.replay(self.store.read(self.id))
                return
            if records:
                self.read(records)
                self._seq = records[-1].seq

    def rollback(self, to: int) -> None:
        """Undo all changes after a sequence number."""
        if not 0 <= to <= self._seq:
            raise ValueError(f"the history has the sequence numbers up to {self._seq}, got {to}")
        self.write([("rollback", {"to": to})])
        self.replay(self._records if self.store is None else self.store.read(self.id))

    def replay(self, records: Sequence[Record]) -> None:
        """Take the messages from the records of a store."""
        vars(self).update(vars(Transcript(self.id, effective(self.id, records))))
        self._seq = records[-1].seq if records else 0
        if self.store is None:
            self._records = list(records)


def as_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a change with its messages as JSON values."""
    return {key: value.to_dict() if isinstance(value, Message) else value for key, value in data.items()}


def changes_of(messages: Iterable[Stored], *, heal: bool) -> list[Change]:
    """Return the changes that add persisted messages to an empty transcript.

    Calls without an id, or with one that an earlier call has, receive a new one. Raises ValueError for two messages
    with one id, and for a result without a call unless `heal` drops it.
    """
    changes: list[Change] = []
    renamed: dict[str | None, str | None] = {}
    call_ids: set[str | None] = set()
    ids: set[str] = set()
    for value in messages:
        message: Any = message_from_dict(value) if isinstance(value, dict) else value
        if not isinstance(message, Message):
            raise TypeError(f"a message is a Message or the dict of its to_dict(), got {type(message).__name__}")
        if message.id in ids:
            raise ValueError(f"two messages have the id {message.id!r}")
        ids.add(message.id)
        if isinstance(message, Assistant):
            original = message
            message = with_unique_ids(message, call_ids)
            call_ids |= {call.id for call in message.tool_calls}
            renamed |= {old.id: new.id for old, new in zip(original.tool_calls, message.tool_calls, strict=True)}
        if not isinstance(message, ToolResult):
            changes.append(("message", {"message": message}))
        elif message.tool_call_id in renamed:
            id = renamed[message.tool_call_id]
            changes.append(("tool_finished", {"call_id": id, "message": message.replace(tool_call_id=id)}))
        elif not heal:
            raise ValueError(
                f"the result {message.id!r} answers the call {message.tool_call_id!r}, which no earlier message has; "
                "leave it out, or pass heal=True to drop such results"
            )
    return changes
