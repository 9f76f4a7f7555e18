"""The content of a database: its tables, their columns, and the names nearest to a misspelt one."""

import re
from collections import defaultdict
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, NamedTuple

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError

# SQLAlchemy would need several calls for each schema, and does not know all kinds. Tables of other schemas come last.
_TABLES = {
    "sqlite": """SELECT 'main', name, type, true FROM sqlite_schema
        WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name""",
    "postgresql": """SELECT nspname, relname, CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
            WHEN 'f' THEN 'foreign table' ELSE 'table' END, pg_table_is_visible(pg_class.oid) AS near
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE relkind IN ('r', 'p', 'f', 'v', 'm') AND nspname NOT IN ('information_schema', 'pg_catalog', 'pg_toast')
        ORDER BY near DESC, nspname, 3, relname""",
    "duckdb": """SELECT table_schema, table_name, if(table_type = 'VIEW', 'view', 'table'),
            table_schema = current_schema() AS near
        FROM information_schema.tables WHERE table_catalog = current_database() ORDER BY near DESC, 1, 3, 2""",
}
_DUCKDB_COLUMNS = """SELECT column_name, data_type, is_nullable = 'YES', column_default, ''
    FROM information_schema.columns WHERE table_catalog = current_database() AND table_schema = :schema
    AND table_name = :name ORDER BY ordinal_position"""
_MISSING = re.compile("no such|not exist|not found|no table|no column|not have a column", re.IGNORECASE)
_REFUSED = re.compile("not authorized|read-?only|DECLARE CURSOR|disabled by configuration", re.IGNORECASE)
_NO_TIME = re.compile("too large .after year|too small .before year|can't parse time")
_WORD = re.compile(r"\w\w+")
_SIMILARITY = 0.75  # of 1: how much of a misspelt name is right
_MAX_TABLES = 200  # whose columns are compared with a misspelt name


class Table(NamedTuple):
    """A table or a view."""

    schema: str
    name: str
    kind: str
    needs_no_schema: bool

    @property
    def path(self) -> str:
        """The name in a statement."""
        return self.name if self.needs_no_schema else f"{self.schema}.{self.name}"


def tables(connection: Connection) -> list[Table]:
    """Return the tables and views, first the ones that need no schema in a statement."""
    return [Table(*row) for row in connection.execute(text(_TABLES[connection.dialect.name]))]


def find(entries: list[Table], name: str) -> Table | None:
    """Return the table with a name, or else one that differs in case or in quotes around it, as statements allow."""
    forms = (str, lambda text: re.sub(r'["`\[\]]', "", text).casefold())
    names = [(entry, (entry.path, f"{entry.schema}.{entry.name}")) for entry in entries]
    return next((entry for form in forms for entry, both in names if form(name) in map(form, both)), None)


def columns(connection: Connection, table: Table) -> list[list[Any]]:
    """Return the name, type, NULL, default and keys of each column."""
    if connection.dialect.name == "duckdb":  # SQLAlchemy's reflection of DuckDB lags behind its releases
        return [list(row) for row in connection.execute(text(_DUCKDB_COLUMNS), table._asdict())]
    inspector, place = inspect(connection), (table.name, table.schema)
    keys = defaultdict[str, list[str]](list)
    for name in inspector.get_pk_constraint(*place)["constrained_columns"]:
        keys[name].append("primary key")
    for key in inspector.get_foreign_keys(*place):
        schema = "" if key["referred_schema"] in (None, table.schema) else f"{key['referred_schema']}."
        for name, referred in zip(key["constrained_columns"], key["referred_columns"], strict=False):
            keys[name].append(f"{schema}{key['referred_table']}.{referred}")
    return [
        [column["name"], str(column["type"]), column["nullable"], column["default"], ", ".join(keys[column["name"]])]
        for column in inspector.get_columns(*place)
    ]


def advice(connection: Connection, message: str, statement: str) -> str:
    """Return what to do about a message of the database: the names that were perhaps meant, or another tool."""
    if _REFUSED.search(message):
        return "; sql_query reads only, and sql_execute changes this database alone"
    if _NO_TIME.search(message):
        return "; read it as text: CAST(... AS text)"
    suggestions = []
    if _MISSING.search(message):
        with suppress(SQLAlchemyError):
            connection.rollback()
            # After the first line of its message, DuckDB repeats the statement.
            suggestions = _near_names(connection, message.partition("\n")[0], statement)
    return f"; did you mean {' or '.join(suggestions)}?" if suggestions else ""


def _near_names(connection: Connection, problem: str, statement: str) -> list[str]:
    """Return the names nearest to a missing one: of tables that a statement names, else without schema, else all."""
    every = tables(connection)
    words = set(_WORD.findall(statement.lower()))
    missing = words & set(_WORD.findall(problem.lower())) - {table.name.lower() for table in every}
    named = [table for table in every if table.name.lower() in words]
    for group in (named, [table for table in every if table.needs_no_schema], every):
        names = {table.name.lower(): table.path for table in reversed(group)}
        for table in group[:_MAX_TABLES]:
            for column, *_ in columns(connection, table):
                names.setdefault(column.lower(), f"{table.path}.{column}")
        matches = [match for word in sorted(missing) for match in get_close_matches(word, names, 2, _SIMILARITY)]
        if matches:
            return list(dict.fromkeys(names[match] for match in matches))
    return []
