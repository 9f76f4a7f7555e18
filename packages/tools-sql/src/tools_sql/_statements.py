"""One statement of a model: read its rows, or make its change if it is as large as announced."""

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, CursorResult, TextClause, text
from tools_core import ToolError

_PLACE = re.compile(r"(?<![:\w\\]):(\w+)")
_CHANGES = "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_user_tables"


def read(
    connection: Connection, sql: str, parameters: Mapping[str, Any], limit: int
) -> tuple[list[str], list[list[Any]], bool]:
    """Return the names of columns, at most `limit` rows, and whether there are more."""
    streaming = connection.execution_options(stream_results=True)
    with streaming.execute(_statement(connection, sql, parameters), parameters) as result:
        if not result.returns_rows:
            raise ToolError("sql_query reads rows: the statement returns none", "validation_error")
        rows = [list(row) for row in result.fetchmany(limit + 1)]
        return list(result.keys()), rows[:limit], len(rows) > limit


def change(connection: Connection, sql: str, parameters: Mapping[str, Any], rows: int) -> int:
    """Run a statement, and commit it if it changes so many rows; return how many it changes."""
    changed = _changed(connection, connection.execute(_statement(connection, sql, parameters), parameters))
    if changed == rows:
        connection.commit()
    return changed


def _changed(connection: Connection, result: CursorResult[Any]) -> int:
    """Return how many rows the transaction has changed: in triggers, functions and WITH as well, except in DuckDB."""
    names, rows = (list(result.keys()), result.fetchall()) if result.returns_rows else ([], [])
    if connection.dialect.name == "sqlite":
        return int(_driver(connection).total_changes)
    if connection.dialect.name == "postgresql":
        return int(connection.execute(text(_CHANGES)).scalar_one())
    return int(rows[0][0]) if names == ["Count"] else len(rows) or max(result.rowcount, 0)


def _statement(connection: Connection, sql: str, parameters: Mapping[str, Any]) -> TextClause:
    """Return a statement whose places are the names of parameters; other colons, as in JSON, are text."""
    is_duckdb = connection.dialect.name == "duckdb"  # which runs several statements; the other databases refuse them
    if is_duckdb and len(_driver(connection).extract_statements(_PLACE.sub(r"$\1", sql))) != 1:
        raise ToolError("write one statement", "validation_error")
    return text(_PLACE.sub(lambda place: place[0] if place[1] in parameters else f"\\{place[0]}", sql))


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection
