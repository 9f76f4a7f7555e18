"""Attributes that replaced files keep, and attributes that they never gain."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys

import pytest

from tools_filesystem import EditFile, WriteFile

pytestmark = pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no os.setxattr")

OWNER, USER, GROUP, MASK, OTHER = 1, 2, 4, 0x10, 0x20
ANY = 0xFFFFFFFF


def access_list(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


PRIVATE_BUT_ONE = access_list((OWNER, 6, ANY), (USER, 4, 1234), (GROUP, 0, ANY), (MASK, 4, ANY), (OTHER, 0, ANY))
FOR_ALL = access_list((OWNER, 7, ANY), (USER, 7, 1234), (GROUP, 7, ANY), (MASK, 7, ANY), (OTHER, 7, ANY))


@pytest.fixture(params=["write", "edit"])
def replace(request, root):
    """Both ways to replace a file's content."""

    def by_writing():
        return WriteFile(root).call(path="file.txt", content="new", overwrite=True)

    def by_editing():
        return EditFile(root).call(path="file.txt", old_string="old", new_string="new")

    (root / "file.txt").write_text("old")
    return by_writing if request.param == "write" else by_editing


@pytest.fixture(params=["without a name", "with a name"])
def temporary(request, monkeypatch):
    """Both ways to write aside."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


def set_or_skip(path, name, value):
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        pytest.skip(f"this file system or user sets no {name}: {error.strerror}")


def test_extended_attributes_stay(replace, root, temporary):
    set_or_skip(root / "file.txt", "user.origin", b"https://example.org\0\xff")
    set_or_skip(root / "file.txt", "user.empty", b"")
    assert replace().ok
    attributes = {name: os.getxattr(root / "file.txt", name) for name in os.listxattr(root / "file.txt")}
    assert attributes == {"user.origin": b"https://example.org\0\xff", "user.empty": b""}
    assert (root / "file.txt").read_text() == "new"


def test_an_access_list_stays_and_with_it_the_mode(replace, root, temporary):
    set_or_skip(root / "file.txt", "system.posix_acl_access", PRIVATE_BUT_ONE)
    mode = (root / "file.txt").stat().st_mode
    assert replace().ok
    assert os.getxattr(root / "file.txt", "system.posix_acl_access") == PRIVATE_BUT_ONE
    assert (root / "file.txt").stat().st_mode == mode


def test_a_private_file_ignores_the_default_acl_of_its_folder(replace, root, temporary):
    set_or_skip(root, "system.posix_acl_default", FOR_ALL)
    (root / "file.txt").chmod(0o600)
    assert replace().ok
    assert os.listxattr(root / "file.txt") == []
    assert stat.S_IMODE((root / "file.txt").stat().st_mode) == 0o600


def test_capabilities_are_not_carried_over_to_other_content(replace, root):
    set_or_skip(root / "file.txt", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
    assert replace().ok
    assert os.listxattr(root / "file.txt") == []


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6777, 0o1644, 0o600, 0o222])
def test_the_mode_stays_but_for_set_id_bits(replace, root, temporary, mode):
    (root / "file.txt").chmod(mode)
    if not os.access(root / "file.txt", os.R_OK):
        pytest.skip("this user is not permitted to read the file")
    assert replace().ok
    assert stat.S_IMODE((root / "file.txt").stat().st_mode) == mode & 0o777


def test_the_owner_stays(replace, root, temporary):
    if os.geteuid() != 0:
        pytest.skip("this user cannot give files away")
    os.chown(root / "file.txt", 1234, 5678)
    (root / "file.txt").chmod(0o640)
    assert replace().ok
    status = (root / "file.txt").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 5678, 0o640)


AS_NOBODY = """
import os, sys
from tools_filesystem import WriteFile
WriteFile(sys.argv[1]).call(path="warm.txt", content="")  # what else is imported may be out of reach later
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
result = WriteFile(sys.argv[1]).call(path="file.txt", content="new", overwrite=True)
print(result.ok or result)
"""


def test_a_new_group_gets_no_more_rights_than_others(open_root):
    if os.geteuid() != 0:
        pytest.skip("this user cannot become another")
    root = open_root
    (root / "file.txt").write_text("old")
    os.chown(root / "file.txt", 1234, 5678)
    (root / "file.txt").chmod(0o664)
    done = subprocess.run([sys.executable, "-c", AS_NOBODY, root], check=False, capture_output=True, text=True)
    assert done.stdout == "True\n", done
    status = (root / "file.txt").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (65534, 65534, 0o644)
