"""Checkpoints before the turns of an agent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tools_workspace import Checkpoint, ConflictError, Workspace, WorkspaceError, WorkspaceTooLargeError


@pytest.fixture
def turn(folder):
    """`turn(change)`: let `change` work in the folder during a turn; return the changeset."""

    def turn(change, title="a turn"):
        with Checkpoint(Workspace(folder)) as checkpoint:
            checkpoint.begin(title, session="s")
            change(folder)
            return checkpoint.end()

    return turn


def test_everything_that_a_turn_changed_is_undone(folder, tree, tidy, turn):
    before = tree(folder)
    changeset = turn(tidy, "Tidy this folder")
    assert (changeset.state, changeset.title, changeset.session) == ("applied", "Tidy this folder", "s")
    assert "renamed src/deep/data.bin -> renamed.bin" in changeset.changes
    Workspace(folder).undo()
    assert tree(folder) == before


def test_turns_are_undone_one_after_the_other(folder, tree, tidy, turn):
    states = [tree(folder)]
    changes = [
        tidy,
        lambda folder: shutil.rmtree(folder / "src"),
        lambda folder: (folder / "src").write_text("a file\n"),
        lambda folder: ((folder / "src").unlink(), os.symlink("new", folder / "src")),
    ]
    for change in changes:
        turn(change)
        states.append(tree(folder))
    for state in reversed(states[:-1]):
        Workspace(folder).undo()
        assert tree(folder) == state
    turn(tidy)
    Workspace(folder).undo()
    assert tree(folder) == states[0]


def test_a_turn_without_changes_has_no_changeset(folder, turn):
    assert turn(lambda folder: (folder / "notes.txt").write_text("notes\n")) is None
    assert Workspace(folder).changesets() == []


def test_work_of_the_user_between_turns_is_not_undone(folder, turn):
    turn(lambda folder: (folder / "notes.txt").write_text("agent\n"))
    (folder / "mine.txt").write_text("mine\n")
    (folder / "src/main.py").write_text("mine\n")
    changeset = turn(lambda folder: (folder / "run.sh").write_text("agent\n"))
    assert list(changeset.changes) == ["changed run.sh  (executable)"]
    Workspace(folder).undo()
    Workspace(folder).undo()
    assert (folder / "notes.txt").read_text() == "notes\n"
    assert (folder / "mine.txt").read_text() == (folder / "src/main.py").read_text() == "mine\n"


def test_a_file_that_the_user_changed_after_the_turn_is_not_overwritten(folder, turn):
    turn(lambda folder: (folder / "notes.txt").write_text("agent\n"))
    (folder / "notes.txt").write_text("mine\n")
    with pytest.raises(ConflictError, match=r"nothing was undone: notes\.txt"):
        Workspace(folder).undo()
    assert (folder / "notes.txt").read_text() == "mine\n"


def test_a_commit_of_a_turn_is_undone_as_well(folder, turn):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]

    def run(*words):
        done = subprocess.run([*git, *words], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout

    run("init", "-q", "-b", "main")
    run("add", ".")
    run("commit", "-qm", "first")

    def commit(folder):
        (folder / "notes.txt").write_text("agent\n")
        run("commit", "-qam", "second")

    changeset = turn(commit)
    assert any(line.startswith("commit ") and " second, branch main" in line for line in changeset.changes)
    Workspace(folder).undo()
    assert (run("log", "--format=%s"), run("status", "--short")) == ("first\n", "")
    run("fsck", "--strict")


@pytest.mark.parametrize("name", ["node_modules", "data"])
def test_large_generated_folders_are_left_out_and_named(folder, name):
    (folder / ".gitignore").write_text("# local\n/data/\n*.log\n")
    (folder / "small").mkdir()

    def fill(folder):
        (folder / name / "inner").mkdir(parents=True)
        with open(folder / name / "inner/large", "wb") as file:
            file.truncate(21_000_000)

    with Checkpoint(Workspace(folder)) as checkpoint:
        checkpoint.begin()
        fill(folder)
        (folder / "notes.txt").write_text("agent\n")
        assert (list(checkpoint.end().changes), checkpoint.left_out) == (["changed notes.txt"], [name])
        checkpoint.begin()
        shutil.rmtree(folder / name)
        assert checkpoint.end() is None
    fill(folder)
    shutil.rmtree(folder.parent / "home/.cache")
    with Checkpoint(Workspace(folder)) as checkpoint:
        checkpoint.begin()
        assert checkpoint.left_out == [name]


def test_a_workspace_has_one_turn_at_a_time(folder):
    with Checkpoint(Workspace(folder)) as first:
        first.begin()
        with pytest.raises(WorkspaceError, match="another process is in a turn"):
            Checkpoint(Workspace(folder)).begin()
        with pytest.raises(WorkspaceError, match="call begin"):
            Checkpoint(Workspace(folder)).end()
    with Checkpoint(Workspace(folder)) as second:
        second.begin()


def test_a_workspace_above_the_limit_has_no_checkpoint(folder):
    with pytest.raises(WorkspaceTooLargeError, match="too large for a checkpoint"):
        Checkpoint(Workspace(folder), limit=1000).begin()


KILL = """
import os, signal, sys
from tools_workspace import Checkpoint, Workspace
action, limit, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
count = 0

def kill(event, arguments):
    global count
    changes = event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.utime", "os.link")
    if changes or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
        count += 1
        if count == limit:
            os.kill(os.getpid(), signal.SIGKILL)

checkpoint = Checkpoint(Workspace(folder))
if action == "begin":
    sys.addaudithook(kill)
checkpoint.begin("killed")
for number in range(5):
    with open(f"{folder}/{number}.txt", "w") as file:
        file.write("agent")
os.unlink(f"{folder}/notes.txt")
if action == "end":
    sys.addaudithook(kill)
checkpoint.end()
"""


@pytest.mark.slow
@pytest.mark.parametrize("action", ["begin", "end"])
def test_a_kill_at_any_point_loses_no_turn(folder, tree, action):
    before = tree(folder)
    for limit in range(1, 60, 3):
        process = subprocess.run([sys.executable, "-c", KILL, action, str(limit), str(folder)], check=False)
        has_changed = tree(folder) != before
        with Checkpoint(Workspace(folder)) as checkpoint:
            interrupted = checkpoint.begin()
            if process.returncode and has_changed:
                assert interrupted is not None and interrupted.title == "killed", limit
            assert checkpoint.end() is None
        while any(changeset.state != "undone" for changeset in Workspace(folder).changesets()):
            Workspace(folder).undo()
        assert tree(folder) == before, limit
        assert not list(folder.parent.glob("home/.cache/**/.2*.tmp"))
        if not process.returncode and limit > 1:
            break
        shutil.rmtree(folder.parent / "home")
