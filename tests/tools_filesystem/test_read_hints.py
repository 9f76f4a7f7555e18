"""Who does just what the hints say has read the whole file, whatever is in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_filesystem import ReadFile

CUT = re.compile(r"\[\.\.\. (?:\d+ more bytes|more) of this line: offset=(\d+) column=(\d+) limit=1\]")
MOST_CALLS = 2000


class Reader:
    """Follows the hints that are printed, and makes sure that the metadata says the same."""

    def __init__(self, root):
        self.read = ReadFile(str(root))
        self.calls = 0
        self.first = self.last = None

    def lines(self, arguments):
        """The lines of one call, those that were cut without their hint; and where the last line and the file go on."""
        self.calls += 1
        assert self.calls < MOST_CALLS, "the hints lead in a circle"
        result = self.read.call(arguments)
        assert result.ok, result
        facts = result.metadata
        self.first = self.first or facts
        self.last = facts
        text = result.output
        if note := facts.get("note"):
            assert text.endswith(f"[{note}]")
            text = text.removesuffix(f"[{note}]")
            if facts.get("final_newline") is False:
                text = text.removesuffix("\n")
        lines = text.split("\n")
        cut = {}
        for known in facts.get("cut_lines", ()):
            at = known["offset"] - facts["start_line"]
            found = list(CUT.finditer(lines[at]))[-1]
            assert [int(number) for number in found.groups()] == [known["offset"], known["column"]]
            assert found.end() == len(lines[at])
            lines[at] = lines[at][: found.start()]
            cut[at] = known
        following = facts.get("next")
        if following:
            where = "".join(f" {name}={following[name]}" for name in ("offset", "column") if name in following)
            assert facts["note"].count(f"read on with{where}")
        return lines, cut, following

    def rest_of_line(self, arguments):
        text = ""
        while True:
            lines, cut, following = self.lines(arguments)
            text += lines[0]
            if not cut:
                return text
            arguments = following

    def whole(self, path):
        out = []
        arguments = {"path": path}
        while arguments:
            lines, cut, arguments = self.lines(arguments)
            ends_in_cut = arguments is not None and "column" in arguments
            if ends_in_cut:  # behind the hint there is a newline of its own
                lines.pop()
                cut.pop(len(lines) - 1)
            for at, known in cut.items():
                lines[at] += self.rest_of_line(known)
            out.append("\n".join(lines))
        return "".join(out)


characters = st.sampled_from(list("a \r\t\x0c]") + list("é€\U0001f600\ufeff\u2028\u0a0a"))
lengths = st.sampled_from([1, 1, 1, 2, 400, 999, 2100])
lines = st.builds(lambda unit, times: unit * times, st.text(characters, max_size=7), lengths)
blocks = st.builds(
    lambda lines: "".join(line + ending for line, ending in lines),
    st.lists(st.tuples(lines, st.sampled_from(["\n", "\r\n"])), max_size=12),
)
many = st.sampled_from([1, 1, 2, 15])  # more lines than a call may show
texts = st.builds(lambda block, times, last: block * times + last, blocks, many, lines)
here = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)


@pytest.mark.slow
@here
@given(text=texts, encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-be"]))
def test_following_the_hints_gives_the_text_of_the_file(root, text, encoding):
    text = text.lstrip("\ufeff") or "x"
    mark = "\ufeff" if encoding.endswith("-be") else ""
    data = (mark + text).encode(encoding)
    (root / "file.txt").write_bytes(data)
    reader = Reader(root)
    assert reader.whole("file.txt") == text.replace("\r\n", "\n")


pieces = st.builds(
    lambda unit, times: unit * times,
    st.sampled_from(
        [
            b"abc",
            b"\n",
            b"\r\n",
            b"\r",
            b"\xc3\xa9",
            b"\xf0\x9f\x98\x80",
            b"\x80",
            b"\xe2\x82",
            b"\xf0\x90",
            b"\xff",
            b"\xe9 ",
        ]
    ),
    st.sampled_from([1, 1, 2, 3, 5, 1999, 2003]),
)


@pytest.mark.slow
@here
@given(
    data=st.lists(pieces, min_size=1, max_size=40).map(b"".join), settled=st.sampled_from([b"\xc3\xa9" * 9, b"\xe9"])
)
def test_following_the_hints_gives_any_bytes_as_the_named_encoding_has_them(root, data, settled):
    data = settled + data
    (root / "file.txt").write_bytes(data)
    reader = Reader(root)
    got = reader.whole("file.txt")
    assert got == data.decode(reader.first["encoding"], "replace").replace("\r\n", "\n")


@pytest.mark.slow
def test_following_the_hints_goes_through_a_line_of_megabytes(root):
    text = "é€x" * 700_000 + "\nend"
    (root / "file.txt").write_text(text)
    reader = Reader(root)
    assert reader.whole("file.txt") == text
    assert reader.calls < 50


@pytest.mark.slow
@here
@given(text=texts, count=st.integers(1, 40))
def test_a_tail_is_the_last_lines(root, text, count):
    text = text.lstrip("\ufeff") or "x"
    (root / "file.txt").write_bytes(text.encode())
    reader = Reader(root)
    lines, cut, _ = reader.lines({"path": "file.txt", "tail": count})
    lines = lines[: reader.first["lines"]]
    for at, known in cut.items():
        lines[at] += reader.rest_of_line(known)
    assert lines == text.replace("\r\n", "\n").removesuffix("\n").split("\n")[-count:]


def test_a_tail_that_does_not_fit_keeps_the_end_and_says_where_the_lines_before_it_are(root):
    lines = [f"{number} {'x' * 1500}" for number in range(400)]
    (root / "file.txt").write_text("\n".join(lines))
    reader = Reader(root)
    got, _, following = reader.lines({"path": "file.txt", "tail": 90})
    assert following is None
    assert len(got) < 70
    before = reader.first["previous"]
    assert f"offset={before['offset']} limit={before['limit']}" in reader.first["note"]
    earlier, _, _ = reader.lines(before)
    assert earlier[:-1] + got == lines[-90:]
