"""The same shop in each kind of database."""

from __future__ import annotations

import pytest

from tools_sql import SqlTools

SCHEMA = [
    "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, note VARCHAR(400))",
    "CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer (id), price DECIMAL(8, 2))",
    "CREATE VIEW total AS SELECT customer, sum(price) AS price FROM purchase GROUP BY customer",
    "INSERT INTO customer VALUES (1, 'Ada', ''), (2, 'Grace', NULL), (3, 'Eve | Mallory', 'x')",
    "INSERT INTO purchase VALUES (1, 1, 2.50), (2, 1, 10.00), (3, 2, NULL)",
]


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("postgresql", "duckdb")]


def create(kind, request, folder, statements):
    """Return the address of a new database."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    address = f"{kind}:///{folder}/shop.db"
    if kind == "postgresql":
        address = request.getfixturevalue("postgresql").new_database()
    elif kind == "duckdb":
        pytest.importorskip("duckdb_engine")
    url = sqlalchemy.make_url(address)
    if kind == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.pool.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()
    return address


@pytest.fixture(params=["sqlite", *SLOW], scope="module")
def shop(request, tmp_path_factory):
    """The address of a database with customers and purchases."""
    return create(request.param, request, tmp_path_factory.mktemp("shop"), SCHEMA)


@pytest.fixture(params=["sqlite", *SLOW])
def new_shop(request, tmp_path):
    """`new_shop(STATEMENT, ...)`: `sql` for a database of the test's own; SQLite has no schemas."""

    def start(*statements):
        fitting = [each for each in statements if request.param != "sqlite" or "archive" not in each]
        tools = SqlTools({"shop": create(request.param, request, tmp_path, fitting)})
        return lambda name, **arguments: tools.tool(name).call({"database": "shop", **arguments})

    return start


@pytest.fixture
def sql(shop):
    """`sql("query", sql=...)`: the result of a tool for the shop."""
    tools = SqlTools({"shop": shop})
    return lambda name, **arguments: tools.tool(name).call({"database": "shop", **arguments})
