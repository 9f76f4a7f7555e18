"""A workspace with a fresh home, in which copies and changesets are stored."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "ASK_TOOLS_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def folder(tmp_path):
    """A workspace with files, a link, an empty folder and an executable script."""
    folder = tmp_path / "project"
    (folder / "src/deep").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "src/main.py").write_text("one\ntwo\nthree\n")
    (folder / "src/deep/data.bin").write_bytes(b"\0" * 5000)
    (folder / "notes.txt").write_text("notes\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    os.symlink("src/main.py", folder / "link")
    return folder


@pytest.fixture
def tree():
    """`tree(folder)`: everything below a folder, by path: mode and content."""

    def tree(folder):
        result = {}
        for path in sorted(folder.rglob("*")):
            mode = path.lstat().st_mode
            content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            result[path.relative_to(folder).as_posix()] = (mode, content)
        return result

    return tree


@pytest.fixture
def tidy():
    """`tidy(folder)`: change, add, delete, rename and replace files, as a program of a model could."""

    def tidy(folder):
        (folder / "src/main.py").write_text("one\n2\nthree\n")
        (folder / "src/deep/data.bin").rename(folder / "renamed.bin")
        (folder / "src/deep").rmdir()
        (folder / "notes.txt").unlink()
        (folder / "link").unlink()
        (folder / "link").mkdir()
        (folder / "link/inside").write_text("inside\n")
        (folder / "new/folder").mkdir(parents=True)
        (folder / "new/folder/file").write_text("new\n")
        (folder / "run.sh").chmod(0o700)

    return tidy
