"""`SQLStore`: the statements of a store, which are the same for all databases."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Protocol
from uuid import uuid4

from typing_extensions import override

from tools_agent._stores._store import Record, SessionConflictError, SessionInfo, Store, StoreError, damaged
from tools_core.linux import process_fields

VERSION = 2
_SCHEMA = (
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
_UPGRADE = (  # from version 1
    "ALTER TABLE ask_sessions ADD COLUMN parent TEXT REFERENCES ask_sessions (id) ON DELETE CASCADE",
    "ALTER TABLE ask_sessions ADD COLUMN parent_call TEXT",
    "UPDATE ask_schema SET version = 2",
)
_INDEX = "CREATE INDEX IF NOT EXISTS ask_children ON ask_sessions (parent, parent_call)"
_STATE = (
    "SELECT session_key, lease_owner, lease_process, lease_until, "
    "(SELECT coalesce(max(seq), 0) FROM ask_records WHERE session = :id) "
    "FROM ask_sessions WHERE id = :id"
)
_RECORDS = "SELECT kind, data, run, seq, at FROM ask_records WHERE session = :id AND seq > :after ORDER BY seq"
_ALL = 2**31 - 1  # the highest sequence number


class Execute(Protocol):
    """Execute a statement once for each row of parameters, and return the rows of its result."""

    def __call__(self, statement: str, *rows: Mapping[str, Any]) -> Sequence[Any]: ...


class SQLStore(Store):
    """A `Store` in a database. Subclasses connect and run transactions."""

    _lock_row = ""  # lets SELECT lock its row, if a transaction alone does not exclude other writers

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._leases: set[tuple[str, str]] = set()  # sessions and owners
        self._unreleased: set[tuple[str, str]] = set()  # leases that the database could not release
        self._leases_lock = Lock()
        self._renewer: Thread | None = None
        self._closed = Event()

    def _transaction(self, *, writes: bool) -> AbstractContextManager[Execute]:
        """Commit at the end, or roll back after an exception. Database errors become StoreErrors."""
        raise NotImplementedError

    def _prepare(self) -> None:
        """Create the tables, or check their version."""
        with self._transaction(writes=True) as execute:
            for statement in _SCHEMA:
                execute(statement)
            versions = execute("SELECT version FROM ask_schema")
            if not versions:
                execute("INSERT INTO ask_schema (version) VALUES (:version)", {"version": VERSION})
            elif versions[0][0] > VERSION:
                raise StoreError(
                    f"{self}: written by a newer version of tools-agent (schema {versions[0][0]}): upgrade it"
                )
            elif versions[0][0] < VERSION:
                for statement in _UPGRADE:
                    execute(statement)
            execute(_INDEX)

    @override
    def create(
        self,
        session: str,
        metadata: Mapping[str, Any] | None = None,
        records: Sequence[Record] = (),
        *,
        parent: str = "",
        call: str = "",
    ) -> str:
        rows = _rows(session, records, 0)
        with self._transaction(writes=True) as execute:
            key = _insert_session(execute, session, json.dumps(dict(metadata or {})), parent, call)
            _insert_records(execute, rows)
        return key

    @override
    def child(self, session: str, call: str) -> str | None:
        statement = "SELECT id FROM ask_sessions WHERE parent = :parent AND parent_call = :call"
        with self._transaction(writes=False) as execute:
            rows = execute(statement, {"parent": session, "call": call})
        return rows[0][0] if rows else None

    @override
    def append(self, session: str, records: Sequence[Record], *, after: int, owner: str | None = None) -> int:
        rows = _rows(session, records, after)
        with self._transaction(writes=True) as execute:
            _, last = self._check_lease(execute, session, owner)
            if last != after:
                raise SessionConflictError(
                    f"session {session!r} has {last} records, not {after}: another process has changed it; "
                    "open it again"
                )
            _insert_records(execute, rows)
        return after + len(rows)

    @override
    def open(self, session: str) -> tuple[str, list[Record]]:
        with self._transaction(writes=False) as execute:
            key, _ = _key_and_metadata(execute, session)
            rows = execute(_RECORDS, {"id": session, "after": 0})
        return key, _records(session, rows)

    @override
    def read(self, session: str, after: int = 0) -> list[Record]:
        with self._transaction(writes=False) as execute:
            rows = execute(_RECORDS, {"id": session, "after": after})
            if not rows:
                _key_and_metadata(execute, session)
        return _records(session, rows)

    @override
    def acquire(self, session: str, owner: str) -> str:
        with self._transaction(writes=True) as execute:
            key, _ = self._check_lease(execute, session, owner)
            execute(
                "UPDATE ask_sessions SET lease_owner = :owner, lease_process = :process, lease_until = :until "
                "WHERE id = :id",
                {"id": session, "owner": owner, "process": _this_process(), "until": time.time() + self._lease},
            )
        with self._leases_lock:
            self._leases.add((session, owner))
            self._unreleased.discard((session, owner))
            if self._renewer is None:
                self._renewer = Thread(target=self._renew, name="leases", daemon=True)
                self._renewer.start()
        return key

    def _renew(self) -> None:
        """Renew leases until all are released; a single tool call may take longer than a lease."""
        while not self._closed.wait(self._lease / 3):
            with self._leases_lock:
                if not self._leases:
                    self._renewer = None
                    return
                leases = list(self._leases)
            until = time.time() + self._lease
            rows = [{"id": session, "owner": owner, "until": until} for session, owner in leases]
            with suppress(StoreError), self._transaction(writes=True) as execute:
                execute("UPDATE ask_sessions SET lease_until = :until WHERE id = :id AND lease_owner = :owner", *rows)

    @override
    def release(self, session: str, owner: str) -> None:
        # If the database fails, the lease no longer counts for this store, and expires for others.
        with self._leases_lock:
            if (session, owner) in self._leases:
                self._leases.remove((session, owner))
                self._unreleased.add((session, owner))
        with self._transaction(writes=True) as execute:
            execute(
                "UPDATE ask_sessions SET lease_owner = NULL WHERE id = :id AND lease_owner = :owner",
                {"id": session, "owner": owner},
            )
        with self._leases_lock:
            self._unreleased.discard((session, owner))

    @override
    def sessions(self, parent: str = "") -> list[SessionInfo]:
        with self._transaction(writes=False) as execute:
            rows = execute(
                "SELECT id, coalesce(seq, 0), created_at, coalesce(at, created_at) AS updated_at, metadata "
                "FROM ask_sessions LEFT JOIN ask_records ON session = id AND seq = "
                "(SELECT max(seq) FROM ask_records WHERE session = id) "
                "WHERE coalesce(parent, '') = :parent ORDER BY updated_at DESC",
                {"parent": parent},
            )
        return [_info(row) for row in rows]

    @override
    def fork(self, session: str, new: str, *, until: int | None = None) -> None:
        with self._transaction(writes=True) as execute:
            _copy(execute, session, new, _ALL if until is None else until)

    @override
    def delete(self, session: str) -> None:
        with self._transaction(writes=True) as execute:
            self._check_lease(execute, session, None)
            execute("DELETE FROM ask_sessions WHERE id = :id", {"id": session})

    @override
    def close(self) -> None:
        self._closed.set()

    def _check_lease(self, execute: Execute, session: str, owner: str | None) -> tuple[str, int]:
        """Lock the session's row, and return its key and the number of its last record.

        Raises SessionConflictError if a living owner other than `owner` has the lease.
        """
        rows = execute(_STATE + self._lock_row, {"id": session})
        if not rows:
            raise KeyError(f"there is no session {session!r}")
        key, holder, process, until, last = rows[0]
        is_free = holder in (None, owner) or (session, holder) in self._unreleased
        if not is_free and until > time.time() and not _has_ended(process):
            raise SessionConflictError(f"session {session!r} is in use by another run; wait until it ends")
        return key, int(last)


def _key_and_metadata(execute: Execute, session: str) -> tuple[str, str]:
    rows = execute("SELECT session_key, metadata FROM ask_sessions WHERE id = :id", {"id": session})
    if not rows:
        raise KeyError(f"there is no session {session!r}")
    key, metadata = rows[0]
    return key, metadata


def _info(row: Sequence[Any]) -> SessionInfo:
    id, length, created_at, updated_at, metadata = row
    try:
        return SessionInfo(id, length, created_at, updated_at, dict(json.loads(metadata)))
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"session {id!r}: its metadata are damaged ({error}); delete the session, or restore a backup"
        ) from error


def _copy(execute: Execute, session: str, new: str, until: int, parent: str = "", call: str = "") -> None:
    """Copy a session with the sessions of its calls, which continue in the copy instead of running again."""
    _, metadata = _key_and_metadata(execute, session)
    _insert_session(execute, new, metadata, parent, call)
    execute(
        "INSERT INTO ask_records (session, seq, kind, run, at, data) "
        "SELECT :new, seq, kind, run, at, data FROM ask_records WHERE session = :id AND seq <= :until",
        {"new": new, "id": session, "until": until},
    )
    for child, its_call in execute("SELECT id, parent_call FROM ask_sessions WHERE parent = :id", {"id": session}):
        _copy(execute, child, uuid4().hex, _ALL, new, its_call)


def _insert_session(execute: Execute, session: str, metadata: str, parent: str, call: str) -> str:
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


def _rows(session: str, records: Sequence[Record], after: int) -> list[dict[str, Any]]:
    now = time.time()
    return [
        {"session": session, "seq": seq, "kind": record.kind, "run": record.run, "at": record.at or now,
         "data": json.dumps(record.data)}
        for seq, record in enumerate(records, after + 1)
    ]  # fmt: skip


def _insert_records(execute: Execute, rows: Sequence[Mapping[str, Any]]) -> None:
    statement = (
        "INSERT INTO ask_records (session, seq, kind, run, at, data) VALUES (:session, :seq, :kind, :run, :at, :data)"
    )
    if rows:
        execute(statement, *rows)


def _records(session: str, rows: Sequence[Any]) -> list[Record]:
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


# ---------------------------------------------------------------------------------------------------- processes


def _this_process() -> str:
    """Return a unique name for the running process, or "" if the system provides none."""
    return _process_name(os.getpid())


def _has_ended(process: str) -> bool:
    """Return whether a process has ended; False for a process of another machine."""
    machine, _, rest = process.partition(" ")
    pid, _, _ = rest.partition(" ")
    return machine == _machine() != "" and _process_name(int(pid)) != process


def _process_name(pid: int) -> str:
    fields = process_fields(pid)
    if fields and fields[0] not in b"ZX" and (machine := _machine()):
        return f"{machine} {pid} {fields[19].decode()}"  # in clock ticks since the machine started
    return ""


def _machine() -> str:
    """Return the namespace of process ids: the boot of the machine, and the container."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    return ""
