"""`SQLAlchemyStore`: sessions in PostgreSQL, for runners on several machines."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from typing_extensions import override

from tools_agent._stores._sql import SQLStore
from tools_agent._stores._store import SessionConflictError, StoreError
from tools_agent._stores._tables import Execute

try:
    import sqlalchemy
    from sqlalchemy.exc import IntegrityError, SQLAlchemyError
except ImportError as error:
    from tools_core.command import install_command

    fix = install_command("tools-agent", "postgresql")
    raise ImportError(f"sessions in PostgreSQL need SQLAlchemy: {fix}") from error

_text = lru_cache(sqlalchemy.text)


class SQLAlchemyStore(SQLStore):
    """Keeps sessions in a PostgreSQL database: `SQLAlchemyStore("postgresql://user:password@host/database")`.

    The tables `ask_schema`, `ask_sessions` and `ask_records` are created if they are missing.
    """

    _lock_row = " FOR UPDATE"

    def __init__(self, url: str, *, lease: float = 60.0) -> None:
        """Connect to the database. Raises StoreError if that fails, or if a newer tools-agent has written it.

        A run on another machine has ended if it has not renewed its lease for `lease` seconds.
        """
        super().__init__(lease)
        parsed = sqlalchemy.make_url(url)
        if parsed.drivername in ("postgresql", "postgres"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        self._name = parsed.render_as_string(hide_password=True)
        # pool_pre_ping replaces connections that the server has closed.
        self._engine = sqlalchemy.create_engine(parsed, pool_pre_ping=True)
        try:
            self._prepare()
        except BaseException:
            self._engine.dispose()
            raise

    @override
    def _forget_parent(self) -> None:
        super()._forget_parent()
        if hasattr(self, "_engine"):
            self._engine.dispose(close=False)  # the parent uses these connections

    def __repr__(self) -> str:
        return f"SQLAlchemyStore({self._name!r})"

    def __str__(self) -> str:
        return self._name

    def _prepare(self) -> None:
        with self._transaction(writes=True) as execute:  # two processes may create the tables at the same time
            execute("SELECT pg_advisory_xact_lock(hashtext('ask_schema'))")
            super()._prepare()

    @contextmanager
    def _transaction(self, *, writes: bool, waits: bool = True) -> Generator[Execute]:  # noqa: ARG002  (for SQLite)
        try:
            with self._engine.begin() as connection:

                def execute(statement: str, *rows: Mapping[str, Any]) -> Sequence[Any]:
                    parameters: Any = rows if len(rows) > 1 else next(iter(rows), None)
                    result = connection.execute(_text(statement), parameters)
                    return result.all() if result.returns_rows else []

                if not waits:
                    execute("SET LOCAL synchronous_commit TO off")
                yield execute
        except IntegrityError as error:
            raise SessionConflictError(f"another process has changed the session: {error.orig}") from error
        except SQLAlchemyError as error:
            raise StoreError(f"{self._name}: {getattr(error, 'orig', None) or error}") from error

    @override
    def close(self) -> None:
        super().close()
        self._engine.dispose()
