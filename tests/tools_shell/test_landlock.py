"""Landlock where the permitted paths are listed one by one."""

from __future__ import annotations

import os

import pytest

from tools_core import ToolError
from tools_shell import Bash, Sandbox


@pytest.fixture
def landlock(root):
    """Run a script in Landlock, with more paths."""
    try:
        Bash(root, sandbox="landlock").diagnose()
    except ToolError as error:
        pytest.skip(f"this system does not have it: {error.message}")

    def run(script, **paths):
        return Bash(root, sandbox=Sandbox(level="landlock", **paths)).call(command=script).output

    return run


def test_files_can_be_named_one_by_one(landlock, tmp_path):
    for name in ("file", "other"):
        (tmp_path / name).write_text(name)
    output = landlock(f"cd {tmp_path}; cat file; cat other; echo x > file", readable=[tmp_path / "file"])
    assert output["output"].startswith("file")
    assert output["output"].count("Permission denied") == 2
    assert (tmp_path / "file").read_text() == "file"


def test_folders_move_only_between_writable_folders(landlock, tmp_path):
    for name in ("a/x/y", "b", "c"):
        (tmp_path / name).mkdir(parents=True)
    landlock(f"cd {tmp_path}; mv a/x b/; mv b/x c/", writable=[tmp_path / "a", tmp_path / "b"])
    assert [os.listdir(tmp_path / name) for name in ("a", "b", "c")] == [[], ["x"], []]


@pytest.mark.parametrize(
    "script", ["echo x > /tmp/x", "python3 -c 'from multiprocessing import Semaphore; Semaphore()'", "touch /dev/shm/x"]
)
def test_a_refused_temporary_file_is_explained(root, landlock, script):
    landlock("true")
    result = Bash(root, sandbox="landlock").call(command=script)
    assert "[this sandbox has $TMPDIR instead of /tmp" in result.content
    assert result.metadata["missing_grants"] == ["write"]


def test_an_archive_with_files_of_other_users_is_unpacked(landlock):
    landlock("mkdir a && echo 1 > a/b && tar --owner=1000 --group=1000 --mode=u+s -cf a.tar a && rm -r a")
    assert landlock("tar -xf a.tar && cat a/b")["output"] == "1\n"
