from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tools_filesystem import EditFile, Workspace


@pytest.fixture
def edit(root):
    return EditFile(Workspace(root)).call


@pytest.fixture
def file(root):
    return root / "file.txt"


def test_one_exact_place_is_replaced_and_shown(edit, file):
    file.write_text("one\ntwo\nthree\nfour\nfive\nsix\n")
    result = edit(path="file.txt", old_string="five", new_string="5")
    assert file.read_text() == "one\ntwo\nthree\nfour\n5\nsix\n"
    assert result.metadata == {"path": "file.txt", "replacements": 1, "lines": [5], "dry_run": False}
    head, _, diff = result.output.partition("\n")
    assert head == "Changed 1 place of 'file.txt' (line 5):"
    assert diff == "--- file.txt\n+++ file.txt\n@@ -2,5 +2,5 @@\n two\n three\n four\n-five\n+5\n six"


def test_an_ambiguous_edit_names_the_lines_of_all_matches(edit, file):
    file.write_text("a\nb\na\nb\na")
    result = edit(path="file.txt", old_string="a", new_string="x")
    assert result.error_type == "conflict"
    assert "3 matches, on lines 1, 3, 5;" in result.error
    assert file.read_text() == "a\nb\na\nb\na"


def test_matches_that_overlap_are_not_unique_either(edit, file):
    file.write_text("aaa")
    assert "2 matches" in edit(path="file.txt", old_string="aa", new_string="x").error
    assert edit(path="file.txt", old_string="aa", new_string="x", replace_all=True).metadata["replacements"] == 1
    assert file.read_text() == "xa"


def test_replace_all_replaces_every_match(edit, file):
    file.write_text("aXbXc" * 3000)
    result = edit(path="file.txt", old_string="X", new_string="--", replace_all=True)
    assert file.read_text() == "a--b--c" * 3000
    assert result.metadata["replacements"] == 6000
    assert len(result.output) < 2000


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"new_string": "a"},
        {"old_string": "a"},
        {"old_string": "", "new_string": "a"},
        {"old_string": "a", "new_string": "a"},
        {"edits": [{"old_string": "a", "new_string": "b"}]},
    ],
    ids=str,
)
def test_both_strings_are_required_and_differ(edit, file, arguments):
    file.write_text("a")
    assert edit({"path": "file.txt", **arguments}).error_type == "validation_error"
    assert EditFile().input_schema["required"] == ["path", "old_string", "new_string"]
    assert file.read_text() == "a"


@pytest.mark.parametrize("text", ["a\\0b", "C:\\\\dir", "\\1\\g<0>\\n", "$1 $& ${x}", "%s {0}", "a\x00b", "\\"])
def test_every_text_is_literal(edit, file, text):
    file.write_text("<old> .* [a-z]+ (x) old2")
    assert edit(path="file.txt", old_string="old>", new_string=text).ok
    assert file.read_text() == f"<{text} .* [a-z]+ (x) old2"
    assert edit(path="file.txt", old_string=text, new_string="$0").ok
    assert edit(path="file.txt", old_string=".* [a-z]+ (x)", new_string="").ok
    assert file.read_text() == "<$0  old2"


