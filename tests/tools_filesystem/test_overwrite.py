"""Only a caller that knows the content of a file may replace it."""

from __future__ import annotations

import os

import pytest

from tools_core import Context
from tools_filesystem import ApplyPatch, DeletePath, EditFile, MovePath, ReadFile, Workspace, WriteFile

LINES = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def session(root):
    """A file and one session's tools; `read`, `write` and `edit` take their arguments by name."""
    workspace = Workspace(root)
    (root / "file.txt").write_text(LINES)

    class Session:
        read = ReadFile(workspace).call
        write = WriteFile(workspace).call
        edit = EditFile(workspace).call
        file = root / "file.txt"

    return Session


def refused(session, *words):
    before = session.file.read_bytes()
    result = session.write(path="file.txt", content="new")
    assert result.error_type == "conflict"
    for word in (*words, "overwrite=true"):
        assert word in result.error
    assert session.file.read_bytes() == before
    return True


def test_a_file_that_was_never_read_is_not_replaced(session):
    assert refused(session, "have not read its current version", "read_file")


def test_a_completely_read_file_can_be_replaced_repeatedly(session):
    session.read(path="file.txt")
    assert session.write(path="file.txt", content="new").ok
    assert session.write(path="file.txt", content="newer").ok
    assert session.file.read_text() == "newer"


def test_a_file_created_by_the_run_can_be_replaced(session, root):
    session.write(path="made.txt", content="one")
    assert session.write(path="made.txt", content="two").output["created"] is False


def test_an_empty_file_can_be_replaced_after_reading(session):
    session.file.write_text("")
    assert session.read(path="file.txt").ok
    assert session.write(path="file.txt", content="new").ok


@pytest.mark.parametrize(
    ("reads", "words"),
    [
        pytest.param([{"limit": 10}], ["only "], id="head"),
        pytest.param([{"offset": 11}], ["only "], id="tail by offset"),
        pytest.param([{"offset": -10}], ["only "], id="tail"),
        pytest.param([{"limit": 5}, {"offset": 7}], ["only "], id="a gap in the middle"),
        pytest.param([{"offset": 999}], [], id="past the end"),
        pytest.param([{"limit": 19}, {"limit": 3}, {"limit": 19}], ["only "], id="the same part again"),
    ],
)
def test_a_file_that_was_read_in_part_is_not_replaced(session, reads, words):
    for arguments in reads:
        assert session.read({"path": "file.txt", **arguments}).ok
    assert refused(session, *words)


def test_parts_that_make_the_whole_are_the_whole_in_any_order(session):
    for arguments in ({"offset": 15}, {"limit": 5}, {"offset": 4, "limit": 12}):
        session.read({"path": "file.txt", **arguments})
    assert session.write(path="file.txt", content="new").ok


def test_a_partial_look_after_the_whole_does_not_take_it_back(session):
    for arguments in ({}, {"limit": 2}, {}):
        session.read({"path": "file.txt", **arguments})
    assert session.write(path="file.txt", content="new").ok


def test_a_file_read_through_a_symlink_counts_as_read_under_its_other_name(session, root):
    (root / "link").symlink_to("file.txt")
    session.read(path="link", limit=3)
    assert refused(session, "only ")
    session.read(path="file.txt")
    assert session.write(path="link", content="new").ok


@pytest.mark.parametrize("content", ["", "other", LINES + "more", LINES.replace("1", "2")])
def test_a_file_that_changed_since_it_was_read_is_not_replaced(session, content):
    session.read(path="file.txt")
    status = session.file.stat()
    session.file.write_text(content)
    os.utime(session.file, ns=(status.st_atime_ns, status.st_mtime_ns))  # its times alone prove nothing
    assert refused(session, "has changed since you read it")


def test_a_file_that_another_one_took_the_place_of_is_not_replaced(session, root):
    session.read(path="file.txt")
    (root / "other").write_text(LINES.upper())
    (root / "other").rename(session.file)
    assert refused(session, "has changed since you read it")


@pytest.mark.parametrize("way", ["touch", "mode", "save", "save beside"])
def test_a_file_that_was_saved_without_a_change_can_be_replaced(session, root, way):
    session.read(path="file.txt", limit=10)
    if way == "touch":
        os.utime(session.file)
    elif way == "mode":
        session.file.chmod(0o600)
    else:
        (root / "other").write_text(LINES)
        (root / "other").rename(session.file) if way == "save beside" else session.file.write_text(LINES)
    session.read(path="file.txt", offset=11)
    os.utime(session.file, (1, 1))
    session.edit(path="file.txt", old_string="line 3", new_string="line three")
    os.utime(session.file, (2, 2))
    assert session.write(path="file.txt", content="new").ok


def test_moving_a_file_by_a_patch_is_not_reading_it(session, root):
    section = "*** Update File: file.txt\n*** Move to: new.txt\n@@\n-line 1\n+line one\n line 2\n"
    assert ApplyPatch(root).call(patch=f"*** Begin Patch\n{section}*** End Patch").ok
    assert session.write(path="new.txt", content="").error_type == "conflict"


@pytest.mark.parametrize("shared", [True, False], ids=["a shared workspace", "tools without a workspace"])
def test_a_file_that_another_run_read_is_not_replaced(session, root, shared):
    reader, writer = Context(workspace=root), Context(workspace=root)
    read, write = (session.read, session.write) if shared else (ReadFile().call, WriteFile().call)
    assert read({"path": "file.txt"}, reader).ok
    arguments = {"path": "file.txt", "content": "new"}
    assert write(arguments, writer).error_type == "conflict"
    assert write(arguments, reader).ok


def test_a_read_counts_for_all_tools_of_a_run(root, session):
    assert ReadFile(root).call({"path": "file.txt"}, Context(run_id="run-1")).ok
    assert WriteFile(root).call({"path": "file.txt", "content": "new"}, Context(run_id="run-1")).ok


def test_an_edit_of_a_file_that_was_read_whole_leaves_it_known(session):
    session.read(path="file.txt")
    session.edit(path="file.txt", old_string="line", new_string="row", replace_all=True)
    assert session.write(path="file.txt", content="new").ok


def test_a_file_without_write_permission_is_neither_changed_moved_nor_deleted(root):
    file = root / "file.txt"
    file.write_text("old")
    file.chmod(0o444)
    (root / "other").write_text("x")
    ReadFile(root).call(path="file.txt")
    patch = "*** Begin Patch\n*** {} File: file.txt\n{}*** End Patch"
    results = {
        "write": WriteFile(root).call(path="file.txt", content="new"),
        "edit": EditFile(root).call(path="file.txt", old_string="old", new_string="new"),
        "update": ApplyPatch(root).call(patch=patch.format("Update", "-old\n+new\n")),
        "delete in a patch": ApplyPatch(root).call(patch=patch.format("Delete", "")),
        "move": MovePath(root).call(source="file.txt", destination="new.txt"),
        "delete": DeletePath(root).call(path="file.txt"),
    }
    for way, result in results.items():
        assert result.error_type == "denied", way
        assert "read-only (mode 0444); " in result.error, way  # then the remedy
    assert file.read_text() == "old"
    assert "overwrite=true" in MovePath(root).call(source="other", destination="file.txt").error
    assert WriteFile(root).call(path="file.txt", content="new", overwrite=True).ok
    assert file.stat().st_mode & 0o777 == 0o444
    assert MovePath(root).call(source="other", destination="file.txt", overwrite=True).ok
    (root / "folder").mkdir()
    (root / "folder" / "file").write_text("")
    (root / "folder" / "file").chmod(0o444)
    assert DeletePath(root).call(path="folder", recursive=True).ok
