"""Attributes of copies, kept and never gained; a move to another file system is a copy, too."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile

import pytest

from tools_filesystem import CopyPath, FileInfo, MovePath, Workspace, WriteFile

OWNER, USER, GROUP, MASK, OTHER = 1, 2, 4, 0x10, 0x20
ANY = 0xFFFFFFFF


def access_list(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


FOR_ONE = access_list((OWNER, 7, ANY), (USER, 4, 1234), (GROUP, 0, ANY), (MASK, 4, ANY), (OTHER, 0, ANY))
FOR_ALL = access_list((OWNER, 7, ANY), (USER, 7, 1234), (GROUP, 7, ANY), (MASK, 7, ANY), (OTHER, 7, ANY))
needs_attributes = pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no os.setxattr")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="this user cannot give files away")


@pytest.fixture(params=["copy", "move"])
def carry(request, root):
    """From `old` to the same name on another file system, or with a copy to `new` on this one."""
    if request.param == "copy":
        yield lambda: CopyPath(root).call(source="old", destination="new"), root / "new"
        return
    memory = "/dev/shm"  # noqa: S108  (the file system itself is wanted, and a folder of our own in it)
    if not os.path.isdir(memory) or os.stat(memory).st_dev == os.stat(root).st_dev:
        pytest.skip("this system has no second file system at /dev/shm")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        tool = MovePath(Workspace(root, folder))
        yield lambda: tool.call(source="old", destination=f"{folder}/new"), root.__class__(folder, "new")


def set_or_skip(path, name, value):
    try:
        os.setxattr(path, name, value, follow_symlinks=False)
    except OSError as error:
        pytest.skip(f"this file system or user sets no {name}: {error.strerror}")


def attributes(path):
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


@pytest.fixture
def tree(root):
    (root / "old" / "inner").mkdir(parents=True)
    (root / "old" / "inner" / "file").write_text("content")
    (root / "old" / "link").symlink_to("inner/file")
    return root / "old"


@needs_attributes
def test_a_copy_has_the_extended_attributes_and_access_lists_of_files_and_folders(carry, tree):
    call, new = carry
    for path in (tree, tree / "inner" / "file"):
        set_or_skip(path, "user.origin", b"https://example.org\0\xff")
        set_or_skip(path, "system.posix_acl_access", FOR_ONE)
    set_or_skip(tree / "inner", "system.posix_acl_default", FOR_ALL)
    expected = {path: (attributes(tree / path), (tree / path).stat().st_mode) for path in ("", "inner", "inner/file")}
    assert call().ok
    assert {path: (attributes(new / path), (new / path).stat().st_mode) for path in expected} == expected
    assert "user.origin" in expected["inner/file"][0]


@needs_attributes
def test_a_folder_that_gives_its_files_to_all_opens_no_private_copy(carry, tree):
    call, new = carry
    set_or_skip(new.parent, "system.posix_acl_default", FOR_ALL)
    (tree / "inner" / "file").chmod(0o600)
    (tree / "inner").chmod(0o700)
    assert call().ok
    for path in ("inner", "inner/file"):
        assert attributes(new / path) == {}
        assert stat.S_IMODE((new / path).stat().st_mode) == stat.S_IMODE(0o600 if "file" in path else 0o700)


@needs_attributes
def test_a_copy_gets_no_capabilities(carry, root):
    call, new = carry
    (root / "old").write_text("program")
    set_or_skip(root / "old", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
    assert call().ok
    assert attributes(new) == {}


@needs_root
def test_a_copy_belongs_to_whom_the_original_belongs_without_set_id_bits(carry, tree):
    call, new = carry
    os.chown(tree, 12, 34)
    os.chown(tree / "inner" / "file", 1234, 5678)
    os.chown(tree / "link", 1234, 5678, follow_symlinks=False)
    (tree / "inner" / "file").chmod(0o6750)
    tree.chmod(0o3755)
    assert call().ok
    statuses = {path: os.lstat(new / path) for path in ("", "inner", "inner/file", "link")}
    owners = {path: (state.st_uid, state.st_gid) for path, state in statuses.items()}
    assert owners == {"": (12, 34), "inner": (0, 0), "inner/file": (1234, 5678), "link": (1234, 5678)}
    assert stat.S_IMODE(statuses["inner/file"].st_mode) == 0o750
    assert stat.S_IMODE(statuses[""].st_mode) == 0o755


def test_a_copy_has_the_times_of_the_original_and_so_have_its_links(carry, tree):
    call, new = carry
    for number, path in enumerate((tree / "inner" / "file", tree / "link", tree / "inner", tree), 1):
        os.utime(path, ns=(number * 10**9 + 7, number * 10**9 + 5), follow_symlinks=False)
    assert call().ok
    times = [os.lstat(new / path).st_mtime_ns for path in ("inner/file", "link", "inner", "")]
    assert times == [number * 10**9 + 5 for number in (1, 2, 3, 4)]
    assert os.lstat(new / "inner" / "file").st_atime_ns == 10**9 + 7


AS_NOBODY = """
import os, resource, sys
from tools_filesystem import CopyPath, DeletePath
root, limit = sys.argv[1], int(sys.argv[2])
CopyPath(root).call(source="warm", destination="up")  # what else is imported may be out of reach later
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
result = CopyPath(root).call(source="old", destination="new")
print(result.ok or result.error_type)
"""


def as_nobody(root, limit=1 << 30):
    (root / "warm").write_text("")
    command = [sys.executable, "-c", AS_NOBODY, root, str(limit)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    (root / "warm").unlink()
    (root / "up").unlink(missing_ok=True)
    return done.stdout.strip() or done


@needs_root
def test_a_failed_copy_removes_read_only_folders(open_root):
    root = open_root
    for name in ("1", "2"):
        (root / "old" / name).mkdir(parents=True)
    first, last = os.listdir(root / "old")  # the order in which they are copied
    (root / "old" / first / "file").write_bytes(b"x")
    (root / "old" / last / "large").write_bytes(b"x" * 100_000)
    (root / "old" / first).chmod(0o555)
    assert as_nobody(root, limit=50_000) == "limit_exceeded"
    assert os.listdir(root) == ["old"]


@needs_root
def test_another_group_than_that_of_the_original_gets_no_more_than_anybody(open_root):
    root = open_root
    (root / "old").write_text("content")
    os.chown(root / "old", 1234, 5678)
    (root / "old").chmod(0o674)
    assert as_nobody(root) == "True"
    status = (root / "new").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (65534, 65534, 0o644)


UNMAPPED = """
import sys
from tools_filesystem import CopyPath, WriteFile
root = sys.argv[1]
for result in (
    CopyPath(root).call(source="old", destination="new"),
    WriteFile(root).call(path="old", content="changed", overwrite=True),
):
    print(result.ok or result)
"""


@needs_root
def test_unknown_owners_in_containers_are_ignored(root):
    (root / "old").write_text("content")
    (root / "old").chmod(0o666)
    os.chown(root / "old", 1234, 5678)
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", UNMAPPED, root]
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if "unshare" in done.stderr:
        pytest.skip(f"this machine makes no user namespaces: {done.stderr.strip()}")
    assert done.stdout == "True\nTrue\n", done
    assert (root / "old").read_text() == "changed"
    assert (root / "new").read_text() == "content"


def test_the_owner_of_a_file_is_shown_by_name(root):
    import grp
    import pwd

    assert WriteFile(root).call(path="file", content="x").ok
    status = (root / "file").stat()
    facts = FileInfo(root).call(path="file").output
    assert facts["owner"] == pwd.getpwuid(status.st_uid).pw_name
    assert facts["group"] == grp.getgrgid(status.st_gid).gr_name


@needs_root
def test_an_owner_without_a_name_is_shown_by_number(root):
    (root / "file").write_text("x")
    os.chown(root / "file", 54321, 54322)
    facts = FileInfo(root).call(path="file").output
    assert (facts["owner"], facts["group"]) == ("54321", "54322")
