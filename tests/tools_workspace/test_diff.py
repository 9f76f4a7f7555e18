"""The diff of a change shows everything that differs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools_workspace import Workspace

CASES = {
    "crlf to lf": (b"a\r\nb\r\n", b"a\nb\n", ["changed f  (line endings: CRLF -> LF)"]),
    "lf to crlf": (b"a\nb\n", b"a\r\nb\r\n", ["changed f  (line endings: LF -> CRLF)"]),
    "an edit of crlf": (b"a\r\nb\r\n", b"a\r\nc\r\n", [" a", "-b", "+c"]),
    "an edit with new line endings": (
        b"a\r\nb\r\n",
        b"a\nc\n",
        ["changed f  (line endings: CRLF -> LF)", " a", "-b", "+c"],
    ),
    "one line ending": (b"a\nb\n", b"a\r\nb\n", ["-a", "+a\\r", " b"]),
    "one line ending of crlf": (b"a\r\nb\r\n", b"a\nb\r\n", ["-a\\r", "+a", " b\\r"]),
    "no newline at the end": (b"a\n", b"a", ["-a", "+a", "\\ No newline at end of file"]),
    "a newline at the end": (b"a", b"a\n", ["-a", "\\ No newline at end of file", "+a"]),
    "none at both ends": (b"a\nb", b"c\nb", ["-a", "+c", " b", "\\ No newline at end of file"]),
    "a form feed": (b"# a; b\n", b"# a\x0c b\n", ["-# a; b", "+# a\\x0c b"]),
    "a line separator": (b"# a b\n", "# a\u2028b\n".encode(), ["-# a b", "+# a\\u2028b"]),
    "a next line": (b"ab\n", "a\x85b\n".encode(), ["-ab", "+a\\x85b"]),
    "a carriage return alone": (b"ab\n", b"a\rb\n", ["-ab", "+a\\rb"]),
    "an escape": (b"ab\n", b"a\x1b[2Jb\n", ["-ab", "+a\\x1b[2Jb"]),
    "text that looks like an escape": (b"a\\r\n", b"a\r\n", None),
    "bidirectional text": (b"ab\n", "a\u202eb\n".encode(), ["-ab", "+a\\u202eb"]),
    "a byte order mark": (b"a\n", "\ufeffa\n".encode(), ["-a", "+\\ufeffa"]),
}


@pytest.mark.parametrize(("old", "new", "lines"), CASES.values(), ids=CASES)
def test_line_endings_and_control_characters_are_visible(folder, old, new, lines):
    (folder / "f").write_bytes(old)
    with Workspace(folder).copy() as copy:
        Path(copy.path, "f").write_bytes(new)
        shown = [line for line in copy.changes().diff().split("\n") if line[:3] not in ("---", "+++", "@@ ")]
    if lines is None:
        assert shown != ["changed f"]
    else:
        assert shown == lines


def test_a_newline_in_a_name_forges_no_line(folder):
    copy = Workspace(folder).copy()
    name = "a\ndeleted b\x1b[2J"
    Path(copy.path, name).write_text("x\n")
    os.symlink("x\n+y", f"{copy.path}/link\nto")
    expected = ["added a\\ndeleted b\\x1b[2J", "added link\\nto"]
    assert copy.changes().summary().split("\n") == expected
    assert all(
        line.startswith(("---", "+++ b/a\\ndeleted", "@@", "+x", "added link\\nto"))
        for line in copy.changes().diff().split("\n")
    )
    changeset = copy.apply()
    assert list(changeset.changes) == expected
    assert (folder / name).read_text() == "x\n"
