"""SQLite, PostgreSQL and DuckDB, and statements that would leave what the user named."""

from __future__ import annotations

import pytest

from tools_core import ToolError
from tools_sql import SqlTools

# Each would change the database, another file or the server if it ran in sql_query.
CHANGES = [
    "INSERT INTO customer VALUES (9, 'Eve', '')",
    "UPDATE customer SET name = 'Eve'",
    "DELETE FROM purchase",
    "DROP TABLE purchase",
    "CREATE TABLE loot (id INTEGER)",
    "CREATE TEMPORARY TABLE loot (id INTEGER)",
    "WITH gone AS (DELETE FROM purchase RETURNING *) SELECT * FROM gone",
    "SELECT 1; DELETE FROM purchase",
    "SELECT 1; COMMIT; DELETE FROM purchase; COMMIT",
    "SET default_transaction_read_only = off",
    "SET TRANSACTION READ WRITE",
    "BEGIN; DELETE FROM purchase; COMMIT",
    "COMMIT",
    "PRAGMA query_only = off",
    "PRAGMA writable_schema = on",
    "PRAGMA journal_mode = delete",
    "ATTACH '{folder}/loot.db' AS loot",
    "VACUUM INTO '{folder}/loot.db'",
    "SELECT load_extension('{folder}/loot.so')",
    "COPY customer TO '{folder}/loot.csv'",
    "COPY (SELECT * FROM customer) TO '{folder}/loot.csv'",
    "COPY (SELECT 'x') TO PROGRAM 'cat > {folder}/loot.csv'",
    "EXPORT DATABASE '{folder}/loot'",
    "DO $$ BEGIN DELETE FROM purchase; END $$",
    "SELECT set_config('transaction_read_only', 'off', false), lo_create(0)",
    "EXPLAIN ANALYZE DELETE FROM purchase",
    "PREPARE loot AS DELETE FROM purchase",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM '/etc/passwd'",
    "CALL pragma_version()",
]


