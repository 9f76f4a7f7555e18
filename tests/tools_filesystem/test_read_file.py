from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tools_core import Context
from tools_filesystem import ReadFile


def test_a_file_comes_back_as_it_is(files, root):
    text = "one\r\n\ufefftwo\n\nthrée"
    (root / "file.txt").write_bytes(text.encode())
    result = files.read.call(path="file.txt")
    assert result.output == text
    assert result.metadata["total_lines"] == 4
    assert result.metadata["truncated"] is False


def test_the_first_line_is_line_1(files, root):
    (root / "file.txt").write_text("one\ntwo\nthree\n")
    first = files.read.call(path="file.txt", offset=1, limit=1)
    assert first.output == "one\n[lines 1 to 1; there is more: read on with offset=2]"
    assert first.metadata["next"] == {"path": "file.txt", "offset": 2, "limit": 1}
    assert files.read.call(path="file.txt", offset=3).output == "three\n"


def test_following_the_hint_reads_every_line_once(files, root):
    lines = [f"line {number} {'x' * (number % 70)}\n" for number in range(7001)]
    (root / "big.txt").write_text("".join(lines))
    seen, offset = [], 1
    while offset:
        result = files.read.call(path="big.txt", offset=offset)
        more = result.metadata.get("next")
        count = result.metadata["end_line"] - offset + 1
        seen += result.output.splitlines(keepends=True)[:count]
        assert ("read on with" in result.output) is bool(more)
        assert more is None or f"offset={more['offset']}" in result.output
        offset = more and more["offset"]
    assert seen == lines


def test_one_call_shows_at_most_100_kb(files, root):
    (root / "wide.txt").write_text(("x" * 1500 + "\n") * 200)
    result = files.read.call(path="wide.txt")
    assert len(result.output) < 100_100
    assert result.metadata["next"]["offset"] == 67


def test_exactly_limit_lines_are_not_called_truncated(files, root):
    (root / "file.txt").write_text("one\ntwo\n")
    assert files.read.call(path="file.txt", limit=2).output == "one\ntwo\n"


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_line_that_is_too_long_is_cut_counted_and_passed(files, root, ending):
    (root / "file.txt").write_text("é" * 5000 + "\nshort" + ending)
    result = files.read.call(path="file.txt")
    first, second = result.output.split("\n")[:2]
    assert first == "é" * 1000 + "[... 8001 more bytes in this line]"
    assert second == "short"
    assert result.metadata["cut_lines"] == 1
    assert "not_utf8" not in result.metadata


@pytest.mark.parametrize(
    ("content", "offset", "words"),
    [
        pytest.param(b"", 1, "is empty (0 bytes)", id="empty"),
        pytest.param(b"one\ntwo", 3, "has 2 lines; offset 3 is past its end", id="past the end"),
        pytest.param(b"one\ntwo\n", 3, "has 2 lines; offset 3 is past its end", id="past the last newline"),
        pytest.param(b"\x89PNG\0\0", 1, "is a binary file (image/png, 6 bytes)", id="binary"),
    ],
)
def test_what_has_no_text_to_show_is_a_fact_and_no_error(files, root, content, offset, words):
    (root / "file.png").write_bytes(content)
    result = files.read.call(path="file.png", offset=offset)
    assert result.is_ok
    assert words in result.output


def test_bytes_that_are_not_utf8_are_shown_and_flagged(files, root):
    (root / "file.txt").write_bytes(b"caf\xe9\n")
    result = files.read.call(path="file.txt")
    assert result.output.startswith("caf\ufffd\n[")
    assert result.metadata["not_utf8"] is True


@pytest.mark.parametrize("name", ["offset", "limit"])
def test_lines_are_counted_from_1_up(files, root, name):
    (root / "file.txt").write_text("text")
    result = files.read.call({"path": "file.txt", name: 0})
    assert result.error_type == "validation_error"
    assert name in result.error_message


def test_a_miss_names_the_sibling_that_was_meant(files, root):
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("")
    (root / "README.md").write_text("")
    assert "did you mean 'src/app.py'?" in files.read.call(path="src/ap.py").error_message
    assert "did you mean 'README.md'?" in files.read.call(path="readme.md").error_message
    assert "folder 'scr' does not exist" in files.read.call(path="scr/app.py").error_message


def test_a_miss_outside_tells_nothing_of_what_is_there(files, root):
    result = files.read.call(path="../outside/secre.txt")
    assert result.error_type == "denied"
    assert "secret" not in result.error_message


def test_a_folder_is_not_read(files, root):
    (root / "folder").mkdir()
    assert files.read.call(path="folder").error_type == "not_a_file"


def test_a_file_that_nobody_may_read_is_denied(files, root):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (root / "file.txt").write_text("text")
    (root / "file.txt").chmod(0)
    assert files.read.call(path="file.txt").error_type == "denied"


def test_the_workspace_comes_from_the_tool_then_the_context_then_the_environment(root, tmp_path, monkeypatch):
    places = {name: tmp_path / name for name in ("setting", "context", "variable", "current")}
    for name, place in places.items():
        place.mkdir()
        (place / "name.txt").write_text(name)
    monkeypatch.chdir(places["current"])
    assert ReadFile().call(path="name.txt").output == "current"
    monkeypatch.setenv("ASK_TOOLS_WORKSPACE", str(places["variable"]))
    assert ReadFile().call(path="name.txt").output == "variable"
    context = Context(workspace=places["context"])
    assert ReadFile().call({"path": "name.txt"}, context=context).output == "context"
    assert ReadFile(str(places["setting"])).call({"path": "name.txt"}, context=context).output == "setting"


def test_a_workspace_that_does_not_exist_is_told(tmp_path):
    assert ReadFile(str(tmp_path / "missing")).call(path="x").error_type == "unavailable"


BOUNDED = """
import resource, sys
from tools_filesystem import ReadFile
read = ReadFile(sys.argv[1])
read.call(path="small.txt")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
calls = ({"path": "line.txt"}, {"path": "sparse"}, {"path": "log.txt", "offset": 2_000_000, "limit": 3})
results = [read.call(arguments) for arguments in calls]
added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(added, *(len(str(result)) for result in results))
"""


def test_memory_does_not_grow_with_the_file_or_its_lines(root):
    (root / "small.txt").write_text("text")
    with (root / "line.txt").open("wb") as file:
        for _ in range(200):
            file.write(b"x" * (1 << 20))
    with (root / "log.txt").open("wb") as file:
        for _ in range(400):
            file.write(b"0123456789abcdef\n" * 10_000)
    os.truncate(os.open(root / "sparse", os.O_CREAT | os.O_WRONLY), 1 << 40)
    done = subprocess.run([sys.executable, "-c", BOUNDED, root], capture_output=True, text=True, check=True)
    added, *lengths = map(int, done.stdout.split())
    assert added < 6 * 1024 * (1 if sys.platform == "linux" else 1024)  # ru_maxrss: KiB, on macOS bytes
    assert all(0 < length < 110_000 for length in lengths)


def test_no_descriptor_is_left_open(files, root):
    (root / "file.txt").write_text("text")
    files.read.call(path="file.txt")
    before = os.dup(0)
    os.close(before)
    for path in ("file.txt", "missing", "../out", "file.txt/x", "."):
        for _ in range(20):
            files.read.call(path=path)
            files.list.call(path=path)
            files.write.call(path=path, content="x")
    after = os.dup(0)
    os.close(after)
    assert after == before
