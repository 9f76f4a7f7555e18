"""Previews: an agent works in a copy of the workspace, and a person decides about what it changed."""

from __future__ import annotations

import json
import os
import re
import shutil
import venv
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from tools_core import Context, Registry, ToolCall
from tools_workspace import ConflictError, Workspace, WorkspaceError


def function(name, arguments, number):
    """A call as a model writes it."""
    call = {"name": name, "arguments": json.dumps(arguments)}
    return {"index": 0, "id": f"call_{number}", "type": "function", "function": call}


def reply(**delta):
    """A reply of a model."""
    reason = "tool_calls" if "tool_calls" in delta else "stop"
    return [{"choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]}]


@pytest.fixture
def preview(day, model_server):
    """`preview(*calls, tools=...)`: run these calls of a model in a preview; return the output."""

    def preview(*calls, tools=(), options=(), exit_code=0):
        replies = [reply(tool_calls=[function(*call, number)]) for number, call in enumerate(calls)]
        replies.append(reply(content="Done."))
        server = model_server(lambda _, body: replies[sum(message["role"] == "tool" for message in body["messages"])])
        options = [*options, *(word for name in tools for word in ("--tools", name))]
        environment = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url}
        words = ("run", "Go", "--model", "openai:m", "--mode", "preview", *options)
        return day.ask_tools(*words, exit_code=exit_code, env=environment)

    return preview


REACHING = '''\
from pathlib import Path
from tools_core import Tool, tool

def report(name):
    Path(__file__).with_name("ran").write_text(name)
    return name

@tool(requires_approval=True)
def publish(path: Path) -> str:
    """Publish a file."""
    return report("publish")

@tool(open_world=True)
def email(attachment: Path, to: str) -> str:
    """Send a file."""
    return report("email")

@tool
def hint(path: Path) -> str:
    """Use a file."""
    return report("hint")

class Upload(Tool):
    """Upload a file."""
    def execute(self, path: Path) -> str:
        return report("upload")
    def effects(self, arguments, context=None):
        from tools_core import Effects
        return Effects(self.annotations, paths=[str(Path(arguments["path"]).resolve())])

class Stated(Upload):
    """Upload a file."""
    open_world = True
    def effects(self, arguments, context=None):
        from tools_core import Effects
        return Effects(self.annotations, confined=True)

try:
    from tools_filesystem import WriteFile
    class WriteAndSend(WriteFile):
        """Write a file, and send it."""
        def execute(self, path: str, content: str = "") -> str:
            return report("write_and_send")
    class WriteCarefully(WriteFile):
        """Write a file after a question."""
        requires_approval = True
except ImportError:
    pass
'''


NAMES = ["publish", "email", "hint", "upload", "stated", "write_and_send", "write_carefully"]


@pytest.mark.parametrize(
    "name", [name if name == "publish" else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_a_preview_asks_before_a_tool_with_a_path_runs(day, preview, home, name):
    (home / "reaching.py").write_text(REACHING)
    day.write({"report.txt": "secret\n"})
    arguments = {"path": "report.txt", **({"content": ""} if name.startswith("write") else {})}
    if name == "email":
        arguments = {"attachment": "report.txt", "to": "eve@example.org"}
    output = preview((name, arguments), tools=[str(home / "reaching.py")], exit_code=1)
    assert f"{name} needs approval" in output
    assert not (home / "ran").exists()


CONFINED = '''\
from tools_core import Context, Effects, Tool

class Stamp(Tool):
    """Write the file `stamp`."""
    requires_approval = True
    def execute(self, context: Context) -> str:
        open(f"{context.workspace}/stamp", "w").close()
        return "done"
    def effects(self, arguments, context=None):
        return Effects(self.annotations, confined=True)
'''


@pytest.mark.slow
def test_a_preview_runs_tools_that_state_that_they_are_confined(day, preview, home):
    (home / "confined.py").write_text(CONFINED)
    calls = [
        ("write_file", {"path": "a.txt", "content": "a\n"}),
        ("bash", {"command": "cat a.txt /etc/hostname > b.txt"}),
        ("job_start", {"command": "touch job"}),
        ("stamp", {}),
    ]
    output = preview(*calls, tools=["tools-filesystem", "tools-shell", str(home / "confined.py")])
    assert "needs approval" not in output
    assert day.ask_tools("changes", "--stat").splitlines()[:2] == ["added a.txt", "added b.txt"]
    assert "added stamp" in output


def test_a_preview_shares_ignored_folders_and_numbers_a_commit_once(day, preview):
    day.repository({"a.txt": "a\n", ".gitignore": "node_modules/\n"})
    day.write({"node_modules/x/index.js": "shared\n"})
    os.mkfifo(day.workspace / "pipe")
    script = "cat node_modules/x/index.js > a.txt && git commit -qam 'Use the module' && git status --short"
    output = preview(("bash", {"command": script}), options=("--ignore", "node_modules"))
    assert "not copied: pipe" in output
    assert re.search(
        r" 1  commit [0-9a-f]{7} Use the module, branch main  \(\.git: \d+ files\)\n +2  changed a.txt\n", output
    )
    assert "node_modules" not in day.ask_tools("changes", "--stat")
    day.uncommitted = ["?? pipe"]


@pytest.fixture
def copy(day):
    """A copy of a workspace with a file in a folder."""
    day.write({"notes.txt": "notes\n", "sub/git": "program\n", "main.c": "old\n"})
    return Workspace(day.workspace).copy()


def test_apply_refuses_content_that_was_not_shown(day, copy):
    Path(copy.path, "notes.txt").write_text("better\n")
    Path(copy.path, "sub/git").write_text("other\n")
    changes = copy.changes()
    Path(copy.path, "notes.txt").write_text("evil\n")
    with pytest.raises(WorkspaceError, match=r"notes\.txt changed since it was shown, so nothing was applied"):
        copy.apply(shown=changes)
    copy.apply(["sub/git"], shown=changes)
    assert (day.read("notes.txt"), day.read("sub/git")) == ("notes\n", "other\n")


LATER = {
    "another mode": lambda copy: os.chmod(f"{copy.path}/notes.txt", 0o600),
    "a link": lambda copy: (os.unlink(f"{copy.path}/notes.txt"), os.symlink("/etc/passwd", f"{copy.path}/notes.txt")),
    "nothing": lambda copy: os.unlink(f"{copy.path}/notes.txt"),
    "a folder": lambda copy: (os.unlink(f"{copy.path}/notes.txt"), os.mkdir(f"{copy.path}/notes.txt")),
    "a file in a folder that became a link": lambda copy: (
        os.rename(f"{copy.path}/sub", f"{copy.path}/old"),
        os.symlink("old", f"{copy.path}/sub"),
    ),
}


@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
def test_a_path_that_was_shown_is_not_applied_with_another_kind(day, copy, later):
    Path(copy.path, "notes.txt").write_text("better\n")
    Path(copy.path, "sub/git").write_text("other\n")
    changes = copy.changes()
    later(copy)
    with pytest.raises(WorkspaceError, match="changed since it was shown, so nothing was applied"):
        copy.apply(shown=changes)
    assert (day.read("notes.txt"), day.read("sub/git")) == ("notes\n", "program\n")


def test_the_command_refuses_content_that_it_has_not_shown(day, copy):
    Path(copy.path, "notes.txt").write_text("better\n")
    day.ask_tools("changes")
    Path(copy.path, "notes.txt").write_text("evil\n")
    assert "look again: notes.txt" in day.ask_tools("apply", exit_code=1)
    assert "+evil" in day.ask_tools("changes")
    day.ask_tools("apply")
    assert day.read("notes.txt") == "evil\n"


def test_make_rebuilds_applied_and_undone_files(day):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    day.write({"main.c": "old\n", "Makefile": "out: main.c\n\tcp main.c out\n"})
    with Workspace(day.workspace).copy() as copy:
        Path(copy.path, "main.c").write_text("new\n")
        os.utime(f"{copy.path}/main.c", (1, 1))
        day.shell("make")
        copy.apply()
    day.shell("make")
    assert day.read("out") == "new\n"
    Workspace(day.workspace).undo()
    day.shell("make")
    assert day.read("out") == "old\n"


@pytest.fixture
def outside(home):
    """A folder beside the workspace, with a program."""
    (home / "bin").mkdir()
    (home / "bin/keep").write_text("keep\n")
    return home / "bin"


def replace_by_link(folder, target):
    """Do what a model may do at any moment: put a link in the place of a folder."""
    os.rename(folder, f"{folder}.old")
    os.symlink(target, folder)


def test_apply_follows_no_folder_that_became_a_link(day, copy, outside):
    Path(copy.path, "sub/keep").write_text("evil\n")
    Path(copy.path, "sub/git").unlink()
    replace_by_link(day.workspace / "sub", outside)
    with pytest.raises(ConflictError, match="sub/keep"):
        copy.apply()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"keep": "keep\n"}


def test_undo_follows_no_folder_that_became_a_link(day, copy, outside):
    Path(copy.path, "sub/git").unlink()
    Path(copy.path, "sub/keep").write_text("keep\n")  # equal to a file outside
    copy.apply()
    replace_by_link(day.workspace / "sub", outside)
    with pytest.raises(ConflictError, match="nothing was undone: sub/git, sub/keep"):
        Workspace(day.workspace).undo()
    assert [path.name for path in outside.iterdir()] == ["keep"]


def test_diffs_and_copies_do_not_follow_links(day, copy, outside, home):
    (outside / "git").write_text("secret\n")
    replace_by_link(Path(copy.path, "sub"), outside)
    assert "secret" not in copy.changes().diff()
    replace_by_link(day.workspace / "sub", outside)
    other = Workspace(day.workspace).copy()
    assert os.readlink(f"{other.path}/sub") == str(outside)
    assert not [path for path in Path(home, ".cache").rglob("*") if path.is_file() and "secret" in path.read_text()]


@pytest.mark.parametrize("is_outside", [False, True])
def test_a_link_and_a_folder_replace_each_other(day, outside, is_outside):
    day.write({"v1/app": "1\n", "folder/app": "1\n", "folder/deep/app": "1\n"})
    target = str(outside) if is_outside else "v1"
    os.symlink(target, day.workspace / "link")
    copy = Workspace(day.workspace).copy()
    os.unlink(f"{copy.path}/link")
    os.makedirs(f"{copy.path}/link/deep")
    for name in ("app", "keep", "deep/app"):
        Path(copy.path, "link", name).write_text("2\n")
    shutil.rmtree(f"{copy.path}/folder")
    os.symlink(target, f"{copy.path}/folder")
    copy.apply()
    assert (day.read("link/app"), day.read("link/deep/app"), day.read("v1/app")) == ("2\n", "2\n", "1\n")
    assert os.readlink(day.workspace / "folder") == target
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"keep": "keep\n"}
    Workspace(day.workspace).undo()
    assert os.readlink(day.workspace / "link") == target
    assert (day.read("folder/app"), day.read("folder/deep/app")) == ("1\n", "1\n")
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"keep": "keep\n"}
    copy.discard()