@pytest.mark.parametrize("statement", CHANGES)
def test_a_query_cannot_change_the_database(statement, sql, shop, tmp_path):
    result = sql("query", sql=statement.replace("{folder}", str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
    names = [name for name, _ in sql("tables").output["rows"] if "." not in name]
    assert names == ["customer", "purchase", "total"]
    assert sql("query", sql="SELECT name FROM customer ORDER BY id").output["rows"][0] == ["Ada"]
    assert sql("query", sql="SELECT count(*) FROM purchase").output["rows"] == [[3]]
    assert not result.ok or shop.startswith("duckdb"), result  # where a transaction or a temporary table is harmless


# More of each kind: functions that write or reach out, other files, and values that would fill the memory.
OUTSIDE = {
    "sqlite": [
        "SELECT hex(randomblob(1000000000))",
        "SELECT zeroblob(1000000000)",
        "SELECT replace(hex(zeroblob(4000000)), '0', 'xxxxxxxxxxxx')",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA page_size = 512",
        "PRAGMA data_version = 4",
        "SELECT * FROM pragma_module_list",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('{folder}/loot', 'x')",
        "UPDATE sqlite_master SET type = 'x'",
        "CREATE VIRTUAL TABLE loot USING fts5(x)",
        "CREATE TEMPORARY TRIGGER loot AFTER INSERT ON customer BEGIN SELECT 1; END",
        "ALTER TABLE customer ADD loot AS (id)",
        "SAVEPOINT loot",
        "REINDEX",
        "ANALYZE",
        "DETACH main",
        "EXPLAIN DELETE FROM customer",
        "REPLACE INTO customer VALUES (1, 'Eve', '')",
        "SELECT '\x00'",
    ],
    "postgresql": [
        "SELECT lo_export(1, '{folder}/loot')",
        "TRUNCATE purchase",
        "SELECT dblink('host=x', 'SELECT 1')",
        "SELECT setval(pg_get_serial_sequence('customer', 'id'), 9), set_config('transaction_read_only', 'off', true)",
        "SET statement_timeout = 0",
        "EXECUTE loot",
        "DECLARE loot CURSOR FOR SELECT 1",
        "LISTEN loot",
        "NOTIFY loot",
        "LOCK TABLE customer",
        "SELECT * FROM customer FOR UPDATE",
        "SELECT * INTO loot FROM customer",
        "CREATE MATERIALIZED VIEW loot AS SELECT 1",
        "SELECT query_to_xml('DELETE FROM purchase RETURNING 1', true, true, '')",
        "SELECT convert_from('\\xff', 'UTF8')",
        "ROLLBACK",
        "ABORT; DELETE FROM purchase",
        "ALTER SYSTEM SET fsync = on",
        "CREATE EXTENSION file_fdw",
        "SELECT pg_terminate_backend(pg_backend_pid())",
    ],
    "duckdb": [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_blob('/etc/*')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_parquet('http://127.0.0.1:9/x')",
        "SELECT * FROM sqlite_scan('{folder}/loot', 'x')",
        "SELECT * FROM duckdb_secrets()",
        "SELECT getenv('HOME')",
        "COPY customer FROM '/etc/passwd'",
        "IMPORT DATABASE '{folder}'",
        "ATTACH ':memory:' AS loot",
        "USE memory",
        "EXECUTE loot",
        "DETACH shop",
        "SET lock_configuration = false",
        "SET memory_limit = '1TB'",
        "RESET memory_limit",
        "CREATE SECRET loot (TYPE s3)",
        "CREATE SEQUENCE loot",
        "CALL enable_logging()",
        "PRAGMA enable_profiling",
    ],
}


def test_a_query_cannot_leave_its_database(sql, shop, tmp_path):
    for statement in OUTSIDE[shop.partition(":")[0]]:
        result = sql("query", sql=statement.replace("{folder}", str(tmp_path)))
        assert not result.ok, statement
        assert list(tmp_path.iterdir()) == [], statement
    assert sql("query", sql="SELECT count(*) FROM purchase").output["rows"] == [[3]]


def test_tables_of_every_kind_and_name_are_listed_and_described(new_shop, request):
    kind = request.node.callspec.params["new_shop"]
    odd = {
        "sqlite": ["CREATE VIRTUAL TABLE search USING fts5(text)", "CREATE VIEW broken AS SELECT * FROM gone"],
        "postgresql": [
            "CREATE TABLE year (month integer) PARTITION BY RANGE (month)",
            "CREATE MATERIALIZED VIEW seen AS SELECT 1 AS one",
            "CREATE TABLE archive.old (id integer)",
            "CREATE TABLE nothing ()",
        ],
        "duckdb": ["CREATE TABLE archive.old (mood ENUM('a', 'b'), many INTEGER[], map MAP(INTEGER, VARCHAR))"],
    }[kind]
    name = 'a.b "ü" select'
    sql = new_shop("CREATE SCHEMA archive", 'CREATE TABLE "a.b ""ü"" select" ("x.y" INTEGER)', *odd)
    listed = [row[0] for row in sql("tables").output["rows"]]
    assert name in listed
    assert [row[0] for row in sql("describe", table=name).output["rows"]] == ["x.y"]
    assert all(sql("describe", table=each).ok for each in listed if each != "broken")
    assert ("archive.old" in listed) == (kind != "sqlite")
    if kind == "postgresql":
        assert "CAST(... AS text)" in str(sql("query", sql="SELECT 'infinity'::date"))
        assert ["seen", "materialized view"] in sql("tables").output["rows"]
    if kind == "sqlite":
        assert sql("query", sql="SELECT * FROM search").ok


def test_null_empty_text_and_separators_look_different(sql):
    result = sql("query", sql="SELECT name, note FROM customer ORDER BY id")
    assert str(result) == 'name (text) | note (text)\nAda | ""\nGrace | NULL\n"Eve | Mallory" | x\n(3 rows)'
    assert result.output["rows"] == [["Ada", ""], ["Grace", None], ["Eve | Mallory", "x"]]


def test_values_are_passed_beside_the_statement(sql):
    result = sql("query", sql="SELECT id FROM customer WHERE name = :name", parameters={"name": "x' OR '1' = '1"})
    assert result.output["rows"] == []
    text = sql("query", sql="""SELECT '{"a":1}' AS json, :name AS name""", parameters={"name": "Ada"})
    assert text.output["rows"] == [['{"a":1}', "Ada"]]


def test_more_rows_than_the_limit_are_announced(sql):
    result = sql("query", sql="SELECT id FROM customer ORDER BY id", limit=2)
    assert result.output == {"columns": ["id"], "rows": [[1], [2]], "has_more": True}
    assert "the first 2 rows" in str(result)


def test_a_statement_that_changes_another_number_of_rows_is_rolled_back(sql):
    statement = "INSERT INTO customer VALUES (10, :name, NULL), (11, :name, NULL)"
    refused = sql("execute", sql=statement, parameters={"name": "Alan"}, rows=1)
    assert (refused.error_type, "changes 2 rows, not 1" in str(refused)) == ("conflict", True), refused
    assert sql("query", sql="SELECT count(*) FROM customer").output["rows"] == [[3]]
    assert sql("execute", sql=statement, parameters={"name": "Alan"}, rows=2).output == "Changed 2 rows."
    assert sql("execute", sql="DELETE FROM customer WHERE name = 'Alan' RETURNING id", rows=2).ok
    assert sql("query", sql="SELECT count(*) FROM customer").output["rows"] == [[3]]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM purchase; COMMIT; DELETE FROM customer",
        "ATTACH '{folder}/loot.db' AS loot",
        "VACUUM INTO '{folder}/loot.db'",
        "COPY customer TO '{folder}/loot.csv'",
        "PRAGMA writable_schema = on",
    ],
)
def test_a_change_stays_in_its_database_and_is_one_statement(statement, sql, tmp_path, shop):
    if shop.startswith("postgresql") and "COPY" in statement:
        pytest.skip("a superuser of PostgreSQL may write files of the server")
    result = sql("execute", sql=statement.replace("{folder}", str(tmp_path)), rows=3)
    assert not result.ok
    assert list(tmp_path.iterdir()) == []
    assert sql("query", sql="SELECT count(*) FROM purchase").output["rows"] == [[3]]


