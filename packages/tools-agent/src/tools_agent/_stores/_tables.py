"""The tables of a store, and the statements about sessions and records."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import uuid4

from tools_agent._stores._store import Record, SessionConflictError, SessionInfo, StoreError, damaged

VERSION = 2
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS ask_schema (version INTEGER NOT NULL)",
    """CREATE TABLE IF NOT EXISTS ask_sessions (
        id TEXT PRIMARY KEY,
        session_key TEXT NOT NULL,
        metadata TEXT NOT NULL,
        created_at DOUBLE PRECISION NOT NULL,
        lease_owner TEXT,
        lease_process TEXT,
        lease_until DOUBLE PRECISION,
        parent TEXT REFERENCES ask_sessions (id) ON DELETE CASCADE,
        parent_call TEXT
    )""",
    """CREATE TABLE IF NOT EXISTS ask_records (
        session TEXT NOT NULL REFERENCES ask_sessions (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        kind TEXT NOT NULL,
        run TEXT NOT NULL,
        at DOUBLE PRECISION NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (session, seq)
    )""",
)
INDEX = "CREATE INDEX IF NOT EXISTS ask_children ON ask_sessions (parent, parent_call)"
STATE = (
    "SELECT session_key, lease_owner, lease_process, lease_until, "
    "(SELECT coalesce(max(seq), 0) FROM ask_records WHERE session = :id) "
    "FROM ask_sessions WHERE id = :id"
)
RECORDS = "SELECT kind, data, run, seq, at FROM ask_records WHERE session = :id AND seq > :after ORDER BY seq"
ALL = 2**31 - 1  # the highest sequence number


class Execute(Protocol):
    """Execute a statement once for each row of parameters, and return the rows of its result."""

    def __call__(self, statement: str, *rows: Mapping[str, Any]) -> Sequence[Any]: ...


class Connection(Protocol):
    """A connection with the methods of Python's database API."""

    def execute(self, statement: str, row: Any = (), /) -> Any: ...
    def executemany(self, statement: str, rows: Any, /) -> Any: ...


def execute_on(connection: Connection, statement: str, *rows: Mapping[str, Any]) -> Sequence[Any]:
    """Execute a statement on a connection, as `Execute`."""
    if len(rows) > 1:
        connection.executemany(statement, rows)
        return []
    result: Sequence[Any] = connection.execute(statement, *rows).fetchall()
    return result


def key_and_metadata(execute: Execute, session: str) -> tuple[str, str]:
    rows = execute("SELECT session_key, metadata FROM ask_sessions WHERE id = :id", {"id": session})
    if not rows:
        raise KeyError(f"there is no session {session!r}")
    key, metadata = rows[0]
    return key, metadata


def info_of(row: Sequence[Any]) -> SessionInfo:
    id, length, created_at, updated_at, metadata = row
    try:
        return SessionInfo(id, length, created_at, updated_at, dict(json.loads(metadata)))
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"session {id!r}: its metadata are damaged ({error}); delete the session, or restore a backup"
        ) from error


def copy_session(execute: Execute, session: str, new: str, until: int, parent: str = "", call: str = "") -> None:
    """Copy a session with the sessions of its calls, which continue in the copy instead of running again."""
    _, metadata = key_and_metadata(execute, session)
    insert_session(execute, new, metadata, parent, call)
    execute(
        "INSERT INTO ask_records (session, seq, kind, run, at, data) "
        "SELECT :new, seq, kind, run, at, data FROM ask_records WHERE session = :id AND seq <= :until",
        {"new": new, "id": session, "until": until},
    )
    for child, its_call in execute("SELECT id, parent_call FROM ask_sessions WHERE parent = :id", {"id": session}):
        copy_session(execute, child, uuid4().hex, ALL, new, its_call)


def insert_session(execute: Execute, session: str, metadata: str, parent: str, call: str) -> str:
    row = {
        "id": session, "key": uuid4().hex, "metadata": metadata, "now": time.time(), "parent": parent or None,
        "call": call,
    }  # fmt: skip
    if execute("SELECT 1 FROM ask_sessions WHERE id = :id", row):
        raise SessionConflictError(f"there is a session {session!r} already")
    execute(
        "INSERT INTO ask_sessions (id, session_key, metadata, created_at, parent, parent_call) "
        "VALUES (:id, :key, :metadata, :now, :parent, :call)",
        row,
    )
    return str(row["key"])


def rows_of(session: str, records: Sequence[Record], after: int) -> list[dict[str, Any]]:
    now = time.time()
    return [
        {"session": session, "seq": seq, "kind": record.kind, "run": record.run, "at": record.at or now,
         "data": json.dumps(record.data)}
        for seq, record in enumerate(records, after + 1)
    ]  # fmt: skip


def insert_records(execute: Execute, rows: Sequence[Mapping[str, Any]]) -> None:
    statement = (
        "INSERT INTO ask_records (session, seq, kind, run, at, data) VALUES (:session, :seq, :kind, :run, :at, :data)"
    )
    if rows:
        execute(statement, *rows)


def records_of(session: str, rows: Sequence[Any]) -> list[Record]:
    try:  # at once, which is twice as fast as one by one
        values = json.loads(f"[{','.join(row[1] for row in rows)}]")
        return [Record(kind, data, run, seq, at) for (kind, _, run, seq, at), data in zip(rows, values, strict=True)]
    except (TypeError, ValueError):
        return [Record(kind, _parsed(session, seq, text), run, seq, at) for kind, text, run, seq, at in rows]


def _parsed(session: str, seq: int, text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise damaged(session, seq, error) from error
