"""Copies of a workspace."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from tools_workspace import Workspace, WorkspaceError, WorkspaceTooLargeError


def test_a_copy_has_the_same_files_modes_times_and_links(folder, tree):
    os.utime(folder / "notes.txt", ns=(1, 1_000_000_001))
    copy = Workspace(folder).copy()
    path = copy.path
    assert tree(type(folder)(path)) == tree(folder)
    assert os.stat(f"{path}/notes.txt").st_mtime_ns == 1_000_000_001
    assert (os.fspath(copy), list(copy.changes())) == (path, [])


def test_holes_of_a_sparse_file_stay_holes(folder):
    with open(folder / "sparse", "wb") as file:
        file.truncate(50_000_000)
    copy = Workspace(folder).copy()
    assert os.stat(f"{copy.path}/sparse").st_blocks * 512 < 1_000_000


def test_sockets_and_pipes_are_named_and_not_copied(folder):
    os.mkfifo(folder / "src/pipe")
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(folder)
        server.bind("socket")
        copy = Workspace(folder).copy()
    assert sorted(copy.not_copied) == ["socket", "src/pipe"]
    assert (os.path.exists(f"{copy.path}/src/main.py"), list(copy.changes())) == (True, [])


def test_ignored_folders_are_empty_in_the_copy(folder):
    (folder / "node_modules").mkdir()
    (folder / "node_modules/module.js").write_text("1")
    copy = Workspace(folder).copy(ignore=["node_modules", "not there"])
    assert os.listdir(f"{copy.path}/node_modules") == []
    assert list(copy.changes()) == []
    for outside in ("../project", str(folder), "."):
        with pytest.raises(WorkspaceError, match="name folders relative to it"):
            Workspace(folder).copy(ignore=[outside])


def test_a_large_workspace_is_refused_with_its_size(folder):
    with pytest.raises(WorkspaceTooLargeError, match=r"bytes in 8 files: pass limit=None"):
        Workspace(folder).copy(limit=1000)
    assert Workspace(folder).copies() == []


def test_copies_are_listed_until_they_are_discarded(folder, home):
    first, second = Workspace(folder).copy(), Workspace(folder).copy()
    (home / "other").mkdir()
    Workspace(home / "other").copy()
    assert [copy.id for copy in Workspace(folder).copies()] == [second.id, first.id]
    os.makedirs(f"{second.path}/closed/inner")
    os.chmod(f"{second.path}/closed", 0o500)
    second.discard()
    assert ([copy.id for copy in Workspace(folder).copies()], os.path.exists(second.path)) == ([first.id], False)
    with pytest.raises(WorkspaceError, match="was discarded"):
        second.changes()


def test_the_end_of_a_block_discards_the_copy_unless_it_failed(folder):
    with Workspace(folder).copy() as copy:
        pass
    assert not os.path.exists(copy.path)
    with pytest.raises(ZeroDivisionError), Workspace(folder).copy() as copy:
        _ = 1 / 0
    assert os.path.exists(copy.path)


def test_git_works_in_a_copy(folder):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    copy = Workspace(folder).copy()
    status = subprocess.run([*git, "status", "--short"], cwd=copy.path, capture_output=True, text=True, check=True)
    assert status.stdout == ""
    subprocess.run([*git, "checkout", "-qb", "work"], cwd=copy.path, check=True)
    copy.apply()
    branch = subprocess.run(["git", "branch", "--show-current"], cwd=folder, capture_output=True, text=True, check=True)
    assert branch.stdout == "work\n"


def test_progress_ends_with_all_entries(folder):
    reports = []
    Workspace(folder).copy(on_progress=lambda done, total: reports.append((done, total)))
    assert reports[-1] == (8, 8)


def test_earlier_copies_and_settings_of_the_user_are_not_copied(home):
    (home / ".config/ask-tools").mkdir(parents=True)
    (home / ".config/ask-tools/policy.toml").write_text("")
    Workspace(home).copy()
    copy = Workspace(home).copy()
    assert [name for _, _, names in os.walk(copy.path) for name in names] == []
    assert list(copy.changes()) == []


UNREADABLE = """
import os, sys
from tools_core.linux import drop_capabilities
drop_capabilities()  # root can read everything
from tools_workspace import ConflictError, Workspace
copy = Workspace(sys.argv[1]).copy()
print(sorted(copy.not_copied), sorted(os.listdir(copy.path)), copy.changes().summary())
os.makedirs(f"{copy.path}/data", exist_ok=True)
for name in ("data/secret", "secret", "readable"):
    with open(f"{copy.path}/{name}", "w") as file:
        file.write("new")
