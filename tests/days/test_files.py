"""Days with many, large and unusual files."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat

import pytest

SALES = "region,month,amount\n" + "".join(
    f"North,{month},{month * 10}\nSouth,{month},{month * 7}\n" for month in range(1, 13)
)
TOTALS = """\
import collections
import csv

totals = collections.Counter()
with open('sales.csv') as file:
    for row in csv.DictReader(file):
        totals[row['region']] += int(row['amount'])
dict(totals)
"""
CHART = """\
bars = []
for number, (name, value) in enumerate(totals.items()):
    bars.append(f'<rect x="{40 * number}" y="{100 - value // 8}" width="30" height="{value // 8}"/>')
with open('sales.svg', 'w') as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 100">{"".join(bars)}</svg>')
"""
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
import sqlite3
import sys

sqlite3.connect("app.db", isolation_level=None).executescript(sys.stdin.read())
"""


@pytest.mark.slow
def test_a_name_is_changed_in_two_hundred_files(day):
    """Rename a function in 200 files with grep, glob, edits and patches; nothing else changes."""
    day.repository(
        {
            "core/net.py": "def fetch_data(number):\n    return number\n\n\ndef fetch_data_later():\n    return 0\n",
            **{f"jobs/group{number % 8}/job_{number}.py": MODULE.format(number=number) for number in range(200)},
        }
    )
    pattern = r"\bfetch_data\b"
    assert day.call("grep", pattern=pattern, output_mode="count", limit=1000).content.count("jobs/") == 200
    names = day.call("glob", pattern="jobs/**/*.py", limit=1000).content.splitlines()
    paths = [name for name in names if name.endswith(".py")]
    assert len(paths) == 200
    for path in paths[:20]:  # as a model does it, file by file
        day.call("read_file", path=path)
        day.call("edit_file", path=path, old_string="import fetch_data\n", new_string="import fetch\n")
        day.call("edit_file", path=path, old_string="return fetch_data(", new_string="return fetch(")
    for batch in (paths[20:110], paths[110:]):  # and in patches of many files
        sections = [
            f"*** Update File: {path}\n@@\n-from core.net import fetch_data\n+from core.net import fetch\n"
            f"@@\n-    return fetch_data({number})\n+    return fetch({number})\n"
            for path in batch
            for number in re.findall(r"job_(\d+)", path)
        ]
        day.call("apply_patch", patch=f"*** Begin Patch\n{''.join(sections)}*** End Patch\n")
    day.bash(r"sed -i 's/\bfetch_data\b/fetch/' core/net.py")
    assert "fetch_data" not in day.call("grep", pattern=pattern).content
    assert day.bash("python3 -B -c 'from jobs.group3.job_3 import job; print(job())'") == "3\n"
    day.bash("git commit -qam 'Rename fetch_data to fetch'")
    assert "201 files changed, 401 insertions(+), 401 deletions(-)" in day.shell("git show --shortstat")


def test_a_table_is_analysed_and_plotted(day):
    """Summarise a CSV file, write a report with a table, and draw a bar chart as SVG."""
    day.write({"sales.csv": SALES})
    assert "North,1,10" in day.call("read_file", path="sales.csv", limit=5).content
    assert day.python(TOTALS, session="sales") == "{'North': 780, 'South': 546}"
    assert day.python("totals.most_common(1)", session="sales") == "[('North', 780)]"
    day.python(CHART, session="sales")
    assert day.read("sales.svg").count("<rect ") == 2 and 'height="97"' in day.read("sales.svg")
    day.call("write_file", path="report.md", content="# Sales\n\nNorth leads with 780.\n\n![chart](sales.svg)\n")
    assert sorted(os.listdir(day.workspace)) == ["report.md", "sales.csv", "sales.svg"]


