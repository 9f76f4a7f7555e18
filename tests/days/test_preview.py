"""Days with previews: tools work in a copy, the user looks, applies what is good, and takes back what was not."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools_agent import Agent, ScriptedProvider
from tools_core import ToolCall
from tools_workspace import ConflictError, Workspace


@pytest.fixture
def run_in(day):
    """`run_in(copy, *calls)`: an agent whose scripted model runs these calls in a copy; returns the response."""

    def run_in(copy, *calls):
        replies = [ToolCall(None, name, arguments) for name, arguments in calls]
        with Agent(
            model=ScriptedProvider(*replies, "Done."), tools=day.registry, workspace=copy, approve="all"
        ) as agent:
            return agent.generate("Tidy this folder")

    return run_in


def files_of(folder):
    """The content of everything in a folder, with targets of links, and without the repository."""
    return {
        path.relative_to(folder).as_posix(): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in Path(folder).rglob("*")
        if (path.is_symlink() or path.is_file()) and ".git" not in path.parts
    }


def test_a_folder_is_tidied_in_a_preview_applied_and_restored(day):
    """Preview the demo model from the command line, look, apply all but the file too many, and undo."""
    day.repository({"notes.md": "# Notes\n\nbuy milk\n", "budget.csv": "1,2\n", "draft.bak": "old\n"})
    run = day.ask_tools("run", "Tidy this folder", "--model", "scripted:demo", "--mode", "preview", "--yes")
    assert "budget.csv was one too many" in run
    assert day.shell("git status --porcelain") == ""
    diff = day.ask_tools("changes")
    assert "+- notes.md" in diff and "-1,2" in diff
    assert day.ask_tools("changes", "--stat").splitlines() == [
        "deleted budget.csv",
        "deleted draft.bak",
        "changed notes.md",
    ]
    day.ask_tools("apply", "notes.md", "draft.bak")
    assert day.shell("git status --porcelain").splitlines() == [" D draft.bak", " M notes.md"]
    assert day.ask_tools("changes", "--stat") == "deleted budget.csv\n"
    (changeset,) = json.loads(day.ask_tools("undo", "--list", "--json"))
    assert (changeset["state"], changeset["changes"]) == ("applied", ["deleted draft.bak", "changed notes.md"])
    day.ask_tools("undo", changeset["id"])
    assert day.shell("git status --porcelain") == ""
    assert len(day.ask_tools("changes", "--stat").splitlines()) == 3
    day.ask_tools("changes", "--discard")


@pytest.mark.slow
def test_three_hundred_files_are_sorted_with_mistakes_and_half_is_applied(day, run_in):
    """Sort 300 files into folders with commands and edits, some of them wrong; apply the good half, and undo it."""
    names = [f"{kind}-{number}.{kind}" for number in range(100) for kind in ("txt", "log", "csv")]
    day.write({name: f"{name}\nline\n" for name in names})
    before = files_of(day.workspace)
    copy = Workspace(day.workspace).copy()
    response = run_in(
        copy,
        ("list_directory", {}),
        ("bash", {"command": "mkdir text tables && mv *.txt text/ && mv *.csv tables/"}),
        ("edit_file", {"path": "log-3.log", "old_string": "no such text", "new_string": "x"}),  # refused
        ("bash", {"command": "rm *.log nothing"}),  # deletes too much, and fails
        ("read_file", {"path": "text/txt-1.txt"}),
        ("edit_file", {"path": "text/txt-1.txt", "old_string": "line", "new_string": "edited"}),
        ("write_file", {"path": str(day.workspace / "outside.txt"), "content": "x"}),  # means the copy
    )
    assert response.content == "Done."
    assert files_of(day.workspace) == before
    changes = copy.changes()
    kinds = [change.kind for change in changes if change.type == "file"]
    assert (kinds.count("renamed"), kinds.count("deleted"), kinds.count("added")) == (199, 101, 2)
    copy.apply(["text"], title="half")
    assert len(os.listdir(day.workspace / "text")) == 100
    assert (day.workspace / "text/txt-1.txt").read_text().endswith("edited\n")
    assert all((day.workspace / name).exists() for name in names if not name.startswith("txt"))
    Workspace(day.workspace).undo()
    assert files_of(day.workspace) == before
    assert not (day.workspace / "text").exists()
    assert len(copy.changes()) == len(changes)


def test_a_command_that_deletes_too_much_is_undone(day, run_in):
    """Apply a command that deleted the sources without looking, and restore them with modes and links."""
    day.repository({"src/app.py": "print(1)\n", "src/run.sh": "#!/bin/sh\n", "build/out.o": "x"})
    (day.workspace / "src/run.sh").chmod(0o755)
    os.symlink("app.py", day.workspace / "src/main.py")
    day.shell("git add --all && git commit --quiet --message Links")
    before = files_of(day.workspace)
    with Workspace(day.workspace).copy() as copy:
        run_in(copy, ("bash", {"command": "rm -rf build src"}))
        copy.apply()
    assert files_of(day.workspace) == {}
    Workspace(day.workspace).undo()
    assert files_of(day.workspace) == before
    assert os.access(day.workspace / "src/run.sh", os.X_OK)


def test_two_previews_at_once_conflict_in_the_file_that_both_change(day, run_in):
    """Two agents work in previews of one folder; the second cannot overwrite the work of the first."""
    day.repository({"shared.txt": "old\n", "first.txt": "", "second.txt": ""})
    copies = [Workspace(day.workspace).copy() for _ in range(2)]
    for copy, name in zip(copies, ("first", "second"), strict=True):
        run_in(copy, ("bash", {"command": f"echo {name} | tee shared.txt {name}.txt"}))
    copies[0].apply()
    with pytest.raises(ConflictError, match=r"shared\.txt"):
        copies[1].apply()
    assert "-first" in copies[1].changes().diff() and "+second" in copies[1].changes().diff()
    copies[1].apply(["second.txt"])
    assert [day.read(f"{name}.txt") for name in ("shared", "first", "second")] == ["first\n", "first\n", "second\n"]
    day.uncommitted = [" M first.txt", " M second.txt", " M shared.txt"]


def test_the_user_works_on_while_a_preview_runs(day, run_in):
    """Edit, add and commit other files during a preview; what the agent changed is applied beside it."""
    day.repository({"a.txt": "a\n", "b.txt": "b\n"})
    with Workspace(day.workspace).copy() as copy:
        day.write({"b.txt": "mine\n", "c.txt": "mine\n"})
        day.shell("git add --all && git commit --quiet --message Mine")
        run_in(copy, ("bash", {"command": "echo agent > a.txt; mkdir docs; echo new > docs/d.txt"}))
        assert copy.changes().summary().splitlines() == ["changed a.txt", "added docs/", "added docs/d.txt"]
        copy.apply()
    assert [day.read(name) for name in ("a.txt", "b.txt", "c.txt", "docs/d.txt")] == [
        "agent\n",
        "mine\n",
        "mine\n",
        "new\n",
    ]
    day.uncommitted = [" M a.txt", "?? docs/d.txt"]


def test_git_commits_in_a_preview_and_the_commit_is_applied(day, run_in):
    """Commit in the copy, with `git status` before and after, there and here: the commit is applied, and undone."""
    day.repository({"a.txt": "a\n"})
    with Workspace(day.workspace).copy() as copy:
        day.shell("touch a.txt && git status")  # rewrites .git/index, as editors do
        run_in(copy, ("bash", {"command": "git status"}))
        assert copy.changes().summary() == "no changes"
        run_in(copy, ("bash", {"command": "git checkout -qb work && echo b > a.txt && git commit -qam 'Change a'"}))
        day.shell("git update-index --really-refresh --force-write-index && git status")
        copy.apply()
    assert day.shell("git log -1 --format='%an: %s' work") == "Ada Lovelace: Change a\n"
    assert day.shell("git status --porcelain --branch").splitlines() == ["## work"]
    Workspace(day.workspace).undo()
    assert day.shell("git branch --show-current; git status --porcelain") == "main\n"


def test_links_that_leave_the_workspace_stay_links_and_their_targets_stay(day, run_in, home):
    """A link to a folder outside: nothing is written through it, and new links are applied as links."""
    (home / "photos").mkdir()
    (home / "photos/1.jpg").write_text("photo")
    os.symlink(home / "photos", day.workspace / "photos")
    day.write({"notes.txt": "notes\n"})
    with Workspace(day.workspace).copy() as copy:
        run_in(
            copy,
            ("bash", {"command": "rm -f photos/1.jpg; mv notes.txt Notes.txt; ln -s /etc/hostname host"}),
            ("write_file", {"path": "photos/2.jpg", "content": "x"}),
        )
        assert copy.changes().summary().splitlines() == ["renamed notes.txt -> Notes.txt", "added host"]
        copy.apply()
    assert os.listdir(home / "photos") == ["1.jpg"]
    assert files_of(day.workspace) == {
        "Notes.txt": b"notes\n",
        "host": "/etc/hostname",
        "photos": str(home / "photos"),
    }


KILLED = """
import os, signal, sys
from tools_workspace import Workspace
action, point, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
count = 0

