"""Connections that the database itself keeps from changing anything, or from leaving its files.

A statement is never read here to find out whether it is harmless: SQLite asks an authorizer for each step of a
statement, PostgreSQL runs it as the query of a cursor in a read-only transaction, and DuckDB opens its file read-only.
"""

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

_STATEMENT_TIMEOUT = 60_000  # milliseconds, in PostgreSQL
_MAX_VALUE = 10_000_000  # bytes of a value or a statement, in SQLite
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_TRANSACTION}
_LEAVING = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA, sqlite3.SQLITE_FUNCTION}
_PRAGMAS = {"foreign_key_list", "index_info", "index_list", "table_info", "table_xinfo"}
_STATES = {"data_version", "database_list", "page_size", "read_uncommitted"}  # of SQLAlchemy and virtual tables


def engine_of(url: URL, *, read_only: bool) -> Engine:
    """Return an engine for one connection. Raises ArgumentError for a database that is not supported."""
    kind = url.get_backend_name()
    if kind == "sqlite":
        return _sqlite(url, read_only=read_only)
    if kind == "postgresql":
        return _postgresql(url, read_only=read_only)
    if kind == "duckdb":
        arguments = {"read_only": read_only, "config": {"enable_external_access": False, "lock_configuration": True}}
        return create_engine(url, poolclass=NullPool, connect_args=arguments)
    raise ArgumentError(f"{kind} is not supported; sqlite, postgresql and duckdb are")


def cancel(connection: Connection) -> None:
    """End the statement that a connection runs; from any thread."""
    driver: Any = connection.connection.driver_connection
    stop = getattr(driver, "interrupt", None) or driver.cancel  # of SQLite and DuckDB, or of PostgreSQL
    with suppress(Exception):  # the statement has ended
        stop()


def _sqlite(url: URL, *, read_only: bool) -> Engine:
    path = url.database
    if not path or path == ":memory:" or path.startswith("file:"):
        raise ArgumentError("a SQLite database is a file here, such as sqlite:////home/ada/shop.db")
    address = f"file:{quote(str(Path(path).expanduser().absolute()))}?mode={'ro' if read_only else 'rw'}"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
        connection.text_factory = lambda data: data.decode(errors="replace")  # SQLite stores any bytes as text
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
        connection.set_authorizer(_authorize_reading if read_only else _authorize_changes)
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _authorize_reading(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    is_function = action == sqlite3.SQLITE_FUNCTION and second != "load_extension"
    is_pragma = action == sqlite3.SQLITE_PRAGMA and (first in _PRAGMAS or (first in _STATES and second is None))
    # SQLite asks this when it opens a virtual table, such as one of fts5. No statement can: its schema is locked.
    is_virtual = action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"
    return sqlite3.SQLITE_OK if action in _READING or is_function or is_pragma or is_virtual else sqlite3.SQLITE_DENY


def _authorize_changes(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Allow what changes this file: other files can be attached, and settings of the database changed."""
    return _authorize_reading(action, first, second) if action in _LEAVING else sqlite3.SQLITE_OK


def _postgresql(url: URL, *, read_only: bool) -> Engine:
    # A statement is prepared, since PostgreSQL then refuses several in one text; psycopg alone can do that.
    url = url.set(drivername="postgresql+psycopg")
    engine = create_engine(url, poolclass=NullPool, connect_args={"prepare_threshold": 0})

    @event.listens_for(engine, "connect")
    def protect(connection: Any, _record: object) -> None:
        connection.execute(f"SET statement_timeout = {_STATEMENT_TIMEOUT}")
        connection.execute(f"SET default_transaction_read_only = {'on' if read_only else 'off'}")
        connection.commit()

    return engine
