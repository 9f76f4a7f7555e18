from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tools_core import Context
from tools_filesystem import Glob, Grep, Root, Workspace
from tools_filesystem._access import Access
from tools_filesystem._names import opened
from tools_filesystem._resolve import pin
from tools_filesystem._search import _budget
from tools_filesystem._search._engines import OwnEngine
from tools_filesystem._search._landlock import can_confine
from tools_filesystem._search._regex import query
from tools_filesystem._search._ripgrep import Ripgrep
from tools_filesystem._search._run import Search, Shape
from tools_filesystem._search._wanted import wanted_for


@pytest.fixture(params=["rg", "own"])
def grep(request, root):
    """The tool with each of its engines."""
    return made(request.param, root)


def made(engine, root):
    if engine == "rg" and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    if engine == "own":
        pytest.importorskip("re2", reason="google-re2 is not installed")
    return Grep(str(root), engine=engine)


def write(root, path, content):
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else content.encode())


def found(result):
    assert result.ok, result.error
    return [] if not result.metadata["total"] else [line for line in result.output.split("\n") if line[:1] != "["]


def test_lines_come_with_path_and_number_in_the_order_of_paths(grep, root):
    write(root, "b.txt", "one\ntwo words\nthree\n")
    write(root, "a/z.txt", "two\r\n")
    write(root, "a/b/c.txt", "no\nTwo\ntwo")
    result = grep.call(pattern="two")
    assert found(result) == ["b.txt:2:two words", "a/z.txt:1:two", "a/b/c.txt:3:two"]
    assert result.metadata["matches"] == result.metadata["files"] == 3
    assert result.metadata["truncated"] is False
    assert result.metadata["is_total_exact"] is True


def test_case_matters_unless_told_otherwise(grep, root):
    write(root, "a.txt", "Word\nword\nWÖRD\n")
    assert found(grep.call(pattern="word")) == ["a.txt:2:word"]
    assert found(grep.call(pattern="w[oö]rd", ignore_case=True)) == ["a.txt:1:Word", "a.txt:2:word", "a.txt:3:WÖRD"]
    assert found(grep.call(pattern="WORD", ignore_case=True, fixed_strings=True)) == ["a.txt:1:Word", "a.txt:2:word"]


def test_plain_text_has_no_special_characters(grep, root):
    write(root, "a.txt", "a.b(c\naxb(c\n$x\n--pre=x\n\\d\n")
    assert found(grep.call(pattern="a.b(c", fixed_strings=True)) == ["a.txt:1:a.b(c"]
    assert found(grep.call(pattern=r"a\.b\(", fixed_strings=False)) == ["a.txt:1:a.b(c"]
    assert found(grep.call(pattern="--pre=x", fixed_strings=True)) == ["a.txt:4:--pre=x"]
    assert found(grep.call(pattern="\\d", fixed_strings=True)) == ["a.txt:5:\\d"]


def test_a_file_can_be_searched_as_well_as_a_folder(grep, root):
    write(root, "src/a.py", "x = 1\n")
    write(root, "src/b.py", "x = 2\n")
    assert found(grep.call(pattern="x", path="src/a.py")) == ["src/a.py:1:x = 1"]
    assert found(grep.call(pattern="x", path=f"{root}/src")) == [f"{root}/src/a.py:1:x = 1", f"{root}/src/b.py:1:x = 2"]
    # Whoever names a file means it, whatever filters and ignore files say.
    write(root, ".gitignore", "*.py\n")
    assert found(grep.call(pattern="x", path="src/a.py", type="js")) == ["src/a.py:1:x = 1"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"glob": "*.py"}, ["a.py", "we[ir]d/c.py", "x/b.py", "x/y/c.py"]),
        ({"glob": "x/*.py"}, ["x/b.py"]),
        ({"glob": "x/**/*.py"}, ["x/b.py", "x/y/c.py"]),
        ({"glob": ["*.js", "*.md"]}, ["a.md", "x/d.js"]),
        ({"glob": "*.{js,md}"}, ["a.md", "x/d.js"]),
        ({"glob": "!*.py"}, ["a.md", "log", "x/d.js"]),
        ({"glob": ["*.py", "!y"]}, ["a.py", "we[ir]d/c.py", "x/b.py"]),
        ({"glob": ["*.py", "!x/**"]}, ["a.py", "we[ir]d/c.py"]),
        ({"type": "py"}, ["a.py", "we[ir]d/c.py", "x/b.py", "x/y/c.py"]),
        ({"type": "python", "glob": "x/**"}, ["x/b.py", "x/y/c.py"]),
        ({"type": "markdown", "glob": "*.py"}, []),
        ({"glob": "*.PY"}, []),
        ({"path": "we[ir]d"}, ["we[ir]d/c.py"]),
        ({"path": "x", "glob": "y/*"}, ["x/y/c.py"]),
        ({"hidden": True, "glob": "*.txt"}, [".h/e.txt"]),
        ({}, ["a.md", "a.py", "log", "we[ir]d/c.py", "x/b.py", "x/d.js", "x/y/c.py"]),
    ],
)
def test_filters_choose_the_files(grep, root, arguments, expected):
    for path in ("a.py", "a.md", "x/b.py", "x/y/c.py", "x/d.js", ".h/e.txt", "we[ir]d/c.py", "log"):
        write(root, path, "text\n")
    assert sorted(found(grep.call(pattern="text", output_mode="files", **arguments))) == expected


