from __future__ import annotations

import os
import shutil
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tools_core import Context
from tools_filesystem import Glob, Grep, Root, Workspace


@pytest.fixture(params=["rg", "scan"])
def engine(request, monkeypatch):
    """Both programs that search: ripgrep, and ours if ripgrep is missing."""
    if request.param == "scan":
        monkeypatch.setenv("PATH", "/nowhere")
    elif shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return request.param


@pytest.fixture
def grep(engine, root):
    return Grep(root)


@pytest.fixture
def rg(root):
    if shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return Grep(root)


def write(root, path, content):
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else content.encode())


def matches_in(result):
    assert result.ok, result.error
    return [] if not result.metadata["total"] else [line for line in result.output.split("\n") if line[:1] != "["]


def test_lines_come_with_path_and_number_in_the_order_of_paths(grep, root):
    write(root, "b.txt", "one\ntwo words\nthree\n")
    write(root, "a/z.txt", "two\r\n")
    write(root, "a/b/c.txt", "no\nTwo\ntwo")
    result = grep.call(pattern="two")
    assert matches_in(result) == ["a/b/c.txt:3:two", "a/z.txt:1:two", "b.txt:2:two words"]
    assert result.metadata["matches"] == result.metadata["files"] == 3
    assert len(matches_in(grep.call(pattern="two", ignore_case=True))) == 4


def test_a_file_has_one_path_in_results_whichever_way_it_is_searched(grep, root):
    write(root, "in/a.txt", "x\n")
    (root / "link").symlink_to("in")
    for path in (".", "in", "./in/", "in/../in", "in/a.txt", "IN", "link", "link/a.txt", f"{root}/in", f"{root}//in/."):
        assert matches_in(grep.call(pattern="x", path=path)) == ["in/a.txt:1:x"], path
        if not path.endswith(".txt"):
            assert Glob(root).call(pattern="**/a.txt", path=path).output.startswith("in/a.txt")
    assert grep.call(pattern="x", path="no").error_type == "not_found"


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", ["a.py", "src/b.py", "src/in/c.py"]),
        ("*.{ts,md}", ["d.md", "src/e.ts"]),
        ("src/**/*.py", ["src/b.py", "src/in/c.py"]),
        ("src/*", ["src/b.py", "src/e.ts"]),
        ("!*.py", ["d.md", "src/e.ts"]),
        ("[!a]*.py", ["src/b.py", "src/in/c.py"]),
        ("../*", None),
    ],
)
def test_a_glob_chooses_the_files(grep, root, glob, expected):
    for path in ("a.py", "src/b.py", "src/in/c.py", "d.md", "src/e.ts"):
        write(root, path, "x\n")
    result = grep.call(pattern="x", glob=glob, output_mode="files")
    assert (matches_in(result) if result.ok else None) == expected


@pytest.mark.parametrize(("glob", "expected"), [("src/**/*.py", "src/a/app.py"), ("!*.log", "src/a/app.py")])
def test_files_outside_the_glob_do_not_use_up_the_limit(rg, root, glob, expected):
    write(root, "src/a/app.py", "needle\n")
    for number in range(20):
        write(root, f"logs/{number}.log", "needle in a log\n" * 150_000)
    result = rg.call(pattern="needle", glob=glob)
    assert matches_in(result) == [f"{expected}:1:needle"]
    assert not result.metadata["truncated"]


def test_a_glob_does_not_include_ignored_files(rg, root):
    write(root, ".gitignore", "*.min.py\nbuild/\n")
    for path in ("a.py", "a.min.py", "build/b.py", "sub/c.py"):
        write(root, path, "needle\n")
    assert matches_in(rg.call(pattern="needle", glob="**/*.py")) == ["a.py:1:needle", "sub/c.py:1:needle"]
    assert matches_in(rg.call(pattern="needle", glob="[!b]*.py")) == ["a.py:1:needle", "sub/c.py:1:needle"]