def test_a_dry_run_returns_the_diff_without_writing(edit, file):
    file.write_text("one\ntwo\n")
    before = file.stat()
    dry = edit(path="file.txt", old_string="two", new_string="2", dry_run=True)
    assert os.path.samestat(file.stat(), before)
    assert file.read_text() == "one\ntwo\n"
    assert os.listdir(file.parent) == ["file.txt"]
    real = edit(path="file.txt", old_string="two", new_string="2")
    assert dry.output.partition("\n")[2] == real.output.partition("\n")[2]
    assert "nothing was written" in dry.output


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        pytest.param(b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n", id="LF means CRLF"),
        pytest.param(b"a\r\nb\r\nc\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\nc\r\n", id="CRLF as given"),
        pytest.param(b"a\r\nb\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\n", id="new lines in a CRLF file"),
        pytest.param(b"a\r\nb", "b", "x\ny", b"a\r\nx\r\ny", id="in its last line"),
        pytest.param(b"a\r\nb\nc\r\nd\n", "b\n", "x\ny\n", b"a\r\nx\ny\nc\r\nd\n", id="mixed: an LF line"),
        pytest.param(b"a\r\nb\nc\r\nd\n", "c\nd", "x\ny", b"a\r\nb\nx\r\ny\n", id="mixed: across a CRLF"),
        pytest.param(b"a\r\nb\nc\r\nd\n", "b\nc\nd", "x\ny", b"a\r\nx\ny\n", id="mixed: across both"),
        pytest.param(b"a\r\nb\nc\r\nd\n", "c\n", "x\ny\n", b"a\r\nb\nx\r\ny\r\nd\n", id="mixed: a CRLF line"),
        pytest.param(b"a\r\nb\nc\r\nd\n", "d", "x\ny", b"a\r\nb\nc\r\nx\ny\n", id="mixed: inside an LF line"),
        pytest.param(b"a\rb\rc\n", "b", "x", b"a\rx\rc\n", id="lone CR"),
        pytest.param(b"\xef\xbb\xbfa\nb\n", "a", "x", b"\xef\xbb\xbfx\nb\n", id="BOM"),
        pytest.param(b"\xef\xbb\xbfa\nb\n", "\ufeffa", "x", b"x\nb\n", id="the BOM itself"),
        pytest.param("\ufeffa\nb".encode("utf-16-le"), "\ufeffa\nb", "\ufeffx", "\ufeffx".encode("utf-16-le"),
                     id="a whole file with its BOM"),
        pytest.param(b"a\r\nb\r\n", "a\nb", "a\r\nb", b"", id="CRLF for LF is no change in a CRLF file"),
        pytest.param("\ufeffé\r\nb\r\n".encode("utf-16-le"), "é\nb", "ü\n€", "\ufeffü\r\n€\r\n".encode("utf-16-le"),
                     id="UTF-16 little"),
        pytest.param("\ufeffaé\nb".encode("utf-16-be"), "é", "𝄞", "\ufeffa𝄞\nb".encode("utf-16-be"), id="UTF-16 big"),
        pytest.param("\ufeffaé".encode("utf-32-le"), "é", "x", "\ufeffax".encode("utf-32-le"), id="UTF-32"),
        pytest.param("\ufeff\u6100\u4200a".encode("utf-16-le"), "a", "b", "\ufeff\u6100\u4200b".encode("utf-16-le"),
                     id="UTF-16: no half characters"),
        pytest.param(b"\xc3\xa9 \xc3\xbc old \xe9", "\xfc old", "\xe0", b"\xc3\xa9 \xc3\xa0 \xe9", id="broken UTF-8"),
        pytest.param(b"caf\xe9 old \x80\xff", "old", "new", b"caf\xe9 new \x80\xff", id="not UTF-8"),
        pytest.param(b"caf\xe9 old", "caf\xe9", "th\xe9", b"th\xe9 old", id="Windows-1252 as displayed"),
        pytest.param(b"caf\xe9 old", "old", "\u20ac", b"caf\xe9 \x80", id="Windows-1252, a new character"),
        pytest.param(b"caf\xe9 old", "old", "\u4e2d", b"", id="Windows-1252 has no such character"),
        pytest.param(b"\x00\x01old\xff\xfe\x00", "old", "new", b"\x00\x01new\xff\xfe\x00", id="binary"),
        pytest.param(b"\x00\x01old\xff\xfe\x00", "old", "n\xe9w", b"", id="binary has no characters"),
        pytest.param("é \u2028 old\x0c\x85".encode(), "old", "new", "é \u2028 new\x0c\x85".encode(), id="odd spaces"),
        pytest.param(b"no newline", "newline", "end\n", b"no end\n", id="a last newline is added"),
        pytest.param(b"end\n", "end\n", "end", b"end", id="a last newline is removed"),
    ],
)  # fmt: skip
def test_outside_the_match_no_byte_changes(edit, file, content, old, new, expected):
    file.write_bytes(content)
    result = edit(path="file.txt", old_string=old, new_string=new)
    assert file.read_bytes() == (expected or content)
    assert result.ok is bool(expected)