def test_an_unknown_type_names_the_known_ones(grep):
    result = grep.call(pattern="x", type="pyhton")
    assert result.error_type == "validation_error"
    assert "py, " in result.error
    assert "glob" in result.error


def test_a_filter_never_leads_out(grep):
    assert grep.call(pattern="secret", glob="../outside/*").error_type == "denied"
    assert grep.call(pattern="secret", path="../outside").error_type == "denied"


def test_ignore_files_and_hidden_names_are_heeded(grep, root):
    for path in ("a.txt", "gen/b.txt", "c.log", ".git/d", ".e/f.txt", "sub/g.txt", "sub/h.txt"):
        write(root, path, "text\n")
    write(root, ".gitignore", "gen/\n*.log\n")
    write(root, "sub/.ignore", "h.txt\n")
    result = grep.call(pattern="text", output_mode="files")
    assert found(result) == ["a.txt", "sub/g.txt"]
    assert result.metadata["ignored"] == 3
    assert found(grep.call(pattern="text", output_mode="files", path="sub")) == ["sub/g.txt"]
    assert found(grep.call(pattern="text", output_mode="files", hidden=True)) == ["a.txt", ".e/f.txt", "sub/g.txt"]
    everything = grep.call(pattern="text", output_mode="files", hidden=True, ignore=False)
    assert len(found(everything)) == 7


def test_ignored_files_cost_no_time_and_odd_names_of_them_no_results(grep, root):
    write(root, "we[ir]d!{a,b}*.log", b"text\n" * 300_000)
    write(root, "weird!a.txt", "text\n")
    write(root, ".gitignore", "*.log\n")
    assert found(grep.call(pattern="text", output_mode="count")) == ["weird!a.txt:1"]


def test_files_and_counts(grep, root):
    write(root, "a.txt", "x x\nx\n\n")
    write(root, "b.txt", "x")
    assert found(grep.call(pattern="x", output_mode="files")) == ["a.txt", "b.txt"]
    result = grep.call(pattern="x", output_mode="count")
    assert found(result) == ["a.txt:2", "b.txt:1"]
    assert result.metadata["matches"] == 3
    assert result.metadata["total"] == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"context": 1}, "3-c 4:D 5-e -- 8-h 9:D 10:D 11-k"),
        ({"before": 2}, "2-b 3-c 4:D -- 7-g 8-h 9:D 10:D"),
        ({"after": 1}, "4:D 5-e -- 9:D 10:D 11-k"),
        ({"context": 50}, "1-a 2-b 3-c 4:D 5-e 6-f 7-g 8-h 9:D 10:D 11-k"),
        ({"context": 1, "before": 3}, "1-a 2-b 3-c 4:D 5-e 6-f 7-g 8-h 9:D 10:D 11-k"),
        ({}, "4:D 9:D 10:D"),
    ],
)
def test_lines_around_a_match_are_shown_once(grep, root, arguments, expected):
    write(root, "x", "a\nb\nc\nD\ne\nf\ng\nh\nD\nD\nk")
    lines = found(grep.call(pattern="D", **arguments))
    assert " ".join(line.removeprefix("x:").removeprefix("x-") for line in lines) == expected


@pytest.mark.parametrize("mode", ["content", "files", "count"])
def test_following_the_hint_finds_every_match_once(grep, root, mode):
    for number in range(23):
        write(root, f"{number % 4}/{number}.txt", "x\n\nx\n" * (number % 5 + 1))
    whole = found(grep.call(pattern="x", output_mode=mode, limit=10_000))
    arguments, seen = {"pattern": "x", "output_mode": mode, "limit": 7}, []
    while arguments:
        result = grep.call(arguments)
        assert result.metadata["total"] == len(whole)
        seen += found(result)
        arguments = result.metadata.get("next")
        assert result.metadata["truncated"] is (arguments is not None)
        assert arguments is None or f"go on with offset={len(seen)}]" in result.output
    assert seen == whole
    past = grep.call(pattern="x", output_mode=mode, offset=len(whole))
    assert past.ok
    assert "is past the last" in past.output


def test_exactly_limit_matches_are_not_called_truncated(grep, root):
    write(root, "a.txt", "x\n" * 100)
    result = grep.call(pattern="x")
    assert result.metadata["truncated"] is False
    assert len(found(result)) == 100


