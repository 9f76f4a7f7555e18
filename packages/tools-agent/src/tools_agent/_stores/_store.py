"""`Store`: the interface of session stores, with an append-only log for each session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self


@dataclass(frozen=True, slots=True)
class Record:
    """An event of a session.

    `kind` is one of:

    - "message": a message was added; `data` has `message`; if it is not the last one, also `after`: the id
      of the message before it, or "".
    - "update", "remove": `data` has the new `message`; the `ids` of the messages.
    - "run_started", "run_finished": `data` has the outcome.
    - "tool_started": `data` has `call_id`, `name`, `attempt`, which counts from 1, `key`, a random name of
      the call, the same for all its attempts, and `read_only` if it changes nothing.
    - "tool_finished": `data` has `call_id` and the ToolResult as `message`.
    - "approval_asked": `data` has `call_id` and the `pending` request.
    - "approval_given": `data` has `call_id`, whether it was `approved`, the `reason`, `by` whom, and
      edited `arguments`.
    - "result_given": `data` has `call_id` and the `result` of a call of a sub-agent that ran elsewhere.
    - "summary": `data` has a summary of the messages up to the id `until`, for the model's view of the session.
    - "preview": the session works in the `copy` of the workspace with this id.
    - "rollback": `data` has `to`: the records after this sequence number are undone.

    `data` is JSON. `run` is the id of the run that wrote the record, "" outside of runs. The store sets `seq`, and
    `at`, a Unix time, if it is 0.
    """

    kind: str
    data: Mapping[str, Any]
    run: str = ""
    seq: int = 0
    at: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """An entry of `Store.sessions()`: the number of records, Unix times, and the metadata from creation."""

    id: str
    length: int
    created_at: float
    updated_at: float
    metadata: Mapping[str, Any]


class SessionConflictError(Exception):
    """Another run uses this session, or has changed it since it was read."""


class StoreError(Exception):
    """The database cannot be read or written. The session in memory has no message that the database lacks."""


def damaged(session: str, seq: int, error: Exception) -> StoreError:
    """Return the error for a record that cannot be read."""
    reason = str(error).partition("\n")[0]
    return StoreError(
        f"session {session!r}: record {seq} is damaged ({type(error).__name__}: {reason}); "
        f"copy the records before it, fork({session!r}, NEW, until={seq - 1}), or restore a backup"
    )


class Store(Protocol):
    """An append-only log for each session.

    All methods can be called from any thread, and raise StoreError if the database fails. An `append` writes all
    records or none, and they are on disk when it returns. A lease ends with its process, as soon as the store can know.
    The key of a session is unique among all stores: a session that is deleted and created again has another key.
    """

    def create(
        self,
        session: str,
        metadata: Mapping[str, Any] | None = None,
        records: Sequence[Record] = (),
        *,
        parent: str = "",
        call: str = "",
    ) -> str:
        """Create a session with its first records, and return its key. SessionConflictError if it exists.

        With a `parent` it belongs to a `call` of that session, a call of a sub-agent.
        """
        ...

    def child(self, session: str, call: str) -> str | None:
        """Return the id of the session that belongs to a call of a session, or None."""
        ...

    def open(self, session: str) -> tuple[str, list[Record]]:
        """Return a session's key and all its records. Raises KeyError for an unknown session."""
        ...

    def append(self, session: str, records: Sequence[Record], *, after: int, owner: str | None = None) -> int:
        """Append records, and return the sequence number of the last one.

        Raises SessionConflictError unless `after` is the number of the last record that is there, and unless the lease,
        if there is one, is `owner`'s.
        """
        ...

    def read(self, session: str, after: int = 0) -> list[Record]:
        """Return the records after a sequence number. Raises KeyError for an unknown session."""
        ...

    def acquire(self, session: str, owner: str) -> str:
        """Take the session's lease for a run, and return its key. SessionConflictError if a living owner has it."""
        ...

    def release(self, session: str, owner: str) -> None:
        """Give the lease back; does nothing if `owner` does not have it."""
        ...

    def sessions(self, parent: str = "") -> list[SessionInfo]:
        """Return the sessions, the latest first: those of calls of sub-agents with their `parent`, else the others."""
        ...

    def fork(self, session: str, new: str, *, until: int | None = None) -> None:
        """Copy a session's records, up to a sequence number, into a new session; and the sessions of its calls."""
        ...

    def delete(self, session: str) -> None:
        """Delete a session with its log, and the sessions of its calls of sub-agents.

        Raises KeyError for an unknown session, and SessionConflictError while it runs.
        """
        ...

    def close(self) -> None:
        """Close the connections; active runs can record nothing more."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