def test_a_folder_with_the_users_files_is_not_replaced_by_a_link(day, copy):
    shutil.rmtree(f"{copy.path}/sub")
    os.symlink("main.c", f"{copy.path}/sub")
    day.write({"sub/mine": "mine\n"})
    with pytest.raises(ConflictError, match="nothing was applied"):
        copy.apply()
    assert (day.read("sub/mine"), day.read("sub/git")) == ("mine\n", "program\n")


def sandboxed(copy, tool, **arguments):
    """Call an installed tool in a copy, with bubblewrap; return the text that a model reads."""
    registry = Registry()
    registry.discover()
    result = registry.call(ToolCall(None, tool, arguments), Context(workspace=copy.path, run_id="run"), approve="all")
    if result.ok and tool == "bash" and result.metadata["isolation"] != "bubblewrap":
        pytest.skip("only bubblewrap mounts the copy at the path of its original")
    return str(result.content if result.ok else result.error)


@pytest.fixture
def project(day):
    """A workspace with a virtual environment, an editable install, and links with absolute paths."""
    root = day.workspace
    venv.create(root / ".venv", symlinks=True)
    (packages,) = (root / ".venv/lib").glob("python*/site-packages")
    day.write({"src/pkg.py": "answer = 'original'\n", "test_it.py": "import pkg\nprint(pkg.answer)\n"})
    (packages / "editable.pth").write_text(f"{root}/src\n")
    (root / ".venv/bin/tool").write_text(f"#!{root}/.venv/bin/python\nprint('tool runs')\n")
    (root / ".venv/bin/tool").chmod(0o755)
    day.write({"node_modules/x/index.js": "shared\n"})
    os.symlink(root / "src/pkg.py", root / "link")
    return root


