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
from tools_filesystem._paths import _resolve


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


@pytest.fixture
def without_openat2(monkeypatch):
    """Makes paths be resolved as on a system without `openat2`; also without `O_PATH`, as macOS."""

    def change(*, has_o_path=True):
        monkeypatch.setattr(_resolve, "_has_openat2", lambda: False)
        monkeypatch.setattr(_resolve, "HAS_O_PATH", has_o_path)

    return change


@pytest.fixture(params=["openat2", "walk", "walk without O_PATH"])
def resolver(request, without_openat2):
    """Every way from a path to a file."""
    if request.param != "openat2":
        without_openat2(has_o_path=request.param == "walk")
    elif not _resolve._has_openat2():
        pytest.skip("this kernel has no openat2")
