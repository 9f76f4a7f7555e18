from __future__ import annotations

import os
import socket
import threading

import pytest

from tools_core import Context
from tools_filesystem import Glob, ReadFile, Root, Workspace
from tools_filesystem._search import _budget, _folders


@pytest.fixture
def glob(root):
    return Glob(str(root))


@pytest.fixture
def make(root):
    """Makes files, with their folders, below the root."""

    def make(*paths):
        for path in paths:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("text\n")

    return make


def lines(result):
    assert result.ok, result.error
    return [] if not result.metadata["count"] else result.output.split("\n")[: result.metadata["count"]]


TREE = (
    "a.py", "b.txt", "[x].py", "src/a.py", "src/b.ts", "src/deep/a.py", "src/deep/er/c.js", "docs/a.md", ".hid/d.py",
    "src/.env", "tést/é.py", "we[ir]d/x.py",
)  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["[x].py", "a.py"]),
        ("**/*.py", ["[x].py", "a.py", "src/a.py", "src/deep/a.py", "tést/é.py", "we[ir]d/x.py"]),
        ("**/**/**/*.py", ["[x].py", "a.py", "src/a.py", "src/deep/a.py", "tést/é.py", "we[ir]d/x.py"]),
        ("src/**", ["src/a.py", "src/b.ts", "src/deep/a.py", "src/deep/er/c.js"]),
        ("src/**/a.py", ["src/a.py", "src/deep/a.py"]),
        ("**/deep/**/*", ["src/deep/a.py", "src/deep/er/c.js"]),
        ("src/*/", ["src/deep/"]),
        ("**/", ["docs/", "src/", "src/deep/", "src/deep/er/", "tést/", "we[ir]d/"]),
        ("**/*.{js,ts}", ["src/b.ts", "src/deep/er/c.js"]),
        ("{src,docs}/a.{py,md}", ["docs/a.md", "src/a.py"]),
        ("{src/deep,docs}/*", ["docs/a.md", "src/deep/a.py"]),
        ("src/{deep/{er/c,x},b}*", ["src/b.ts", "src/deep/er/c.js"]),
        ("[!b].*", ["a.py"]),
        ("[a-b].[pt][xy]*", ["a.py", "b.txt"]),
        (r"\[x\].py", ["[x].py"]),
        ("[[]x[]].py", ["[x].py"]),
        ("t?st/?.py", ["tést/é.py"]),
        ("./src//a.py", ["src/a.py"]),
        ("src/.env", ["src/.env"]),
        ("**/.*", ["src/.env"]),
        (".hid/*.py", [".hid/d.py"]),
        (".*/*", [".hid/d.py"]),
        ("**/d.py", []),
        ("*.PY", []),
        ("a.py/", []),
        ("{a.py}", []),
        ("{a.py,{b.txt", []),
        ("[a.py", []),
    ],
)
def test_a_pattern_finds_what_it_says(glob, make, pattern, expected):
    make(*TREE)
    assert lines(glob.call(pattern=pattern)) == expected


def test_hidden_names_match_on_request(glob, make):
    make(*TREE)
    assert lines(glob.call(pattern="**/*d.py", hidden=True)) == [".hid/d.py"]


def test_the_search_begins_at_path_and_its_results_can_be_passed_on(glob, make, root):
    make(*TREE)
    assert lines(glob.call(pattern="**/*.py", path="src")) == ["src/a.py", "src/deep/a.py"]
    assert lines(glob.call(pattern="*.py", path=f"{root}/src/")) == [f"{root}/src/a.py"]
    assert lines(glob.call(pattern="*", path="we[ir]d")) == ["we[ir]d/x.py"]


