"""Apply the changes of a copy, and undo them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools_workspace import ConflictError, Workspace, WorkspaceError


@pytest.fixture
def copy(folder, tidy):
    """A copy with changes of every kind."""
    copy = Workspace(folder).copy()
    tidy(Path(copy.path))
    return copy


def test_applying_makes_the_workspace_equal_to_the_copy_and_undo_restores_it(folder, copy, tree):
    before = tree(folder)
    changeset = copy.apply(title="test")
    assert tree(folder) == tree(Path(copy.path))
    assert (changeset.state, len(changeset.changes), list(copy.changes())) == ("applied", 11, [])
    assert copy.apply() is None
    assert Workspace(folder).undo().state == "undone"
    assert tree(folder) == before
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        Workspace(folder).undo()


def test_some_paths_are_applied_with_the_folders_that_they_need(folder, copy):
    copy.apply(["new/folder/file", "notes.txt"])
    assert (folder / "new/folder/file").read_text() == "new\n"
    assert not (folder / "notes.txt").exists()
    assert (folder / "src/main.py").read_text() == "one\ntwo\nthree\n"
    assert len(copy.changes()) == 7
    with pytest.raises(WorkspaceError, match="nothing has no changes; changed: link"):
        copy.apply(["nothing"])


def test_undo_takes_back_the_latest_changes_first(folder, copy, tree):
    before = tree(folder)
    copy.apply(["notes.txt"])
    copy.apply()
    Workspace(folder).undo()
    assert not (folder / "notes.txt").exists()
    Workspace(folder).undo()
    assert tree(folder) == before


def test_undone_changes_can_be_applied_again(folder, copy, tree):
    copy.apply(["notes.txt", "run.sh", "src/deep"])
    Workspace(folder).undo()
    assert len(copy.changes()) == 11
    copy.apply()
    assert tree(folder) == tree(Path(copy.path))


def test_a_copy_accepts_more_work_after_an_application(folder):
    copy = Workspace(folder).copy()
    for text in ("first\n", "second\n"):
        Path(copy.path, "notes.txt").write_text(text)
        Path(copy.path, "new.txt").write_text(text)
        copy.apply()
        assert (folder / "notes.txt").read_text() == (folder / "new.txt").read_text() == text
    (folder / "notes.txt").write_text("mine\n")
    Path(copy.path, "notes.txt").write_text("third\n")
    with pytest.raises(ConflictError, match=r"notes\.txt"):
        copy.apply()


def test_a_changed_original_raises_a_conflict(folder, copy, tree):
    (folder / "src/main.py").write_text("mine\n")
    (folder / "new").write_text("mine")
    before = tree(folder)
    with pytest.raises(ConflictError, match="nothing was applied and the copy remains") as conflict:
        copy.apply()
    assert conflict.value.paths == ("new", "src/main.py")
    assert tree(folder) == before
    copy.apply(["notes.txt"])  # others can be applied


def test_two_copies_with_changes_of_one_file_conflict(folder):
    first, second = Workspace(folder).copy(), Workspace(folder).copy()
    for number, copy in enumerate((first, second)):
        Path(copy.path, "notes.txt").write_text(f"{number}\n")
    first.apply()
    with pytest.raises(ConflictError, match=r"notes\.txt"):
        second.apply()
    assert (folder / "notes.txt").read_text() == "0\n"


def test_undo_refuses_if_a_file_changed_since(folder, copy, tree):
    copy.apply()
    (folder / "src/main.py").write_text("later work\n")
    before = tree(folder)
    with pytest.raises(ConflictError, match=r"nothing was undone: src/main\.py"):
        Workspace(folder).undo()
    assert tree(folder) == before


def test_undo_keeps_new_files_in_a_folder_that_it_removes(folder, copy):
    copy.apply()
    (folder / "new/mine").write_text("mine")
    Workspace(folder).undo()
    assert (folder / "new/mine").read_text() == "mine"


def test_a_link_out_of_the_workspace_is_applied_as_a_link(folder, tmp_path):
    (tmp_path / "outside").write_text("outside")
    copy = Workspace(folder).copy()
    os.symlink(tmp_path / "outside", f"{copy.path}/way-out")
    copy.apply()
    assert os.readlink(folder / "way-out") == str(tmp_path / "outside")
    assert (tmp_path / "outside").read_text() == "outside"


def test_old_changesets_are_removed(folder):
    copy = Workspace(folder, keep_bytes=3000).copy()
    for number in range(4):
        Path(copy.path, "notes.txt").write_text(str(number) * 2000)
        copy.apply()
    assert len(Workspace(folder).changesets()) == 1


def test_a_changeset_names_its_time_command_session_and_copy(folder, copy):
    changeset = copy.apply(["notes.txt"], title="ask-tools run", session="4f0c")
    details = changeset.to_dict()
    assert (details["title"], details["session"], details["copy"]) == ("ask-tools run", "4f0c", copy.id)
    assert details["changes"] == ["deleted notes.txt"]
    assert changeset.time >= copy.time
    assert str(changeset).endswith("applied  1 change  ask-tools run  session 4f0c")


FULL = """
import resource, signal, sys
from tools_workspace import Workspace, WorkspaceError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    Workspace(sys.argv[1]).copies()[0].apply()
except WorkspaceError as error:
    print(error)
