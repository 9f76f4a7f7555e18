from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tools_core import Context
from tools_filesystem import ListDirectory, ReadFile, WriteFile
from tools_filesystem._paths import _resolve, _step


@pytest.fixture
def root(tmp_path):
    """A workspace with a neighbour that must never be seen: `outside` and `root-evil` lie beside it."""
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def open_root(root):
    """The workspace, where another user may write."""
    outermost = pathlib.Path(tempfile.gettempdir()).resolve()
    for folder in root.parents:
        if outermost in folder.parents:
            folder.chmod(0o755)
    root.chmod(0o777)
    return root


SWAP = """
import ctypes, os, sys
root, outside = sys.argv[1:]
os.chdir(root)
os.symlink(outside, "lure")
swap = ctypes.CDLL(None).renameat2
assert swap(-100, b"place", -100, b"lure", 2) == 0  # RENAME_EXCHANGE: there is always something at `place`
print("ready", flush=True)
while True:
    swap(-100, b"place", -100, b"lure", 2)
"""


@pytest.fixture
def swapping(root):
    """While it is held, somebody swaps `place` for a link to the outside, and back, without a pause."""
    if sys.platform != "linux":
        pytest.skip("only Linux exchanges two names at once")

    @contextmanager
    def held():
        command = [sys.executable, "-c", SWAP, root, root.parent / "outside"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
            swapper.stdout.readline()
            try:
                yield
                assert swapper.poll() is None
            finally:
                swapper.kill()

    return held


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