def test_a_misspelt_name_is_answered_with_the_right_one(sql):
    assert "customer.name" in str(sql("query", sql="SELECT nama FROM customer"))
    assert "did you mean customer?" in str(sql("describe", table="customers"))
    assert "did you mean" in str(sql("query", sql="SELECT * FROM purchases"))


def test_advice_prefers_the_tables_of_the_statement_and_leaves_out_far_names(new_shop):
    sql = new_shop(
        "CREATE TABLE sale (amount INTEGER, spirit INTEGER)",
        "CREATE TABLE stock (amounts INTEGER, amuint INTEGER, note INTEGER)",
        "CREATE SCHEMA archive",
        "CREATE TABLE archive.customer (amuont INTEGER, note INTEGER, exist INTEGER)",
    )
    assert str(sql("query", sql="SELECT amuont FROM sale")).endswith("; did you mean sale.amount?")
    assert str(sql("query", sql="SELECT s.amuont FROM sale s")).endswith("; did you mean sale.amount?")
    assert "did you mean" not in str(sql("query", sql="SELECT zebra FROM sale"))
    assert str(sql("query", sql="SELECT amounts FROM sale")).endswith("; did you mean sale.amount?")
    assert "stock.note" in str(sql("query", sql="SELECT note FROM sale"))
    assert str(sql("query", sql="SELECT * FROM sales")).endswith("; did you mean sale?")


@pytest.mark.parametrize("table", ["Purchase", '"purchase"', "PURCHASE"])
def test_a_table_is_described_by_any_spelling_of_its_name(sql, table):
    assert sql("describe", table=table).output == sql("describe", table="purchase").output


def test_a_table_is_described_with_its_types(sql):
    columns = {row[0]: row[1:] for row in sql("describe", table="purchase").output["rows"]}
    assert list(columns) == ["id", "customer", "price"]
    assert columns["price"][0].startswith(("DECIMAL", "NUMERIC"))