def test_commands_see_a_copy_at_the_path_of_its_original(project):
    copy = Workspace(project).copy(ignore=["node_modules"])
    Path(copy.path, "src/pkg.py").write_text("answer = 'copy'\n")
    assert sandboxed(copy, "bash", command=".venv/bin/tool").startswith("tool runs")
    assert sandboxed(copy, "bash", command=". .venv/bin/activate && python test_it.py").startswith("copy\n")
    assert sandboxed(copy, "bash", command="pwd -P; cat link").startswith(f"{project}\nanswer = 'copy'\n")
    assert sandboxed(copy, "bash", command="pwd", workdir=f"{project}/src").startswith(f"{project}/src\n")
    assert sandboxed(copy, "bash", command="cat pkg.py", workdir="src").startswith("answer = 'copy'\n")
    sandboxed(copy, "bash", command=f"cd src && echo new > '{project}/new.txt'", session="s")
    assert sandboxed(copy, "bash", command="pwd", session="s").startswith(f"{project}/src\n")
    assert Path(copy.path, "new.txt").read_text() == "new\n"
    assert not (project / "new.txt").exists()
    assert "answer = 'copy'" in sandboxed(copy, "python", code="print(open('link').read())")


def test_file_tools_see_a_copy_at_the_path_of_its_original(project):
    copy = Workspace(project).copy(ignore=["node_modules"])
    assert "Created" in sandboxed(copy, "write_file", path=f"{project}/a.txt", content="a\n")
    assert "answer" in sandboxed(copy, "read_file", path="link")
    sandboxed(copy, "edit_file", path="link", old_string="original", new_string="copy")
    assert (Path(copy.path, "src/pkg.py").read_text(), (project / "src/pkg.py").read_text()) == (
        "answer = 'copy'\n",
        "answer = 'original'\n",
    )
    assert not (project / "a.txt").exists()
    assert "Created" in sandboxed(copy, "write_file", path=".vscode/tasks.json", content="{}")
    assert "version control" in sandboxed(copy, "write_file", path=".git/hooks/post-commit", content="evil")


