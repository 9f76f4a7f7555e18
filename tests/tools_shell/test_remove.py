"""A folder for temporary files is removed with all that a command has put into it, and nothing else is touched."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_shell._supervisor._remove import remove


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "temporary"
    made.mkdir()
    return made


@pytest.fixture
def other(tmp_path):
    made = tmp_path / "other"
    made.mkdir(mode=0o750)
    (made / "file").write_text("kept")
    return made


def test_a_folder_that_has_become_a_link_takes_nothing_along(tmp_path, other):
    link = tmp_path / "link"
    link.symlink_to(other)
    remove(str(link))
    assert (other / "file").read_text() == "kept"


def test_links_are_removed_and_what_they_lead_to_is_not(folder, other):
    (folder / "inner").mkdir()
    for place in (folder, folder / "inner"):
        (place / "to a folder").symlink_to(other)
        (place / "to a file").symlink_to(other / "file")
        (place / "to itself").symlink_to(folder)
        (place / "to nothing").symlink_to("nothing")
    remove(str(folder))
    assert not folder.exists()
    assert (other / "file").read_text() == "kept"
    assert other.stat().st_mode & 0o777 == 0o750


def test_whatever_is_no_folder_is_removed_too(folder):
    os.mkfifo(folder / "fifo")
    (folder / ("x" * 255)).write_text("")
    (folder / os.fsdecode(b"\xff\n")).write_text("")
    (folder / "read only").write_text("")
    (folder / "read only").chmod(0)
    remove(str(folder))
    assert not folder.exists()


def test_folders_that_cannot_be_entered_are_removed_at_every_depth(folder):
    inner = folder / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (inner / "file").write_text("")
    for place in (inner, *list(inner.parents)[:2]):
        place.chmod(0)
    remove(str(folder))
    assert not folder.exists()


@given(paths=st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), max_size=12))
def test_of_a_tree_of_any_form_nothing_is_left(tmp_path_factory, paths):
    folder = tmp_path_factory.mktemp("temporary")
    for path in paths:
        folder.joinpath(*path).mkdir(parents=True, exist_ok=True)
        folder.joinpath(*path, "file").write_text("")
    remove(str(folder))
    assert not folder.exists()


def test_what_is_not_there_is_no_problem(folder):
    remove(str(folder / "missing"))


def test_folders_that_are_named_as_those_that_are_moved_are_removed_too(folder):
    for name in (*"abcdefgh", *(f".ask-tools-{number}" for number in range(10))):
        (folder / name / "inner" / "more").mkdir(parents=True)
    remove(str(folder))
    assert not folder.exists()
