"""`SQLiteStore`: sessions in a file; `open_store`: a store from a path or a URL."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import finalize

from typing_extensions import override

from tools_agent._stores._sql import Execute, SQLStore
from tools_agent._stores._store import SessionConflictError, StoreError
from tools_core.files import data_path


class SQLiteStore(SQLStore):
    """Keeps sessions in an SQLite file, which several processes may use at once.

    A record is on disk when `append` returns, and survives a crash of the process or the machine. No other user can
    read the file that is created. `:memory:` keeps the sessions in memory.
    """

    def __init__(self, path: str | os.PathLike[str], *, lease: float = 60.0) -> None:
        """Open or create the file.

        Raises StoreError if that fails, if a newer tools-agent has written it, or if other users can write to it.

        A run on another machine has ended if it has not renewed its lease for `lease` seconds.
        """
        super().__init__(lease)
        self.path = os.fspath(path)
        self._lock = RLock()  # one connection for all threads, since SQLite has one writer at a time
        with self._errors():
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
                mode = os.fstat(descriptor).st_mode
                os.close(descriptor)
                if mode & (stat.S_IWGRP | stat.S_IWOTH):
                    raise StoreError(f"{self.path}: other users can write to it; fix: chmod go-w {self.path}")
            self._connection = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        finalize(self, self._connection.close)  # if the program does not close the store
        try:
            with self._errors():
                if self._connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
                    self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = FULL")
                self._connection.execute("PRAGMA foreign_keys = ON")
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def __repr__(self) -> str:
        return f"SQLiteStore({self.path!r})"

    def __str__(self) -> str:
        return self.path

    @contextmanager
    def _transaction(self, *, writes: bool) -> Generator[Execute]:
        with self._lock, self._errors():
            self._connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield self._execute
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back itself
                    self._connection.execute("ROLLBACK")
                raise

    def _execute(self, statement: str, *rows: Mapping[str, Any]) -> list[Any]:
        if len(rows) > 1:
            self._connection.executemany(statement, rows)
            return []
        return self._connection.execute(statement, *rows).fetchall()

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
            self._connection.close()


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
