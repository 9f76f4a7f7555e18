"""`SQLiteStore`: sessions in a file; `open_store`: a store from a path or a URL."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import RLock
from weakref import finalize

from typing_extensions import override

from tools_agent._stores._sql import SQLStore, stores
from tools_agent._stores._store import SessionConflictError, StoreError
from tools_agent._stores._tables import Execute, execute_on
from tools_core.files import data_path

_of_parent: list[sqlite3.Connection] = []  # never closed, since the parent of this process uses them


class SQLiteStore(SQLStore):
    """Keeps sessions in an SQLite file, which several processes may use at once.

    A record is on disk when `append` returns, and survives a crash of the process or the machine; that a read-only call
    has started, or a run has ended, may be lost with the machine, since it makes no difference. No other user can
    read the file that is created. `:memory:` keeps the sessions in memory. A forked process connects
    anew.
    """

    _connection: sqlite3.Connection | None

    def __init__(self, path: str | os.PathLike[str], *, lease: float = 60.0) -> None:
        """Open or create the file.

        Raises StoreError if that fails, if a newer tools-agent has written it, or if other users can write to it.

        A run on another machine has ended if it has not renewed its lease for `lease` seconds.
        """
        place = os.fspath(path)
        # Absolute, since the current folder may change before a forked process connects.
        self.path = place if place == ":memory:" else str(Path(place).expanduser().absolute())
        super().__init__(lease)
        with self._errors():
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
                mode = os.fstat(descriptor).st_mode
                os.close(descriptor)
                if mode & (stat.S_IWGRP | stat.S_IWOTH):
                    raise StoreError(f"{self.path}: other users can write to it; fix: chmod go-w {self.path}")
            self._connection = self._connect()
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        self._close_connection = finalize(self, connection.close)  # if the program does not close the store
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        if mode == "delete":
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        self._has_log = mode == "wal"
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @override
    def _forget_parent(self) -> None:
        super()._forget_parent()
        self._lock = RLock()  # one connection for all threads, since SQLite has one writer at a time
        if self.path != ":memory:" and (connection := vars(self).get("_connection")) is not None:
            _of_parent.append(connection)
            self._close_connection.detach()
            self._connection = None

    def __repr__(self) -> str:
        return f"SQLiteStore({self.path!r})"

    def __str__(self) -> str:
        return self.path

    @contextmanager
    def _transaction(self, *, writes: bool, waits: bool = True) -> Generator[Execute]:
        with self._lock, self._errors():
            if (connection := self._connection) is None:
                connection = self._connection = self._connect()
            if not waits and self._has_log:
                connection.execute("PRAGMA synchronous = NORMAL")
            try:
                connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                yield partial(execute_on, connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back itself
                    connection.execute("ROLLBACK")
                raise
            finally:
                if not waits and self._has_log:
                    connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise SessionConflictError(f"another process has changed the session: {error}") from error
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self.path}: {error}") from error

    @override
    def close(self) -> None:
        super().close()
        with self._lock:
            if self._connection is not None:
                self._connection.close()


_before_fork: list[SQLiteStore] = []


def _end_transactions() -> None:
    """Let no thread write while the process forks: the child would take its transaction for one of its own."""
    for store in list(stores):
        if isinstance(store, SQLiteStore):
            store._lock.acquire()
            _before_fork.append(store)


def _continue_transactions() -> None:
    while _before_fork:
        _before_fork.pop()._lock.release()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(
        before=_end_transactions, after_in_parent=_continue_transactions, after_in_child=_before_fork.clear
    )


def open_store(place: str | os.PathLike[str] | None = None) -> SQLStore:
    """Open the store at a path, `sqlite:///PATH` or `postgresql://...`.

    The default is what the environment variable ASK_TOOLS_SESSIONS names, else `ask-tools/sessions.sqlite3` in the
    user's data folder (`$XDG_DATA_HOME`, `~/.local/share`). Raises StoreError if the store cannot be opened, ValueError
    for another kind of URL.
    """
    place = os.fspath(place or os.environ.get("ASK_TOOLS_SESSIONS") or data_path("sessions.sqlite3"))
    scheme, is_url, rest = place.partition("://")
    if not is_url:
        return SQLiteStore(place)
    if scheme == "sqlite":
        return SQLiteStore(rest.removeprefix("/") or ":memory:")
    if scheme.partition("+")[0] in ("postgresql", "postgres"):
        from tools_agent._stores._sqlalchemy import SQLAlchemyStore  # SQLAlchemy is an extra

        return SQLAlchemyStore(place)
    raise ValueError(f"{scheme}:// is not a store: give a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE")
