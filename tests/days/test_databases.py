"""A day with databases."""

from __future__ import annotations

import json
import sqlite3

import pytest

SALES = [(month, region, month * price) for month in range(1, 13) for region, price in (("North", 10), ("South", 7))]
CHART = """\
rows = {rows}
bars = ''.join(
    f'<rect x="{{40 * at}}" y="{{1000 - value}}" width="30" height="{{value}}"/>' for at, (_, value) in enumerate(rows)
)
with open('sales.svg', 'w') as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 1000">{{bars}}</svg>')
"""


@pytest.mark.slow
def test_an_analyst_compares_two_databases_and_draws_a_chart(day, postgresql):
    """Find the tables, add them up, find the difference between two databases, mend it, and draw the totals."""
    psycopg = pytest.importorskip("psycopg")
    pytest.importorskip("tools_sql")
    address = postgresql.new_database()
    with psycopg.connect(address) as server:
        server.execute("CREATE TABLE sale (month integer, region varchar(10), amount integer)")
        server.cursor().executemany("INSERT INTO sale VALUES (%s, %s, %s)", SALES)
    file = sqlite3.connect(day.home / "books.db")
    file.execute("CREATE TABLE booking (month INTEGER, area TEXT, cents INTEGER)")
    file.executemany("INSERT INTO booking VALUES (?, ?, ?)", [(month, area, 100 * n) for month, area, n in SALES[:-1]])
    file.commit()
    file.close()
    settings = day.home / ".config/ask-tools/settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'[sql.databases]\nbooks = "sqlite:///{day.home}/books.db"\nshop = "{address}"\n')

    assert day.call("sql_tables").output == ["books", "shop"]
    tables = day.call("sql_tables", database="shop").output["rows"]
    assert ["sale", "table"] in [list(row) for row in tables]
    assert [row[0] for row in day.call("sql_describe", database="books", table="booking").output["rows"]][2] == "cents"
    assert "did you mean sale.amount?" in day.attempt("sql_query", database="shop", sql="SELECT amuont FROM sale").error

    totals = "SELECT region, sum(amount) FROM sale GROUP BY region ORDER BY region"
    sold = day.call("sql_query", database="shop", sql=totals).output["rows"]
    booked = day.call(
        "sql_query", database="books", sql="SELECT area, sum(cents) / 100 FROM booking GROUP BY area ORDER BY area"
    ).output["rows"]
    assert (sold, booked) == ([["North", 780], ["South", 546]], [["North", 780], ["South", 462]])

    month = day.call(
        "sql_query",
        database="books",
        sql="SELECT max(month) FROM booking WHERE area = :area",
        parameters={"area": "South"},
    ).output["rows"][0][0]
    missing = day.call(
        "sql_query",
        database="shop",
        sql="SELECT * FROM sale WHERE month > :m AND region = 'South'",
        parameters={"m": month},
    ).output["rows"]
    assert missing == [[12, "South", 84]]
    insert = {"database": "books", "sql": "INSERT INTO booking VALUES (:month, :area, :cents)"}
    values = {"month": 12, "area": "South", "cents": 8400}
    assert day.attempt("sql_execute", **insert, parameters=values, rows=2).error_type == "conflict"
    assert day.call("sql_execute", **insert, parameters=values, rows=1).content == "Changed 1 rows."

    day.python(CHART.format(rows=json.dumps(sold)))
    assert day.workspace.joinpath("sales.svg").read_text().count("<rect") == 2