def test_a_multiline_match_shows_all_its_lines(rg, root):
    write(root, "a.txt", "start\ndef f(\n    x,\n):\nend\n")
    assert matches_in(rg.call(pattern=r"def f\([^)]*\)", multiline=True)) == [
        "a.txt:2:def f(",
        "a.txt:3:    x,",
        "a.txt:4:):",
    ]
    assert matches_in(rg.call(pattern="x,\n.*:", multiline=True, output_mode="files")) == ["a.txt"]


def test_lines_before_and_after_a_match_are_shown_separately(grep, root):
    write(root, "a.txt", "1\n2\nx\n4\n5\n")
    assert matches_in(grep.call(pattern="x", before=2)) == ["a.txt-1-1", "a.txt-2-2", "a.txt:3:x"]
    assert matches_in(grep.call(pattern="x", after=1)) == ["a.txt:3:x", "a.txt-4-4"]


@pytest.mark.parametrize("option", [{"type": "py"}, {"multiline": True}])
def test_the_plain_scan_refuses_options_that_it_lacks(root, monkeypatch, option):
    monkeypatch.setenv("PATH", "/nowhere")
    result = Grep(root).call(pattern="x", **option)
    assert (result.error_type, "needs ripgrep" in result.error) == ("unavailable", True)


@pytest.mark.parametrize("pattern", ["[[:alpha:]]", "[^[:space:]]", r"\b{start}x", r"\<x", "[a&&b]", "a++b", "[a[b]]"])
def test_the_plain_scan_refuses_patterns_that_it_would_misread(root, monkeypatch, capfd, pattern):
    monkeypatch.setenv("PATH", "/nowhere")
    write(root, "a.txt", " x a\n")
    result = Grep(root).call(pattern=pattern)
    assert result.error_type in ("unavailable", "validation_error"), result
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("argument", ["pattern", "glob", "type"])
def test_nul_characters_are_refused(grep, root, argument):
    write(root, "a.txt", "x\n")
    result = grep.call({"pattern": "x", argument: "a\0b"})
    assert result.error_type == "validation_error"
    assert argument in result.error


def test_a_type_chooses_the_files(rg, root):
    for path in ("a.py", "b.js", "c.py"):
        write(root, path, "x\n")
    assert matches_in(rg.call(pattern="x", type="py")) == ["a.py:1:x", "c.py:1:x"]
    assert matches_in(rg.call(pattern="x", type="py", glob="a*")) == ["a.py:1:x"]
    assert "use glob, such as '*.nope'" in rg.call(pattern="x", type="nope").error


def test_hidden_files_are_searched_but_not_git_s_own(grep, root):
    write(root, ".github/workflows/ci.yml", "x\n")
    write(root, ".git/config", "x\n")
    write(root, ".env", "x\n")
    assert matches_in(grep.call(pattern="x", output_mode="files")) == [".env", ".github/workflows/ci.yml"]


def test_ignore_files_apply_unless_the_path_is_ignored_itself(rg, root):
    write(root, ".gitignore", "gen/\n*.log\n")
    for path in ("gen/a.txt", "b.txt", "src/c.log", "src/d.txt"):
        write(root, path, "x\n")
    assert matches_in(rg.call(pattern="x", output_mode="files")) == ["b.txt", "src/d.txt"]
    assert matches_in(rg.call(pattern="x", output_mode="files", path="src")) == ["src/d.txt"]
    assert matches_in(rg.call(pattern="x", output_mode="files", glob="*.log")) == []
    assert matches_in(rg.call(pattern="x", output_mode="files", path="gen")) == ["gen/a.txt"]
    assert matches_in(rg.call(pattern="x", output_mode="files", path="src/c.log")) == ["src/c.log"]


def test_files_and_counts(grep, root):
    write(root, "a.txt", "x\nx\n")
    write(root, "b/c.txt", "x\n")
    assert matches_in(grep.call(pattern="x", output_mode="files")) == ["a.txt", "b/c.txt"]
    assert matches_in(grep.call(pattern="x", output_mode="count")) == ["a.txt:2", "b/c.txt:1"]
    assert matches_in(grep.call(pattern="x", output_mode="count", path="a.txt")) == ["a.txt:2"]