def test_one_result_is_bounded_and_says_where_it_goes_on(grep, root):
    write(root, "a.txt", ("x" * 400 + "\n") * 5000)
    result = grep.call(pattern="x", limit=5000)
    shown = len(found(result))
    assert len(result.output) < 102_000
    assert result.metadata["next"]["offset"] == shown < 5000
    assert found(grep.call(pattern="x", limit=1, offset=shown))[0].startswith(f"a.txt:{shown + 1}:")


def test_one_result_is_bounded_however_many_files_it_is_from(grep, root):
    for number in range(300):
        write(root, f"{number:03}.txt", "x" * 400 + "\n")
    result = grep.call(pattern="x", limit=5000)
    shown = len(found(result))
    assert len(result.output) < 102_000
    assert result.metadata["next"]["offset"] == shown < 300
    assert found(grep.call(pattern="x", limit=1, offset=shown))[0].startswith(f"{shown:03}.txt:")


def test_a_long_line_is_counted_once_even_if_it_is_also_around_another(grep, root):
    write(root, "a.txt", ("x" * 100 + "\n") * 3)
    assert grep.call(pattern="x", context=2, max_columns=20).metadata["clamped"] == 3


def test_lines_around_a_match_that_are_too_far_to_be_whole_are_left_out(grep, root):
    long = "-" * 70_000
    write(root, "a.txt", f"{long}\nbefore\nx\nafter\n{long}\n")
    assert found(grep.call(pattern="x", context=2)) == ["a.txt-2-before", "a.txt:3:x", "a.txt-4-after"]


def test_no_match_is_a_fact_that_says_what_was_left_out(grep, root):
    write(root, "a.txt", "text\n")
    write(root, ".gitignore", "*.log\n")
    write(root, "a.log", "needle\n")
    result = grep.call(pattern="needle")
    assert result.ok
    assert result.output == (
        "No lines match 'needle' in '.'; not looked at: 1 ignored entries (ignore=false), hidden ones (hidden=true)"
    )


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "must not be empty"),
        ("a\nb", "line by line"),
        (r"a\nb", "line by line"),
        ("a\0b", "NUL"),
        ("(?=a)", "look-ahead"),
        ("a(?!b)", "look-ahead"),
        ("(?<=a)b", "look-behind"),
        ("(?<!a)b", "look-behind"),
        (r"(a)\1", "back-reference"),
        ("(?P<n>a)(?P=n)", "back-reference"),
        ("(?>a)", "atomic"),
        (r"\Aa", "use ^ and $"),
        ("(", "fixed_strings=true"),
        ("a**(", "fixed_strings=true"),
        ("[a", "fixed_strings=true"),
        ("a{2,1}", "fixed_strings=true"),
    ],
)
def test_a_pattern_that_cannot_work_is_refused_with_a_way_out(grep, root, pattern, words):
    write(root, "a.txt", "text\n")
    result = grep.call(pattern=pattern)
    assert result.error_type == "validation_error"
    assert words in result.error


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"x$", [1, 2, 7]),
        (r"^x", [2]),
        (r"^$", [3]),
        (r"^\s*$", [3, 4]),
        (r"a|b$", [1, 5, 6]),
        (r"[^x\r]$", [4, 5, 6, 8, 9]),
        (r"\bx\b", [2, 7]),
        (r"a\s+b", [5]),
        (r"[\s\S]b", [5]),
        (r"\"q\'\/\-", [8]),
        (r"[\"\/]", [8]),
        (r"[]x]$", [1, 2, 7]),
        (r"[[:digit:]$]", [9]),
        (r"\x61", [1, 5]),
        (r"\x{61}", [1, 5]),
        (r"\pN", [9]),
        (r"(?i)AX", [1]),
        (r"a{1}x|zz{3,}", [1]),
        (r"é.", [7]),
        (r".", [1, 2, 4, 5, 6, 7, 8, 9]),
        (r"x*", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_the_syntax_is_the_same_whatever_searches(grep, root, pattern, expected):
    write(root, "a.txt", "ax\nx\r\n\n  \na b\nb\né x\n\"q'/-\n$9")
    lines = found(grep.call(pattern=pattern))
    assert [int(line.split(":")[1]) for line in lines] == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("main() {", []),
        (r"main\(\) {", [1]),
        ("{", [1, 3]),
        ("{}", [3]),
        ("{x,y}", []),
        ("x{2}", [3]),
        ("x{3,}", []),
        (r"\Qmain()\E", [1]),
        (r"\Qx$", [4]),
        ("(?<name>m)ain", [1]),
        (r"\u00e9", [2]),
        (r"[\u00e8-\u{ea}]", [2]),
        ("[x[]\\[", [4]),
        ("[x&&y]=", [3]),
        ("[~~]", []),
    ],
)
def test_what_engines_read_differently_means_the_same(grep, root, pattern, expected):
    write(root, "a.txt", "int main() {\né\nxx={}\nx[x$\n")
    lines = found(grep.call(pattern=pattern))
    assert [int(line.split(":")[1]) for line in lines] == expected


