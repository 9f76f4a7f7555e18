"""A million entries, lines of gigabytes and a terabyte: bounded memory, and a truth about what was left out.

They are made once for all of these tests: in memory where the system has a folder for that, in a hundredth of the
time that a disk takes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MANY = 1_000_000
GIGABYTE = 1 << 30
TERABYTE = 1 << 40
CHILD = """
import json, pathlib, resource, sys, tempfile
import tools_filesystem
from tools_core import Context
root, name, calls, settings, timeout = sys.argv[1], sys.argv[2], *map(json.loads, sys.argv[3:])
tool = getattr(tools_filesystem, name)
with tempfile.TemporaryDirectory() as small:
    for call in calls:  # what is loaded when it is used first
        path = pathlib.Path(small, call["path"])
        path.write_text("small") if path.suffix else path.mkdir(exist_ok=True)
        tool(small, **settings).call(call)
whose = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
before = resource.getrusage(whose[0]).ru_maxrss
results = [tool(root, **settings).call(call, Context(timeout=timeout)) for call in calls]
most = [resource.getrusage(who).ru_maxrss for who in whose]
unit = 1024 if sys.platform == "linux" else 1 << 20  # KiB, on macOS bytes
told = [[result.error_type, str(result), dict(result.metadata)] for result in results]
print(json.dumps([(most[0] - before) / unit, most[1] / unit, told]))
"""


@pytest.fixture(scope="module")
def root():
    memory = "/dev/shm"  # noqa: S108  (below it, a folder of a name that nobody can guess)
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as made:
        yield Path(made)


def run(root, name, *calls, timeout=None, **settings):
    """What calls in a process of their own give, and the most memory in MB that they added and their children took."""
    command = [sys.executable, "-c", CHILD, str(root), name, *map(json.dumps, (calls, settings, timeout))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    added, children, results = json.loads(done.stdout)
    return added, children, results


def fill(folder, count):
    """Make a folder with so many names of empty files: links, which take a third of the time of files."""
    folder.mkdir(parents=True)
    inside = os.open(folder, os.O_RDONLY)
    try:
        for number in range(count):
            if number % 60_000 == 0:  # some file systems permit 65,000 of one file
                first = f"{number:06}"
                os.close(os.open(first, os.O_WRONLY | os.O_CREAT, dir_fd=inside))
            else:
                os.link(first, f"{number:06}", src_dir_fd=inside, dst_dir_fd=inside)
    finally:
        os.close(inside)


@pytest.fixture(scope="module")
def flat(root):
    """A million files in one folder."""
    fill(root / "flat", MANY)
    yield "flat"
    shutil.rmtree(root / "flat", ignore_errors=True)


@pytest.fixture(scope="module")
def nested(root):
    """A million files in a thousand folders."""
    for number in range(1000):
        fill(root / "nested" / f"{number:03}", MANY // 1000)
    yield "nested"
    shutil.rmtree(root / "nested", ignore_errors=True)


@pytest.fixture(params=["auto", "own"])
def engine(request):
    """That of rg, which leaves to the other what it cannot do in the memory that it is given; and the other."""
    if request.param == "auto" and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    if request.param == "own":
        pytest.importorskip("re2", reason="google-re2 is not installed")
    return request.param


def test_a_million_entries_are_listed_in_the_memory_of_what_is_shown(root, flat):
    calls = [{"path": flat, "limit": 5}, {"path": flat, "limit": 5, "sort": "size"}]
    calls.append({"path": flat, "limit": 5, "after": "999990"})
    added, _, (by_name, by_size, last) = run(root, "ListDirectory", *calls)
    assert by_name[1].startswith("000000 (0 bytes)\n000001 (0 bytes)\n")
    assert by_name[2]["total"] == by_size[2]["total"] == MANY
    assert by_name[2]["left_out"] == by_size[2]["left_out"] == MANY - 5
    assert "[the first 5 of 1000000 entries; 999995 are left out; read on with after='000004']" in by_name[1]
    assert (last[2]["total"], last[2]["left_out"]) == (9, 4)
    assert added < 4


def test_a_million_entries_in_folders_are_listed_as_far_as_the_limit_and_the_rest_is_told(root, nested):
    added, _, (shallow, deep) = run(
        root, "ListDirectory", {"path": nested, "limit": 7}, {"path": nested, "limit": 1500, "depth": 2}
    )
    assert (shallow[2]["total"], shallow[2]["left_out"]) == (1000, 993)
    assert deep[2]["left_out"] > 0
    assert "[500 of 1000 entries are left out: list this folder by itself]" in deep[1]
    assert deep[1].count("(not listed)") == 999
    assert added < 8


def test_a_tree_of_a_million_entries_says_what_is_left_out(root, flat, nested):
    added, _, (one, many) = run(root, "DirectoryTree", {"path": flat}, {"path": nested, "limit": 2000})
    tree = json.loads(one[1])
    assert len(tree["children"]) == 1000
    assert tree["left_out"] == one[2]["left_out"] == MANY - 1000
    folders = json.loads(many[1])["children"]
    assert len(folders) == 1000
    assert len(folders[0]["children"]) == 1000
    assert [folder.get("problem") for folder in folders[1:]] == ["not listed"] * 999
    assert added < 8


@pytest.mark.parametrize("sort", ["path", "newest"])
def test_glob_looks_at_a_million_names_and_says_so_where_there_may_be_more(root, flat, nested, sort):
    calls = [{"path": path, "pattern": "**/*99", "limit": 5, "sort": sort} for path in (flat, nested)]
    added, _, results = run(root, "Glob", *calls)
    for (_, text, facts), call in zip(results, calls, strict=True):
        assert facts["total"] <= MANY // 100
        assert facts["total"] > MANY // 100 * 0.99
        assert facts["count"] == 5
        assert facts["next"] == {"ignore": True, "hidden": False, **call, "offset": 5}
        assert f"[1 to 5 of {facts['total']}; go on with offset=5]" in text
        is_whole = facts["total"] == MANY // 100 and "stopped" not in facts
        assert is_whole or "[stopped early (too many files and folders): there may be more" in text
    assert added < 48


def test_grep_looks_into_a_million_files_and_says_so_where_there_may_be_more(root, flat, nested, engine):
    calls = [{"path": path, "pattern": "needle"} for path in (flat, nested)]
    added, children, results = run(root, "Grep", *calls, engine=engine)
    for error, text, facts in results:
        assert error is None
        assert facts["matches"] == 0
        assert "No lines match 'needle'" in text
        assert facts["is_total_exact"] or "[stopped early (" in text
    assert added < 160
    assert children < 320


def test_a_folder_of_a_million_entries_is_described(root, flat):
    added, _, (facts,) = run(root, "FileInfo", {"path": flat, "version": True})
    assert json.loads(facts[1])["type"] == "directory"
    assert added < 4


def test_a_folder_of_a_million_entries_is_deleted_whole_or_not_at_all(root, flat):
    one, all_of_it = {"path": flat}, {"path": flat, "recursive": True}
    added, _, (refused, too_many) = run(root, "DeletePath", one, all_of_it)
    assert refused[0] == "conflict"
    assert "'flat' is a folder with 1000000 entries; pass recursive=true" in refused[1]
    assert too_many[0] == "limit_exceeded"  # with the folder itself it is one more than may be
    assert len(os.listdir(root / flat)) == MANY
    assert added < 240
    (root / flat / "999999").unlink()
    added, _, (deleted,) = run(root, "DeletePath", all_of_it)
    assert json.loads(deleted[1]) == {"path": flat, "entries": MANY}
    assert not (root / flat).exists()
    assert added < 240


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """One line of three gigabytes, without a hole; on the disk, so that it takes no memory."""
    file = tmp_path_factory.mktemp("line") / "line.txt"
    block = b"x" * (16 << 20)
    with file.open("wb") as opened:
        for number in range(3 * GIGABYTE // len(block)):
            opened.write(b"NEEDLE" + block[6:] if number == 100 else block)
        opened.write(b"THE END")
    yield file
    file.unlink()


def test_a_line_of_three_gigabytes_is_searched_in_bounded_memory(line, engine):
    calls = [{"path": "line.txt", "pattern": "NEEDLE"}, {"path": "line.txt", "pattern": "THE END$"}]
    added, children, results = run(line.parent, "Grep", *calls, engine=engine)
    assert [facts["total"] for _, _, facts in results] == [1, 1]
    assert all(len(text) < 1000 for _, text, _ in results)
    assert added < 16
    assert children < 1024


def test_a_line_of_three_gigabytes_is_read_where_a_hint_or_a_call_wants_it(line):
    size = line.stat().st_size
    calls = [{"path": "line.txt"}, {"path": "line.txt", "column": 100 * (16 << 20) + 1}]
    calls += [{"path": "line.txt", "column": size - 6}, {"path": "line.txt", "tail": 1}]
    added, _, (first, middle, end, tail) = run(line.parent, "ReadFile", *calls, timeout=3600)
    assert "[... more of this line: offset=1 column=2001 limit=1]" in first[1]  # too far to look for its end
    assert middle[1].startswith("NEEDLExxx")
    assert end[1] == "THE END"
    assert tail[1].startswith("x" * 2000 + f"[... {size - 2000} more bytes of this line: offset=1 column=2001 limit=1]")
    assert added < 4


@pytest.fixture(scope="module")
def terabyte(root):
    """A terabyte that is a hole between two lines."""
    file = root / "terabyte.txt"
    with file.open("wb") as opened:
        opened.write(b"first\n" * 30_000)
        opened.truncate(TERABYTE)
        opened.seek(TERABYTE - 6)
        opened.write(b"\nlast\n")
    return file.name


def test_a_terabyte_is_refused_by_what_would_have_to_read_it(root, terabyte):
    added, _, (plain, version) = run(root, "FileInfo", {"path": terabyte}, {"path": terabyte, "version": True})
    assert json.loads(plain[1])["size"] == TERABYTE
    assert version[0] == "limit_exceeded"
    assert added < 4
    added, _, (edited,) = run(root, "EditFile", {"path": terabyte, "old_string": "first", "new_string": "x"})
    assert edited[0] == "limit_exceeded"
    assert f"has {TERABYTE} bytes" in edited[1]
    assert added < 4


def test_a_terabyte_of_nothing_is_searched_as_far_as_it_is_text(root, terabyte, engine):
    added, children, (one,) = run(root, "Grep", {"path": terabyte, "pattern": "last"}, engine=engine)
    assert one[0] is None
    assert "binary" in one[1]
    assert added < 16
    assert children < 1024


def test_the_hints_lead_through_a_terabyte(root, terabyte):
    calls = [{"path": terabyte, "offset": offset} for offset in (29_999, 30_001, 30_002, 30_003)]
    added, _, results = run(root, "ReadFile", *calls, {"path": terabyte, "tail": 1, "line_numbers": True})
    left_out = TERABYTE - 30_000 * 6 - 6 - 2000
    cut = "\u2400" * 2000 + f"[... {left_out} more bytes of this line: offset=30001 column=2001 limit=1]\nlast\n"
    assert results[0][1].startswith("first\nfirst\n" + cut)
    assert results[1][1].startswith(cut)
    assert results[2][1] == "last\n"
    assert "has 30002 lines" in results[3][1]
    assert results[4][1] == "30002\tlast\n"
    assert added < 4