def test_an_absolute_pattern_works_below_a_root(make, root, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.py").write_text("")
    make(*TREE)
    glob = Glob(Workspace(str(root), Root(str(other), writable=False)))
    assert lines(glob.call(pattern=f"{root}/src/**/*.py")) == [f"{root}/src/a.py", f"{root}/src/deep/a.py"]
    assert lines(glob.call(pattern=f"{other}/*.py")) == [f"{other}/x.py"]
    assert lines(glob.call(pattern=f"{root}/we[[]ir]d/*")) == [f"{root}/we[ir]d/x.py"]
    assert glob.call(pattern="/etc/*").error_type == "denied"
    assert glob.call(pattern="/**/passwd").error_type == "denied"
    assert glob.call(pattern=f"{root}-evil/*").error_type == "denied"
    assert glob.call(pattern=f"{root}/*", path="src").error_type == "validation_error"


@pytest.mark.parametrize("pattern", ["../*", "src/../../outside/*", "**/../secret.txt", "{a,../outside/*}", "*/.."])
def test_a_pattern_never_leads_out(glob, make, pattern):
    make(*TREE)
    result = glob.call(pattern=pattern)
    assert result.error_type == "denied"
    assert "path" in result.error


def test_links_are_shown_and_not_followed(glob, make, root):
    make("real/a.py")
    (root / "out").symlink_to(root.parent / "outside")
    (root / "loop").symlink_to(".")
    (root / "in.py").symlink_to("real/a.py")
    (root / "dangling.py").symlink_to("nowhere")
    assert lines(glob.call(pattern="**")) == ["dangling.py", "in.py", "loop", "out", "real/a.py"]
    assert lines(glob.call(pattern="out/*")) == []
    assert lines(glob.call(pattern="*/a.py")) == ["real/a.py"]
    assert lines(glob.call(pattern="**/", sort="newest")) == ["real/"]


def test_pipes_sockets_and_devices_are_no_files(glob, make, root):
    make("a.py")
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.open(root, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{here}/socket.py")
        os.close(here)
        assert lines(glob.call(pattern="*.py")) == ["a.py"]


def test_ignore_files_are_heeded_and_can_be_switched_off(glob, make, root):
    make("a.py", "gen/a.py", "src/gen/a.py", "src/a.log", "src/keep.log", ".git/config", "src/skip.py")
    (root / ".gitignore").write_text("gen/\n*.log\n!keep.log\n")
    (root / "src" / ".ignore").write_text("/skip.py\n")
    result = glob.call(pattern="**/*", hidden=True)
    assert lines(result) == [".gitignore", "a.py", "src/.ignore", "src/keep.log"]
    assert result.metadata["ignored"] == 4
    assert lines(glob.call(pattern="*", path="src")) == ["src/keep.log"]
    assert lines(glob.call(pattern="*", path="src/gen")) == ["src/gen/a.py"]
    assert "src/a.log" in lines(glob.call(pattern="**/*", ignore=False))
    assert ".git/config" in lines(glob.call(pattern="**/*", ignore=False, hidden=True))


def test_nothing_found_is_a_fact_with_a_next_step(glob, make):
    make("src/a.py")
    result = glob.call(pattern="*.py")
    assert result.ok
    assert result.output.startswith("No files match '*.py' in '.'; '**/*.py' looks in its folders, too")
    assert dict(result.metadata) == {"total": 0, "count": 0, "truncated": False}


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"pattern": "*", "path": "missing"}, "not_found", "no 'missing'"),
        ({"pattern": "*", "path": "file.txt"}, "not_a_directory", "no folder"),
        ({"pattern": "*", "path": "../outside"}, "denied", "leads out"),
        ({"pattern": ""}, "validation_error", "'**'"),
        ({"pattern": "a\0b"}, "validation_error", "NUL"),
        ({"pattern": "*", "limit": 0}, "validation_error", "limit"),
    ],
)
def test_what_cannot_work_says_what_would(glob, make, arguments, error, words):
    make("file.txt")
    result = glob.call(arguments)
    assert result.error_type == error
    assert words in result.error


@pytest.mark.parametrize("sort", ["path", "newest"])
def test_following_the_hint_finds_every_file_once(glob, root, sort):
    for number in range(57):
        path = root / f"{number % 5}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
        os.utime(path, ns=(0, (number * 7919) % 57 * 10**9))
    arguments, seen = {"pattern": "**", "limit": 10, "sort": sort}, []
    while arguments:
        result = glob.call(arguments)
        assert result.metadata["total"] == 57
        seen += lines(result)
        arguments = result.metadata.get("next")
        assert result.metadata["truncated"] is (arguments is not None)
        assert arguments is None or result.output.endswith(f"of 57; go on with offset={len(seen)}]")
    order = (lambda path: -os.stat(root / path).st_mtime_ns) if sort == "newest" else None
    assert seen == sorted((path.relative_to(root).as_posix() for path in root.rglob("*.txt")), key=order)


def test_the_first_paths_are_those_whatever_was_found_before_them(glob, root):
    (root / "a").mkdir()
    for name in [f"z{number}" for number in range(5)] + [f"a/{number:05}" for number in range(10_010)]:
        (root / name).touch()
    result = glob.call(pattern="**", limit=5)
    assert result.output.splitlines()[:5] == [f"a/{number:05}" for number in range(5)]
    assert result.metadata["total"] == 10_015


def test_exactly_limit_files_are_not_called_truncated(glob, make):
    make(*(f"{number}.txt" for number in range(10)))
    result = glob.call(pattern="*", limit=10)
    assert result.metadata["truncated"] is False
    assert len(result.output.splitlines()) == 10
    past = glob.call(pattern="*", offset=10)
    assert past.output == "10 files match '*' in '.'; offset 10 is past the last"