def step(*_):
    global count
    count += 1
    if count == point:
        os.kill(os.getpid(), signal.SIGKILL)

def audit(event, arguments):
    writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"):
        step()

workspace = Workspace(folder)
if action == "copy":
    workspace.copy(on_progress=step)
sys.addaudithook(audit)
if action == "apply":
    workspace.copies()[0].apply()
workspace.undo()
"""


def kill(action, point, folder):
    """Run an action on a workspace in a process that is killed at a point."""
    process = subprocess.run([sys.executable, "-c", KILLED, action, str(point), folder], check=False)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_dead_battery_during_a_copy_leaves_no_copy(day):
    """Kill the copy of 2,100 files at 20 points, and copy the workspace the next time."""
    day.write({f"{number}.txt": f"{number}\n" for number in range(2100)})
    for point in range(1, 21):  # after 100 files each
        kill("copy", point, day.workspace)
        assert Workspace(day.workspace).copies() == []
    with Workspace(day.workspace).copy() as copy:
        assert files_of(copy.path) == files_of(day.workspace)


@pytest.mark.slow
@pytest.mark.parametrize("action", ["apply", "undo"])
def test_a_dead_battery_leaves_whole_files_and_the_next_attempt_finishes(day, action):
    """Kill an application, or an undo, at 20 points: every file is old or new, and a second attempt finishes."""
    day.write({f"{number % 5}/{number}.txt": f"{number}\n" for number in range(50)})
    old = files_of(day.workspace)
    copy = Workspace(day.workspace).copy()
    for number in range(20):
        Path(copy.path, f"{number % 4}/{number}.txt").write_text("changed\n")
        Path(copy.path, f"new{number}.txt").write_text("new\n")
    shutil.rmtree(Path(copy.path, "4"))
    new = files_of(copy.path)
    for point in range(1, 81, 4):
        if action == "undo":
            copy.apply()
        kill(action, point, day.workspace)
        files = {path: data for path, data in files_of(day.workspace).items() if not path.endswith(".tmp")}
        assert all(data in (old.get(path), new.get(path)) for path, data in files.items())
        if action == "apply":
            copy.apply()
            assert files_of(day.workspace) == new
        for changeset in Workspace(day.workspace).changesets():
            if changeset.state != "undone":
                Workspace(day.workspace).undo(changeset.id)
        assert files_of(day.workspace) == old


FULL_DISK = """
import os, sys
from tools_workspace import Workspace, WorkspaceError
folder = sys.argv[1]
with open(f"{folder}/a", "w") as file:
    file.write("old")
