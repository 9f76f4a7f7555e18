"""File tools at default settings: editing, patches, searching, overwriting."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_agent import Agent, ScriptedProvider
from tools_core import Context, Registry, Result, ToolCall
from tools_filesystem import ReadFile
from tools_runtime import Executor, Policy, hookimpl
from tools_runtime.plugins import OutputBudget

needs_ripgrep = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")


@pytest.fixture(scope="session")
def tools():
    """The installed tools."""
    registry = Registry()
    registry.discover()
    return registry


@pytest.fixture
def call(tools, workspace):
    """Calls an installed tool in the workspace, approved, all calls in one run."""

    def run(name, *, run="run", **arguments):
        context = Context(workspace=workspace, run_id=run)
        return tools.call(ToolCall("1", name, arguments), context, approve="all")

    return run


@pytest.fixture
def put(workspace):
    """Writes a file as the user does."""

    def write(path, content=b""):
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    return write


# Line endings.


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a\r\nfoo\r\nz\r\n", "\nfoo", "\nbar\nbaz", b"a\r\nbar\r\nbaz\r\nz\r\n"),
        (b"a\r\nfoo\r\nz\r\n", "foo\n", "", b"a\r\nz\r\n"),
        (b"a\r\nfoo\r\nz\r\n", "\r\nfoo", "\nfoo\nbar", b"a\r\nfoo\r\nbar\r\nz\r\n"),
        (b"a\nfoo\nz\n", "a\r\nfoo\r\n", "b\r\n", b"b\nz\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", b"a\r\nB\nc\r\n"),
        (b"a\r\nb\nc\r\n", "b\nc\n", "b\nx\nc\n", b"a\r\nb\nx\nc\r\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "a\nc", b"a\nc\n"),
        (b"a\rb\r\nc", "\rb\n", "\rB\n", b"a\rB\r\nc"),
        (b"a\r\r\nb", "a\r\n", "x\n", b"a\r\r\nb"),
        (b"a\r\nb\r\n", "a\r", "x\r", b"a\r\nb\r\n"),
        (b"a\r\nb\r\n", "b\r\n", "b\n", b"a\r\nb\r\n"),
        ("\ufeffä\r\nb\r\n".encode("utf-16-be"), "\nb", "\nc\nd", "\ufeffä\r\nc\r\nd\r\n".encode("utf-16-be")),
        (b"caf\xe9\r\nb\r\n", "é\nb", "è\nc\nd", b"caf\xe8\r\nc\r\nd\r\n"),
    ],
)  # fmt: skip
def test_an_edit_matches_whole_line_endings_and_keeps_them(call, put, content, old, new, expected):
    file = put("a.txt", content)
    call("edit_file", path="a.txt", old_string=old, new_string=new)
    assert file.read_bytes() == expected


def test_replacing_every_line_end_takes_whole_line_endings(call, put):
    file = put("a.txt", b"a\r\nb\nc\r\n")
    result = call("edit_file", path="a.txt", old_string="\n", new_string=" ", replace_all=True)
    assert file.read_bytes() == b"a b c "
    assert "-b" in str(result.content)


UNITS = re.compile(r"\r\n|.", re.DOTALL)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("ab\r\n", max_size=20), st.text("ab\n", min_size=1, max_size=4), st.text("ab\n", max_size=4))
def test_an_edit_changes_only_the_units_of_its_text(call, put, content, old, new):
    file = put("a.txt", content)
    result = call("edit_file", path="a.txt", old_string=old, new_string=new)
    before, after = (UNITS.findall(text) for text in (content, file.read_bytes().decode()))
    plain = ["\n" if unit == "\r\n" else unit for unit in before]
    places = [at for at in range(len(plain)) if plain[at : at + len(old)] == list(old)]
    assert result.ok is (len(places) == 1 and old != new)
    if not result.ok:
        assert after == before
        return
    at, end = places[0], places[0] + len(old)
    if before[at - 1 : at] == ["\r"] and "".join([new, *plain[end:]]).startswith("\n"):
        return  # they become a CRLF
    tail = len(before) - end
    head, middle, rest = after[:at], after[at : len(after) - tail], after[len(after) - tail :]
    assert (head, rest) == (before[:at], before[end:])
    assert "".join(middle).replace("\r\n", "\n") == new
    endings = [unit for unit in before[at:end] if unit in ("\n", "\r\n")]
    if new.count("\n") == len(endings):
        assert [unit for unit in middle if unit in ("\n", "\r\n")] == endings


# Overwriting.

BIG = "".join(f"line {number} of the file with some text\n" for number in range(1700))


@pytest.fixture
def agent(tools, workspace):
    """Runs an agent whose model sends these calls; returns the results as the model reads them."""

    def run(*calls, hooks=(), **options):
        replies = [ToolCall(None, *call) for call in calls]
        model, used = ScriptedProvider(*replies, "done"), [tools["read_file"], tools["write_file"]]
        agent = Agent(model=model, tools=used, workspace=workspace, approve="all", hooks=hooks, **options)
        agent.generate("go")
        return [message.content for message in agent.session.messages if message.role == "tool"]

    return run


OVERWRITE = ("write_file", {"path": "big.txt", "content": "short\n"})


@pytest.mark.parametrize("size", [700, 800, 850, 900, 1700])
def test_an_agent_overwrites_no_line_that_its_model_did_not_see(agent, put, size):
    lines = BIG.splitlines(keepends=True)[:size]
    file = put("big.txt", "".join(lines))
    content, wrote = agent(("read_file", {"path": "big.txt"}), OVERWRITE)
    is_seen = all(line in content for line in lines)
    assert wrote.startswith("Replaced") is is_seen
    assert (file.read_text() == "short\n") is is_seen


def test_an_agent_may_overwrite_a_file_that_it_has_read_page_by_page(agent, put):
    file = put("big.txt", BIG)
    offsets = [1]
    while len(offsets) < 10:
        *pages, wrote = agent(*(("read_file", {"path": "big.txt", "offset": offset}) for offset in offsets), OVERWRITE)
        more = re.search(r"continue with offset=(\d+)", pages[-1])
        if more is None:
            break
        assert "big.txt' (6 bytes)" not in wrote
        assert file.read_text() == BIG
        offsets.append(int(more[1]))
    assert len(offsets) == 3
    assert all(line in "".join(pages) for line in BIG.splitlines())
    assert file.read_text() == "short\n"


class Cut:
    """A hook that changes what the model reads."""

    def __init__(self, change):
        self.change = change

    @hookimpl
    def after_tool_call(self, call, result):
        return Result.ok(result.output, content=self.change(str(result.content))) if call.name == "read_file" else None


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:100],
        lambda text: text[-100:],
        lambda text: text[:30] + "\n[...]\n" + text[-30:],
        lambda text: text.replace("line 3", "[redacted]"),
        lambda _: "It has ten lines.",
    ],
)
def test_a_hook_that_hides_lines_keeps_the_file(agent, put, change):
    file = put("big.txt", "".join(BIG.splitlines(keepends=True)[:10]))
    _, wrote = agent(("read_file", {"path": "big.txt"}), OVERWRITE, hooks=[Cut(change)])
    assert "you have read only" in wrote or "you have not read" in wrote
    assert file.read_text() != "short\n"


@pytest.mark.parametrize("change", [str, lambda text: f"Note:\n{text}", lambda text: text + "[a remark]"])
def test_remarks_of_a_hook_hide_no_line(agent, put, change):
    file = put("big.txt", "".join(BIG.splitlines(keepends=True)[:10]))
    agent(("read_file", {"path": "big.txt"}), OVERWRITE, hooks=[Cut(change)])
    assert file.read_text() == "short\n"


@pytest.mark.parametrize("hooks", [[OutputBudget(300)], [OutputBudget(40)]])
def test_a_smaller_budget_shows_less(agent, put, hooks):
    file = put("big.txt", "".join(BIG.splitlines(keepends=True)[:10]))
    agent(("read_file", {"path": "big.txt", "limit": 1}), ("read_file", {"path": "big.txt"}), OVERWRITE, hooks=hooks)
    assert file.read_text() != "short\n"


@pytest.mark.parametrize("content", [BIG.encode("utf-16"), BIG.replace("line", "ligne é").encode("cp1252")])
def test_pages_count_in_every_encoding(call, put, content):
    file = put("big.txt", content)
    call("read_file", path="big.txt", limit=900)
    assert call("write_file", path="big.txt", content="short\n").error_type == "conflict"
    call("read_file", path="big.txt", offset=901)
    assert call("write_file", path="big.txt", content="short\n").ok
    assert file.read_bytes() == b"short\n"


def test_lines_that_grep_shows_are_not_the_file(call, put):
    put("a.txt", "one\ntwo\n")
    call("grep", pattern="one|two")
    assert call("write_file", path="a.txt", content="").error_type == "conflict"


# Patches.


@pytest.fixture
def git(workspace):
    """Runs git as the user does."""

    def run(*lines):
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        outputs = [
            subprocess.run([*command, *line.split()], cwd=workspace, capture_output=True, check=True) for line in lines
        ]
        return outputs[-1].stdout.decode()

    return run


def test_a_new_file_without_a_final_line_feed_removes_no_line(call):
    patch = "--- /dev/null\n+++ b/t\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    assert call("apply_patch", patch=patch).content == "Added t (+1 -0)"


def test_a_git_diff_with_copies_applies(call, put, git, workspace):
    git("init -q")
    put("a.sh", "".join(f"{number}\n" for number in range(20))).chmod(0o755)
    git("add .", "commit -qm 1")
    old = (workspace / "a.sh").read_text()
    put("a.sh", old.replace("7\n", "seven\n", 1))
    put("b.sh", old.replace("3\n", "three\n", 1)).chmod(0o755)
    git("add .")
    patch = git("diff --cached -C -C")
    assert "copy from" in patch
    git("reset -q --hard")
    assert call("apply_patch", patch=patch).ok
    assert git("diff -C -C", "add .", "diff --cached -C -C") == patch


@pytest.mark.parametrize("case", ["diff", "subversion"])
def test_a_diff_creates_and_deletes_files_without_dev_null(call, put, workspace, case):
    for name, content in {"old/gone": "x\n", "old/same": "s\n", "new/same": "s\n", "new/made": "y\n"}.items():
        put(name, content)
    done = subprocess.run(["diff", "-ruN", "old", "new"], cwd=workspace, capture_output=True, text=True, check=False)
    patch = done.stdout
    if case == "subversion":
        patch = (
            "Index: gone\n=====\n--- gone\t(revision 2)\n+++ gone\t(nonexistent)\n@@ -1 +0,0 @@\n-x\n"
            "Index: made\n=====\n--- made\t(nonexistent)\n+++ made\t(working copy)\n@@ -0,0 +1 @@\n+y\n"
        )
    put("gone", "x\n")
    assert call("apply_patch", patch=patch).ok
    assert not (workspace / "gone").exists()
    assert (workspace / "made").read_text() == "y\n"


@pytest.mark.parametrize(
    "command",
    ["diff --cached HEAD", "diff --cached HEAD --no-prefix", "diff --cached HEAD -U0", "diff --cached HEAD --binary"],
)
def test_the_diff_of_git_applies(call, put, git, workspace, command):
    git("init -q")
    for name, content in {
        "a": "a\n",
        "empty": "",
        "gone/empty": "",
        "run.sh": "echo\n",
        "old name": "x\ny\nz\n",
    }.items():
        put(name, content)
    git("add .", "commit -qm 1")
    put("a", "b\n")
    put("pkg/__init__.py")
    put("caf\u00e9 \u65e5.txt", "\u00e9\n")
    (workspace / "gone/empty").unlink()
    (workspace / "old name").rename(put("moved/new name"))
    put("moved/new name", "x\ny\nZ\n")
    (workspace / "run.sh").chmod(0o755)
    diff = git("add -A", command)
    tree = git("write-tree")
    git("reset -q --hard", "clean -fdq")
    result = call("apply_patch", patch=diff)
    assert result.ok, result.error
    assert git("add -A", "write-tree") == tree


@pytest.mark.parametrize(
    "command",
    [
        *("format-patch -2 --stdout", "format-patch -2 --stdout --base=HEAD~2", "format-patch -2 --stdout --attach"),
        *("show HEAD~ HEAD", "log -p --reverse -2"),
    ],
)
def test_the_commits_that_git_prints_apply(call, put, git, command):
    put("a", "a\n")
    git("init -q", "add .", "commit -qm 1")
    for number in (2, 3):
        put("a", f"-- \n{number}\n")
        put(f"caf\u00e9{number}", "")
        git("add .", f"commit -qm {number}:-and-more")
    tree, patch = git("write-tree"), git(command)
    git("reset -q --hard HEAD~2", "clean -fdq")
    result = call("apply_patch", patch=patch)
    assert result.ok, result.error
    assert git("add -A", "write-tree") == tree


DIFF = "--- a/t\n+++ b/t\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n d\n@@ -6,3 +6,2 @@\n f\n-g\n h\n"


@pytest.mark.parametrize("end", [*range(3, 7), *range(9, 11)])
def test_truncated_diffs_are_refused(call, put, end):
    file = put("t", "a\nb\nc\nd\ne\nf\ng\nh\n")
    cut = "".join(DIFF.splitlines(keepends=True)[:end])
    assert not call("apply_patch", patch=cut).ok
    assert not call("apply_patch", patch=cut + "--- a/u\n+++ b/u\n@@ -0,0 +1 @@\n+u\n").ok
    assert file.read_text() == "a\nb\nc\nd\ne\nf\ng\nh\n"
    assert call("apply_patch", patch=DIFF).ok


CUT_IN_THE_HEADER = {
    "a rename": "similarity index 80%\nrename from f\nrename to g\nindex 1..2 100644\n--- a/f\n+++ b/g\n",
    "a rename without names": "similarity index 80%\nrename from f\nrename to g\n",
    "a mode": "old mode 100644\nnew mode 100755\nindex 1234567..89abcde\n",
    "a new file": "new file mode 100644\nindex 0000000..89abcde\n",
    "a deletion": "deleted file mode 100644\nindex 1234567..0000000\n",
}


@pytest.mark.parametrize("case", CUT_IN_THE_HEADER)
def test_diffs_without_their_hunks_are_refused(call, put, workspace, case):
    put("f", "" if case == "a deletion" else "a\n")
    name = "new" if case == "a new file" else "f"
    result = call("apply_patch", patch=f"diff --git a/{name} b/{name}\n{CUT_IN_THE_HEADER[case]}")
    assert "no hunk follows" in str(result.error)
    assert os.listdir(workspace) == ["f"]


# Searching.


@pytest.mark.parametrize("lines", [" a\n-", "-\n", " a\n \n-"])
def test_patches_without_a_change_are_refused(call, put, lines):
    file = put("t", "a")
    result = call("apply_patch", patch=f"*** Begin Patch\n*** Update File: t\n@@\n{lines}\n*** End Patch")
    assert not result.ok
    assert file.read_text() == "a"


def test_deleting_a_missing_empty_line_keeps_the_final_newline(call, put):
    file = put("t", "a\n")
    assert not call("apply_patch", patch="*** Begin Patch\n*** Update File: t\n@@\n a\n-\n*** End Patch").ok
    assert file.read_text() == "a\n"


@pytest.mark.parametrize(
    "pattern", ["src/", "./src/", "src/.", "src", "{root}/src/", "{root}/src", "src/**/", "*/", "{{src,lib}}/"]
)
def test_glob_takes_a_folder_for_the_files_in_it(call, put, workspace, pattern):
    put("src/a.ts")
    put("src/deep/b.ts")
    result = call("glob", pattern=pattern.format(root=workspace))
    assert result.output.splitlines() == ["src/a.ts", "src/deep/b.ts"]


@pytest.mark.parametrize("pattern", [".", "./", "{root}", "{root}/", "{root}/."])
def test_glob_takes_the_workspace_for_all_its_files(call, put, workspace, pattern):
    put("a.ts")
    put("src/b.ts")
    assert call("glob", pattern=pattern.format(root=workspace)).output.splitlines() == ["a.ts", "src/b.ts"]


@pytest.mark.parametrize(
    "pattern", ["*.ts,*.js", "*.ts *.js", "*.ts, *.js", "*.{{ts,js}}", "{root}/*.ts,*.js", "*.*,!*.py"]
)
@pytest.mark.parametrize("tool", ["glob", "grep"])
def test_a_list_of_patterns_finds_the_files_of_each(call, put, workspace, tool, pattern):
    for name in ("a.ts", "b.js", "c.py"):
        put(name, "needle\n")
    pattern = pattern.format(root=workspace)
    arguments = (
        {"pattern": pattern} if tool == "glob" else {"pattern": "needle", "glob": pattern, "output_mode": "files"}
    )
    assert call(tool, **arguments).output.splitlines() == ["a.ts", "b.js"]


@pytest.mark.parametrize(
    "glob", ["src", "src/", "./src", "{root}/src", "{root}/src/*.ts", "src/deep", "deep", "deep/", "!lib"]
)
def test_grep_searches_the_files_of_a_folder_in_its_glob(call, put, workspace, glob):
    put("src/a.ts", "needle\n")
    put("src/deep/b.ts", "needle\n")
    put("lib/c.ts", "needle\n")
    paths = call("grep", pattern="needle", glob=glob.format(root=workspace), output_mode="files").output.splitlines()
    expected = ["src/deep/b.ts"] if "deep" in glob else ["src/a.ts"] if "*" in glob else ["src/a.ts", "src/deep/b.ts"]
    assert paths == expected


@pytest.mark.parametrize("glob", ["*.tsx", "nowhere", "nowhere/", "*.tsx,*.jsx", "src/*.tsx", "!**"])
def test_grep_says_when_its_glob_matches_no_file(call, put, glob):
    put("src/a.ts", "needle\n")
    assert f"no file matches glob {glob!r}" in call("grep", pattern="needle", glob=glob).output
    assert "no file" not in call("grep", pattern="nothing", glob="*.ts").output


def test_ignored_files_are_found_by_their_exact_names(call, put):
    put(".gitignore", ".env\nnode_modules/\n")
    put(".env", "SECRET=1\n")
    put("node_modules/x/package.json", "{}")
    assert call("glob", pattern=".env").output.startswith(".env\n[ignored by")
    assert "node_modules/x/package.json\n" in call("glob", pattern="**/node_modules/x/package.json").output
    assert "node_modules/x/package.json\n" in call("glob", pattern="**/package.json").output
    assert "1 files that match are ignored; pass their folder" in call("glob", pattern="**/*.json").output
    assert "'.env'" in call("grep", pattern="SECRET", glob=".env").output
    assert call("grep", pattern="SECRET", path=".env").output == ".env:1:SECRET=1"


ENCODED = [
    ("latin-1", "na\xefve caf\xe9 abc"),
    ("cp1252", "\u201ccaf\xe9\u201d \u20ac5"),
    ("cp1251", "\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440"),
    ("koi8-r", "\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440"),
    ("gbk", "\u4f60\u597d \u4e16\u754c"),
    ("big5", "\u4f60\u597d \u4e16\u754c"),
    ("shift_jis", "\u65e5\u672c\u8a9e \u30c6\u30b9\u30c8"),
    ("euc-jp", "\u65e5\u672c\u8a9e \u30c6\u30b9\u30c8"),
    ("euc-kr", "\uc548\ub155 \uc138\uacc4"),
    ("cp1253", "\u03ba\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 x"),
    ("utf-16", "caf\xe9 \u65e5\u672c"),
    ("utf-8", "caf\xe9 \u65e5\u672c"),
]  # fmt: skip


@needs_ripgrep
@pytest.mark.parametrize(("encoding", "text"), ENCODED)
def test_grep_finds_text_in_the_encodings_of_the_world(call, put, encoding, text):
    put("plain.txt", "ascii\n")
    put("src/f.txt", f"first\r\n{text}\r\nlast\r\n".encode(encoding))
    word = text.removeprefix("\ufeff").split()[0]
    for path, mode in ((".", "content"), ("src", "files"), ("src/f.txt", "count")):
        assert "src/f.txt" in call("grep", pattern=word, path=path, output_mode=mode).output
    assert "src/f.txt" in call("grep", pattern=f"^.?{word[0]}.*{word[-1]}.* .*$").output


@needs_ripgrep
@pytest.mark.parametrize(("encoding", "text"), ENCODED)
def test_grep_finds_every_word_that_read_file_shows(call, put, encoding, text):
    put("f.txt", f"first {text} last\n".encode(encoding))
    line = str(call("read_file", path="f.txt", line_numbers=False).output).splitlines()[0]
    for word in line.split(" "):
        if "\ufffd" not in word:
            assert "f.txt" in call("grep", pattern=re.escape(word)).output, word
    assert "f.txt" in call("grep", pattern="^first .+ last$").output


DECLARED = [
    ("a.py", "gbk", "#!/usr/bin/python\n# -*- coding: GBK -*-\nx = 'A\u4e2d\u6587\u8868\u793a'\ny = 1\n"),
    ("a.rb", "cp932", "# encoding: Shift_JIS\nx = 'A\u30a2\u8868\u793a'\ny = 1\n"),
    ("a.c", "euc-jp", "/* -*- coding: euc-jp -*- */\r\nx = 'A\u65e5\u672c';\r\ny = 1;\r\n"),
    ("a.xml", "cp1251", '<?xml version="1.0" encoding="windows-1251"?>\n<x>A\u043f\u0440\u0438\u0432</x>\n'),
    ("a.htm", "cp949", '<html><head>\n<meta http-equiv=Content-Type content="text/html;charset=EUC-KR">\n<p>A\ub62c\n'),
    ("a.css", "iso8859-2", '@charset "iso-8859-2";\na { content: "A\u0142\u00f3\u0165" }\nb { top: 1 }\n'),
]  # fmt: skip


@needs_ripgrep
@pytest.mark.parametrize(("name", "encoding", "text"), DECLARED)
def test_a_declared_encoding_holds_for_reading_editing_and_searching(call, put, name, encoding, text):
    file = put(name, text.encode(encoding))
    line = next(line for line in text.splitlines() if not line.isascii())
    last = line.rstrip("'\";</x> }")[-1]
    assert line in str(call("read_file", path=name).output)
    for pattern in (last, "A"):
        assert call("grep", pattern=pattern).output == f"{name}:{text[: text.index(line)].count(chr(10)) + 1}:{line}"
    call("edit_file", path=name, old_string="A", new_string=f"B{last}", replace_all=True)
    assert file.read_bytes() == text.replace("A", f"B{last}").encode(encoding)


def test_new_text_gets_the_declared_encoding_of_a_file(call, put):
    file = put("a.py", "# coding: latin-1\nname = 'x'\n")
    call("edit_file", path="a.py", old_string="x", new_string="caf\xe9")
    assert file.read_bytes() == b"# coding: latin-1\nname = 'caf\xe9'\n"
    result = call("edit_file", path="a.py", old_string="caf", new_string="\u2014")
    assert result.error == "'\u2014' cannot be written in iso8859-1, which the file declares"
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-# coding: latin-1\n+# coding: utf-8\n*** End Patch\n"
    assert call("apply_patch", patch=patch).ok
    assert file.read_text(encoding="utf-8") == "# coding: utf-8\nname = 'caf\xe9'\n"


def test_a_file_is_replaced_in_the_encoding_that_it_declares(call, put):
    file = put("a.py", "# coding: gbk\nx = '\u4e2d'\n".encode("gbk"))
    call("read_file", path="a.py")
    text = "# coding: gbk\nx = '\u4e2d\u6587'\n"
    assert call("write_file", path="a.py", content=text).content == "Replaced 'a.py' (25 bytes)"
    assert file.read_bytes() == text.encode("gbk")
    refused = call("write_file", path="a.py", content="# coding: gbk\n\xef")
    assert refused.error == "'\xef' cannot be written in gbk, which the file declares"
    result = call("write_file", path="a.py", content="x = '\xef'\n")
    assert "[its encoding was gbk, now it is utf-8]" in result.content
    assert file.read_text(encoding="utf-8") == "x = '\xef'\n"


@pytest.mark.parametrize("declaration", ["# coding: rot13", "# coding: utf-8", "# coding: euc-jp"])
def test_a_wrong_declaration_does_not_change_the_encoding(call, put, declaration):
    file = put("a.py", f"{declaration}\nx = 'caf\xe9'\n".encode("latin-1"))
    call("edit_file", path="a.py", old_string="caf\xe9", new_string="th\xe9")
    assert file.read_bytes() == f"{declaration}\nx = 'th\xe9'\n".encode("latin-1")


@needs_ripgrep
def test_grep_matches_over_any_line_ending(call, put):
    put("crlf.txt", b"foo\r\nbar\r\n\r\nend\r\n")
    put("lf.txt", b"foo\nbar\n\nend\n")
    for pattern in (
        r"foo\nbar",
        "foo\nbar",
        r"foo\r?\nbar",
        r"foo$\n^bar$",
        r"bar\n\nend",
        r"bar\n{2}end",
        r"foo\s+bar",
    ):
        output = call("grep", pattern=pattern, multiline=True, output_mode="files").output
        assert output.splitlines() == ["crlf.txt", "lf.txt"], pattern
        if r"\s" not in pattern:
            assert call("grep", pattern=pattern, output_mode="files").output == output
    assert call("grep", pattern=r"^[^\n]*oo$", output_mode="files").output.splitlines() == ["crlf.txt", "lf.txt"]


@needs_ripgrep
def test_a_pattern_with_doubled_backslashes_is_searched_without_and_hints_shrink(call, put):
    put("x.js", "foo(bar)\n")
    output = call("grep", pattern=r"foo\\(").output
    assert output.startswith("x.js:1:foo(bar)\n[the pattern has each backslash twice")
    pattern = r"nothing\\\\("
    while not (result := call("grep", pattern=pattern)).ok:
        hint = result.error.partition("pass this pattern: ")[2]
        assert hint.count("\\") < pattern.count("\\")
        pattern = hint
    assert pattern == r"nothing\("


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"foo\|bar", "bar = 1"),
        (r"\(foo\|ba\)r = ", "bar = 1"),
        (r"foo(\|baz(", "baz(2)"),
        ("caf\u00e9", "cafe\u0301"),
        ("the\u0301", "th\u00e9"),
        ("self.it['x']", "self.it['x']"),
        ("x?.y(z)", "x?.y(z) + $1"),
        ("$1", "x?.y(z) + $1"),
    ],
)
def test_a_pattern_without_matches_is_searched_as_it_may_be_meant(call, put, pattern, line):
    put("a.txt", "bar = 1\nbaz(2)\ncafe\u0301\nth\u00e9\nself.it['x']\nx?.y(z) + $1\n")
    assert re.fullmatch(rf"a\.txt:\d:{re.escape(line)}\n\[.*\]", call("grep", pattern=pattern).output)
    missing = call("grep", pattern=f"{pattern}none")
    assert (missing.error_type or missing.output) == ("validation_error" if pattern.endswith("(") else "No matches")


@needs_ripgrep
@pytest.mark.parametrize("text", ["foo(bar)", "a[0", "x{2", "*ptr", "C:\\new(", "f(`x`'\"", "a\\(b("])
def test_grep_searches_an_invalid_pattern_as_text(call, put, text):
    put("x.js", f"{text}\n")
    part = text.removesuffix(")")
    assert f"x.js:1:{text}" in call("grep", pattern=part).output
    other = call("grep", pattern=f"{part}#")
    suggested = re.search(r"pass this pattern: (.*)$", str(other.error)) if not other.ok else None
    if suggested is not None:
        put("y.js", f"{part}#\n")
        assert "y.js" in call("grep", pattern=suggested[1]).output


# Protected files.


def test_an_approved_call_changes_a_protected_file_without_a_question(tools, workspace, call):
    arguments = {"path": ".pre-commit-config.yaml", "content": "repos: []\n"}
    context = Context(workspace=workspace)
    assert tools["write_file"].call(arguments, context).error_type == "answer_required"
    result = call("write_file", **arguments)
    assert result.ok
    assert "programs run or trust it" in result.metadata["warnings"][0]
    (workspace / ".pre-commit-config.yaml").unlink()
    prompts = []
    executor = Executor(
        [tools["write_file"]], policy=Policy([], files=[]), approve=lambda request: prompts.append(request) or True
    )
    assert executor.call_tool("write_file", arguments, context).ok
    assert len(prompts) == 1
    allowing = Executor([tools["write_file"]], policy=Policy([{"tool": "write_file", "decision": "allow"}], files=[]))
    pending = allowing.call_tool("write_file", {**arguments, "path": ".npmrc"}, context)
    assert pending.error_type == "answer_required"
    assert "'.npmrc'" in pending.error


@pytest.mark.parametrize(
    ("approve", "answer", "expected"), [("all", None, True), (None, "yes", True), (None, "no", False)]
)
def test_an_agent_asks_its_user_before_it_changes_a_protected_file(tools, workspace, approve, answer, expected):
    model = ScriptedProvider(ToolCall(None, "write_file", {"path": ".vscode/tasks.json", "content": "{}"}), "done")
    on_ask = None if answer is None else lambda _: answer
    agent = Agent(model=model, tools=[tools["write_file"]], workspace=workspace, approve=approve, on_ask=on_ask)
    assert agent.generate("go").content == "done"
    assert (workspace / ".vscode/tasks.json").exists() is expected


def test_the_command_asks_or_names_its_option(workspace):
    command = [sys.executable, "-m", "tools_core", "call", "write_file", "path=.npmrc", "content=x"]
    options = {"cwd": workspace, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    refused = subprocess.run(command, check=False, **options)
    assert refused.returncode == 1
    assert "--yes" in refused.stderr
    assert not (workspace / ".npmrc").exists()
    subprocess.run([*command, "--yes"], check=True, **options)
    assert (workspace / ".npmrc").read_text() == "x"


# Text that does not occur exactly.


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        ("if x:\n\treturn 1\n", "if x:\n    return 1", "if x:\n    if y:\n        return 2",
         "if x:\n\tif y:\n\t\treturn 2\n"),
        ("class A:\n    def f(self):\n        pass\n", "def f(self):\n    pass\n", "def f(self):\n    return 1\n",
         "class A:\n    def f(self):\n        return 1\n"),
        ("a:\n  b:\n    c: 1\n", "a:\n    b:\n        c: 1", "a:\n    b:\n        c: 2\n    d: 3", None),
        ("def f():\n    if x:\n        y()\n", "        if x:\n            y()\n",
         "        if x:\n            z()\n        w()\n",
         "def f():\n    if x:\n        z()\n    w()\n"),
        ("{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": 2\n\t}\n}\n", '  "b": {\n    "c": 2\n  }', '  "b": {\n    "c": 3\n  }',
         "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": 3\n\t}\n}\n"),
        ("f:\n    a\n        b\n", "f:\n\ta\n\t\tb", "f:\n\ta\n\t\tB\n", "f:\n    a\n        B\n\n"),
        ("def f():   \n    pass  \n", "def f():\n    pass\n", "def f():\n    return\n", "def f():\n    return\n"),
        ("a\r\n  b\r\nc\r\n", "\tb\n", "\tB\n\tBB\n", "a\r\n  B\r\n  BB\r\nc\r\n"),
        ("say(\u201chi\u201d, x)\n", 'say("hi"', 'say("ho"', "say(\"ho\", x)\n"),
        ("it\u2019s a \u2013 b\n", "it's a - b", "it's c", "it's c\n"),
        ("a\u00a0b c\n", "a b", "ab", "ab c\n"),
        ("Cafe\u0301 1\n", "Caf\u00e9 1", "Caf\u00e9 2", "Cafe\u0301 2\n"),
        ("Caf\u00e9 1\n", "Cafe\u0301 1", "Cafe\u0301 2", "Caf\u00e9 2\n"),
        ("x = 1\n\ny = 2\n", "x = 1\n  \ny = 2", "x = 3", "x = 3\n"),
        ("a\n\tone\r\ntwo\n", "2\t\tone\n3\ttwo", "2\t\tONE\n3\ttwo", "a\n\tONE\r\ntwo\n"),
        ("a\nb\nb\n", "2\tb\n", "c\n", None),
        ("x\n", "y\n", "z\n", None),
        ("  a\nb\n    a\n", " a\n", " c\n", None),
        ("\u201ca\u201d \u201ca\u201d\n", '"a"', "b", None),
        ("  a\nb\n", "a\n  b\n", "c\n", None),
        ("f(a,  b)\n", "f(a, b)", "f(c)", None),
        ("A\n", "a\n", "b\n", None),
    ],
)  # fmt: skip
def test_an_edit_changes_the_one_similar_place_with_a_note(call, put, content, old, new, expected):
    file = put("a.py", content)
    result = call("edit_file", path="a.py", old_string=old, new_string=new)
    assert file.read_bytes().decode() == (content if expected is None else expected)
    assert result.ok is (expected is not None)
    if result.ok:
        assert re.search(r"\n\[[^\]]*in the file", result.output)


def test_an_edit_prefers_the_exact_place(call, put):
    file = put("a.py", "  a\na\n\ta\n")
    result = call("edit_file", path="a.py", old_string="\na\n", new_string="\nb\n")
    assert file.read_text() == "  a\nb\n\ta\n"
    assert "in the file" not in result.output
    put("b.py", " a\n")
    assert not call("edit_file", path="b.py", old_string="a\nb", new_string="c", replace_all=True).ok


NOTEBOOK = """{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": [
    "# Caf\u00e9"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "metadata": {"source": 1},
   "outputs": [{"name": "stdout", "output_type": "stream", "text": ["2\\n"]}],
   "source": [
    "x = 1\\n",
    "print(x + 1)"
   ]
  },
  {"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "y = \\"\u00e9\\""}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}
"""


@pytest.mark.parametrize("ascii_only", [False, True])
def test_one_cell_of_a_notebook_is_edited_and_no_other_byte_changes(call, put, ascii_only):
    text = NOTEBOOK.replace("\u00e9", "\\u00e9") if ascii_only else NOTEBOOK
    file = put("n.ipynb", text)
    shown = call("read_file", path="n.ipynb").output
    assert "--- cell 2 (code, run 1) ---" in shown
    result = call("edit_file", path="n.ipynb", cell=2, old_string="x = 1\nprint", new_string="x = 2\n\nprint")
    assert "the outputs of the cell belong to its old source" in result.output
    expected = text.replace('    "x = 1\\n",\n', '    "x = 2\\n",\n    "\\n",\n')
    assert file.read_text() == expected
    assert call("edit_file", path="n.ipynb", cell=3, old_string='"\u00e9"', new_string='"\u00fc"\nz = 1').ok
    expected = expected.replace('"y = \\"', '"y = \\"').replace(
        '\\u00e9\\""}' if ascii_only else '\u00e9\\""}', '\\u00fc\\"\\nz = 1"}' if ascii_only else '\u00fc\\"\\nz = 1"}'
    )
    assert file.read_text() == expected
    assert call("edit_file", path="n.ipynb", cell=1, old_string="", new_string="# New\ntext\n").ok
    cells = json.loads(file.read_text())["cells"]
    assert ["".join(cell["source"]) for cell in cells] == [
        "# New\ntext\n",
        "x = 2\n\nprint(x + 1)",
        'y = "\u00fc"\nz = 1',
    ]
    assert call("edit_file", path="n.ipynb", cell=4, old_string="x", new_string="y").error_type == "not_found"
    put("a.txt", "x\n")
    assert call("edit_file", path="a.txt", cell=1, old_string="x", new_string="y").error_type == "validation_error"


def test_an_edited_cell_keeps_the_line_endings_of_a_notebook(call, put):
    file = put("n.ipynb", NOTEBOOK.replace("\n", "\r\n"))
    assert call("edit_file", path="n.ipynb", cell=2, old_string="x = 1\nprint", new_string="x = 2\ny = 1\nprint").ok
    expected = NOTEBOOK.replace('    "x = 1\\n",\n', '    "x = 2\\n",\n    "y = 1\\n",\n')
    assert file.read_bytes().decode() == expected.replace("\n", "\r\n")


# Several files at once, and names that look alike.


def test_several_files_are_read_in_one_call(call, put, workspace):
    put("a.txt", "one\n")
    put("b.txt", "two")
    put("c.png", b"\x89PNG\r\n\x1a\n" + bytes(20))
    result = call("read_file", path=["a.txt", "missing", "b.txt"])
    assert result.output.startswith("==> a.txt <==\n1\tone\n==> missing <==\n[no 'missing'")
    assert result.output.endswith("==> b.txt <==\n1\ttwo\n")
    assert [fact.get("error_type") for fact in result.metadata["files"]] == [None, "not_found", None]
    assert all(call("write_file", path=name, content="new").ok for name in ("a.txt", "b.txt"))
    mixed = call("read_file", path=["a.txt", "c.png", "b.txt"])
    assert [type(part).__name__ for part in mixed.content] == ["str", "str", "Image", "str"]
    assert call("write_file", path="b.txt", content="newer").ok
    assert call("read_file", path=["no", "none"]).error_type == "not_found"
    assert tools_paths(call, workspace) == ["a.txt", "b.txt"]


def tools_paths(call, workspace):
    effects = ReadFile().effects({"path": ["a.txt", "b.txt"]}, Context(workspace=workspace))
    return [path.rpartition("/")[2] for path in effects.paths]


def test_several_files_share_one_budget(agent, put):
    for name in "abc":
        put(f"{name}.txt", BIG)
    put("d.txt", "short\n")
    content, wrote, other = agent(
        ("read_file", {"path": ["a.txt", "b.txt", "c.txt", "d.txt"]}),
        ("write_file", {"path": "a.txt", "content": ""}),
        ("write_file", {"path": "d.txt", "content": ""}),
    )
    assert len(content) <= 30_000
    assert content.count("continue with offset=") == 3
    assert "you have read only" in wrote
    assert other.startswith("Replaced")


def test_a_name_that_looks_the_same_is_the_same_file(call, put, workspace):
    file = put("cafe\u0301.txt", "a\n")
    result = call("edit_file", path="caf\u00e9.txt", old_string="a", new_string="b")
    assert "differs in spaces, quotes, accents or case" in result.output
    assert call("write_file", path="caf\u00e9.txt", content="c\n").error_type == "conflict"
    call("read_file", path="caf\u00e9.txt")
    assert call("write_file", path="caf\u00e9.txt", content="c\n").ok
    patch = "*** Begin Patch\n*** Update File: caf\u00e9.txt\n-c\n+d\n*** End Patch"
    assert call("apply_patch", patch=patch).ok
    assert not call("apply_patch", patch=patch.replace("Update", "Add").replace("-c\n", "")).ok
    assert call("write_file", path="caf\u00e9.txt", content="e\n", overwrite=True).ok
    assert file.read_text() == "e\n"
    assert [path.name for path in workspace.iterdir()] == ["cafe\u0301.txt"]


@pytest.mark.parametrize("pattern", ["caf\u00e9*", "**/cafe\u0301.txt", "{x,caf\u00e9}.t?t"])
@pytest.mark.parametrize("name", ["caf\u00e9.txt", "cafe\u0301.txt"])
def test_glob_finds_names_that_look_the_same(call, put, pattern, name):
    put(name, "")
    assert call("glob", pattern=pattern).output == name


@pytest.mark.parametrize("path", ["~/notes.txt", "~", "$HOME/a/b.txt", "${PWD}/a"])
def test_no_folder_is_created_with_a_name_that_only_a_shell_expands(call, workspace, path):
    patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"
    for result in (call("write_file", path=path, content="x"), call("apply_patch", patch=patch)):
        assert (result.error_type, "only a shell expands" in result.error) == ("not_found", True)
    assert os.listdir(workspace) == []


@pytest.mark.parametrize(("old", "new"), [("nn.txt", "NN.TXT"), ("src/a", "Src/b"), ("Stra\u00dfe", "STRASSE")])
def test_a_name_that_differs_only_in_case_is_not_created_by_accident(call, put, workspace, old, new):
    put(old, "a\n")
    assert call("write_file", path=new, content="b\n").error_type == "conflict"
    assert not (workspace / new).exists()
    assert call("write_file", path=new, content="b\n", overwrite=True).ok
    assert (workspace / old).read_text() == "a\n"


# The user's own check.


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Writes the user's settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))

    def write(text):
        file = tmp_path / "settings/ask-tools/settings.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"[check]\n{text}\n")
        return file

    return write


PATCH = "*** Begin Patch\n*** Add File: n.py\n+bad\n*** Delete File: x.txt\n*** Update File: a.py\n-bad\n+worse\n"


def test_the_check_of_the_user_is_added_to_each_edit(call, put, check):
    check("command = 'grep -n bad'\nfiles = '*.py'")
    assert call("write_file", path="a.py", content="ok\nbad\n").output["created"]
    results = [
        call("edit_file", path="a.py", old_string="ok", new_string="good"),
        call("write_file", path="a.py", content="bad\n", overwrite=True),
        call("apply_patch", patch=f"{PATCH}*** End Patch") if put("x.txt") else None,
    ]
    assert str(results[0].content).endswith("[check, exit code 0:]\n2:bad")
    assert str(results[1].content).endswith("[check, exit code 0:]\n1:bad")
    assert str(results[2].content).endswith("[check, exit code 0:]\n./n.py:1:bad")
    assert "[check" not in str(call("write_file", path="b.txt", content="bad\n").content)
    assert "[check" not in str(call("edit_file", path="a.py", old_string="worse", new_string="b", dry_run=True).content)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("command = ['true']", None),
        ("command = 'exit 3;'", "[check, exit code 3:]"),
        ("command = 'echo no >&2; false'", "[check, exit code 1:]\nno"),
        ("command = 'head -c 9000 /dev/zero | tr \"\\\\0\" x; true'", "x\n[5000 more characters]"),
        ("command = 'sleep 60; true'\ntimeout = 0.2", "[check, stopped after 0.2 s:]"),
        ("command = ['no-such-program']", "[no check: no-such-program: No such file or directory]"),
        ("comand = 'x'", "[no check: [check] of settings.toml has no 'comand'"),
        ("command = 1", "[no check: command in [check]"),
        ("command = 'x'\ntimeout = -1", "[no check: timeout in [check]"),
        ("command = ", "not valid TOML"),
    ],
)
def test_a_check_reports_its_failure_within_its_limits(call, check, settings, message):
    check(settings)
    content = str(call("write_file", path="a.py", content="x\n").content)
    assert (message in content) if message else ("[" not in content)
    assert len(content) < 4200


def test_a_check_that_others_could_write_does_not_run(call, check, workspace):
    check("command = 'touch ran;'").chmod(0o666)
    assert "other users may write it" in str(call("write_file", path="a.py", content="x\n").content)
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
def test_without_ripgrep_grep_reads_the_encodings_that_read_file_reads(call, put, monkeypatch, encoding):
    monkeypatch.setenv("PATH", "/nowhere")
    put("f.txt", "na\xefve caf\xe9\r\nend\r\n".encode(encoding))
    assert call("grep", pattern="caf.$").output == "f.txt:1:na\xefve caf\xe9"


@pytest.mark.parametrize(
    ("name", "content"), [("n.ipynb", NOTEBOOK), ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(20)), ("b", bytes(9))]
)
def test_overwrite_replaces_partly_shown_files(call, put, name, content):
    put(name, content)
    call("read_file", path=name)
    refused = call("write_file", path=name, content="x")
    assert "does not show such a file whole: pass overwrite=true" in refused.error
    assert call("write_file", path=name, content="x", overwrite=True).ok


@needs_ripgrep
@pytest.mark.parametrize("type", ["python", "Python", "*.py", ".py", "py"])
def test_grep_knows_types_by_the_names_of_languages(call, put, type):
    put("a.py", "word\n")
    put("a.js", "word\n")
    assert call("grep", pattern="word", type=type).output == "a.py:1:word"


@needs_ripgrep
@pytest.mark.parametrize(("pattern", "is_found"), [(r"a[\n]b", True), (r"a[\r\n]+b", True), (r"a[^\n]*b", False)])
def test_a_class_with_a_line_feed_matches_over_lines(call, put, pattern, is_found):
    put("t", "a\nb\n")
    assert (call("grep", pattern=pattern).output == "t:1:a\nt:2:b") is is_found


FORKS = """
import os, signal, threading
from tools_core import Context, registry
read, context, is_done = registry["read_file"], Context(workspace=".", run_id="run"), threading.Event()
def work():
    while not is_done.is_set():
        read.call(path="long.txt", context=context)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
statuses = set()
for _ in range(25):
    children = []
    for _ in range(20):
        children.append(os.fork())
        if children[-1] == 0:
            signal.alarm(60)  # one that waits for a lock would wait permanently
            os._exit(0 if read.call(path="long.txt", context=context).ok else 1)
    statuses |= {os.waitpid(child, 0)[1] for child in children}
is_done.set()
print(statuses)
"""


@pytest.mark.slow  # 500 processes, of which some are started at the wrong moment
def test_a_forked_process_reads_files_while_threads_of_its_parent_read(tmp_path):
    (tmp_path / "long.txt").write_text("line\n" * 1_500)
    done = subprocess.run([sys.executable, "-c", FORKS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "{0}\n", done.stderr
