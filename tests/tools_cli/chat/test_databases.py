"""The tools for databases in a chat."""

import sqlite3
from contextlib import closing

import pytest

pytest.importorskip("tools_sql", reason="tools_sql is tested in the environment of the repository")
pytestmark = pytest.mark.slow


@pytest.fixture
def shop(place):
    """A database that the user's settings name."""
    path = place.parent / "shop.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE customer (name TEXT); INSERT INTO customer VALUES ('Ada'), ('Bo')")
    settings = place.parent / "XDG_CONFIG_HOME/ask-tools/settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[sql.databases]\nshop = "sqlite:///{path}"\n')
    settings.chmod(0o600)
    return path


def test_a_model_reads_a_database_and_changes_it_after_a_yes(open_chat, model, shop):
    change = {"database": "shop", "sql": "DELETE FROM customer WHERE name = 'Bo'", "rows": 1}
    model.replies = [
        [("sql_describe", {"database": "shop", "table": "customer"})],
        [("sql_query", {"database": "shop", "sql": "SELECT count(*) AS customers FROM customer"})],
        [("sql_execute", change)],
        ["Bo has left."],
    ]
    chat = open_chat("--tools", "tools-sql", model="openai:gpt-5")
    chat.wait_for("mode ask ")
    chat.type("Delete Bo.\r")
    chat.wait_for("sql_execute needs approval", "DELETE FROM customer", "answer:")
    chat.type("y\r")
    chat.wait_for("Bo has left.")
    assert "customers (integer)" in str(model.requests[2])
    with closing(sqlite3.connect(shop)) as database:
        assert database.execute("SELECT name FROM customer").fetchall() == [("Ada",)]