OLD, NEW = "old\ntext", "new\ntext"
WAYS = {
    "utf-8": (b"", "utf-8"),
    "utf-8 with BOM": (b"\xef\xbb\xbf", "utf-8"),
    "utf-16-le": (b"\xff\xfe", "utf-16-le"),
    "utf-16-be": (b"\xfe\xff", "utf-16-be"),
}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    before=st.binary(max_size=300),
    after=st.binary(max_size=300),
    way=st.sampled_from(sorted(WAYS)),
    ending=st.sampled_from(["\n", "\r\n"]),
)
@example(before=b"\xff\xff", after=b"\r\n\r\n\n", way="utf-8", ending="\r\n")
def test_bytes_around_the_match_do_not_change(before, after, way, ending):
    mark, codec = WAYS[way]
    width = len("a".encode(codec))
    old, new = (text.replace("\n", ending).encode(codec) for text in (OLD, NEW))
    before = mark + before[: len(before) // width * width]
    content = before + old + after
    if content.count(old) > 1 or (not mark and content.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"))):
        return
    if ending == "\r\n" and OLD.encode(codec) in content:
        return
    with TemporaryDirectory() as folder:
        Path(folder, "file").write_bytes(content)
        result = EditFile(folder).call(path="file", old_string=OLD, new_string=NEW)
        if mark and "that are not utf-" in str(result.error):
            return
        assert result.ok, result
        assert Path(folder, "file").read_bytes() == before + new + after


@pytest.mark.parametrize(
    ("content", "old", "words"),
    [
        pytest.param("if x:\n\treturn  1\n", "if x:\n    return 1", "line 2 is '\\treturn  1', but", id="tab"),
        pytest.param(
            "x\n  a\n\ta\n    a\n", "     a\n", "3 places are alike, on lines 2, 3, 4: the ind", id="indentation"
        ),
        pytest.param("\u201ca\u201d '\u201ca\u201d\n", '"a"', "2 places are alike, on lines 1, 1: quotes", id="quotes"),
        pytest.param("Hello World\n", "hello world", "which differs only in case", id="case"),
        pytest.param(
            "x\na =  1\n",
            "a = 1",
            "line 2 is 'a =  1', but old_string has 'a = 1', which differs only in white space",
            id="inner spaces",
        ),
        pytest.param("a\none\ntwo\n", "2\tone\n4\ttwo", "line 2 is 'one', but old_string has '2\\tone'", id="numbers"),
        pytest.param("a\none", "one\n", "the file ends before line 3", id="newline at the end"),
        pytest.param("a\nvalue = compute(1)\n", "value = compute(2)", "line 2 is 'value = compute(1)'", id="similar"),
        pytest.param("a\nb\nc\nd\n", "b\nc\nX", "line 4 is 'd', but old_string has 'X'", id="a later line"),
        pytest.param("a\nb", "b\nc\nd", "the file ends before line 3, where old_string has 'c'", id="past the end"),
        pytest.param("x\nthe new text\n", "the old text", "line 2 is 'the new text'", id="by chance"),
        pytest.param("\tSay  \u2018x\u2019\n", "say 'x'", "differs only in case, quotes or spaces", id="several"),
        pytest.param(
            "éa\udcff b\n", "éa\ufffd b", "line 1 has bytes there that are not text", id="a byte that is not text"
        ),
        pytest.param("abc\n", "12345", "no line resembles it", id="nothing alike"),
        pytest.param("", "12345", "no line resembles it", id="empty file"),
    ],
)
def test_a_missing_text_names_the_closest_line_and_the_difference(edit, file, content, old, words):
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    result = edit(path="file.txt", old_string=old, new_string="the new text")
    assert result.error_type == "conflict"
    assert words in result.error
    assert len(result.error) < 700
    assert file.read_bytes() == content.encode("utf-8", "surrogateescape")


@settings(max_examples=100)
@given(
    content=st.text("aA \t\n\r'\u2019\"b\\n1:", max_size=60),
    old=st.text("aA \t\n\r'\u2019\"b\\n1:", min_size=1, max_size=20),
)
def test_any_miss_is_explained(content, old):
    with TemporaryDirectory() as folder:
        Path(folder, "file").write_bytes(content.encode())
        result = EditFile(folder).call(path="file", old_string=old, new_string="something new")
        assert result.ok or result.error_type == "conflict"


def test_a_file_without_end_is_refused(edit, file):
    with file.open("wb") as out:
        out.truncate(1 << 40)
    assert edit(path="file.txt", old_string="x", new_string="y").error_type == "limit_exceeded"
    assert file.stat().st_size == 1 << 40


def test_more_places_than_memory_allows_are_refused(edit, file):
    file.write_text("a" * 1_000_000 + "b" * 60_000)
    for arguments in ({"old_string": "a"}, {"old_string": "a", "replace_all": True}):
        assert edit(path="file.txt", **arguments, new_string="c").error_type == "limit_exceeded"


@pytest.mark.slow
def test_many_places_in_one_long_line_take_no_long_time(edit, file):
    file.write_text("b" * 5_000_000 + "a" * 90_000 + "\r\n")
    for new in ("c", "\n"):
        result = edit(path="file.txt", old_string="a", new_string=new, replace_all=True, dry_run=True)
        assert result.metadata["replacements"] == 90_000


@pytest.mark.parametrize("kind", ["missing", "missing/file.txt", "folder", "pipe", "../outside/secret.txt", "out"])
def test_edits_of_missing_or_special_paths_create_no_files(edit, root, kind, resolver):
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    (root / "out").symlink_to("../outside/secret.txt")
    expected = {"folder": "not_a_file", "pipe": "not_a_file", "out": "denied", "../outside/secret.txt": "denied"}
    touched = root.stat().st_ctime_ns
    result = edit(path=kind, old_string="secret", new_string="x")
    assert root.stat().st_ctime_ns == touched
    assert result.error_type == expected.get(kind, "not_found")
    assert sorted(os.listdir(root)) == ["folder", "out", "pipe"]
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"


def test_a_read_only_root_is_not_edited(root, file):
    file.write_text("old")
    tool = EditFile(Workspace(root, read_only=True))
    assert tool.call(path="file.txt", old_string="old", new_string="new").error_type == "denied"
    assert file.read_text() == "old"


def test_edits_follow_symlinks_and_detach_hard_links(edit, root):
    (root / "file.txt").write_text("old")
    (root / "link").symlink_to("file.txt")
    assert edit(path="link", old_string="old", new_string="new").ok
    assert (root / "link").is_symlink()
    assert (root / "file.txt").read_text() == "new"
    os.link(root.parent / "outside" / "secret.txt", root / "hard")
    result = edit(path="hard", old_string="secret", new_string="x")
    assert "its other hard links keep the old content: 1" in result.output
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"


def test_the_mode_stays_but_for_set_id_bits(edit, file):
    file.write_text("old")
    file.chmod(0o6751)
    edit(path="file.txt", old_string="old", new_string="new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o751


def test_a_read_only_file_is_not_replaced(edit, file):
    file.write_text("old")
    file.chmod(0o444)
    result = edit(path="file.txt", old_string="old", new_string="new")
    assert result.error_type == "denied"
    assert "read-only (mode 0444)" in result.error
    assert file.read_text() == "old"
