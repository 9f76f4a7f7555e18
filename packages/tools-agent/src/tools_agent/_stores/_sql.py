"""`SQLStore`: the statements of a store, which are the same for all databases."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from weakref import WeakSet

from typing_extensions import override

from tools_agent._stores._store import Record, SessionConflictError, SessionInfo, Store, StoreError
from tools_agent._stores._tables import (
    ALL,
    INDEX,
    RECORDS,
    SCHEMA,
    STATE,
    VERSION,
    Execute,
    copy_session,
    info_of,
    insert_records,
    insert_session,
    key_and_metadata,
    records_of,
    rows_of,
)
from tools_core.linux import process_fields


class SQLStore(Store):
    """A `Store` in a database. Subclasses connect and run transactions."""

    _lock_row = ""  # lets SELECT lock its row, if a transaction alone does not exclude other writers

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._closed = Event()
        self._forget_parent()
        stores.add(self)

    def _forget_parent(self) -> None:
        """Begin anew in a forked process, which has neither the threads nor the leases of its parent."""
        self._leases: set[tuple[str, str]] = set()  # sessions and owners
        self._unreleased: set[tuple[str, str]] = set()  # leases that the database could not release
        self._leases_lock = Lock()
        self._renewer: Thread | None = None

    def _transaction(self, *, writes: bool, waits: bool = True) -> AbstractContextManager[Execute]:
        """Commit at the end, or roll back after an exception. Database errors become StoreErrors.

        One that does not wait for the disk survives the end of the process, and a crash of the machine with the next
        one that waits.
        """
        raise NotImplementedError

    def _prepare(self) -> None:
        """Create the tables, or check their version."""
        with self._transaction(writes=True) as execute:
            for statement in SCHEMA:
                execute(statement)
            versions = execute("SELECT version FROM ask_schema")
            if not versions:
                execute("INSERT INTO ask_schema (version) VALUES (:version)", {"version": VERSION})
            elif (version := versions[0][0]) != VERSION:
                age, fix = ("a newer", "upgrade it") if version > VERSION else ("an older", "choose another place")
                raise StoreError(f"{self}: written by {age} version of tools-agent (schema {version}): {fix}")
            execute(INDEX)

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
        rows = rows_of(session, records, 0)
        with self._transaction(writes=True) as execute:
            key = insert_session(execute, session, json.dumps(dict(metadata or {})), parent, call)
            insert_records(execute, rows)
        return key

    @override
    def child(self, session: str, call: str) -> str | None:
        statement = "SELECT id FROM ask_sessions WHERE parent = :parent AND parent_call = :call"
        with self._transaction(writes=False) as execute:
            rows = execute(statement, {"parent": session, "call": call})
        return rows[0][0] if rows else None

    @override
    def append(self, session: str, records: Sequence[Record], *, after: int, owner: str | None = None) -> int:
        rows = rows_of(session, records, after)
        with self._transaction(writes=True, waits=not all(map(_can_be_lost, records))) as execute:
            _, last = self._check_lease(execute, session, owner)
            if last != after:
                raise SessionConflictError(
                    f"session {session!r} has {last} records, not {after}: another process has changed it; "
                    "open it again"
                )
            insert_records(execute, rows)
        return after + len(rows)

    @override
    def open(self, session: str) -> tuple[str, list[Record]]:
        with self._transaction(writes=False) as execute:
            key, _ = key_and_metadata(execute, session)
            rows = execute(RECORDS, {"id": session, "after": 0})
        return key, records_of(session, rows)

    @override
    def read(self, session: str, after: int = 0) -> list[Record]:
        with self._transaction(writes=False) as execute:
            rows = execute(RECORDS, {"id": session, "after": after})
            if not rows:
                key_and_metadata(execute, session)
        return records_of(session, rows)

    @override
    def acquire(self, session: str, owner: str) -> str:
        with self._transaction(writes=True, waits=False) as execute:
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
            with suppress(StoreError), self._transaction(writes=True, waits=False) as execute:
                execute("UPDATE ask_sessions SET lease_until = :until WHERE id = :id AND lease_owner = :owner", *rows)

    @override
    def release(self, session: str, owner: str) -> None:
        # If the database fails, the lease no longer counts for this store, and expires for others.
        with self._leases_lock:
            if (session, owner) in self._leases:
                self._leases.remove((session, owner))
                self._unreleased.add((session, owner))
        with self._transaction(writes=True, waits=False) as execute:
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
        return [info_of(row) for row in rows]

    @override
    def fork(self, session: str, new: str, *, until: int | None = None) -> None:
        with self._transaction(writes=True) as execute:
            copy_session(execute, session, new, ALL if until is None else until)

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
        rows = execute(STATE + self._lock_row, {"id": session})
        if not rows:
            raise KeyError(f"there is no session {session!r}")
        key, holder, process, until, last = rows[0]
        is_free = holder in (None, owner) or (session, holder) in self._unreleased
        if not is_free and until > time.time() and not _has_ended(process):
            raise SessionConflictError(f"session {session!r} is in use by another run; wait until it ends")
        return key, int(last)


def _can_be_lost(record: Record) -> bool:
    """Return whether a crash of the machine may lose a record: a session continues in the same way without it."""
    data = record.data
    return (record.kind == "tool_started" and data.get("read_only", False)) or (
        record.kind == "run_finished" and "spent" not in data
    )


# ---------------------------------------------------------------------------------------------------- processes

stores: WeakSet[SQLStore] = WeakSet()


def _forget_parents() -> None:
    for store in list(stores):
        store._forget_parent()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget_parents)


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
