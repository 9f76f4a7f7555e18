from __future__ import annotations

from types import SimpleNamespace

import pytest

from tools_core import Context
from tools_filesystem import ListDirectory, ReadFile, WriteFile, _resolve, _step


@pytest.fixture
def root(tmp_path):
    """A workspace with a neighbour that must never be seen: `outside` and `root-evil` lie beside it."""
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def files(root):
    """The three tools over one workspace."""
    where = str(root)
    return SimpleNamespace(read=ReadFile(where), write=WriteFile(where), list=ListDirectory(where))


@pytest.fixture
def context(root):
    return Context(workspace=root)


@pytest.fixture(params=["openat2", "walk", "walk without O_PATH"])
def resolver(request, monkeypatch):
    """Every way from a path to a file; the last is what macOS has."""
    if request.param == "openat2":
        if not _resolve.is_supported():
            pytest.skip("this kernel has no openat2")
        return _resolve.pin_by_openat2
    monkeypatch.setattr(_resolve, "is_supported", lambda: False)
    if request.param == "walk without O_PATH":
        monkeypatch.setattr(_step, "HAS_O_PATH", False)
    return _resolve.pin_by_walk