def test_lines_around_a_match_are_shown_once(grep, root):
    write(root, "a.txt", "1\n2\nx\n4\nx\n6\n7\n8\n9\nx\n")
    expected = ["a.txt-2-2", "a.txt:3:x", "a.txt-4-4", "a.txt:5:x", "a.txt-6-6", "--", "a.txt-9-9", "a.txt:10:x"]
    assert matches_in(grep.call(pattern="x", context=1)) == expected
    assert matches_in(grep.call(pattern="x", context=1, limit=1)) == expected[:3]
    assert matches_in(grep.call(pattern="x", context=1, offset=2)) == expected[6:]


def test_adjacent_matches_count_as_context_of_the_page(grep, root):
    write(root, "a.txt", "x1\nx2\nx3\nx4\n")
    assert matches_in(grep.call(pattern="x", context=1, offset=1, limit=1)) == [
        "a.txt-1-x1",
        "a.txt:2:x2",
        "a.txt-3-x3",
    ]


@pytest.mark.parametrize("mode", ["content", "files", "count"])
def test_following_the_hint_finds_every_match_once(grep, root, mode):
    for number in range(23):
        write(root, f"{number % 4}/{number}.txt", "x\n\nx\n" * (number % 5 + 1))
    every_match = matches_in(grep.call(pattern="x", output_mode=mode, limit=10_000))
    offset, matches = 0, []
    while offset is not None:
        result = grep.call(pattern="x", output_mode=mode, limit=7, offset=offset)
        assert result.metadata["total"] == len(every_match)
        matches += matches_in(result)
        offset = result.metadata.get("next_offset")
        assert result.metadata["truncated"] is (offset is not None)
        assert offset is None or f"continue with offset={len(matches)}]" in result.output
    assert matches == every_match
    assert "is past the last" in grep.call(pattern="x", output_mode=mode, offset=len(every_match)).output


@pytest.mark.parametrize("files", [1, 1000])
def test_a_long_result_says_how_to_continue(grep, root, files):
    for number in range(files):
        write(root, f"{number:03}.txt", ("x" * 400 + "\n") * (1000 // files))
    result = grep.call(pattern="x", limit=5000)
    count = len(matches_in(result))
    assert len(result.output) < 102_000
    assert result.metadata["next_offset"] == count < 1000
    following = matches_in(grep.call(pattern="x", limit=1, offset=count))[0]
    assert following.startswith(f"000.txt:{count + 1}:" if files == 1 else f"{count:03}.txt:1:")


def test_no_match_is_a_fact_and_no_error(grep, root):
    write(root, "a.txt", "text\n")
    assert grep.call(pattern="needle").output == "No matches"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("", "must not be empty"), ("a\0b", "NUL"), ("\ud800", "surrogates"),
     ("x" * 20_000, "at most"),
     ("foo(", r"pass this pattern: foo\("), ("a[b", r"pass this pattern: a\[b"), ("*", r"pattern: \*")],
)  # fmt: skip
def test_a_pattern_that_cannot_work_is_refused_with_a_way_out(grep, root, pattern, words):
    write(root, "a.txt", "x\n")
    result = grep.call(pattern=pattern)
    assert result.error_type in ("validation_error", "limit_exceeded")
    assert words in result.error


def test_binary_files_are_skipped(grep, root):
    write(root, "a.bin", b"x\n\0x\n")
    write(root, "a.txt", "x\n")
    assert matches_in(grep.call(pattern="x")) == ["a.txt:1:x"]
    assert grep.call(pattern="x", path="a.bin").output == "'a.bin' is a binary file, which is not searched"


