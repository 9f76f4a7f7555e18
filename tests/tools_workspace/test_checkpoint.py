"""Checkpoints before the turns of an agent."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("choice", ["keep", "overwrite"])
def test_a_person_decides_about_files_that_changed_after_the_turn(folder, tree, tidy, turn, choice):
    before = tree(folder)
    turn(tidy)
    (folder / "notes.txt").write_text("mine\n")
    (folder / "run.sh").unlink()
    questions = []
    changeset = Workspace(folder).undo(conflicts=lambda paths: questions.append(list(paths)) or choice)
    (names,) = questions
    assert names == ["notes.txt", "run.sh"]
    assert tree(folder).items() >= {name: entry for name, entry in before.items() if name not in names}.items()
    assert (folder / "notes.txt").read_text() == ("mine\n" if choice == "keep" else "notes\n")
    assert (folder / "run.sh").exists() is (choice == "overwrite")
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        Workspace(folder).undo()
    if choice == "overwrite":  # the user's version can be brought back
        (note,) = changeset.notes
        Workspace(folder).undo(note.rpartition(" ")[2])
        assert (folder / "notes.txt").read_text() == "mine\n" and not (folder / "run.sh").exists()


def test_undo_skips_paths_excluded_by_the_caller(folder):
    store = folder / "sessions.db"
    for text in ("first", "second"):
        with Checkpoint(Workspace(folder), leave_out=[str(store)]) as checkpoint:
            checkpoint.begin()
            store.write_text(text)
            (folder / "notes.txt").write_text(text)
            assert checkpoint.end().changes == ("changed notes.txt",)
        assert checkpoint.left_out == ["sessions.db"]
        assert Checkpoint(Workspace(folder)).complete() is None
    Workspace(folder).undo()
    assert (store.read_text(), (folder / "notes.txt").read_text()) == ("second", "first")


@pytest.mark.parametrize("change", ["restored", "deleted"])
def test_files_restored_by_the_user_do_not_conflict(folder, tree, turn, change):
    before = tree(folder)
    turn(lambda folder: [(folder / name).write_text("agent\n") for name in ("notes.txt", "new.txt")])
    if change == "restored":
        (folder / "notes.txt").write_text("notes\n")
    else:
        (folder / "new.txt").unlink()
    Workspace(folder).undo()
    assert tree(folder).keys() == before.keys() and (folder / "notes.txt").read_text() == "notes\n"


def test_a_turn_that_was_killed_is_completed(folder, tree):
    before = tree(folder)
    checkpoint = Checkpoint(Workspace(folder))
    assert checkpoint.complete() is None
    checkpoint.begin("killed")
    with pytest.raises(WorkspaceError, match="another process is in a turn"):
        Checkpoint(Workspace(folder)).complete()
    (folder / "notes.txt").unlink()
    checkpoint.__exit__(None, None, None)
    changeset = Checkpoint(Workspace(folder)).complete()
    assert (changeset.title, list(changeset.changes)) == ("killed", ["deleted notes.txt"])
    assert Checkpoint(Workspace(folder)).complete() is None
    Workspace(folder).undo(changeset.id)
    assert tree(folder) == before


def test_a_copy_that_fails_leaves_no_half_mirror(folder, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fchmod", fail)
        with pytest.raises(WorkspaceError, match="no checkpoint: No space left on device"):
            Checkpoint(Workspace(folder)).begin()
    assert not list(folder.parent.glob("home/.cache/ask-tools/checkpoints/*/mirror"))
    with Checkpoint(Workspace(folder)) as checkpoint:
        checkpoint.begin()


@pytest.fixture
def git(folder):
    """`git("log")`: run git in the folder, a new repository; return what it prints."""

    def git(*words):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "First")
    return git


def test_a_commit_of_a_turn_is_undone_as_well(folder, turn, git):
    def commit(folder):
        (folder / "notes.txt").write_text("agent\n")
        git("commit", "-qam", "Second")

    changeset = turn(commit)
    assert any(line.startswith("commit ") and " Second, branch main" in line for line in changeset.changes)
    Workspace(folder).undo()
    assert (git("log", "--format=%s"), git("status", "--short")) == ("First\n", "")
    git("fsck", "--strict")


@pytest.mark.parametrize(
    "words",
    [
        "branch keep",
        "tag kept",
        "stash",
        "commit --allow-empty -qm Mine",
        "switch -qc other",
        "push -q ../remote main",
        "worktree add -q ../tree",
    ],
)
@pytest.mark.parametrize("choice", ["keep", "overwrite"])
def test_git_work_of_the_user_on_a_commit_of_the_agent_survives_an_undo(folder, turn, git, words, choice):
    git("init", "-q", "--bare", "../remote")
    turn(lambda folder: [(folder / "notes.txt").write_text("agent\n"), git("commit", "-qam", "Agent")])
    (folder / "run.sh").write_text("mine\n")
    git(*words.split())
    before = git("log", "--format=%H", "--all")
    changeset = Workspace(folder).undo(conflicts=choice)
    git("fsck", "--full")
    kept = [note.rpartition(" ")[2] for note in changeset.notes if note.startswith("replaced")]
    for id in kept:  # the user's version
        Workspace(folder).undo(id)
        git("fsck", "--full")
    for commit in before.split():
        git("cat-file", "-e", commit)


def test_commits_of_a_repository_outside_of_the_workspace_are_named(folder, git):
    with Checkpoint(Workspace(folder / "src")) as checkpoint:
        for message, number in (("", 0), ("Agent", 1)):
            checkpoint.begin()
            (folder / "src/main.py").write_text(f"{message}\n")
            if message:
                git("commit", "-qam", message)
            assert len(checkpoint.end().notes) == number
    assert Workspace(folder / "src").undo().notes == (
        f"commits and branches stay: {folder}/.git is outside of {folder}/src",
    )


def test_a_file_that_became_a_pipe_is_restored(folder, tree, turn):
    before = tree(folder)
    turn(lambda folder: [(folder / "notes.txt").unlink(), os.mkfifo(folder / "notes.txt")])
    Workspace(folder).undo()
    assert tree(folder) == before


def test_undo_names_the_old_content_of_a_file_that_it_cannot_restore(folder, turn):
    turn(lambda folder: [(folder / "notes.txt").unlink(), (folder / "notes.txt").mkdir()])
    (folder / "notes.txt/mine").write_text("user\n")
    [note] = Workspace(folder).undo().notes
    assert note.startswith("skipped notes.txt: it was changed meanwhile; the old files are in /")
    assert Path(note.rpartition(" ")[2], "notes.txt").read_text() == "notes\n"
    assert (folder / "notes.txt/mine").read_text() == "user\n"


def test_the_last_turn_is_undone_also_if_the_clock_was_set_back(folder, turn, home):
    first = turn(lambda folder: (folder / "notes.txt").write_text("first\n"))
    changes = home / ".local/state/ask-tools/changes"
    (changes / first.id).rename(changes / f"2999{first.id[4:]}")
    turn(lambda folder: (folder / "notes.txt").write_text("second\n"))
    Workspace(folder).undo()
    assert (folder / "notes.txt").read_text() == "first\n"


def test_an_undo_in_another_folder_names_the_folder_of_the_last_turn(folder, turn):
    turn(lambda folder: (folder / "notes.txt").write_text("agent\n"))
    with pytest.raises(
        WorkspaceError, match=f"nothing to undo in {folder}/src; for {folder}: ask-tools undo --workspace"
    ):
        Workspace(folder / "src").undo()


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


def test_undo_restores_the_old_files_of_a_folder_that_becomes_large(folder, tree):
    (folder / "dist/old").mkdir(parents=True)
    for name in ("edited", "deleted", "moved", "old/deleted"):
        (folder / "dist" / name).write_text(f"{name} of the user\n")
    before = tree(folder)
    with Checkpoint(Workspace(folder)) as checkpoint:
        checkpoint.begin()
        shutil.rmtree(folder / "dist/old")
        (folder / "dist/deleted").unlink()
        (folder / "dist/edited").write_text("agent\n")
        (folder / "dist/new").mkdir()
        (folder / "dist/moved").rename(folder / "dist/new/moved")
        with open(folder / "dist/bundle", "wb") as file:
            file.truncate(21_000_000)
        assert checkpoint.end() is not None
        assert checkpoint.left_out == ["dist"]
        Workspace(folder).undo()
        (folder / "dist/bundle").unlink()
        (folder / "dist/new").rmdir()
        assert tree(folder) == before
        checkpoint.begin()
        (folder / "dist/deleted").unlink()
        assert checkpoint.end() is None


def test_a_rebuilt_folder_is_large_by_its_new_files_alone(folder, tree):
    (folder / "build").mkdir()
    for number in range(1100):
        (folder / f"build/{number}.old").touch()
    before = tree(folder)
    with Checkpoint(Workspace(folder)) as checkpoint:
        checkpoint.begin()
        shutil.rmtree(folder / "build")
        (folder / "build").mkdir()
        for number in range(1100):
            (folder / f"build/{number}.new").touch()
        checkpoint.end()
    Workspace(folder).undo()
    assert tree(folder) == before


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
if action == "undo":
    sys.addaudithook(kill)
    Workspace(folder).undo()
"""


@pytest.mark.slow
@pytest.mark.parametrize("action", ["begin", "end", "undo"])
def test_a_kill_at_any_point_loses_no_turn(folder, tree, action):
    before = tree(folder)
    for limit in range(1, 60, 3):
        process = subprocess.run([sys.executable, "-c", KILL, action, str(limit), str(folder)], check=False)
        has_changed = tree(folder) != before
        with Checkpoint(Workspace(folder)) as checkpoint:
            interrupted = checkpoint.begin()
            if process.returncode and has_changed and action != "undo":
                assert interrupted is not None and interrupted.title == "killed", limit
            assert checkpoint.end() is None
        while any(changeset.state != "undone" for changeset in Workspace(folder).changesets()):
            Workspace(folder).undo()
        assert tree(folder) == before, limit
        assert not list(folder.parent.glob("home/.cache/**/.2*.tmp"))
        if not process.returncode and limit > 1:
            break
        shutil.rmtree(folder.parent / "home")
