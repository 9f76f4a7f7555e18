from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tools_core import Context
from tools_filesystem import ListDirectory, ReadFile, WriteFile

IS_LINUX = sys.platform == "linux"  # before a test says otherwise


@pytest.fixture
def root(tmp_path):
    """A workspace with a neighbour that must never be seen: `outside` and `root-evil` lie beside it."""
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def open_root():
    """A workspace where another user may write; pytest's own folders are closed again by each session that starts."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)
        root = pathlib.Path(folder, "root")
        root.mkdir()
        root.chmod(0o777)
        yield root


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
    """Swap `place` for a link to the outside and back in another process, without a pause, while a block runs."""
    if not IS_LINUX:
        pytest.skip("only Linux exchanges two names at once")

    @contextmanager
    def swap():
        command = [sys.executable, "-c", SWAP, root, root.parent / "outside"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
            swapper.stdout.readline()
            try:
                yield
                assert swapper.poll() is None
            finally:
                swapper.kill()

    return swap


@pytest.fixture
def files(root):
    """The three tools over one workspace."""
    workspace = str(root)
    return SimpleNamespace(read=ReadFile(workspace), write=WriteFile(workspace), list=ListDirectory(workspace))


@pytest.fixture
def context(root):
    return Context(workspace=root)


@pytest.fixture
def without_system_calls(monkeypatch):
    """Makes the tools do without `openat2`, `renameat2` and Landlock, as outside Linux; also without `O_PATH`."""

    def change(*, has_o_path=True):
        monkeypatch.setattr(sys, "platform", "freebsd14")
        if not has_o_path:
            for name in ("O_PATH", "listxattr"):
                monkeypatch.delattr(os, name, raising=False)

    return change


@pytest.fixture(params=["openat2", "walk", "walk without O_PATH"])
def resolver(request, without_system_calls):
    """Every way from a path to a file."""
    if request.param != "openat2":
        without_system_calls(has_o_path=request.param == "walk")


@pytest.fixture(params=["renameat2", "without"])
def renaming(request, without_system_calls):
    """Return whether the system can rename without replacing, and exchange two names."""
    if request.param == "without":
        without_system_calls()
    return request.param == "renameat2"