def test_a_repetition_without_a_least_number_is_refused_with_the_form_that_works(grep, root):
    write(root, "a.txt", "aa\n")
    assert grep.call(pattern="a{,2}").error == "'{,2}' is not understood: write '{0,2}'"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"^\w+$", [1, 2, 3]),
        (r"\W", [4, 5]),
        (r"\d", [3]),
        (r"^\D+$", [1, 2, 4, 5]),
        (r"a\sb", [4]),
        (r"^\S+$", [1, 2, 3, 5]),
        (r"^[\w-]+$", [1, 2, 3, 5]),
        (r"[^\w-]", [4]),
        (r"[\d.]", [3]),
        (r"\w{5,}", [1, 2]),
    ],
)
def test_letters_digits_and_spaces_are_those_of_all_languages(grep, root, pattern, expected):
    write(root, "a.txt", "Straße\nслово\n٣\na\u00a0b\nà-é\n")
    lines = found(grep.call(pattern=pattern))
    assert [int(line.split(":")[1]) for line in lines] == expected


def test_a_line_begins_behind_the_mark_of_an_encoding(grep, root):
    write(root, "a.cs", b"\xef\xbb\xbfusing A;\nusing B;\n")
    assert found(grep.call(pattern="^using")) == ["a.cs:1:using A;", "a.cs:2:using B;"]
    assert found(grep.call(pattern="^using B", before=1)) == ["a.cs-1-using A;", "a.cs:2:using B;"]


@pytest.mark.parametrize("last", ["abc", "5", ":", "é", "\r", ""])
def test_a_match_of_nothing_at_the_very_end_is_found(grep, root, last):
    write(root, "a.txt", f"ab\n{last}")
    lines = found(grep.call(pattern="$"))
    assert lines == ["a.txt:1:ab", f"a.txt:2:{last.strip()}"][: 1 + bool(last)]
    write(root, "a.txt", "-" * 100 + "abc")
    assert found(grep.call(pattern="$", max_columns=20)) == ["a.txt:1:…---abc"]


def test_binary_files_are_not_searched(grep, root):
    write(root, "a.bin", b"needle\n\0\n")
    write(root, "late.bin", b"needle\n" * 20_000 + b"\0needle")
    write(root, "utf16.txt", "needle\n".encode("utf-16"))
    write(root, "a.txt", b"needle \xff\xfe latin \xe9\n")
    assert found(grep.call(pattern="needle")) == ["a.txt:1:needle \ufffd\ufffd latin \ufffd"]
    assert found(grep.call(pattern="needle", output_mode="files")) == ["a.txt"]
    alone = grep.call(pattern="needle", path="a.bin")
    assert alone.metadata["binary"] == 1
    assert alone.output == "'a.bin' is a binary file, which is not searched"


def test_a_long_line_is_shown_around_its_match(grep, root):
    write(root, "a.js", "é" * 100_000 + "NEEDLE" + "é" * 100_000 + "\nshort NEEDLE\n")
    result = grep.call(pattern="NEEDLE", max_columns=60)
    first, second = found(result)
    assert "NEEDLE" in first
    assert first.startswith("a.js:1:…é")
    assert first.endswith("é…")
    assert len(first) < 80
    assert second == "a.js:2:short NEEDLE"
    assert result.metadata["clamped"] == 1


def test_a_long_line_is_shown_from_where_its_match_begins_whatever_text_the_pattern_has_in_it(grep, root):
    write(root, "a.js", "-" * 200 + "abc" * 30 + "NEEDLE\nabcNEEDLE\n")
    long, short = found(grep.call(pattern="[a-c]+NEEDLE", max_columns=60))
    assert long == f"a.js:1:…{'-' * 20}{('abc' * 30)[:40]}…"
    assert short == "a.js:2:abcNEEDLE"


@pytest.mark.parametrize("shift", range(4))
def test_a_long_line_is_not_shown_from_the_middle_of_a_character(grep, root, shift):
    write(root, "a.js", "a" * shift + "日" * 1000 + "𝄞" * 100 + "NEEDLE\n")
    assert "\ufffd" not in grep.call(pattern="NEEDLE", max_columns=100).output


def test_lines_with_the_text_of_a_pattern_that_do_not_match_are_not_shown(grep, root):
    write(root, "all.txt", "word1\n\nword2")
    write(root, "some.txt", "word1\nword\nword2\n")
    write(root, "none.txt", "word\n")
    lines = found(grep.call(pattern="word[0-9]"))
    assert lines == ["all.txt:1:word1", "all.txt:3:word2", "some.txt:1:word1", "some.txt:3:word2"]
    assert found(grep.call(pattern="word[0-9]", offset=1, limit=2)) == lines[1:3]


