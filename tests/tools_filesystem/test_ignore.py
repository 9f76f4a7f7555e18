from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest

from tools_core import Context
from tools_filesystem import Glob

NAMES = ("a", "b", "ab", "foo", "bar.py", "a.log", "b.log", ".x", "foo bar", "ba r ", "#a", "!b", "[a]", "a*b")
PIECES = ("a", "b", "foo", "*", "**", "?", "*.log", "a*", "*b", "[ab]", "[!a]", "[^b]*", "[a-c]?", "*.py", "ba*y", "[",
          r"\a", r"\*", "[[:alpha:]]", "[]a]", "a**b", "***", ".x", ".*", "foo?bar", "a[", r"[\a]", "[b-a]",
          "x\\")  # fmt: skip


@pytest.fixture
def repository(root, monkeypatch):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(root.parent))
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def git_sees(repository):
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=repository, capture_output=True, check=True)
    return sorted(os.fsdecode(path) for path in done.stdout.split(b"\0") if path)


def we_see(repository):
    result = Glob(str(repository)).call(pattern="**", hidden=True, limit=10_000)
    return sorted(result.output.split("\n")) if result.metadata["count"] else []


def rule(rnd):
    parts = [rnd.choice(PIECES if rnd.random() < 0.7 else NAMES) for _ in range(rnd.choice((1, 1, 1, 2, 2, 3)))]
    text = "/".join(parts)
    text = rnd.choice(("", "", "", "/", "!", "!", "!/", "**/", "\\", "#")) + text
    return text + rnd.choice(("", "", "", "/", "/**", "/*", " ", "  ", r"\ ", "\r"))


def grow(rnd, folder, depth=0):
    for name in rnd.sample(NAMES, rnd.randint(2, 6)):
        if depth < 3 and rnd.random() < 0.45:
            (folder / name).mkdir()
            grow(rnd, folder / name, depth + 1)
        else:
            (folder / name).write_text("")
    if depth == 0 or rnd.random() < 0.3:
        rules = [rule(rnd) for _ in range(rnd.randint(1, 6))]
        (folder / ".gitignore").write_text("\n".join(rules) + rnd.choice(("", "\n")), newline="")


def check_against_git(repository, seeds):
    for seed in seeds:
        rnd = random.Random(seed)
        for path in repository.iterdir():
            if path.name == ".git":
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        grow(rnd, repository)
        exclude = repository / ".git" / "info" / "exclude"
        exclude.write_text("\n".join(rule(rnd) for _ in range(rnd.randint(0, 2))))
        rules = {path: path.read_text() for path in [*repository.rglob(".gitignore"), exclude]}
        assert we_see(repository) == git_sees(repository), (seed, rules)


@pytest.mark.slow
def test_random_rules_hide_what_git_hides(repository):
    check_against_git(repository, range(120))


CASES = [
    ("foo", ["foo", "a/foo/b"], ["foox"]),
    ("/foo", ["foo"], ["a/foo"]),
    ("foo/", ["foo/a"], ["b/foo"]),
    ("a/b", ["a/b"], ["x/a/b"]),
    ("**/a/b", ["a/b", "x/y/a/b"], ["a/c/b"]),
    ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["b"]),
    ("a/**", ["a/x", "a/z/y"], ["b/a"]),
    ("*.log\n!keep.log", ["x.log", "a/x.log"], ["keep.log", "a/keep.log"]),
    ("gen/\n!gen/keep", ["gen/keep"], []),
    ("gen/*\n!gen/keep", ["gen/x"], ["gen/keep"]),
    (r"\#a" + "\n" + r"\!b", ["#a", "!b"], []),
    ("# foo\n\n   ", [], ["foo", "# foo"]),
    ("foo \nbar\\ ", ["foo", "bar "], ["bar"]),
    ("foo\r\n", ["foo"], []),
    ("\ufefffoo", ["foo"], []),
    ("a[!b]c", ["axc"], ["abc"]),
    ("[[:digit:]]x", ["1x"], ["ax"]),
    ("a[b", [], ["a[b", "ab"]),
    ("foo\\", [], ["foo", "foo\\"]),
    ("**", ["a", "b/c"], []),
    ("/*\n!/src\n/src/*\n!/src/keep", ["a", "src/x", "b/keep"], ["src/keep"]),
]