try:
    copy.apply()
except ConflictError as error:
    print(error.paths)
copy.apply(["readable"])
copy.discard()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="drops capabilities")
def test_a_copy_names_unreadable_files_and_leaves_them_out(tmp_path, home):
    folder = tmp_path / "project"
    (folder / "data/inner").mkdir(parents=True)
    for name in ("data/secret", "data/inner/secret", "secret", "readable"):
        (folder / name).write_text("old")
    (folder / "secret").chmod(0)
    (folder / "data/inner").chmod(0)
    (folder / "data").chmod(0)
    words = [sys.executable, "-c", UNREADABLE, str(folder)]
    first, second = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    (folder / "data").chmod(0o700)
    (folder / "secret").chmod(0o600)
    assert first == "['data', 'secret'] ['readable'] no changes"
    assert second == "('data', 'data/secret', 'secret')"
    contents = {name: (folder / name).read_text() for name in ("data/secret", "secret", "readable")}
    assert contents == {"data/secret": "old", "secret": "old", "readable": "new"}


def test_hard_links_stay_hard_links(folder):
    os.link(folder / "notes.txt", folder / "src/same.txt")
    path = Workspace(folder).copy().path
    assert os.path.samefile(f"{path}/notes.txt", f"{path}/src/same.txt")
    assert not os.path.samefile(f"{path}/notes.txt", folder / "notes.txt")


def test_applied_and_undone_hard_links_stay_hard_links(folder):
    os.link(folder / "notes.txt", folder / "src/same.txt")
    (folder / "copy.txt").write_text("notes\n")
    copy = Workspace(folder).copy()
    for name in ("notes.txt", "copy.txt"):
        with open(f"{copy.path}/{name}", "a") as file:
            file.write("more\n")
    for change, content in ((copy.apply, "notes\nmore\n"), (Workspace(folder).undo, "notes\n")):
        change()
        assert os.path.samefile(folder / "notes.txt", folder / "src/same.txt")
        assert [(folder / name).read_text() for name in ("src/same.txt", "copy.txt")] == [content] * 2
        assert os.stat(folder / "copy.txt").st_nlink == 1


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="Linux has these functions")
def test_extended_attributes_are_copied_and_applied(folder):
    try:
        os.setxattr(folder / "notes.txt", "user.origin", b"mail")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    copy = Workspace(folder).copy()
    assert os.getxattr(f"{copy.path}/notes.txt", "user.origin") == b"mail"
    with open(f"{copy.path}/notes.txt", "a") as file:
        file.write("more\n")
    copy.apply()
    assert os.getxattr(folder / "notes.txt", "user.origin") == b"mail"


def test_a_copy_is_removed_a_week_after_its_last_use(folder):
    used, unused = Workspace(folder).copy(), Workspace(folder).copy()
    for copy in (used, unused):
        os.utime(os.path.dirname(copy.path), (1, 1))
    used.changes()
    new = Workspace(folder).copy()
    assert [copy.id for copy in Workspace(folder).copies()] == [new.id, used.id]


@pytest.mark.slow
def test_very_deep_folders_are_copied_and_removed(folder):
    place = folder
    descriptor = os.open(place, os.O_RDONLY)
    for _ in range(1010):
        os.mkdir("deeper", dir_fd=descriptor)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    copy = Workspace(folder).copy()
    assert copy.changes().summary() == "no changes"
    copy.discard()
    assert not os.path.exists(copy.path)
    subprocess.run(["rm", "-rf", folder], check=True)  # pytest could not remove it