def test_a_long_line_is_shown_around_its_match(grep, root):
    write(root, "a.txt", "é" * 5000 + "NEEDLE" + "z" * 5000 + "\n")
    result = grep.call(pattern="NEEDLE")
    line = matches_in(result)[0]
    assert "éNEEDLEz" in line
    assert len(line) < 520
    assert "[lines longer than 500 characters are truncated around the match: 1]" in result.output


def test_a_dollar_matches_before_any_line_ending(grep, root):
    write(root, "a.txt", "x y\r\ny x\r\nx\nx y\n")
    assert matches_in(grep.call(pattern="x$")) == ["a.txt:2:y x", "a.txt:3:x"]
    assert matches_in(grep.call(pattern="x$", output_mode="count")) == ["a.txt:2"]


def test_lines_that_are_not_utf8_are_shown_as_read_file_does(rg, root):
    write(root, "a.txt", b"caf\xe9 x\ncaf\xc3\xa9 x\n")
    assert matches_in(rg.call(pattern="x")) == ["a.txt:1:caf\u00e9 x", "a.txt:2:caf\u00e9 x"]


def test_a_stopped_search_returns_its_first_matches(rg, root):
    write(root, "a.txt", "x\n" * 300_000)
    result = rg.call(pattern="x", limit=2, offset=1000)
    assert matches_in(result) == ["a.txt:1001:x", "a.txt:1002:x"]
    assert "stopped early" in result.output


def test_a_line_cannot_forge_another_and_any_bytes_can_be_sent(grep, root):
    write(root, "a.txt", "x\rother.txt:1:forged\x1b[2J\u2028b.txt:9:forged\u202e\n")
    with open(os.fsencode(root) + b"/n\n\xff.txt", "wb") as file:
        file.write(b"x\xff\n")
    result = grep.call(pattern="x")
    assert len(result.output.splitlines()) == 2
    assert r"n\x0a\xff.txt:1:x" in result.output
    assert "\x1b" not in result.output
    result.to_json().encode()


def test_searches_follow_no_symlinks(grep, root):
    write(root, "real.txt", "secret of mine\n")
    (root / "out").symlink_to(root.parent / "outside")
    (root / "out.txt").symlink_to(root.parent / "outside" / "secret.txt")
    (root / "loop").symlink_to(".")
    assert matches_in(grep.call(pattern="secret")) == ["real.txt:1:secret of mine"]
    assert grep.call(pattern="secret", path="out").error_type == "denied"
    assert grep.call(pattern="secret", path="out.txt").error_type == "denied"
    assert matches_in(grep.call(pattern="secret", path="loop/real.txt")) == ["real.txt:1:secret of mine"]


