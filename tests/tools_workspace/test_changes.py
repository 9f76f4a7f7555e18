"""Differences between a workspace and a copy."""

from __future__ import annotations

import os
import struct

import pytest

from tools_workspace import Workspace, WorkspaceError


def write(copy, path, data):
    with open(f"{copy.path}/{path}", "wb") as file:
        file.write(data)


def test_every_kind_of_change_is_reported_once(folder, tidy):
    copy = Workspace(folder).copy()
    tidy(type(folder)(copy.path))
    assert copy.changes().summary().splitlines() == [
        "added link/",
        "deleted link",
        "added link/inside",
        "added new/",
        "added new/folder/",
        "added new/folder/file",
        "deleted notes.txt",
        "renamed src/deep/data.bin -> renamed.bin",
        "mode run.sh: 755 -> 700",
        "deleted src/deep/",
        "changed src/main.py",
    ]


def test_rewriting_a_file_with_the_same_content_is_not_a_change(folder):
    copy = Workspace(folder).copy()
    write(copy, "notes.txt", b"notes\n")
    assert copy.changes().summary() == "no changes"


def test_changes_omit_content_that_the_workspace_has_too(folder):
    copy = Workspace(folder).copy()
    write(copy, "notes.txt", b"better\n")
    write(copy, "new.txt", b"new\n")
    os.unlink(f"{copy.path}/run.sh")
    (folder / "notes.txt").write_text("better\n")
    (folder / "new.txt").write_text("new\n")
    (folder / "run.sh").unlink()
    assert copy.changes().summary() == "no changes"
    assert copy.apply() is None


def test_text_has_a_unified_diff_and_other_files_their_size(folder):
    copy = Workspace(folder).copy()
    write(copy, "src/main.py", b"one\n2\nthree\n")
    write(copy, "src/deep/data.bin", b"\0" * 7000)
    write(copy, "picture.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + struct.pack(">II", 640, 480))
    lines = copy.changes().diff().splitlines()
    assert lines[:1] == ["added picture.png (24 bytes, 640 x 480)"]
    assert "changed src/deep/data.bin (5,000 bytes -> 7,000 bytes)" in lines
    assert lines[-4:] == [" one", "-two", "+2", " three"]
    change = copy.changes().to_list()[1]
    assert (change["kind"], change["path"], change["old_size"], change["size"]) == (
        "changed",
        "src/deep/data.bin",
        5000,
        7000,
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every folder")
def test_a_folder_without_permission_to_read_is_named(folder):
    copy = Workspace(folder).copy()
    os.chmod(f"{copy.path}/src", 0)
    with pytest.raises(WorkspaceError, match=r"the copy cannot be read: Permission denied: .*/src"):
        copy.changes()


def test_a_change_at_once_after_the_copy_is_noticed(folder):
    for number in range(20):
        (folder / "notes.txt").write_text("old")
        with Workspace(folder).copy() as copy:
            write(copy, "notes.txt", b"%03d" % number)
            assert copy.changes().summary() == "changed notes.txt"


def test_a_link_that_leads_elsewhere_is_a_change(folder):
    copy = Workspace(folder).copy()
    os.unlink(f"{copy.path}/link")
    os.symlink("notes.txt", f"{copy.path}/link")
    (change,) = copy.changes()
    assert (change.kind, change.type) == ("changed", "link")


def test_a_name_that_differs_in_case_alone_is_a_rename(folder):
    copy = Workspace(folder).copy()
    os.rename(f"{copy.path}/notes.txt", f"{copy.path}/Notes.txt")
    assert copy.changes().summary() == "renamed notes.txt -> Notes.txt"
    copy.apply()
    assert sorted(path.name for path in folder.glob("*otes.txt")) == ["Notes.txt"]