"""


def test_a_file_above_the_size_limit_leaves_the_workspace_unchanged(folder, copy, tree):
    before = tree(folder)
    Path(copy.path, "src/main.py").write_text("x" * 1_000_000)
    process = subprocess.run([sys.executable, "-c", FULL, str(folder)], check=True, stdout=subprocess.PIPE, text=True)
    assert process.stdout.startswith("nothing was applied: File too large: ")
    assert tree(folder) == before
    copy.apply()
    assert tree(folder) == tree(Path(copy.path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write into every folder")
def test_a_read_only_folder_leaves_the_workspace_unchanged(folder, copy, tree):
    (folder / "src").chmod(0o500)
    before = tree(folder)
    with pytest.raises(WorkspaceError, match="nothing was applied"):
        copy.apply()
    assert tree(folder) == before
    (folder / "src").chmod(0o700)


KILL = """
import os, signal, sys
from tools_workspace import Workspace
action, limit, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
workspace = Workspace(folder)
count = 0

def kill(event, arguments):
    global count
    changes = event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink", "os.utime")
    if changes or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
        count += 1
        if count == limit:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
if action == "copy":
    workspace.copy()
elif action == "apply":
    workspace.copies()[0].apply()
else:
    workspace.undo()
print(count)
"""


def run_and_kill(action, folder, limit):
    """Run an action in a process that is killed before its change number `limit`; return whether it completes."""
    process = subprocess.run([sys.executable, "-c", KILL, action, str(limit), str(folder)], check=False)
    return process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("action", "then"), [("apply", "apply"), ("apply", "undo"), ("undo", "undo")])
def test_a_kill_leaves_whole_files_and_the_next_attempt_finishes(folder, copy, tree, action, then):
    old, new = tree(folder), tree(Path(copy.path))
    limit, is_complete = 1, False
    while not is_complete:
        if action == "undo":
            copy.apply()
        is_complete = run_and_kill(action, folder, limit)
        for path, value in tree(folder).items():
            folders = path in ("new", "new/folder", "link")  # their mode is set in the end
            assert path.endswith(".tmp") or folders or value in (old.get(path), new.get(path)), (limit, path)
        workspace = Workspace(folder)
        if then == "apply":
            copy.apply()
            assert tree(folder) == new, limit
        while any(changeset.state != "undone" for changeset in workspace.changesets()):
            workspace.undo()
        assert tree(folder) == old, limit
        limit += 1
    assert limit > 20


@pytest.mark.slow
def test_a_kill_during_a_copy_leaves_no_copy(folder, tree):
    before = tree(folder)
    for limit in range(1, 9):
        is_complete = run_and_kill("copy", folder, limit)
        assert tree(folder) == before
        assert is_complete or Workspace(folder).copies() == []


def test_touched_and_identically_saved_files_cause_no_conflict(folder, copy, tree):
    """The user's editor, `touch`, or a new link with the same target."""
    for name in ("notes.txt", "src/main.py"):
        content = (folder / name).read_text()
        (folder / name).unlink()
        (folder / name).write_text(content)
    os.utime(folder / "src/deep/data.bin")
    (folder / "link").unlink()
    os.symlink("src/main.py", folder / "link")
    copy.apply()
    assert tree(folder) == tree(Path(copy.path))