@pytest.mark.slow
def test_a_figure_of_matplotlib_is_shown_and_saved(day):
    """Plot with matplotlib: the figure is part of the result, and its file is in the workspace."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.savefig('plot.png')"
    result = day.call("python", code=code, timeout=120)
    assert (day.workspace / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert len(result.output["images"]) == 1
    assert day.call("read_file", path="plot.png").ok


@pytest.mark.slow
def test_a_database_is_migrated(day, level):
    """Create an SQLite database with a script, migrate it in a transaction, roll a bad migration back, and query it."""
    day.write({"schema.sql": SCHEMA, "run.py": RUN_SQL})
    day.bash("python3 run.py < schema.sql")
    migration = "BEGIN; ALTER TABLE users ADD COLUMN email; UPDATE users SET email = name || '@example.org'; COMMIT;"
    day.call("write_file", path="migrations/1.sql", content=migration)
    day.bash("python3 run.py < migrations/1.sql")
    broken = "BEGIN; DELETE FROM users; INSERT INTO orders VALUES (1); COMMIT;"
    assert "no such table: orders" in day.bash("python3 run.py", exit_code=1, stdin=broken)
    code = "import sqlite3; sqlite3.connect('app.db').execute('SELECT email FROM users ORDER BY id').fetchall()"
    assert day.python(code) == "[('ada@example.org',), ('bob@example.org',)]"
    database = sqlite3.connect(day.workspace / "app.db")
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    assert sorted(os.listdir(day.workspace)) == ["app.db", "migrations", "run.py", "schema.sql"]


@pytest.mark.slow
def test_an_archive_is_packed_and_unpacked(day, level):
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
    """Edit through a link, keep modes, move and copy folders, and change nothing outside the workspace."""
    day.write({"config/base.ini": "debug = no\n", "bin/tool": "#!/bin/sh\necho old\n", "../outside.txt": "mine\n"})
    day.bash("chmod 755 bin/tool && ln -s base.ini config/active.ini && ln -s ../outside.txt escape")
    day.call("read_file", path="config/active.ini")
    day.call("edit_file", path="config/active.ini", old_string="no", new_string="yes")
    assert day.read("config/base.ini") == "debug = yes\n" and (day.workspace / "config/active.ini").is_symlink()
    day.call("read_file", path="bin/tool")
    day.call("edit_file", path="bin/tool", old_string="old", new_string="new")
    assert day.bash("bin/tool") == "new\n"
    day.bash("cp -a bin backup")
    day.call("move_path", source="config", destination="etc/app")
    assert day.bash("backup/tool && cat etc/app/active.ini") == "new\ndebug = yes\n"
    assert day.attempt("write_file", path="escape", content="x", overwrite=True).error_type == "denied"
    assert (day.workspace.parent / "outside.txt").read_text() == "mine\n"
    day.call("delete_path", path="escape")


def test_unicode_names_are_used_everywhere(day, level):
    """Create, find, edit, commit and run files with accents, spaces, emoji and other scripts in their names."""
    names = ["Überblick.md", "日本語/メモ.txt", "données é.csv", "🎉 party.txt", 'a\'b "c".txt']
    day.bash("git init -q")
    for name in names:
        day.call("write_file", path=name, content="straße\n")
    assert set(day.bash("find . -path ./.git -prune -o -type f -print").splitlines()) == {f"./{name}" for name in names}
    for name in names:
        assert "straße" in day.call("read_file", path=name).content
        day.call("edit_file", path=name, old_string="straße", new_string="weg 道")
    assert day.call("grep", pattern="道", output_mode="count").content.count(":1") == len(names)
    assert "メモ.txt" in day.call("glob", pattern="**/*.txt").content
    assert day.bash("cat 日本語/*.txt && python3 -c 'print(open(\"🎉 party.txt\").read())'") == "weg 道\nweg 道\n\n"
    day.bash("git add . && git commit -qm 'Größe, 日本語 🎉'")
    assert day.shell("git log -1 --format=%s") == "Größe, 日本語 🎉\n"
    assert day.python("import os; sorted(os.listdir('.'))[0]") == "'.git'"


def test_windows_files_keep_their_line_endings(day):
    """Edit CRLF files with edit_file and patches in a repository, with no change but the edited lines."""
    day.repository({"app.ini": "[a]\r\nx = 1\r\ny = 2\r\n", "dos.bat": "@echo off\r\necho one\r\n"})
    for name in ("app.ini", "dos.bat"):
        day.call("read_file", path=name)
    day.call("edit_file", path="app.ini", old_string="x = 1\ny = 2", new_string="x = 1\ny = 3\nz = 4")
    section = "*** Update File: dos.bat\n@@\n @echo off\n-echo one\n+echo two\n"
    day.call("apply_patch", patch=f"*** Begin Patch\n{section}*** End Patch\n")
    assert (day.workspace / "app.ini").read_bytes() == b"[a]\r\nx = 1\r\ny = 3\r\nz = 4\r\n"
    assert (day.workspace / "dos.bat").read_bytes() == b"@echo off\r\necho two\r\n"
    assert day.shell("git diff --shortstat").strip() == "2 files changed, 3 insertions(+), 2 deletions(-)"
    day.bash("git commit -qam 'Change values'")


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
def test_a_folder_of_50000_files_is_searched_and_changed(day):
    """Search, list, glob and commit in a workspace with 50,000 files."""
    for number in range(250):
        folder = day.workspace / "data" / f"{number:03}"
        folder.mkdir(parents=True)
        for file in range(200):
            (folder / f"{file}.json").write_text(f'{{"id": {number * 200 + file}}}\n')
    assert "data/123/45.json:1" in day.call("grep", pattern='"id": 24645').content
    assert "data/249/199.json" in day.call("glob", pattern="data/249/*.json", limit=1000).content
    assert day.bash("find data -name '*.json' | wc -l && ls -A") == "50000\ndata\n"
    day.bash("git init -q && git add . && git commit -qm 'Add data'", timeout=300)
    day.call("read_file", path="data/123/45.json")
    day.call("edit_file", path="data/123/45.json", old_string="24645", new_string="7")
    assert day.bash("git status --short", timeout=120) == " M data/123/45.json\n"
    day.bash("git commit -qam 'Change one' && git clean -fdx", timeout=120)
    day.call("delete_path", path="data/000", recursive=True)
    day.bash("git commit -qam 'Remove a folder'", timeout=120)
    assert day.shell("git ls-files | wc -l") == "49800\n"


@pytest.mark.slow
def test_a_workspace_with_spaces_in_its_path(new_day):
    """Work in a folder with spaces and quotes in its path: scripts, jobs, sessions, searches and git."""
    day = new_day('My Projects/it\'s "new" & old')
    day.bash("git init -q && echo 'print(1 + 1)' > 'my file.py'")
    assert day.bash('python3 \'my file.py\' && cd .. && cd "$OLDPWD" && basename "$PWD"') == '2\nit\'s "new" & old\n'
    assert "my file.py:1" in day.call("grep", pattern="print").content
    job = day.start("pwd && cat", "old", stdin=True)
    day.call("job_input", id=job, text="done\n", end=True)
    assert "done" in day.call("job_output", id=job, until_end=True, wait=30).content
    day.bash("mkdir 'sub dir' && cd 'sub dir' && x='a b'", session="s")
    assert day.bash('basename "$PWD"; echo "$x"', session="s") == "sub dir\na b\n"
    assert day.python("import os; os.path.basename(os.getcwd())").endswith("& old'")
    day.bash("rmdir 'sub dir' && git add . && git commit -qm 'Add my file'")


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


@pytest.mark.slow
def test_configuration_files_are_changed(day):
    """Change JSON, TOML and YAML files of a project by edits and by a script, and keep them valid."""
    day.repository(
        {
            "package.json": '{\n  "name": "web",\n  "version": "1.0.0"\n}\n',
            "pyproject.toml": '[project]\nname = "web"\nversion = "1.0.0"\n',
            "ci.yml": "on: push\njobs:\n  test:\n    runs-on: ubuntu-24.04\n",
            "[id]/page.tsx": "export default () => <p>1.0.0</p>\n",
        }
    )
    matches = day.call("grep", pattern=r"1\.0\.0", output_mode="files").content.split("\n")
    assert {"package.json", "pyproject.toml", "[id]/page.tsx"} <= set(matches)
    assert day.call("glob", pattern="[id]/*.tsx").content.startswith("[id]/page.tsx")
    for name in ("package.json", "pyproject.toml", "[id]/page.tsx"):
        day.call("read_file", path=name)
        day.call("edit_file", path=name, old_string="1.0.0", new_string="1.1.0")
    hunk = "@@ -3,2 +3,3 @@\n   test:\n     runs-on: ubuntu-24.04\n+    timeout-minutes: 9\n"
    day.call("apply_patch", patch=f"--- a/ci.yml\n+++ b/ci.yml\n{hunk}")
    assert json.loads(day.read("package.json"))["version"] == "1.1.0"
    assert day.python("import tomllib; tomllib.load(open('pyproject.toml', 'rb'))['project']['version']") == "'1.1.0'"
    day.bash("git commit -qam 'Release 1.1.0' && git tag v1.1.0")
