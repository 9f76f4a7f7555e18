from __future__ import annotations

import os
import shutil
import threading

import pytest

from tools_core import Context
from tools_filesystem import Glob, ReadFile, Root, Workspace


@pytest.fixture(params=["rg", "scan"])
def glob(request, root, monkeypatch):
    """The tool with both programs that search."""
    if request.param == "scan":
        monkeypatch.setenv("PATH", "/nowhere")
    elif shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return Glob(root)


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
    "src/.env", "tést/é.py", "we[ir]d/x.py", ".git/config",
)  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["[x].py", "a.py"]),
        ("**/*.py", [".hid/d.py", "[x].py", "a.py", "src/a.py", "src/deep/a.py", "tést/é.py", "we[ir]d/x.py"]),
        ("**/**/**/deep/*.py", ["src/deep/a.py"]),
        ("src/**", ["src/.env", "src/a.py", "src/b.ts", "src/deep/a.py", "src/deep/er/c.js"]),
        ("src/**/a.py", ["src/a.py", "src/deep/a.py"]),
        ("**/deep/**/*", ["src/deep/a.py", "src/deep/er/c.js"]),
        ("**/*.{js,ts}", ["src/b.ts", "src/deep/er/c.js"]),
        ("{src,docs}/a.{py,md}", ["docs/a.md", "src/a.py"]),
        ("src/{deep/{er/c,x},b}*", ["src/b.ts", "src/deep/er/c.js"]),
        ("[!b].*", ["a.py"]),
        (r"\[x\].py", ["[x].py"]),
        ("t?st/?.py", ["tést/é.py"]),
        ("./src//a.py", ["src/a.py"]),
        ("**/.*", ["src/.env"]),
        (".*/*", [".hid/d.py"]),
        ("*.PY", []),
        ("{a.py", []),
        ("src/[^b].py", ["src/a.py"]),
        ("src/[[:alpha:]].py", ["src/a.py"]),
        ("src/[[:digit:]].py", []),
        (r"[\[]x[\]].py", ["[x].py"]),
        ("[x].py", ["[x].py"]),
        ("we[ir]d/[a-z].py", ["we[ir]d/x.py"]),
        ("[a.py", []),
    ],
)
def test_a_pattern_matches_like_git(glob, make, pattern, expected):
    make(*TREE)
    assert lines(glob.call(pattern=pattern)) == expected


def test_folders_with_brackets_in_their_names_are_found(glob, make):
    make("app/[slug]/page.tsx", "app/[...all]/page.tsx", "app/[[...rest]]/page.tsx", "app/s/page.tsx")
    assert lines(glob.call(pattern="app/[slug]/*.tsx")) == ["app/[slug]/page.tsx", "app/s/page.tsx"]
    assert "app/[...all]/page.tsx" in lines(glob.call(pattern="app/[...all]/*"))
    assert lines(glob.call(pattern="app/[[...rest]]/**")) == ["app/[[...rest]]/page.tsx"]


def test_ignore_files_of_a_repository_above_the_workspace_apply(make, root):
    if shutil.which("rg") is None:
        pytest.skip("only ripgrep reads ignore files")
    make(".git/HEAD", "project/a.generated", "project/a.py")
    (root / ".gitignore").write_text("*.generated\n")
    assert lines(Glob(root / "project").call(pattern="**")) == ["a.py"]


def test_an_unknown_character_class_is_refused(glob, make):
    make("a.py")
    assert "[:foo:]" in glob.call(pattern="[[:foo:]]").error


def test_the_search_begins_at_path_and_its_results_can_be_passed_on(glob, make, root):
    make(*TREE)
    assert lines(glob.call(pattern="**/*.py", path="src")) == ["src/a.py", "src/deep/a.py"]
    assert lines(glob.call(pattern="*.py", path=f"{root}/src/")) == ["src/a.py"]
    assert lines(glob.call(pattern="*", path="we[ir]d")) == ["we[ir]d/x.py"]
    assert glob.call(pattern="*", path="src/a.py").error_type == "not_a_directory"


def test_an_absolute_pattern_works_below_a_root(make, root, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.py").write_text("")
    make(*TREE)
    glob = Glob(Workspace(str(root), Root(str(other), writable=False)))
    assert lines(glob.call(pattern=f"{root}/src/**/*.py")) == ["src/a.py", "src/deep/a.py"]
    assert lines(glob.call(pattern=f"{other}/*.py")) == [f"{other}/x.py"]
    assert glob.call(pattern="/etc/*").error_type == "denied"
    assert glob.call(pattern=f"{root}-evil/*").error_type == "denied"
    assert glob.call(pattern=f"{root}/*", path="src").error_type == "validation_error"


@pytest.mark.parametrize("pattern", ["../*", "src/../../outside/*", "**/../secret.txt", "{a,../outside/*}", "*/.."])
def test_a_pattern_never_leads_out(glob, make, pattern):
    make(*TREE)
    assert glob.call(pattern=pattern).error_type == "denied"


def test_links_pipes_and_folders_are_not_listed(glob, make, root):
    make("real/a.py")
    (root / "out").symlink_to(root.parent / "outside")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "pipe.py")
    assert lines(glob.call(pattern="**")) == ["real/a.py"]
    assert glob.call(pattern="out/*").error_type == "denied"