@pytest.mark.parametrize(
    "name", ["漢" * 85, "é" * 127, "x" * 255, "\udcff" * 255], ids=["cjk", "accents", "ascii", "bytes"]
)
def test_names_may_be_as_long_as_the_file_system_permits(folder, name):
    (folder / name).write_text("old")
    with Workspace(folder).copy() as copy:
        Path(copy.path, name).write_text("new")
        copy.apply()
    assert (folder / name).read_text() == "new"
    Workspace(folder).undo()
    assert (folder / name).read_text() == "old"


@pytest.fixture
def stuck(folder):
    """The new file of a killed application, which the user makes immutable: nothing can revert it."""
    for name in "abc":
        (folder / name).write_text("old")
    copy = Workspace(folder).copy()
    for name in "abc":
        Path(copy.path, name).write_text("new")
    names = iter(range(1, 100))
    while not (new := [name for name in "abc" if (folder / name).read_text() == "new"]):
        run_and_kill("apply", folder, next(names))
    assert len(new) < 3
    if subprocess.run(["chattr", "+i", folder / new[0]], check=False, capture_output=True).returncode:
        pytest.skip("this user or file system cannot make a file immutable")
    yield folder / new[0]
    subprocess.run(["chattr", "-i", folder / new[0]], check=True)


@pytest.mark.slow
def test_an_application_that_cannot_be_reverted_can_be_abandoned(folder, stuck):
    workspace = Workspace(folder)
    for action in (workspace.copies()[0].apply, workspace.undo):
        with pytest.raises(WorkspaceError, match=rf"{stuck.name}; some files .*ask-tools undo --abandon .* are in "):
            action()
    (changeset,) = [changeset for changeset in workspace.changesets() if changeset.state == "applying"]
    abandoned = workspace.abandon()
    assert (abandoned.id, abandoned.state) == (changeset.id, "abandoned")
    assert f"{stuck.name} has its new content" in abandoned.notes
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        workspace.undo()
    workspace.copies()[0].apply()
    assert {(folder / name).read_text() for name in "abc"} == {"new"}


@pytest.mark.slow
def test_an_application_that_could_not_be_reverted_is_finished_later(folder, stuck):
    with pytest.raises(WorkspaceError, match="some files have their new content"):
        Workspace(folder).undo()
    subprocess.run(["chattr", "-i", stuck], check=True)
    Workspace(folder).copies()[0].apply()
    assert {(folder / name).read_text() for name in "abc"} == {"new"}
    while any(changeset.state != "undone" for changeset in Workspace(folder).changesets()):
        Workspace(folder).undo()
    assert {(folder / name).read_text() for name in "abc"} == {"old"}


def test_a_folder_that_had_to_stay_is_deleted_with_its_last_file(folder):
    copy = Workspace(folder).copy()
    shutil.rmtree(f"{copy.path}/src")
    deletions = {change.path: change for change in copy.changes()}
    copy.apply([deletions["src"], deletions["src/main.py"]])
    assert (folder / "src/deep/data.bin").exists()
    copy.apply()
    assert not (folder / "src").exists()
    Workspace(folder).undo()
    Workspace(folder).undo()
    assert (folder / "src/main.py").exists() and (folder / "src/deep/data.bin").exists()
