"""The `sql` tools."""

from collections.abc import Mapping
from typing import Annotated, Any

from tools_core import Context, Limits, Result, ToolError, Toolset, tool
from tools_core.files import check_can_change

from tools_sql import _schema, _statements
from tools_sql._databases import Databases, how_to_configure
from tools_sql._table import result_of

DatabaseName = Annotated[str, "Name of the database, as sql_tables lists it"]
_PLACES = "Values for the places :name in the statement, instead of text in quotes"
Parameters = Annotated[Mapping[str, Any] | None, _PLACES]


class SqlTools(Toolset):
    """Tools for named databases.

    ```python
    registry.register(SqlTools({"shop": "sqlite:///shop.db"}))
    ```

    Args:
        databases: Addresses of SQLAlchemy by the names that the model uses; by default the ones in the user's settings.
    """

    name = "sql"

    def __init__(self, databases: Mapping[str, str] | None = None) -> None:
        self._databases = Databases(databases)

    @tool(read_only=True, open_world=False, timeout=30)
    def tables(
        self,
        context: Context,
        database: Annotated[str, "Name of the database; without it, the databases are listed"] = "",
    ) -> Result:
        """List the tables and views of a database, or the databases. Use it first; sql_describe shows the columns."""
        if not database:
            names = sorted(self._databases.addresses())
            return Result.ok(names, content="\n".join(names) or how_to_configure())
        with self._databases.open(database, context) as connection:
            return result_of(["table", "kind"], [[entry.path, entry.kind] for entry in _schema.tables(connection)])

    @tool(read_only=True, open_world=False, timeout=30)
    def describe(
        self,
        context: Context,
        database: DatabaseName,
        table: Annotated[str, "Name of a table or view; SCHEMA.TABLE if it is not in the usual schema"],
    ) -> Result:
        """Show the columns of a table: types, defaults, keys and the tables that they refer to. Use it before sql_query."""
        with self._databases.open(database, context) as connection:
            if entry := _schema.find(_schema.tables(connection), table):
                return result_of(["column", "type", "null", "default", "key"], _schema.columns(connection, entry))
            problem = f"there is no table {table}"
            raise ToolError(problem + _schema.advice(connection, problem, table), "not_found")

    @tool(read_only=True, open_world=False, timeout=60)
    def query(
        self,
        context: Context,
        database: DatabaseName,
        sql: Annotated[str, "One SELECT statement, or WITH ... SELECT"],
        parameters: Parameters = None,
        limit: Annotated[int, "Rows to return", Limits(ge=1, le=1000)] = 100,
    ) -> Result:
        """Read rows of a database. To change it, use sql_execute: here the database refuses every change.

        NULL is a missing value and "" an empty text. Long values are cut.
        """
        with self._databases.open(database, context, statement=sql) as connection:
            names, result_rows, has_more = _statements.read(connection, sql, parameters or {}, limit)
            return result_of(names, result_rows, has_more=has_more)

    @tool(requires_approval=True, destructive=True, open_world=False, timeout=60)
    def execute(
        self,
        context: Context,
        database: DatabaseName,
        sql: Annotated[str, "One statement, such as INSERT, UPDATE, DELETE or CREATE TABLE"],
        rows: Annotated[int, "Rows that it changes, 0 for CREATE and the like", Limits(ge=0)],
        parameters: Parameters = None,
    ) -> str:
        """Change a database, in one transaction.

        It is committed if exactly `rows` rows have changed; otherwise nothing changes and the error has the number. Count
        them first with sql_query.
        """
        check_can_change()
        with self._databases.open(database, context, read_only=False, statement=sql) as connection:
            changed = _statements.change(connection, sql, parameters or {}, rows)
        if changed != rows:
            raise ToolError(f"the statement changes {changed} rows, not {rows}: it was rolled back", "conflict")
        return f"Changed {changed} rows." if changed else "Done."
