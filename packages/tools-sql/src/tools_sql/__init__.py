"""Tools that read and change SQL databases: SQLite, PostgreSQL and DuckDB."""

from tools_sql._sql import SqlTools

__all__ = ["SqlTools"]
