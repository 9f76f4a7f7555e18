from __future__ import annotations

import asyncio
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import Context
from tools_filesystem import Ledger, ReadFile, Workspace
from tools_filesystem._ledger import Stamp


def test_a_file_comes_back_as_it_is(files, root):
    text = "one \n\ufefftwo\u2028\x0c\n\nthrée\r"
    (root / "file.txt").write_bytes(text.encode())
    result = files.read.call(path="file.txt")
    assert result.output == text
    assert result.metadata["total_lines"] == 4
    assert result.metadata["truncated"] is False
    assert result.metadata["final_newline"] is False


def test_line_numbers_are_put_in_front_when_asked_for(files, root):
    (root / "file.txt").write_text("one\n\nthree")
    assert files.read.call(path="file.txt", line_numbers=True, offset=2).output == "2\t\n3\tthree"
    assert files.read.call(path="file.txt", line_numbers=True, tail=1).output == "3\tthree"


def test_crlf_is_shown_as_lf_and_told(files, root):
    (root / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (root / "mixed.txt").write_bytes(b"one\r\ntwo\n")
    result = files.read.call(path="crlf.txt")
    assert result.output == "one\ntwo\n[line endings are CRLF, shown as LF]"
    assert result.metadata["line_endings"] == "crlf"
    assert files.read.call(path="mixed.txt").metadata["line_endings"] == "mixed"
    assert (root / "crlf.txt").read_bytes() == b"one\r\ntwo\r\n"


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


def test_what_is_said_of_lines_that_are_cut_counts_too(files, root):
    (root / "wide.txt").write_text(("x" * 3000 + "\n") * 100)
    result = files.read.call(path="wide.txt", line_numbers=True)
    assert len(result.output) < 100_100
    assert result.metadata["size"] == 300_100


def test_exactly_limit_lines_are_not_called_truncated(files, root):
    (root / "file.txt").write_text("one\ntwo\n")
    assert files.read.call(path="file.txt", limit=2).output == "one\ntwo\n"


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_line_that_is_too_long_is_cut_counted_and_passed(files, root, ending):
    (root / "file.txt").write_text("é" * 5000 + "\nshort" + ending)
    result = files.read.call(path="file.txt")
    first, second = result.output.split("\n")[:2]
    assert first == "é" * 1000 + "[... 8000 more bytes of this line: offset=1 column=2001 limit=1]"
    assert second == "short"
    assert result.metadata["cut_lines"] == [{"path": "file.txt", "offset": 1, "column": 2001, "limit": 1}]
    rest = files.read.call(result.metadata["cut_lines"][0])
    assert rest.output.split("\n")[0] == "é" * 4000


def test_a_column_inside_a_character_begins_with_that_character(files, root):
    (root / "file.txt").write_text("aé\U0001f600z\nb")
    shown = [files.read.call(path="file.txt", column=column, limit=1).output[0] for column in range(1, 9)]
    assert shown == ["a", "é", "é", *["\U0001f600"] * 4, "z"]


def test_a_column_behind_the_end_of_the_line_is_a_fact(files, root):
    (root / "file.txt").write_text("one\ntwo")
    for offset in (1, 2):
        result = files.read.call(path="file.txt", offset=offset, column=5)
        assert result.ok
        assert f"line {offset} of 'file.txt' ends before byte 5" in result.output


def test_a_tail_reads_the_end_whatever_is_before_it(files, root):
    (root / "log.txt").write_text("".join(f"line {number}\n" for number in range(100_000)))
    result = files.read.call(path="log.txt", tail=2)
    assert result.output == "line 99998\nline 99999\n"
    assert result.metadata["truncated"] is False
    assert files.read.call(path="log.txt", tail=2, offset=5).error_type == "validation_error"


def test_what_was_shown_and_has_not_changed_is_not_repeated_when_asked_so(files, root):
    file = root / "file.txt"
    file.write_text("".join(f"{number}\n" for number in range(50)))
    assert "unchanged" not in files.read.call(path="file.txt", limit=10, if_changed=True).metadata
    assert files.read.call(path="file.txt", limit=10).output.startswith("0\n")
    again = files.read.call(path="file.txt", limit=10, if_changed=True)
    assert again.metadata["unchanged"] is True
    assert "9\n" not in again.output
    assert "unchanged" not in files.read.call(path="file.txt", limit=11, if_changed=True).metadata
    before = file.stat()
    file.write_text(file.read_text().replace("0", "X"))  # of the same size, and seemingly of the same time
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert files.read.call(path="file.txt", limit=10, if_changed=True).output.startswith("X\n")


def test_the_ledger_knows_the_bytes_that_were_shown_and_no_others(root):
    workspace = Workspace(root)
    read = ReadFile(workspace)
    file = root / "file.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\n" + b"x" * 3000 + b"\nthree\n")
    stamp = Stamp.of(file.stat())
    read.call(path="file.txt", tail=1)
    assert workspace.ledger.shown_of(stamp) == [(3009, 3015)]
    assert not workspace.ledger.covers(stamp)
    read.call(path="file.txt")
    assert workspace.ledger.shown_of(stamp) == [(0, 2008), (3009, 3015)]
    read.call(path="file.txt", offset=99)
    assert not workspace.ledger.covers(stamp)
    read.call(path="file.txt", offset=2, column=2001, limit=1)
    assert workspace.ledger.covers(stamp)


