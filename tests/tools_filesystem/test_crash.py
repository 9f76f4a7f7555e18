"""Whatever system call is the last one, or fails: the old content is there, or the new."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import pytest

from tools_filesystem import EditFile, WriteFile

CALL = re.compile(r"(?m)^\d+ +(\w+)\(")
OLD, NEW = "old" + "x" * 200_000, "new" + "x" * 200_000

# It forks for every call to disturb, so that Python starts once. The child waits for a signal, which arrives when
# the child is traced.
SERVER = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
root, way, path = sys.argv[1:]
if way.startswith("named"):
    del os.O_TMPFILE
from tools_filesystem import EditFile, WriteFile
write, edit = WriteFile(root), EditFile(root)
write.call(path="warm/up.txt", content="old")
edit.call(path="warm/up.txt", old_string="old", new_string="new")
def run():
    if way.endswith("edit"):
        return edit.call(path=path, old_string="old", new_string="new")
    return write.call(path=path, content="new" + "x" * 200_000, overwrite=True)
server = os.getpid()
while True:
    child = os.fork()
    if not child:
        print(os.getpid(), flush=True)
        while signal.sigtimedwait({signal.SIGUSR1}, 1) is None:
            if os.getppid() != server:  # the test is over
                os._exit(2)
        os._exit(0 if run().ok else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    if not sys.stdin.buffer.raw.read(1):
        break
"""
# System calls unrelated to files, or with varying counts.
APART = {"rt_sigtimedwait", "getppid", "getrandom", "brk", "mmap", "munmap", "mremap", "madvise"}
# System calls on files, whose failure must not do damage.
FAILING = frozenset(
    [
        *("openat", "openat2", "newfstatat", "fstat", "statx", "readlink", "readlinkat", "flock"),
        *("pread64", "preadv", "preadv2", "write", "copy_file_range", "fsync", "fchmod", "fchown", "mkdirat"),
        *("linkat", "rename", "renameat", "renameat2", "unlinkat", "listxattr", "flistxattr", "getxattr", "fsetxattr"),
    ]
)


@pytest.fixture
def disturbed(root, tmp_path):
    """Runs a call again and again, each time disturbed at another of its system calls, and tells how that ended."""

    def run(way, path, fault, calls=None):
        file = root / path
        with serving(root, way, path) as server:
            assert traced(server, "trace=all") == 0
            shutil.copy(tmp_path / "trace", tmp_path / "clean")
            for call, count in Counter(CALL.findall((tmp_path / "clean").read_text())).items():
                is_meant = call not in APART if calls is None else call in calls
                for number in range(1, count + 1 if is_meant else 1):
                    if path == "file.txt":
                        file.write_text(OLD)
                    else:
                        shutil.rmtree(root / "new", ignore_errors=True)
                    status = traced(server, f"inject={call}:{fault}:when={number}")
                    yield f"{call} {number}", status, file.read_text() if file.exists() else None

    def traced(server, option):
        child = server.stdout.readline().strip().decode()
        command = ["strace", "-f", "-o", tmp_path / "trace", "-e", option, "-p", child]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            attached = tracer.stderr.readline()
            if "attached" not in attached:
                pytest.skip(f"this user or kernel does not let processes be traced: {attached}")
            os.kill(int(child), signal.SIGUSR1)
            tracer.stderr.read()
        status = int(server.stdout.readline())
        server.stdin.write(b"n")
        return status

    return run


@contextmanager
def serving(root, way, path):
    (root / "file.txt").write_text(OLD)
    (root / "warm").mkdir()
    command = [sys.executable, "-c", SERVER, root, way, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as server:
        try:
            yield server
        finally:
            server.kill()  # its child notices


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]
WAYS = [("write", "file.txt"), ("named write", "file.txt"), ("edit", "file.txt"), ("named edit", "file.txt")]
WAYS += [("write", "new/file.txt"), ("named write", "new/file.txt")]


def litter(root):
    return [name for name in os.listdir(root) if name not in ("file.txt", "warm", "new")]


@pytest.mark.parametrize(("way", "path"), WAYS)
def test_a_killed_write_leaves_the_old_or_the_new_file(root, disturbed, way, path):
    contents = []
    old = OLD if path == "file.txt" else None
    for moment, status, content in disturbed(way, path, "signal=KILL"):
        assert status == -9, moment
        assert content in (old, NEW), moment
        assert len(litter(root)) <= 1, moment
        contents.append(content)
    assert len(contents) > 20
    assert set(contents) == {old, NEW}  # kills before the change, and kills after it
    assert WriteFile(root).call(path="file.txt", content="done", overwrite=True).ok
    assert litter(root) == []


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize(("way", "path"), WAYS)
def test_a_failed_system_call_preserves_the_old_content(root, disturbed, way, path, error):
    statuses = []
    for moment, status, content in disturbed(way, path, f"error={error}", FAILING):
        assert (status, content) in ((1, OLD if path == "file.txt" else None), (0, NEW)), moment
        # A staged file that no call can inspect or remove stays until the next write.
        left = litter(root)
        assert not left or moment.startswith(("newfstatat", "unlinkat")), moment
        for name in left:
            (root / name).unlink()
        statuses.append(status)
    assert statuses.count(1) > 10


@pytest.mark.parametrize(("way", "path"), WAYS)
def test_content_is_synced_before_it_is_renamed(disturbed, tmp_path, way, path):
    next(disturbed(way, path, "signal=KILL"))
    calls = CALL.findall((tmp_path / "clean").read_text())
    named = max(number for number, call in enumerate(calls) if call.startswith(("rename", "linkat")))
    assert "fsync" in calls[:named]
    assert "fsync" in calls[named:]
    if path.startswith("new"):
        position = calls.index("mkdirat")
        assert "fsync" in calls[position : position + 2]


@pytest.mark.parametrize("tool", ["write", "named write", "edit"])
def test_a_full_file_system_leaves_the_old_content_and_no_litter(root, monkeypatch, tool):
    if os.geteuid() != 0:
        pytest.skip("this user cannot mount a file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "none", root], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"this machine mounts no tmpfs: {mounted.stderr.decode()}")
    try:
        if tool.startswith("named"):
            monkeypatch.delattr(os, "O_TMPFILE", raising=False)
        (root / "file.txt").write_text(OLD)
        if tool == "edit":
            results = [EditFile(root).call(path="file.txt", old_string="old", new_string="n" * 400_000)]
        else:
            results = [
                WriteFile(root).call(path=path, content="n" * 400_000, overwrite=True) for path in ("file.txt", "a/b")
            ]
        assert {result.error_type for result in results} == {"limit_exceeded"}
        assert "nothing was changed" in results[0].error
        assert (root / "file.txt").read_text() == OLD
        assert os.listdir(root) == ["file.txt"]
    finally:
        subprocess.run(["umount", root], check=True)