def test_ignored_folders_are_shared_read_only(project):
    copy = Workspace(project).copy(ignore=["node_modules"])
    assert sandboxed(copy, "bash", command="cat node_modules/x/index.js").startswith("shared\n")
    assert "Read-only file system" in sandboxed(copy, "bash", command="echo evil > node_modules/x/index.js")
    assert "shared" in sandboxed(copy, "read_file", path="node_modules/x/index.js")
    assert "shared" in sandboxed(copy, "read_file", path=f"{project}/node_modules/x/index.js")
    assert "read-only" in sandboxed(copy, "write_file", path="node_modules/x/new.js", content="x")
    assert (project / "node_modules/x/index.js").read_text() == "shared\n"
    assert copy.changes().summary() == "no changes"


def test_a_commit_of_a_preview_is_shown_as_a_commit(day):
    day.repository({"a.txt": "a\n"})
    copy = Workspace(day.workspace).copy()
    script = (
        "git switch -qc work && echo b > a.txt && git commit -qam 'Change\033[2J a' && git config core.fsmonitor evil"
    )
    day.shell(f"{script} && git init -q inner", cwd=copy.path)
    summary = copy.changes().summary()
    lines = [re.sub(r"\b[0-9a-f]{7}\b", "HASH", line) for line in summary.splitlines()]
    assert lines[:2] == [
        "changed .git/config  (protected: programs run or trust it)",
        "added inner/.git/config  (protected: programs run or trust it)",
    ]
    assert lines[2].startswith(r"commit HASH Change\x1b[2J a, added branch work, on work  (.git: ")
    assert (lines[3], lines[-1].split("  ")[0]) == ("changed a.txt", "new repository")
    assert "+\tfsmonitor = evil" in copy.changes().diff().splitlines()
    copy.apply(copy.changes().entries()[2].changes)
    assert day.shell("git log -1 --format=%s").startswith("Change")
    assert "evil" not in day.read(".git/config")


def test_packed_branches_are_neither_added_nor_deleted(day):
    day.repository({"a.txt": "a\n"})
    day.shell("git branch packed && git branch removed && git tag v1")
    copy = Workspace(day.workspace).copy()
    day.shell("git branch -qD removed && git pack-refs --all", cwd=copy.path)
    [entry] = copy.changes().entries()
    assert entry.text.startswith("deleted branch removed  (.git: ")
    copy.apply()
    later = Workspace(day.workspace).copy()
    day.shell("echo b > a.txt && git commit -qam 'Change a'", cwd=later.path)
    assert re.match("commit [0-9a-f]{7} Change a, branch [a-z]+  ", later.changes().entries()[0].text)


