"""System calls of Linux, and the same functions on systems without them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from tools_core.linux import (
    RENAME_NOREPLACE,
    RESOLVE_BENEATH,
    Access,
    Landlock,
    landlock_abi,
    openat2,
    renameat2,
)

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="these are system calls of Linux")

ELSEWHERE = """
import sys
sys.platform = "darwin"
from tools_core import linux
print(linux.landlock_abi())
for function in (linux.adopt_orphans, linux.drop_capabilities, linux.Landlock):
    try:
        function()
    except OSError as error:
        print(error.strerror)
"""

READING = """
import sys
from tools_core.linux import Access, Landlock
inside, outside = sys.argv[1:]
with Landlock(Access.READ) as rules:
    rules.allow(inside, Access.READ)
    rules.allow("/missing", Access.READ)
    rules.enforce()
print(open(f"{inside}/file").read())
try:
    open(f"{outside}/file")
except PermissionError:
    print("denied")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "file").write_text("inside")
    (tmp_path / "file").write_text("outside")
    descriptor = os.open(tmp_path / "inside", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def run(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def test_other_systems_report_missing_functions():
    assert run(ELSEWHERE) == ["0", *3 * [os.strerror(errno.ENOSYS)]]


@only_linux
def test_openat2_refuses_a_path_out_of_the_folder(folder):
    os.close(openat2("./file", os.O_RDONLY, dir_fd=folder, resolve=RESOLVE_BENEATH))
    with pytest.raises(OSError, match=os.strerror(errno.EXDEV)):
        openat2("../file", os.O_RDONLY, dir_fd=folder, resolve=RESOLVE_BENEATH)


@only_linux
def test_renameat2_refuses_to_replace_a_file(folder, tmp_path):
    with pytest.raises(FileExistsError):
        renameat2("file", "../file", RENAME_NOREPLACE, src_dir_fd=folder, dst_dir_fd=folder)
    assert ((tmp_path / "inside" / "file").read_text(), (tmp_path / "file").read_text()) == ("inside", "outside")


@only_linux
@pytest.mark.skipif(not landlock_abi(), reason="this kernel has no Landlock")
def test_landlock_denies_files_without_a_rule(folder, tmp_path):
    assert run(READING, tmp_path / "inside", tmp_path) == ["inside", "denied"]


@only_linux
@pytest.mark.skipif(not landlock_abi(), reason="this kernel has no Landlock")
def test_landlock_refuses_to_restrict_nothing():
    with pytest.raises(OSError, match=os.strerror(errno.ENOMSG)):
        Landlock(Access.NONE)