def test_what_was_shown_before_a_change_does_not_count_after_it(root):
    workspace, file = Workspace(root), root / "file.txt"
    file.write_text("one\ntwo\n")
    ReadFile(workspace).call(path="file.txt", limit=1)
    file.write_text("ONE\ntwo\nthree\n")
    ReadFile(workspace).call(path="file.txt", offset=2)
    assert workspace.ledger.shown_of(Stamp.of(file.stat())) == [(4, 14)]
    assert not workspace.ledger.covers(Stamp.of(file.stat()))


def test_a_session_with_a_ledger_of_its_own_shares_it_with_nobody(root):
    own, workspace = Ledger(), Workspace(root)
    (root / "file.txt").write_text("text")
    ReadFile(workspace).call({"path": "file.txt"}, Context(state={"file_ledger": own}))
    stamp = Stamp.of((root / "file.txt").stat())
    assert own.covers(stamp)
    assert not workspace.ledger.covers(stamp)


def test_what_is_not_shown_as_it_is_does_not_count_as_read(root):
    workspace = Workspace(root)
    (root / "file.txt").write_bytes("né".encode() * 9 + b"\xff")
    result = ReadFile(workspace).call(path="file.txt")
    assert result.metadata["undecodable"] is True
    assert workspace.ledger.shown_of(Stamp.of((root / "file.txt").stat())) == []


def test_a_version_is_told_when_all_of_the_file_was_shown(files, root):
    (root / "file.txt").write_text("one\ntwo\n")
    whole = files.read.call(path="file.txt").metadata["version"]
    assert whole == hashlib.sha256(b"one\ntwo\n").hexdigest()[:16]
    assert "version" not in files.read.call(path="file.txt", limit=1).metadata


@pytest.mark.parametrize(
    ("content", "offset", "words"),
    [
        pytest.param(b"", 1, "is empty (0 bytes)", id="empty"),
        pytest.param(b"one\ntwo", 3, "has 2 lines; offset 3 is past its end", id="past the end"),
        pytest.param(b"one\ntwo\n", 3, "has 2 lines; offset 3 is past its end", id="past the last newline"),
        pytest.param(b"\x89PNG\0\0", 1, "is a binary file (image/png, 6 bytes)", id="binary"),
        pytest.param(b"\x1f\x8b\x08\0\0", 1, "is a binary file (application/gzip, 5 bytes)", id="binary by content"),
        pytest.param(bytes(range(1, 256)), 1, "is a binary file (image/png, 255 bytes)", id="binary without NUL"),
        pytest.param(b"%PDF-1.7\n", 1, "is a PDF (9 bytes): read_media_file hands it over", id="PDF"),
        pytest.param(b"\xef\xbb\xbf", 1, "is empty (3 bytes)", id="nothing but a mark"),
    ],
)
def test_what_has_no_text_to_show_is_a_fact_and_no_error(files, root, content, offset, words):
    (root / "file.png").write_bytes(content)
    result = files.read.call(path="file.png", offset=offset)
    assert result.ok
    assert words in result.output


@pytest.mark.parametrize("name", ["offset", "limit", "column", "tail"])
def test_lines_are_counted_from_1_up(files, root, name):
    (root / "file.txt").write_text("text")
    result = files.read.call({"path": "file.txt", name: 0})
    assert result.error_type == "validation_error"
    assert name in result.error


def test_a_miss_names_the_sibling_that_was_meant(files, root):
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("")
    (root / "README.md").write_text("")
    assert "did you mean 'src/app.py'?" in files.read.call(path="src/ap.py").error
    message = files.read.call(path="scr/app.py").error
    assert message == "no 'scr/app.py', because there is no folder 'scr'; did you mean 'src/app.py'?"
    assert "did you mean 'src'?" in files.read.call(path="scr/new.py").error
    assert files.read.call(path="zzz").error == "no 'zzz'; list_directory shows what is in '.'"


def test_a_miss_names_the_same_path_in_another_root(root, tmp_path):
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "file.txt").write_text("text")
    message = ReadFile(Workspace(root, tmp_path / "second")).call(path="file.txt").error
    assert f"did you mean '{tmp_path}/second/file.txt'?" in message


def test_a_miss_beside_what_cannot_be_gone_into_is_a_miss(files, root):
    (root / "file1").write_text("")
    (root / "link1").symlink_to(root.parent / "outside")
    for path in ("file2/x", "link2/secret.txt"):
        assert files.read.call(path=path).error_type == "not_found"


def test_a_miss_outside_tells_nothing_of_what_is_there(files, root):
    result = files.read.call(path="../outside/secre.txt")
    assert result.error_type == "denied"
    assert "secret" not in result.error


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


def test_many_reads_at_once_each_get_their_own(files, root):
    for number in range(40):
        (root / f"{number}.txt").write_text(f"{number}\n" * 500)
    wanted = [{"path": f"{number}.txt", "offset": 7, "limit": 3} for number in range(40)] * 5
    with ThreadPoolExecutor(16) as pool:
        in_threads = [result.output for result in pool.map(files.read.call, wanted)]

    async def all_of_them():
        return [result.output for result in await asyncio.gather(*map(files.read.acall, wanted))]

    for outputs in (in_threads, asyncio.run(all_of_them())):
        assert [output[: output.index("[")] for output in outputs] == [f"{n}\n" * 3 for n in range(40)] * 5


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