def test_ignore_files_apply_unless_the_path_is_ignored_itself(glob, make, root):
    if shutil.which("rg") is None:
        pytest.skip("only ripgrep reads ignore files")
    make("a.py", "gen/a.py", "src/gen/a.py", "src/a.log", "src/keep.log")
    (root / ".gitignore").write_text("gen/\n*.log\n!keep.log\n.gitignore\n")
    assert lines(glob.call(pattern="**/*")) == ["a.py", "src/keep.log"]
    assert lines(glob.call(pattern="**/*.log")) == ["src/keep.log"]
    assert lines(glob.call(pattern="gen/*")) == ["gen/a.py"]


def test_no_matches_return_a_hint(glob, make):
    make("src/a.py")
    result = glob.call(pattern="a.py")
    assert result.ok
    assert result.output == "No files match 'a.py'; '**/a.py' searches all folders"


@pytest.mark.parametrize(("pattern", "words"), [("", "'**' finds all"), ("/", "'**' finds all"), ("a\0", "NUL")])
def test_invalid_patterns_return_a_fix(glob, pattern, words):
    result = glob.call(pattern=pattern)
    assert result.error_type == "validation_error"
    assert words in result.error


@pytest.mark.parametrize("sort", ["path", "newest"])
def test_following_the_hint_finds_every_file_once(glob, root, sort):
    for number in range(25):
        (root / f"{number:02}.txt").write_text("")
        os.utime(root / f"{number:02}.txt", (number, number))
    offset, listed = 0, []
    while offset is not None:
        result = glob.call(pattern="*", sort=sort, limit=10, offset=offset)
        listed += lines(result)
        assert result.metadata["total"] == 25
        offset = result.metadata.get("next_offset")
        assert result.metadata["truncated"] is (offset is not None)
    expected = [f"{number:02}.txt" for number in range(25)]
    assert listed == (expected if sort == "path" else expected[::-1])
    assert glob.call(pattern="*", offset=25).output == "25 files match; offset 25 is past the last"


def test_names_of_any_bytes_stay_on_their_line_and_can_be_passed_back(glob, root):
    for odd in (b"a\nb\xff.txt", b"in/\x1b[2J/c\xe9.txt"):
        place = root / os.fsdecode(odd)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("found")
    result = glob.call(pattern="**/*.txt")
    assert result.output.splitlines() == [r"a\x0ab\xff.txt", r"in/\x1b[2J/c\xe9.txt"]
    result.to_json().encode()
    for line in result.output.splitlines():
        assert "found" in ReadFile(root).call(path=line).output


@pytest.mark.slow
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
        results = [glob.call(pattern="**/*.txt", sort=sort) for sort in ("path", "newest") for _ in range(5)]
    finally:
        done.set()
        thread.join()
    assert all(result.ok and result.metadata["count"] > 300 for result in results)


@pytest.mark.parametrize("pattern", ["{a,b}" * 12, "{" + "," * 300 + "}", "{,}" * 30, "{" + "{a,b}" * 20 + ",x}"])
def test_brace_bombs_are_refused(glob, pattern):
    assert glob.call(pattern=pattern).error_type == "limit_exceeded"


@pytest.mark.parametrize(
    "pattern",
    ["**/" * 500 + "x", "**/a/" * 200 + "b", "*a" * 100 + "b", "**/" + "*a*" * 80 + "b", "?" * 3000, "[" * 4000,
     "[a-z]*" * 200 + "[!a]", "{**/a,**/b,**/c,**/d}/{**/a,**/b,**/c,**/d}/{**/e,**/f,**/g}/x"],
)  # fmt: skip
def test_no_pattern_blows_up(glob, root, pattern):
    folder = root.joinpath(*["a"] * 60)
    folder.mkdir(parents=True)
    for path in [folder, *folder.parents][:40]:
        (path / ("a" * 200)).write_text("")
    result = glob.call({"pattern": pattern}, Context(timeout=20))
    assert result.ok
    assert not result.metadata["truncated"]


def test_a_search_out_of_time_says_so(glob, make):
    make("a.py")
    result = glob.call({"pattern": "**"}, Context(timeout=1e-9))
    assert not result.ok or result.metadata["truncated"] is True
