"""Memory and work depend on what is shown, whatever is in the workspace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from tools_filesystem import ReadFile

GIGABYTE = 1 << 30
TERABYTE = 1 << 40
BOUNDED = """
import json, pathlib, resource, sys
import tools_filesystem
name, calls = sys.argv[2], json.loads(sys.argv[3])
small = pathlib.Path(sys.argv[1], "small")
small.mkdir()
(small / "small.txt").write_text("small")
tool = getattr(tools_filesystem, name)(sys.argv[1])
for call in calls:  # what is loaded when it is used first
    tool.call({**call, "path": "small/small.txt" if name == "ReadFile" else "small"})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
results = [tool.call(call) for call in calls]
added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
added //= 1 if sys.platform == "linux" else 1024  # KiB, on macOS bytes
print(json.dumps([added, [[str(result), dict(result.metadata)] for result in results]]))
"""


def run(root, name, *calls):
    """What the calls give in a process of their own, and the most memory that they added, in MB."""
    command = [sys.executable, "-c", BOUNDED, str(root), name, json.dumps(calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    added, results = json.loads(done.stdout)
    return added / 1024, results


def sparse(path, size, **parts):
    """A file of `size` bytes that is a hole but for some parts, given as `at_POSITION`."""
    with open(path, "wb") as file:
        os.truncate(file.fileno(), size)
        for position, data in parts.items():
            os.pwrite(file.fileno(), data, int(position.removeprefix("at_")) % size)


@pytest.mark.slow
def test_a_terabyte_that_is_a_hole_is_read_at_both_ends(root):
    start, end = b"first\nsecond" + b"." * 70_000, b"\nlast but one\nlast\n"
    sparse(root / "hole", TERABYTE, **{"at_0": start, f"at_{TERABYTE - len(end)}": end})
    calls = ({"limit": 1}, {}, {"offset": 3}, {"tail": 2}, {"tail": 3}, {"tail": 1, "line_numbers": True})
    added, results = run(root, "ReadFile", *({"path": "hole", **call} for call in calls))
    head, whole, third, tail, longer, numbered = (text for text, _ in results)
    assert head.startswith("first\n[")
    left_out = TERABYTE - len(end) - len("first\n") - 2000
    assert f"[... {left_out} more bytes of this line: offset=2 column=2001 limit=1]\nlast but one\nlast\n" in whole
    assert third == tail == "last but one\nlast\n"
    assert "of this line: offset=2 column=2001 limit=1]\nlast but one\nlast\n" in longer
    assert numbered == "4\tlast\n"
    assert added < 4


@pytest.mark.slow
def test_nothing_but_a_hole_is_binary(root):
    sparse(root / "hole", TERABYTE)
    added, results = run(root, "ReadFile", {"path": "hole"}, {"path": "hole", "tail": 5})
    assert all(facts["binary"] for _, facts in results)
    assert added < 4


@pytest.mark.slow
def test_one_line_of_three_gigabytes_is_read_piece_by_piece(root):
    size = 3 << 30
    sparse(
        root / "line", size, at_0=b"x" * 200_000, at_1000000000=b"middle" + b"y" * 200_000, **{f"at_{size - 3}": b"end"}
    )
    calls = ({}, {"column": 2001}, {"column": 1_000_000_001, "limit": 1}, {"column": size - 2}, {"tail": 1})
    added, results = run(root, "ReadFile", *({"path": "line", **call} for call in calls))
    first, second, middle, end, tail = results
    assert first[0].startswith(
        "x" * 2000 + f"[... {size - 2000} more bytes of this line: offset=1 column=2001 limit=1]"
    )
    assert second[1]["next"] == {"path": "line", "offset": 1, "column": 102_001, "limit": 2000}
    assert middle[0].startswith("middleyyy")
    assert end[0] == "end"
    assert tail[0].startswith(first[0][:2000])
    assert added < 4


@pytest.mark.slow
def test_the_middle_of_a_large_log_is_read_in_the_memory_of_its_lines(root):
    with (root / "log").open("wb") as file:
        for _ in range(500):
            file.write(b"0123456789abcdef0123456789\n" * 10_000)
        file.write(b"z" * (100 << 20))
    calls = ({"offset": 4_000_000, "limit": 3}, {"offset": 5_000_001}, {"offset": 6_000_000}, {"tail": 2})
    added, results = run(root, "ReadFile", *({"path": "log", **call} for call in calls))
    assert [len(text) < 3000 for text, _ in results] == [True] * 4
    assert results[2][1]["total_lines"] == 5_000_001
    assert results[3][1]["cut_lines"][0]["offset"] == 5_000_001
    assert added < 4


@pytest.mark.slow
def test_the_hints_lead_through_a_file_beyond_four_gigabytes(root):
    head = [f"{number:099}" for number in range(10_000)]
    tail = [f"{number:099}" for number in range(10_000, 20_000)]
    end = "\n" + "\n".join(tail)
    size = 5 * GIGABYTE
    sparse(root / "big", size, at_0="\n".join(head).encode() + b"\nhole", **{f"at_{size - len(end)}": end.encode()})
    lines, arguments, read = [], {"path": "big"}, ReadFile(root)
    while arguments:
        result = read.call(arguments)
        assert result.metadata["start_line"] == len(lines) + 1
        lines += result.output.split("\n")[: result.metadata["lines"]]
        arguments = result.metadata.get("next")
    hole = size - len(head) * 100 - len(end)
    assert lines[:10_000] == head
    assert lines[10_000].startswith("hole" + "\u2400" * 1996)
    assert lines[10_000].endswith(f"[... {hole - 2000} more bytes of this line: offset=10001 column=2001 limit=1]")
    assert lines[10_001:] == tail
    last = read.call(path="big", offset=10_001, column=hole - 5, limit=1)
    assert last.output.startswith("\u2400" * 6 + "\n[")
    assert last.metadata["next"] == {"path": "big", "offset": 10_002, "limit": 1}


@pytest.mark.slow
def test_lines_beyond_gigabytes_are_reached_in_bounded_memory(root):
    if shutil.disk_usage(root).free < 12 * GIGABYTE or not hasattr(os, "posix_fallocate"):
        pytest.skip("here is no room for a file of 5 GB")
    end = b"\n" + b"".join(b"%099d\n" % number for number in range(3, 20_003))
    with (root / "big").open("wb") as file:  # no hole in it: all of it has to be looked through
        os.posix_fallocate(file.fileno(), 0, 5 * GIGABYTE)
        file.write(b"1\n" * 5000 + b"2")
        file.seek(-len(end), os.SEEK_END)
        file.write(end)
    beyond = {"path": "big", "offset": 5002, "limit": 3}
    added, results = run(root, "ReadFile", *[beyond] * 4, {**beyond, "offset": 25_001, "limit": 9})
    (root / "big").unlink()
    assert results[3][0].splitlines()[:3] == [f"{number:099}" for number in (3, 4, 5)]  # the fourth, on a slow machine
    assert results[3][1]["next"] == {**beyond, "offset": 5005}
    assert results[4][0] == f"{20_002:099}\n"
    assert added < 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ListDirectory", "DirectoryTree"])
def test_a_folder_of_100_000_entries_is_listed_in_the_memory_of_what_is_shown(root, name):
    folder = root / "many"
    folder.mkdir()
    for number in range(100_000):
        os.close(os.open(folder / f"{number:06}", os.O_CREAT))
    calls = [{"path": "many", "limit": 5}, {"path": "many"}]
    if name == "ListDirectory":
        calls += [{"path": "many", "limit": 5, "after": "099990"}, {"path": "many", "limit": 5, "sort": "size"}]
    added, results = run(root, name, *calls)
    assert results[0][1]["total"] == 100_000
    assert results[1][1]["left_out"] == 99_000
    assert added < 4
    if name == "ListDirectory":
        assert results[2][0].splitlines()[0] == "099991 (0 bytes)"
        assert results[2][1] == {"total": 9, "left_out": 4, "next": {**calls[2], "depth": 1, "after": "099995"}}
