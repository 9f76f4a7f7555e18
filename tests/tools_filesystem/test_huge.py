"""Lines of gigabytes and a file of a terabyte are read and searched in bounded memory."""

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


@pytest.fixture(params=["auto", "own"])
def engine(request):
    """That of rg, which leaves to the other what it cannot do in the memory that it is given; and the other."""
    if request.param == "auto" and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    if request.param == "own":
        pytest.importorskip("re2", reason="google-re2 is not installed")
    return request.param


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