copy = Workspace(folder).copy()
for name in "abcdef":
    with open(f"{copy.path}/{name}", "wb") as file:
        file.write(os.urandom(300_000))
try:
    copy.apply()
except WorkspaceError as error:
    print(error)
print(os.listdir(folder), open(f"{folder}/a").read())
copy.apply(["a", "b"])
Workspace(folder).undo()
print(os.listdir(folder), open(f"{folder}/a").read())
try:
    Workspace(copy.path).copy()
except WorkspaceError as error:
    print(str(error).replace("\\n", " "))
print(len(Workspace(copy.path).copies()), len(os.listdir(sys.argv[2])))
"""


@pytest.mark.slow
def test_a_full_disk_leaves_the_workspace_unchanged(day, home):
    """Apply more than the disk of the workspace holds, and copy more than the cache holds."""
    cache = home / ".cache/ask-tools/copies"
    mounts = f"mount -t tmpfs -o size=1m tmpfs '{day.workspace}' && mount -t tmpfs -o size=3m tmpfs '{cache}'"
    cache.mkdir(parents=True)
    if (
        os.geteuid()
        or not shutil.which("unshare")
        or subprocess.run(["unshare", "--mount", "true"], check=False).returncode
    ):
        pytest.skip("needs root and mount namespaces, for a small disk")
    script = f'{mounts} && exec "$0" -c "$1" "$2" "$3"'
    output = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script, sys.executable, FULL_DISK, day.workspace, cache],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    refused, after, undone, no_copy, count = output.stdout.splitlines()
    assert refused.startswith("nothing was applied: No space left on device: ")
    assert after == undone == "['a'] old"
    assert no_copy.startswith("the workspace cannot be copied: ") and "No space left on device" in no_copy
    assert count == "0 1"


@pytest.mark.slow
def test_a_workspace_of_fifty_thousand_files_is_previewed(day):
    """Copy, change, apply and undo among 50,000 files."""
    for number in range(500):
        folder = day.workspace / f"{number % 50}/{number}"
        folder.mkdir(parents=True)
        for name in range(100):
            (folder / f"{name}.txt").write_text(f"{number} {name}\n")
    with Workspace(day.workspace).copy() as copy:
        assert len(copy.changes()) == 0
        Path(copy.path, "7/7/7.txt").write_text("changed\n")
        shutil.rmtree(Path(copy.path, "8"))
        assert len(copy.changes()) == 1 + 1 + 10 + 1000
        copy.apply()
    assert not (day.workspace / "8").exists()
    Workspace(day.workspace).undo()
    assert len(files_of(day.workspace)) == 50_000
    assert day.read("7/7/7.txt") == "7 7\n"