def test_names_of_any_bytes_stay_on_their_line_and_can_be_passed_back(glob, root):
    for odd in (b"a\nb\xff.txt", b"in/\x1b[2J/c\xe9.txt"):
        place = root / os.fsdecode(odd)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("found")
    result = glob.call(pattern="**/*.txt")
    assert result.output.splitlines() == [r"'a\x0ab\xff.txt'", r"in/'\x1b[2J'/'c\xe9.txt'"]
    result.to_json().encode()
    for line in result.output.splitlines():
        assert ReadFile(str(root)).call(path=line).output == "found"


def test_files_that_vanish_meanwhile_never_fail_the_call(glob, make, root):
    make(*(f"{number % 20}/{number}.txt" for number in range(400)))
    done = threading.Event()

    def churn():
        number = 0
        while not done.is_set():
            path = root / f"{number % 20}" / f"{number % 400}.txt"
            path.unlink(missing_ok=True)
            path.write_text("")
            number += 7

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        results = [glob.call(pattern="**/*.txt", sort=sort) for sort in ("path", "newest") for _ in range(30)]
    finally:
        done.set()
        thread.join()
    assert all(result.ok for result in results)
    assert all(result.metadata["count"] > 300 for result in results)


def test_a_folder_that_cannot_be_read_is_told(glob, make, root):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    make("open/a.py", "closed/b.py")
    (root / "closed").chmod(0)
    result = glob.call(pattern="**/*.py")
    (root / "closed").chmod(0o700)
    assert lines(result) == ["open/a.py"]
    assert "[1 could not be read: closed/]" in result.output


@pytest.mark.parametrize(
    "pattern",
    [
        "{a,b}" * 12, "{" * 60, "{a,{b,{c,{d,{e,f}}}}}" * 5, "x" * 5000, "{" + "," * 300 + "}", "{,}" * 30,
    ],
)  # fmt: skip
def test_brace_bombs_are_refused(glob, pattern):
    result = glob.call(pattern=pattern)
    assert result.error_type == "limit_exceeded"


@pytest.mark.parametrize(
    "pattern",
    [
        "**/" * 500 + "x", "**/a/" * 200 + "b", "*a" * 100 + "b", "**/" + "*a*" * 80 + "b", "?" * 3000,
        "[a-z]*" * 200 + "[!a]", "{**/a,**/b,**/c,**/d}/{**/a,**/b,**/c,**/d}/{**/e,**/f,**/g}/x",
    ],
)  # fmt: skip
def test_no_pattern_blows_up(glob, root, pattern):
    folder = root
    for _ in range(60):
        folder /= "a"
    folder.mkdir(parents=True)
    for path in [folder, *folder.parents][:40]:
        (path / ("a" * 200)).write_text("")
    result = glob.call({"pattern": pattern}, Context(timeout=20))
    assert result.ok
    assert "stopped" not in result.metadata


def test_a_search_out_of_time_says_so(glob, make):
    make("a.py")
    result = glob.call({"pattern": "**"}, Context(timeout=1e-9))
    assert not result.ok or result.metadata["truncated"] is True


def test_a_search_that_stopped_is_called_truncated(glob, make, monkeypatch):
    make(*(f"{number}/a.txt" for number in range(20)))
    monkeypatch.setattr(_budget, "ENTRIES", 30)
    monkeypatch.setattr(_folders, "_RARELY", 1)
    result = glob.call(pattern="**/*.txt")
    assert result.metadata["truncated"] is True
    assert result.metadata["stopped"] == "too many files and folders"
    assert 0 < result.metadata["total"] < 20


def test_other_file_systems_are_not_entered_but_counted():
    if not os.path.ismount("/proc"):
        pytest.skip("this system has no /proc")
    result = Glob("/").call(pattern="proc/*")
    assert result.metadata["total"] == 0
    assert result.metadata["mounts"] == 1
    assert "pass one as path to search it" in result.output


def test_folders_too_deep_are_counted(glob, root):
    folder = root.joinpath(*["a"] * 150)
    folder.mkdir(parents=True)
    (folder / "x.py").write_text("")
    result = glob.call(pattern="**/*.py")
    assert result.metadata["too_deep"] == 1
    assert "pass one as path" in result.output


@pytest.mark.slow
def test_a_hundred_thousand_files_in_one_folder(glob, root):
    for number in range(100_000):
        os.close(os.open(root / f"{number:06}.txt", os.O_CREAT))
    result = glob.call(pattern="**/*.txt", limit=3, offset=99_998)
    assert lines(result) == ["099998.txt", "099999.txt"]
    assert result.metadata["total"] == 100_000


def test_many_at_once_share_nothing(glob, make):
    make(*TREE)
    expected = {pattern: glob.call(pattern=pattern) for pattern in ("**/*.py", "src/**", "**/", "*.txt")}
    got = []

    def call(pattern):
        got.extend((pattern, glob.call(pattern=pattern)) for _ in range(20))

    threads = [threading.Thread(target=call, args=(pattern,)) for pattern in expected for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 320
    assert all(result == expected[pattern] for pattern, result in got)
