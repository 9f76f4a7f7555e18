"""Tests of the `sql` tools."""

import sqlite3
from pathlib import Path

import pytest
from tools_core import Result

from tools_sql import SqlTools


@pytest.fixture
def shop(tmp_path: Path) -> SqlTools:
    """Tools for a shop with three customers."""
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT)")
    connection.executemany(
        "INSERT INTO customer VALUES (?, ?, ?)", [(1, "Ada", ""), (2, "Grace", None), (3, "Alan", "x" * 400)]
    )
    connection.commit()
    connection.close()
    return SqlTools({"shop": f"sqlite:///{path}"})


def query(tools: SqlTools, sql: str) -> Result:
    return tools.tool("query").call({"database": "shop", "sql": sql})


def test_a_model_finds_its_way_from_the_databases_to_the_columns(shop: SqlTools) -> None:
    assert str(shop.tool("tables").call({})) == "shop"
    assert (
        str(shop.tool("tables").call({"database": "shop"})) == "table (text) | kind (text)\ncustomer | table\n(1 row)"
    )
    described = shop.tool("describe").call({"database": "shop", "table": "customer"})
    assert described.output["rows"][1] == ["name", "TEXT", False, None, ""]


def test_long_values_are_cut_and_null_is_not_empty(shop: SqlTools) -> None:
    lines = str(query(shop, "SELECT note FROM customer ORDER BY id")).splitlines()
    assert lines[1:3] == ['""', "NULL"]
    assert lines[3].endswith("x... (400 characters)")


def test_a_query_cannot_change_the_database(shop: SqlTools) -> None:
    assert not query(shop, "DELETE FROM customer").ok
    assert query(shop, "SELECT count(*) FROM customer").output["rows"] == [[3]]


def test_a_change_needs_approval_and_the_right_number_of_rows(shop: SqlTools) -> None:
    execute = shop.tool("execute")
    assert execute.requires_approval
    change = {"database": "shop", "sql": "DELETE FROM customer WHERE id > 1"}
    assert "changes 2 rows, not 1" in str(execute.call({**change, "rows": 1}))
    assert execute.call({**change, "rows": 2}).output == "Changed 2 rows."


def test_a_misspelt_column_is_named(shop: SqlTools) -> None:
    assert "did you mean customer.name?" in str(query(shop, "SELECT nmae FROM customer"))


def test_an_unknown_database_is_answered_with_the_known_ones(shop: SqlTools) -> None:
    result = shop.tool("query").call({"database": "shops", "sql": "SELECT 1"})
    assert (result.error_type, str(result)) == ("not_found", "no database 'shops'; there are shop")


def test_databases_come_from_the_settings_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "[sql.databases]" in str(SqlTools().tool("tables").call({}))
    settings = tmp_path / "ask-tools/settings.toml"
    settings.parent.mkdir()
    settings.write_text('[sql.databases]\nshop = "sqlite:////tmp/none.db"\nold = "mysql://ada@db/old"\n')
    settings.chmod(0o600)
    assert SqlTools().tool("tables").call({}).output == ["old", "shop"]
    assert SqlTools().tool("tables").call({"database": "shop"}).error_type == "unavailable"
    assert "mysql is not supported" in str(SqlTools().tool("tables").call({"database": "old"}))