@pytest.mark.parametrize(("rules", "hidden", "visible"), CASES, ids=[repr(case[0]) for case in CASES])
def test_each_kind_of_rule(repository, rules, hidden, visible):
    for path in (*hidden, *visible):
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text("")
    (repository / ".git" / "info" / "exclude").write_text(".gitignore\n")
    (repository / ".gitignore").write_text(rules, newline="")
    assert we_see(repository) == sorted(visible) == git_sees(repository)


def test_own_rules_go_before_those_of_git_and_those_before_exclude(repository):
    (repository / "sub").mkdir()
    for name in ("a", "b", "c", "sub/a"):
        (repository / name).write_text("")
    (repository / ".git" / "info" / "exclude").write_text("a\nb\nc\n.*ignore\n")
    (repository / ".gitignore").write_text("!b\n!c\n")
    (repository / ".ignore").write_text("c\n!sub/a\n")
    assert we_see(repository) == ["b", "sub/a"]


def test_a_repository_inside_does_not_know_the_rules_around_it(repository):
    inner = repository / "inner"
    subprocess.run(["git", "init", "-q", inner], check=True)
    (repository / ".gitignore").write_text("*.log\n")
    (inner / "x.log").write_text("")
    (inner / ".git" / "info" / "exclude").write_text("y.txt")
    (inner / "y.txt").write_text("")
    assert we_see(repository) == [".gitignore", "inner/x.log"]


def test_rules_above_the_folder_that_is_searched_hold_there(repository):
    (repository / "a" / "b").mkdir(parents=True)
    for name in ("x.log", "y.txt", "z.txt"):
        (repository / "a" / "b" / name).write_text("")
    (repository / ".gitignore").write_text("*.log\n/a/b/y.txt\n")
    glob = Glob(str(repository))
    for path in ("a/b", "./a//b/", f"{repository}/a/b"):
        assert glob.call(pattern="*", path=path).output.endswith("/z.txt")
        assert glob.call(pattern="*", path=path).metadata["total"] == 1


def test_an_ignore_file_that_is_a_link_or_a_pipe_is_not_read(root):
    (root.parent / "outside" / "rules").write_text("*\n")
    (root / ".gitignore").symlink_to(root.parent / "outside" / "rules")
    os.mkfifo(root / ".ignore")
    (root / "a").write_text("")
    assert Glob(str(root)).call(pattern="*").output == "a"


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules",
    [
        pytest.param("\n".join(f"name{number}" for number in range(100_000)), id="100,000 names"),
        pytest.param("\n".join(f"*.{number}" for number in range(100_000)), id="100,000 endings"),
        pytest.param("\n".join(f"/a/{number}/b" for number in range(100_000)), id="100,000 paths"),
        pytest.param("\n".join(f"a*{number}?[!x]*z" for number in range(30_000)), id="30,000 wildcards"),
        pytest.param("a" * (1 << 20) + "\nb", id="a line of 1 MB"),
        pytest.param("*a" * 2000 + "b", id="stars"),
        pytest.param("/".join(["**", "a"] * 1000), id="double stars"),
        pytest.param("[" * 4000, id="brackets"),
        pytest.param("*/" * 2000 + "x\n" * 400_000, id="larger than is read"),
        pytest.param("\0\x01\ud800"[:2] * 1000, id="control characters"),
    ],
)
def test_an_evil_ignore_file_is_bounded(root, rules):
    (root / ".gitignore").write_text(rules)
    folder = root / "/".join(["a"] * 30)
    folder.mkdir(parents=True)
    for number in range(600):
        (folder / f"{'a' * 100}{number}").write_text("")
    result = Glob(str(root)).call({"pattern": "**/*"}, Context(timeout=40))
    assert result.metadata["total"] == 600
    assert "stopped" not in result.metadata


def test_rules_that_are_not_heeded_are_counted(root):
    (root / ".gitignore").write_text("\n".join(f"a*{number}?" for number in range(1500)))
    result = Glob(str(root)).call(pattern="*")
    assert result.metadata["ignore_rules_dropped"] == 1000  # 500 for files, 500 for folders
    assert "were not heeded" in result.output


@pytest.mark.slow
def test_rules_behind_what_is_read_of_an_ignore_file_are_not_passed_over_in_silence(root):
    (root / ".gitignore").write_text("a\n" + "x\n" * (1 << 19) + "b\n")
    for name in "abc":
        (root / name).write_text("")
    result = Glob(str(root)).call(pattern="*")
    assert result.output.split("\n")[:2] == ["b", "c"]
    assert result.metadata["ignore_rules_dropped"] == 1
    assert "were not heeded" in result.output