def test_pipes_sockets_devices_and_the_kernel_s_files_do_not_block(grep, root):
    write(root, "a.txt", "x\n")
    os.mkfifo(root / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.open(root, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{here}/socket.txt")
        os.close(here)
        if os.geteuid() == 0:
            os.mknod(root / "zero.txt", 0o20666, os.makedev(1, 5))
        assert matches_in(grep.call(pattern="x")) == ["a.txt:1:x"]
        assert grep.call(pattern="x", path="pipe.txt").error_type == "not_a_file"
    everywhere = Grep("/")
    assert everywhere.call(pattern="x", path="proc/self/environ").error_type == "not_a_file"
    assert everywhere.call(pattern="x", path="proc/self").error_type == "not_a_file"


@pytest.mark.parametrize("pattern", ["--pre=./evil.sh", "-f/etc/passwd", "--files", "--", "-e", "-"])
def test_a_pattern_is_never_an_option(grep, root, pattern):
    script = root / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {root}/ran\ncat\n")
    script.chmod(0o755)
    write(root, "-f", f"{pattern}\n")
    write(root, "--files/x.txt", f"{pattern}\n")
    assert matches_in(grep.call(pattern=pattern, output_mode="files", glob="!*.sh")) == ["--files/x.txt", "-f"]
    assert matches_in(grep.call(pattern=".", path="--files"))[0].startswith("--files/x.txt:1:")
    assert grep.call(pattern="x", glob="--pre=./evil.sh").ok
    assert not (root / "ran").exists()


def test_rg_ignores_the_environment(rg, root, monkeypatch, tmp_path):
    (tmp_path / "rc").write_text("--files\n")
    (tmp_path / "home" / ".config" / "git").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "git" / "ignore").write_text("*\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(root, "a.txt", "x\n")
    assert matches_in(rg.call(pattern="x")) == ["a.txt:1:x"]


def test_an_rg_that_the_model_could_have_written_is_not_run(root, monkeypatch):
    program = root / "bin" / "rg"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {root}/ran\n")
    program.chmod(0o755)
    write(root, "a.txt", "x\n")
    monkeypatch.setenv("PATH", f".:bin:{root}/bin")
    monkeypatch.chdir(root)
    assert matches_in(Grep(root).call(pattern="x", glob="*.txt")) == ["a.txt:1:x"]
    assert not (root / "ran").exists()


def test_the_doctor_tells_which_program_searches(root, monkeypatch):
    if shutil.which("rg") is not None:
        assert Grep(root).diagnose() == {"grep_engine": "ripgrep", "programs": {"rg": shutil.which("rg")}}
    monkeypatch.setenv("PATH", "/nowhere")
    diagnosis = Grep(root).diagnose()
    assert diagnosis["programs"] == {"rg": None}
    assert "install ripgrep" in diagnosis["grep_engine"]


def test_a_search_below_another_root_shows_absolute_paths(grep, root, tmp_path):
    other = tmp_path / "other"
    write(other, "b.txt", "x\n")
    both = Grep(Workspace(root, Root(str(other), writable=False)))
    assert matches_in(both.call(pattern="x", path=str(other))) == [f"{other}/b.txt:1:x"]


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_catastrophic_pattern_ends_at_the_limit_at_the_latest(grep, root, pattern):
    write(root, "a.txt", ("a" * 50_000 + "?\n") * 20)
    result = grep.call({"pattern": pattern}, Context(timeout=0.5, enforced=False))
    assert result.ok


def test_a_search_at_its_time_limit_returns_its_matches(grep, root):
    write(root, "a.txt", "x\n" * 10)
    result = grep.call({"pattern": "x"}, Context(timeout=1e-6))
    assert not result.ok or result.metadata["truncated"]


def test_a_cancelled_search_ends(grep, root):
    write(root, "a.txt", "x\n")
    context = Context()
    context.cancel()
    assert grep.call({"pattern": "x"}, context).error_type == "cancelled"


@pytest.mark.slow
def test_a_swapped_folder_never_reveals_outside_files(grep, root):
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
        for _ in range(100):
            result = grep.call(pattern="secret|public", path="d")
            assert not result.ok or "secret" not in result.output
            assert not grep.call(pattern="secret", output_mode="files").metadata.get("total")
    finally:
        done.set()
        thread.join()


def children_of_this_process():
    """Return the child processes, including zombies; empty without /proc."""
    processes = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                processes.add(path.parent.name)
    return processes


def test_no_descriptor_and_no_process_is_left(grep, root):
    write(root, "a/b.txt", "x\n")
    grep.call(pattern="x")
    before = os.dup(0)
    os.close(before)
    children = children_of_this_process()
    for arguments in ({}, {"pattern": "("}, {"path": "no"}, {"path": "a/b.txt"}):
        for _ in range(5):
            grep.call({"pattern": "x", **arguments})
            Glob(root).call(pattern="**")
    after = os.dup(0)
    os.close(after)
    assert after == before
    assert children_of_this_process() <= children


def test_concurrent_searches_are_independent(grep, root):
    for number in range(20):
        write(root, f"{number % 6}/{number}.txt", f"word{number}\nword\n")
    expected = {f"word{number}": matches_in(grep.call(pattern=f"word{number}$")) for number in range(6)}
    got = []
    threads = [
        threading.Thread(target=lambda word=word: got.append((word, matches_in(grep.call(pattern=f"{word}$")))))
        for word in expected
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dict(got) == expected
