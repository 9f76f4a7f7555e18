"""Days with many, large and unusual files."""

from __future__ import annotations

import os
import sqlite3
import stat

import pytest

SALES = "region,month,amount\n" + "".join(
    f"{region},{month},{month * factor}\n" for region, factor in (("North", 10), ("South", 7)) for month in range(1, 13)
)

MODULE = """\
from core.net import fetch_data


def job():
    # fetch_data_later is another name
    return fetch_data({number})
"""
SCHEMA = """\
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO users (name) VALUES ('ada'), ('bob');
"""
RUN_SQL = """\
import sqlite3, sys

sqlite3.connect("app.db", isolation_level=None).executescript(sys.stdin.read())
"""
CHART = """\
bars = []
for number, (name, value) in enumerate(totals.items()):
    bars.append(f'<rect x="{40 * number}" y="{100 - value // 8}" width="30" height="{value // 8}"/>')
with open('sales.svg', 'w') as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 100">{"".join(bars)}</svg>')
"""


@pytest.mark.slow
def test_a_figure_of_matplotlib_is_shown_and_saved(day):
    """Plot with matplotlib: the figure is part of the result, and its file is in the workspace."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.savefig('plot.png')"
    result = day.call("python", code=code, timeout=120)
    assert (day.workspace / "plot.png").read_bytes().startswith(b"\x89PNG") and "image" in result.content
    assert day.call("read_file", path="plot.png").ok


@pytest.mark.slow
def test_a_database_is_migrated(day, level):
    """Create an SQLite database with a script, migrate it in a transaction, roll a bad migration back, and query it."""
    day.write({"schema.sql": SCHEMA, "run.py": RUN_SQL})
    day.bash("python3 run.py < schema.sql")
    migration = "BEGIN; ALTER TABLE users ADD COLUMN email; UPDATE users SET email = name || '@example.org'; COMMIT;"
    day.call("write_file", path="migrations/1.sql", content=migration)
    day.bash("python3 run.py < migrations/1.sql")
    broken = "BEGIN; DELETE FROM users; INSERT INTO nowhere VALUES (1); COMMIT;"
    assert "no such table: nowhere" in day.bash("python3 run.py", exit_code=1, stdin=broken)
    code = "import sqlite3; sqlite3.connect('app.db').execute('SELECT email FROM users ORDER BY id').fetchall()"
    assert day.python(code) == "[('ada@example.org',), ('bob@example.org',)]"
    database = sqlite3.connect(day.workspace / "app.db")
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    assert sorted(os.listdir(day.workspace)) == ["app.db", "migrations", "run.py", "schema.sql"]


@pytest.mark.slow
def test_archives_are_made_checked_and_unpacked(day, level):
    """Pack a folder with links and modes as tar and zip, verify checksums, and unpack both elsewhere."""
    day.write({"app/run.sh": "#!/bin/sh\necho running\n", "app/data/values.txt": "1\n2\n"})
    day.bash("chmod 755 app/run.sh && chmod 640 app/data/values.txt && touch -d 2020-01-02 app/data")
    day.bash("ln -s data/values.txt app/latest && tar czf app.tar.gz app && sha256sum app.tar.gz > app.sum")
    day.bash("python3 -m zipfile -c app.zip app && sha256sum --check --quiet app.sum")
    day.bash("mkdir one two && tar xzf app.tar.gz -C one && python3 -m zipfile -e app.zip two")
    unpacked = day.workspace / "one" / "app"
    assert stat.S_IMODE((unpacked / "run.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((unpacked / "data/values.txt").stat().st_mode) == 0o640
    assert os.readlink(unpacked / "latest") == "data/values.txt" and (unpacked / "data").stat().st_mtime < 1578100000
    assert day.bash("one/app/run.sh && diff -r app two/app") == "running\n"
    day.call("delete_path", path="one", recursive=True)
    assert sorted(os.listdir(day.workspace)) == ["app", "app.sum", "app.tar.gz", "app.zip", "two"]


@pytest.mark.slow
def test_links_and_modes_survive_edits(day):
    """Edit through a link, keep modes and hard links meaningful, move and copy a tree, and leave the outside alone."""
    day.write({"config/base.ini": "debug = no\n", "bin/tool": "#!/bin/sh\necho old\n", "../outside.txt": "mine\n"})
    day.bash("chmod 755 bin/tool && ln -s base.ini config/active.ini && ln -s ../outside.txt escape")
    day.call("read_file", path="config/active.ini")
    day.call("edit_file", path="config/active.ini", old_string="no", new_string="yes")
    assert day.read("config/base.ini") == "debug = yes\n" and (day.workspace / "config/active.ini").is_symlink()
    day.call("read_file", path="bin/tool")
    day.call("edit_file", path="bin/tool", old_string="old", new_string="new")
    assert day.bash("bin/tool") == "new\n"
    day.call("copy_path", source="bin", destination="backup/bin")
    day.call("move_path", source="config", destination="etc/app")
    assert day.bash("backup/bin/tool && cat etc/app/active.ini") == "new\ndebug = yes\n"
    assert day.attempt("write_file", path="escape", content="x", overwrite=True).error_type == "denied"
    assert (day.workspace.parent / "outside.txt").read_text() == "mine\n"
    day.call("delete_path", path="escape")


@pytest.mark.slow
def test_a_log_of_500_megabytes_is_searched(day):
    """Find the error in a log of 500 MB: its head, its tail, the lines around the match, and a summary."""
    line = b"2026-11-24 12:00:00 INFO request served in 12 ms, all is well, nothing to see in this line at all\n"
    block = line * (1_000_000 // len(line))
    with (day.workspace / "server.log").open("wb") as log:
        for number in range(500):
            log.write(block)
            if number == 250:
                log.write(b"2026-11-24 12:00:01 ERROR disk full: /var\nTraceback: write failed\n")
        log.write(b"last line\n")
    result = day.call("grep", pattern="ERROR", path="server.log", context=1).content
    assert "disk full: /var" in result and "Traceback: write failed" in result
    assert "last line" in day.call("read_file", path="server.log", offset=-2).content
    assert "INFO request" in day.call("read_file", path="server.log", limit=3).content
    assert day.bash("grep -c ERROR server.log && tail -n 1 server.log", timeout=120) == "1\nlast line\n"
    flood = day.call("bash", command="cat server.log", timeout=300)
    assert len(flood.content) < 40_000 and "last line" in flood.content
    day.call("delete_path", path="server.log")


@pytest.mark.slow
def test_files_in_old_encodings_are_converted(day):
    """Read Latin-1 and UTF-16 files, convert them to UTF-8, and fix a text in one of them."""
    (day.workspace / "latin.txt").write_bytes("Größe: 5 m\n".encode("latin-1"))
    (day.workspace / "utf16.csv").write_bytes("naïve;1\r\n".encode("utf-16"))
    assert "Größe" in day.call("read_file", path="latin.txt").content
    assert "naïve;1" in day.call("read_file", path="utf16.csv").content
    day.bash("iconv -f latin1 -t utf8 latin.txt > new.txt && mv new.txt latin.txt")
    day.call("read_file", path="latin.txt")
    day.call("edit_file", path="latin.txt", old_string="5 m", new_string="6 m")
    assert (day.workspace / "latin.txt").read_bytes() == "Größe: 6 m\n".encode()
    assert day.python("open('utf16.csv', encoding='utf-16').read()") == r"'naïve;1\n'"