def test_a_query_that_never_ends_ends_with_its_context(shop):
    import threading

    from tools_core import Context

    context = Context()
    threading.Timer(0.3, context.cancel).start()
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    arguments = {"database": "shop", "sql": endless}
    assert not SqlTools({"shop": shop}).tool("query").call(arguments, context).ok


HIDDEN = {
    "sqlite": [("CREATE TRIGGER gone AFTER UPDATE ON customer BEGIN DELETE FROM purchase; END", 0)],
    "postgresql": [("CREATE FUNCTION gone() RETURNS int LANGUAGE SQL AS 'DELETE FROM purchase; SELECT 0'", 0)],
    "duckdb": [],
}
HIDING = {
    "sqlite": ["UPDATE customer SET note = 'x' WHERE id = 1"],
    "postgresql": [
        "WITH gone AS (DELETE FROM purchase RETURNING 1) SELECT 1 WHERE 1 = 2",
        "DO $$ BEGIN DELETE FROM purchase; END $$",
        "SELECT gone() FROM customer LIMIT 1",
    ],
    "duckdb": [],
}


@pytest.mark.parametrize("rows", [0, 1])
def test_rows_that_a_statement_changes_elsewhere_count(rows, sql, shop):
    kind = shop.partition(":")[0]
    for statement, count in HIDDEN[kind]:
        sql("execute", sql=statement, rows=count)
    for statement in HIDING[kind]:
        result = sql("execute", sql=statement, rows=rows)
        assert (result.error_type, "rolled back" in str(result.error)) == ("conflict", True), statement
    if kind == "sqlite":
        sql("execute", sql="DROP TRIGGER gone", rows=0)
    assert sql("query", sql="SELECT count(*) FROM purchase").output["rows"] == [[3]]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_does_not_have_is_text(value, sql, shop):
    if shop.startswith("sqlite"):
        statement = {"Infinity": "SELECT 9e999", "-Infinity": "SELECT -9e999"}.get(value, "SELECT 'NaN'")
    else:
        statement = f"SELECT CAST('{value}' AS DOUBLE PRECISION)"
    result = sql("query", sql=statement)
    assert result.output["rows"] == [[value]]
    assert str(result).splitlines()[1] == value


def test_names_of_columns_are_quoted_and_cut_like_values(sql):
    result = sql("query", sql='SELECT 1 AS "a\n(99 rows)", 2 AS "b | c"')
    assert str(result).splitlines() == ['"a\\n(99 rows)" (integer) | "b | c" (integer)', "1 | 2", "(1 row)"]
    columns = ", ".join(f'{number} AS "{"n" * 50}{number}"' for number in range(1000))
    assert len(str(sql("query", sql=f"SELECT {columns}"))) < 21_000


def test_text_in_another_encoding_is_read(sql, shop):
    if shop.startswith("sqlite"):
        assert sql("query", sql="SELECT CAST(x'61ff' AS TEXT)").output["rows"] == [["a\ufffd"]]


@pytest.mark.parametrize(
    "address", ["postgresql://ada:x@host:secret/shop", "postgresql://ada:x@[::secret/shop", "secret"]
)
def test_an_address_that_cannot_be_parsed_is_not_repeated(address):
    with pytest.raises(ToolError, match="the address of shop is not one") as caught:
        SqlTools({"shop": address})
    assert str(caught.value).count("secret") == 1  # of the example


def test_a_read_only_process_cannot_execute_statements(sql, monkeypatch):
    monkeypatch.setenv("ASK_TOOLS_READ_ONLY", "1")
    assert sql("execute", sql="DELETE FROM purchase", rows=3).error_type == "denied"
    assert sql("query", sql="SELECT count(*) FROM purchase").output["rows"] == [[3]]


def test_a_copy_to_the_client_is_refused_and_leaves_the_database_usable(sql, shop, capfd):
    if shop.startswith("postgresql"):
        assert "COPY" in sql("execute", sql="COPY customer TO STDOUT", rows=0).error
        assert capfd.readouterr().err == ""