def test_a_line_cannot_forge_another_and_any_bytes_can_be_sent(grep, root):
    write(root, "a.txt", "x\rother.txt:1:forged\x1b[2J\u2028b.txt:9:forged\u202e\n")
    name = os.fsencode(root) + b"/n\n\xff.txt"
    with open(name, "wb") as file:
        file.write(b"x\n")
    result = grep.call(pattern="x")
    assert len(result.output.splitlines()) == 2
    assert r"'n\x0a\xff.txt':1:x" in result.output
    assert "\x1b" not in result.output
    result.to_json().encode()


def test_links_are_not_followed_and_nothing_outside_is_read(grep, root):
    write(root, "real.txt", "secret of mine\n")
    (root / "out").symlink_to(root.parent / "outside")
    (root / "out.txt").symlink_to(root.parent / "outside" / "secret.txt")
    (root / "loop").symlink_to(".")
    assert found(grep.call(pattern="secret")) == ["real.txt:1:secret of mine"]
    assert grep.call(pattern="secret", path="out").error_type == "denied"
    assert grep.call(pattern="secret", path="out.txt").error_type == "denied"
    assert found(grep.call(pattern="secret", path="loop/real.txt")) == ["loop/real.txt:1:secret of mine"]


def test_pipes_sockets_and_devices_do_not_block(grep, root):
    write(root, "a.txt", "x\n")
    os.mkfifo(root / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.open(root, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{here}/socket.txt")
        os.close(here)
        if os.geteuid() == 0:
            os.mknod(root / "zero.txt", 0o20666, os.makedev(1, 5))
        assert found(grep.call(pattern="x")) == ["a.txt:1:x"]
        assert grep.call(pattern="x", path="pipe.txt").error_type == "not_a_file"
        assert grep.call(pattern="x", path="socket.txt").error_type == "not_a_file"


def test_the_kernel_s_own_files_are_not_searched():
    for engine in ("rg", "own"):
        grep = made(engine, "/")
        assert grep.call(pattern="x", path="proc/self/environ").error_type == "not_a_file"
        assert grep.call(pattern="x", path="proc/self").error_type == "not_a_file"
        assert grep.call(pattern="x", path="missing").error_type == "not_found"


@pytest.mark.parametrize(
    "pattern",
    ["--pre=./evil.sh", "-f/etc/passwd", "--files", "--", "-e", "-", "--hostname-bin=./evil.sh", "-z", "--no-ignore"],
)
def test_a_pattern_is_never_an_option(grep, root, pattern):
    script = root / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {root}/ran\ncat\n")
    script.chmod(0o755)
    write(root, "-f", f"{pattern}\n")
    write(root, "--pre=evil", "x\n")
    write(root, "--files/x.txt", f"{pattern}\n")
    files = found(grep.call(pattern=pattern, fixed_strings=True, output_mode="files", glob="!*.sh"))
    assert sorted(files) == ["--files/x.txt", "-f"]
    assert found(grep.call(pattern="x", path="--pre=evil")) == ["--pre=evil:1:x"]
    assert found(grep.call(pattern=".", path="--files"))[0].startswith("--files/x.txt:1:")
    assert grep.call(pattern="x", glob="--pre=./evil.sh").ok
    assert not (root / "ran").exists()


def test_nothing_of_the_environment_reaches_rg(root, monkeypatch, tmp_path):
    grep = made("rg", root)
    (tmp_path / "rc").write_text("--files\n--hidden\n")
    (tmp_path / "home" / ".config" / "git").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "git" / "ignore").write_text("*\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(root, "a.txt", "x\n")
    write(root, ".rgignore", "a.txt\n")
    assert found(grep.call(pattern="x")) == ["a.txt:1:x"]


def test_an_rg_that_the_model_could_have_written_is_not_run(root, monkeypatch):
    program = root / "bin" / "rg"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {root}/ran\n")
    program.chmod(0o755)
    write(root, "a.txt", "x\n")
    monkeypatch.setenv("PATH", f".:bin:{root}/bin:{os.environ['PATH']}")
    monkeypatch.chdir(root)
    assert found(Grep(str(root)).call(pattern="x", fixed_strings=True, glob="*.txt")) == ["a.txt:1:x"]
    assert Grep(str(root), engine="rg").call(pattern="x").error_type == "unavailable"
    assert not (root / "ran").exists()


def test_an_rg_that_is_found_by_where_the_program_happens_to_be_is_not_run(root, monkeypatch, tmp_path):
    planted = tmp_path / "bin" / "rg"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    monkeypatch.chdir(planted.parent)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", "../bin")))
    assert Grep(str(root), engine="rg").call(pattern="x").error_type == "unavailable"


def test_an_rg_that_does_not_work_is_done_without(root, tmp_path, monkeypatch):
    made("own", root)
    (tmp_path / "rg").write_text("#!/bin/sh\necho 'unrecognized option' >&2\nexit 2\n")
    (tmp_path / "rg").chmod(0o755)
    write(root, "a.txt", "x\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    result = Grep(str(root)).call(pattern="x")
    assert found(result) == ["a.txt:1:x"]
    assert result.metadata["engine"] == "re2"
    assert Grep(str(root), engine="rg").call(pattern="x").error_type == "unavailable"


WITHOUT = """
import sys
sys.modules["re2"] = None
from tools_filesystem import Grep
grep = Grep(sys.argv[1], engine="own")
assert grep.call(pattern="a.b", fixed_strings=True).output == "x.txt:1:a.b", grep.call(pattern="a.b")
assert grep.call(pattern="word").metadata["engine"] == "text"
for arguments in ({"pattern": "a.b"}, {"pattern": "word", "ignore_case": True}):
    result = grep.call(arguments)
    assert result.error_type == "unavailable", result
    assert 'pip install "tools-filesystem[re2]"' in result.error
    assert "ripgrep" in result.error
"""


def test_without_any_engine_text_is_found_and_a_regex_says_what_to_install(root):
    write(root, "x.txt", "a.b\nword\n")
    subprocess.run([sys.executable, "-c", WITHOUT, root], check=True)


def test_roots_that_are_read_only_and_absolute_paths_work(root, tmp_path):
    other = tmp_path / "other"
    write(other, "b.txt", "x\n")
    grep = Grep(Workspace(str(root), Root(str(other), writable=False)))
    assert found(grep.call(pattern="x", path=str(other))) == [f"{other}/b.txt:1:x"]


WORDS = (
    "foo",
    "bar",
    "foobar",
    "x",
    "",
    " ",
    "fo.o",
    "\t",
    "BAR",
    "é",
    "日本",
    "Straße",
    "٣",
    "\u00a0",
    "{x}",
    "a" * 300,
    "\x01",
    "x\r",
    "--",
    "1:2:3",
)
PATTERNS = ("foo", "fo+", "^foo", "bar$", "[a-f]+r", "x*", "^$", "(foo|BAR) *x", "b.r", "[^ ]+ +x", "é|日", ".{20,}",
            r"\d:\d", "(?i)bar", "a{50}", "-+", "foo.*bar", "(x|y)$", r"\t", "[[:upper:]]{3}", r"o\.o", r"^\w+$",
            r"\W\W", r"[^\w\s]", r"\d$", "{", "$")  # fmt: skip


def corpus(rnd, root):
    for number in range(rnd.randint(3, 30)):
        lines = [" ".join(rnd.choices(WORDS, k=rnd.randint(0, 6))) for _ in range(rnd.choice((0, 1, 3, 40)))]
        data = rnd.choice(("\n", "\n", "\n", "\r\n")).join(lines).encode()
        data += rnd.choice((b"", b"\n", b"\n\n", b"\xff\n", b"foo"))
        if rnd.random() < 0.1:
            data = data[: len(data) // 2] + b"\0" + data[len(data) // 2 :]
        folders = rnd.choices("abcde", k=rnd.randint(0, 3))
        write(root, "/".join([*folders, f"f{number}.{rnd.choice(('py', 'txt'))}"]), data)
    if rnd.random() < 0.3:
        write(root, ".gitignore", rnd.choice(("*.txt", "a/", "/b", "!x\nf1*")))


def compare(root, seeds):
    rg, own = made("rg", root), made("own", root)
    for seed in seeds:
        rnd = random.Random(seed)
        for path in root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        corpus(rnd, root)
        for pattern in rnd.sample(PATTERNS, 6):
            arguments = {"pattern": pattern, "limit": 50, "offset": rnd.choice((0, 0, 5)), "context": rnd.randint(0, 2),
                         "ignore_case": rnd.random() < 0.3, "fixed_strings": rnd.random() < 0.2,
                         "glob": rnd.choice(("", "", "*.py", "a/**")), "max_columns": rnd.choice((30, 500)),
                         "output_mode": rnd.choice(("content", "content", "count", "files"))}  # fmt: skip
            ours, theirs = own.call(arguments), rg.call(arguments)
            assert ours.metadata.get("total") == theirs.metadata.get("total"), (seed, arguments)
            told = [line for line in ours.output.split("\n") if "binary files" not in line]
            assert told == theirs.output.split("\n"), (seed, arguments)


@pytest.mark.slow
def test_both_engines_find_the_same(root):
    compare(root, range(25))


@pytest.mark.slow
def test_both_engines_find_the_same_across_the_pieces_of_large_files(root):
    rg, own = made("rg", root), made("own", root)
    rnd = random.Random(5)
    size = 1 << 20
    for number in range(6):
        lines = [b"x" * rnd.choice((3, 70, 5000, 400_000)) for _ in range(rnd.choice((5, 400)))]
        data = bytearray(b"\n".join(lines) * (1 + 3 * size // (1 + sum(map(len, lines)))))
        for place in (size - 3, size, size + 1, 2 * size - 6, rnd.randrange(len(data) - 9)):
            data[place : place + 6] = b"NEEDLE"
        write(root, f"f{number}.txt", bytes(data) + rnd.choice((b"", b"\n")))
    for pattern in ("NEEDLE", "x$", "^NEE", "[A-Z]+x*$", "NEEDLE$"):
        arguments = {"pattern": pattern, "limit": 40, "max_columns": 40}
        ours, theirs = own.call(arguments), rg.call(arguments)
        assert found(ours) == found(theirs), pattern
        arguments["output_mode"] = "count"
        assert found(own.call(arguments)) == found(rg.call(arguments)), pattern


def test_a_line_begins_once_however_long_it_is(grep, root):
    write(root, "a.txt", "b" + "a" * 3_000_000 + "\nab\n")
    assert found(grep.call(pattern="^a")) == ["a.txt:2:ab"]


def test_a_match_is_found_wherever_in_a_long_line_it_lies(grep, root):
    size = 1 << 20
    for number, place in enumerate((size - 7, size - 6, size - 3, size - 1, size, 2 * size - (1 << 16) - 4)):
        write(root, f"{number}.txt", "a" * place + "NEEDLE" + "b" * 2 * size)
    assert grep.call(pattern="NEE[D]LE", output_mode="files").metadata["total"] == 6


def test_what_lies_deeper_than_a_path_can_be_long_is_found_or_told(root):
    here = os.open(root, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=here)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    with os.fdopen(os.open("a.txt", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:
        file.write("x\n")
    os.close(here)
    assert found(made("own", root).call(pattern="x")) == ["/".join(["d" * 200] * 25) + "/a.txt:1:x"]
    told = made("rg", root).call(pattern="x")
    assert told.metadata["unreadable"] == 1
    assert "1 could not be read]" in told.output


CATASTROPHIC = ("(a+)+$", "(a|a)*b", "(a|aa)+$", "([a-z]+)*!", "(.*)*x", "(a*)*c", "^(([a-z])+.)+[A-Z]([a-z])+$",
                ".*.*.*=x")  # fmt: skip


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_catastrophic_patterns_do_no_harm(grep, root, pattern):
    write(root, "a.txt", ("a" * 50_000 + "\n") * 20)
    result = grep.call({"pattern": pattern, "limit": 1}, Context(timeout=25))
    assert result.ok
    assert "stopped" not in result.metadata


def test_a_search_out_of_time_tells_what_it_has(grep, root):
    for number in range(50):
        write(root, f"{number}.txt", "x\n" * 10)
    result = grep.call({"pattern": "x"}, Context(timeout=1e-6))
    assert not result.ok or result.metadata["stopped"] == "out of time"


def test_a_cancelled_search_ends(grep, root):
    write(root, "a.txt", "x\n")
    context = Context()
    context.cancel()
    result = grep.call({"pattern": "x"}, context)
    assert not result.ok or result.metadata["stopped"] == "cancelled"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rg", "own"])
def test_files_that_change_and_vanish_meanwhile_never_fail_the_call(root, engine):
    grep = made(engine, root)
    for number in range(200):
        write(root, f"{number % 9}/{number}.txt", "x\n" * (number % 7))
    done = threading.Event()

    def churn():
        number = 0
        while not done.is_set():
            number += 7
            path = root / f"{number % 9}" / f"{number % 200}.txt"
            path.unlink(missing_ok=True)
            path.write_text("y\nx\n" * (number % 11))

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        results = [grep.call(pattern="x", limit=500) for _ in range(20)]
    finally:
        done.set()
        thread.join()
    assert all(result.ok for result in results), [str(result) for result in results if not result.ok]


class Meddled(OwnEngine):
    """The engine in a place where something happens behind one of its steps."""

    def __init__(self, step, happens):
        super().__init__(query("x", is_fixed=False, ignore_case=False), _budget.Budget(Context()))
        self.step, self.happens = step, happens

    def count(self, start, walk, order):
        counted = super().count(start, walk, order)
        if self.step == "count":
            self.happens()
        return counted

    def hits(self, parts):
        found = super().hits(parts)
        if self.step == "hits":
            self.happens()
        return found


@pytest.mark.parametrize(
    ("step", "change"),
    [
        ("count", lambda file: file.unlink()),
        ("count", lambda file: file.write_text("y\n" * 9)),
        ("count", lambda file: file.write_text("\0x\n")),
        ("hits", lambda file: file.write_text("yyyx\n" * 9)),
        ("hits", lambda file: file.write_text("")),
    ],
)
def test_lines_that_are_gone_are_not_shown_but_told(root, step, change):
    pytest.importorskip("re2", reason="google-re2 is not installed")
    write(root, "a.txt", "-\nx\n")
    write(root, "b.txt", "-\nx\n-\nx\n")
    write(root, "c.txt", "-\nx\n")
    engine = Meddled(step, lambda: change(root / "b.txt"))
    search = Search(engine, Shape("content", 100, 0, 0, 0, 500), _budget.Budget(Context()))
    with Access(Workspace(str(root))) as access:
        start = opened(access, ".", pin)
        try:
            search.in_folder(start, wanted_for([], (), hidden=False), ignore=True)
        finally:
            os.close(start.descriptor)
    assert search.lines == ["a.txt:2:x", "c.txt:2:x"]
    assert search.changed == 1
    assert search.reached == search.total == 4


def test_rg_cannot_read_what_a_link_leads_to_that_took_the_place_of_a_folder(root):
    program = shutil.which("rg") or pytest.skip("ripgrep is not installed")
    if not can_confine():
        pytest.skip("this kernel has no Landlock")
    (root / "out").symlink_to(root.parent / "outside")
    write(root, "in/a.txt", "secret\n")
    rg = Ripgrep(program, query("secret", is_fixed=False, ignore_case=False), _budget.Budget(Context()))
    here = os.open(root, os.O_RDONLY)
    try:
        with rg.counting(here) as counting:
            counting.begin(["out/", "in/"], [])
            assert counting.found() == {"in/a.txt": 1}
    finally:
        os.close(here)


@pytest.mark.slow
def test_a_swapped_folder_never_shows_what_is_outside(root):
    grep = made("rg", root)
    own = made("own", root)
    for number in range(40):
        write(root, f"d/{number}.txt", "public\n")
        write(root.parent / "outside", f"{number}.txt", "secret\n")
    done = threading.Event()

    def swap():
        while not done.is_set():
            (root / "d").rename(root / "e")
            (root / "d").symlink_to(root.parent / "outside")
            (root / "d").unlink()
            (root / "e").rename(root / "d")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(150):
            for tool in (grep, own):
                result = tool.call(pattern="secret|public")
                assert not result.ok or "secret" not in result.output.replace("'secret|public'", "")
                assert not tool.call(pattern="secret", output_mode="files").metadata.get("total")
    finally:
        done.set()
        thread.join()


def children_of_this_process():
    """Return the processes, also those that have ended and that nothing has waited for; empty without /proc."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(path.parent.name)
    return found


def test_no_descriptor_and_no_process_is_left(grep, root):
    write(root, "a/b.txt", "x\n")
    write(root, ".gitignore", "*.log\n")
    grep.call(pattern="x")
    before = os.dup(0)
    os.close(before)
    children = children_of_this_process()
    for arguments in (
        {"pattern": "x"},
        {"pattern": "("},
        {"pattern": "x", "path": "no"},
        {"pattern": "x", "path": "a/b.txt"},
    ):
        for _ in range(10):
            grep.call({"pattern": "x", **arguments})
            Glob(str(root)).call(pattern="**")
    after = os.dup(0)
    os.close(after)
    assert after == before
    assert children_of_this_process() <= children


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rg", "own"])
def test_a_huge_file_in_one_line_is_bounded(root, engine):
    made(engine, root)
    with (root / "line.txt").open("wb") as file:
        for _ in range(1536):
            file.write(b"x" * (1 << 20))
        file.write(b"NEEDLE")
    os.truncate(os.open(root / "sparse", os.O_CREAT | os.O_WRONLY), 1 << 40)
    done = subprocess.run([sys.executable, "-c", BOUNDED, root, engine], capture_output=True, text=True, check=True)
    added, total = map(int, done.stdout.split())
    assert added < 12 * 1024 * (1 if sys.platform == "linux" else 1024)  # ru_maxrss: KiB, on macOS bytes
    assert total == 1


BOUNDED = """
import resource, sys
from tools_filesystem import Grep
grep = Grep(sys.argv[1], engine="auto" if sys.argv[2] == "rg" else "own")
grep.call(pattern="warm")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = grep.call(pattern="NEEDLE")
assert len(result.output) < 1000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, result.metadata["total"])
"""


def test_many_searches_at_once_share_nothing(grep, root):
    for number in range(60):
        write(root, f"{number % 6}/{number}.txt", f"word{number}\nword\n")
    expected = {f"word{number}": found(grep.call(pattern=f"word{number}$")) for number in range(8)}
    got = []

    def call(word):
        got.extend((word, found(grep.call(pattern=f"{word}$"))) for _ in range(4))

    threads = [threading.Thread(target=call, args=(word,)) for word in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 32
    assert all(lines == expected[word] for word, lines in got)


@pytest.mark.slow
def test_other_threads_go_on_while_a_pattern_is_hard(root):
    own = made("own", root)
    write(root, "a.txt", ("a" * 1000 + "\n") * 100_000)
    done = threading.Event()
    steps = 0

    def search():
        own.call({"pattern": "(a?){300}[bc](a|b|ab)*c"}, Context(timeout=20))
        done.set()

    thread = threading.Thread(target=search)
    thread.start()
    while not done.wait(0.001):
        steps += 1
    thread.join()
    assert steps > 5