@pytest.mark.slow
def test_a_folder_that_becomes_a_link_at_any_moment_leads_nowhere(day, outside, home):
    """A model's program swaps folders of the workspace and of the copy for links to a private folder."""
    names = [f"{number}.txt" for number in range(20)]
    for name in names:
        (outside / name).write_text("private\n")
    day.write({f"sub/{name}": "mine\n" for name in names})
    copy = Workspace(day.workspace).copy()
    has_ended = Event()

    def swap(folder):
        while not has_ended.is_set():
            with suppress(OSError):
                replace_by_link(folder, outside)
            with suppress(OSError):
                os.unlink(folder)
                os.rename(f"{folder}.old", folder)

    threads = [Thread(target=swap, args=(folder,)) for folder in (day.workspace / "sub", Path(copy.path, "sub"))]
    for thread in threads:
        thread.start()
    try:
        for number in range(40):
            with suppress(WorkspaceError), Workspace(day.workspace).copy() as other:
                assert "private" not in other.changes().diff()
            with suppress(WorkspaceError):
                Path(copy.path, "new.txt").write_text(f"{number}\n")
                changes = copy.changes()
                assert "private" not in changes.diff()
                copy.apply(shown=changes)
            with suppress(WorkspaceError):
                Workspace(day.workspace).undo()
    finally:
        has_ended.set()
        for thread in threads:
            thread.join()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {
        "keep": "keep\n",
        **dict.fromkeys(names, "private\n"),
    }
    (outside / "keep").unlink()
    shutil.rmtree(outside)
    assert not [path for path in home.rglob("*") if path.is_file() and "private" in path.read_text(errors="replace")]


def test_changes_apply_again_after_two_changesets_were_undone(workspace):
    """Undo in reverse order leaves the content from before the first of them."""
    (workspace / "a").write_text("1")
    copy = Workspace().copy()
    for content in ("2", "3"):
        Path(copy.path, "a").write_text(content)
        copy.apply()
    Workspace().undo()
    Workspace().undo()
    copy.apply()
    assert (workspace / "a").read_text() == "3"


def test_an_edit_that_keeps_size_and_time_is_a_conflict(workspace):
    file = workspace / "a"
    file.write_text("1")
    before = file.stat()
    copy = Workspace().copy()
    Path(copy.path, "a").write_text("2")
    file.write_text("3")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ConflictError):
        copy.apply()
    assert file.read_text() == "3"


OUTSIDE = {
    "a linked worktree": "git init -q ../repo && cd ../repo && echo 1 > a && git add a && git commit -qm first"
    " && rmdir ../project && git worktree add -q ../project -b agent",
    "a folder of a repository": "cd .. && git init -q && echo 1 > project/a && git add . && git commit -qm first",
}


@pytest.mark.parametrize("layout", OUTSIDE)
def test_git_of_a_preview_reads_a_repository_outside_of_the_workspace(day, monkeypatch, layout):
    day.shell(OUTSIDE[layout])
    monkeypatch.chdir(day.workspace)
    copy = Workspace(day.workspace).copy()
    Path(copy.path, "a").write_text("2\n")
    output = sandboxed(copy, "bash", command="git log --format=%s; git diff; git commit -qam second")
    assert output.startswith("first\n")
    assert "+2" in output
    assert "Read-only file system" in output
    assert day.shell("git log --format=%s") == "first\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "gbk"])
def test_a_diff_shows_text_in_any_encoding(workspace, encoding):
    old, new = ("stra\u00dfe\n", "caf\u00e9\n") if encoding != "gbk" else ("\u4f60\n", "\u597d\n")
    Path("a.txt").write_bytes(old.encode(encoding))
    Path("b.txt").write_bytes(old.encode(encoding))
    copy = Workspace(workspace).copy()
    Path(copy.path, "a.txt").write_bytes(new.encode(encoding))
    Path(copy.path, "b.txt").write_text(old, encoding="utf-8")
    diff = copy.changes().diff()
    assert diff.count("\n@@ ") == (2 if encoding == "gbk" else 1)
    assert encoding == "gbk" or "\n-stra\u00dfe\n+caf\u00e9\n" in diff
    assert "-> utf-8)" in diff


@pytest.mark.parametrize("edit", ["change", "delete", "replace by a folder", "chmod"])
def test_edits_of_the_user_are_not_changes_of_the_copy(workspace, edit):
    for name in ("mine", "other"):
        Path(name).write_text("1\n")
    os.symlink("mine", "link")
    copy = Workspace(workspace).copy()
    Path(copy.path, "other").write_text("2\n")
    if edit == "chmod":
        Path("mine").chmod(0o755)
    else:
        Path("mine").unlink()
        os.unlink("link")
    if edit == "change":
        Path("mine").write_text("of the user\n")
        os.symlink("other", "link")
    elif edit == "replace by a folder":
        Path("mine").mkdir()
    assert [change.path for change in copy.changes()] == ["other"]
    copy.apply()
    assert Path("other").read_text() == "2\n"
    assert os.path.lexists("mine") is (edit != "delete")
