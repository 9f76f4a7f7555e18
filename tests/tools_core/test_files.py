"""Files that tools and their packages share: replacement, the user's own paths, protected names."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from tools_core import ToolError
from tools_core.files import (
    PROTECTED,
    config_path,
    data_path,
    is_git_directory,
    is_inside,
    is_protected,
    new_file,
    replace,
    state_path,
)


def test_a_replaced_file_keeps_its_permissions_and_links(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(0o640)
    (tmp_path / "link").symlink_to("file")
    replace(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


@pytest.mark.skipif(os.name != "posix", reason="Windows opens no folder")
def test_a_new_file_appears_complete_or_not_at_all(tmp_path):
    with new_file("a/b.txt", tmp_path) as file:
        file.write(b"new")
        assert not (tmp_path / "a/b.txt").exists()
    with pytest.raises(RuntimeError), new_file("c/d.txt", tmp_path) as file:
        raise RuntimeError
    assert (tmp_path / "a/b.txt").read_text() == "new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b.txt"]


@pytest.mark.skipif(os.name != "posix", reason="Windows opens no folder")
def test_a_new_file_replaces_another_only_if_asked(tmp_path):
    (tmp_path / "old").write_text("old")
    with pytest.raises(ToolError, match="exists already"), new_file("old", tmp_path):
        pytest.fail("the block has begun")
    with pytest.raises(ToolError, match="exists already"), new_file("late", tmp_path) as file:  # noqa: PT012  (at its end)
        file.write(b"mine")
        (tmp_path / "late").write_text("theirs")
    with new_file("old", tmp_path, overwrite=True) as file:
        file.write(b"new")
    assert ((tmp_path / "late").read_text(), (tmp_path / "old").read_text()) == ("theirs", "new")


@pytest.mark.skipif(os.name != "posix", reason="Windows opens no folder")
@pytest.mark.parametrize("path", ["../x", "/etc/x", "out/x", ".git/hooks/x", ".envrc", "git/HEAD", "", "..", "a/../.."])
def test_a_new_file_is_in_the_workspace_and_no_program_runs_it(path, tmp_path):
    work = tmp_path / "work"
    for folder in ("git/objects", "git/refs"):
        (work / folder).mkdir(parents=True)
    (work / "out").symlink_to(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ToolError) as raised, new_file(path, work):
        pytest.fail("the block has begun")
    assert (raised.value.type, sorted(tmp_path.rglob("*"))) == ("denied", before)


@pytest.mark.skipif(os.name != "posix", reason="Windows opens no folder")
def test_a_folder_that_becomes_a_link_receives_no_new_file(tmp_path, monkeypatch):
    """The link is made between the check and the opening of the folder."""
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").mkdir()
    make = os.makedirs

    def swap(folder, exist_ok=False):
        make(tmp_path / "work/a", exist_ok=exist_ok)
        (tmp_path / "outside/b").mkdir()
        (tmp_path / "work/a").rmdir()
        (tmp_path / "work/a").symlink_to(tmp_path / "outside")

    monkeypatch.setattr(os, "makedirs", swap)
    with pytest.raises(ToolError), new_file("a/b/x", tmp_path / "work"):
        pytest.fail("the block has begun")
    assert list((tmp_path / "outside").rglob("x")) == []


@pytest.mark.skipif(os.name != "posix", reason="only POSIX systems have these permissions")
@pytest.mark.parametrize(
    ("before", "mode", "umask", "after"),
    [
        (0o600, 0o666, 0o022, 0o600),
        (0o640, 0o666, 0o022, 0o640),
        (0o666, 0o666, 0o077, 0o666),
        (0o400, 0o666, 0o022, 0o400),
        (None, 0o600, 0o022, 0o600),
        (None, 0o600, 0o000, 0o600),
        (None, 0o666, 0o027, 0o640),
    ],
)
def test_new_content_is_never_readable_by_more_users_than_the_file(tmp_path, before, mode, umask, after):
    path = tmp_path / "secret"
    if before is not None:
        path.write_text("old")
        path.chmod(before)
    audited = []

    def audit(event, arguments):
        if event in ("open", "os.chmod", "os.rename") and str(tmp_path) in str(arguments[0]) and audited is not None:
            audited.extend(stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.glob("*.tmp"))

    old = os.umask(umask)
    sys.addaudithook(audit)  # sees the temporary file after it was written
    try:
        replace(path, b"TOKEN", mode=mode)
    finally:
        os.umask(old)
        seen, audited = audited, None
    assert seen and not any(mode & ~after for mode in seen)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"TOKEN", after)


def test_a_device_is_written_to_and_not_replaced():
    replace(os.devnull, b"data")
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize(
    ("path", "variable", "default"),
    [
        (config_path, "XDG_CONFIG_HOME", ".config"),
        (data_path, "XDG_DATA_HOME", ".local/share"),
        (state_path, "XDG_STATE_HOME", ".local/state"),
    ],
)
def test_paths_of_the_user_ignore_variables_with_relative_paths(path, variable, default, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, "settings")
    assert path("file") == f"{tmp_path}/{default}/ask-tools/file"
    monkeypatch.setenv(variable, f"{tmp_path}/settings")
    assert path("file") == f"{tmp_path}/settings/ask-tools/file"


def test_a_folder_with_a_longer_name_is_not_inside():
    assert is_inside("/srv/app", ["/srv/app"])
    assert is_inside("/srv/app/src", ["/home", "/srv/app/"])
    assert is_inside("/srv/app", ["/"])
    assert not is_inside("/srv/application", ["/srv/app"])


@pytest.mark.parametrize(
    "name", [".git", ".GIT", ".git.", ".git ", ".g\u200cit", "\uff0egit", "GIT~1", ".Vscode", ".npmrc"]
)
def test_every_spelling_of_a_name_is_protected(name):
    assert is_protected(name)


@pytest.mark.parametrize("name", ["git", ".github", ".gitignore", "npmrc", "x.git", ".vscodes", ""])
def test_similar_names_are_not_protected(name):
    assert not is_protected(name)


def test_callers_choose_the_protected_names():
    assert is_protected("Secrets", frozenset({"secrets"}))
    assert not is_protected(".npmrc", PROTECTED - {".npmrc"})


def test_a_git_directory_is_recognised_by_its_entries():
    assert is_git_directory(["HEAD", "objects", "refs", "config"])
    assert is_git_directory(["head", "commondir"])
    assert not is_git_directory(["HEAD", "objects"])
