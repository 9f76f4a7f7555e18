"""No update is lost, and nobody waits for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tools_core import Context
from tools_filesystem import EditFile, Workspace, WriteFile
from tools_filesystem._paths._access import Access
from tools_filesystem._writing import _lock
from tools_filesystem._writing._target import Target

EDITOR = """
import sys
from tools_filesystem import EditFile
edit = EditFile(sys.argv[1])
for number in range(50):
    result = edit.call(path="file.txt", old_string="END", new_string=f"<{sys.argv[2]}-{number}>\\nEND")
    assert result.ok, result
"""

REWRITER = """
import sys
from tools_filesystem import ReadFile, Workspace, WriteFile
workspace = Workspace(sys.argv[1])
read, write = ReadFile(workspace), WriteFile(workspace)
for number in range(50):
    for _ in range(10_000):
        content = read.call(path="file.txt", line_numbers=False)
        if "note" in content.metadata:
            continue  # it was replaced just then
        more = content.output + f"<{sys.argv[2]}-{number}>\\n"
        result = write.call(path="file.txt", content=more)
        if result.ok:
            break
        assert result.error_type == "conflict", result
    else:
        raise SystemExit("never came through")
"""


@pytest.mark.slow
@pytest.mark.parametrize("program", [EDITOR, REWRITER], ids=["edits", "writes what was read"])
def test_of_4_processes_with_50_updates_each_none_is_lost(root, program):
    (root / "file.txt").write_text("END")
    workers = [subprocess.Popen([sys.executable, "-c", program, root, str(name)]) for name in range(4)]
    assert [worker.wait() for worker in workers] == [0, 0, 0, 0]
    content = (root / "file.txt").read_text()
    assert sorted(line for line in content.replace("END", "").split("\n") if line) == sorted(
        f"<{name}-{number}>" for name in range(4) for number in range(50)
    )
    assert os.listdir(root) == ["file.txt"]


HOLDER = """
import os, signal, sys
from tools_filesystem._writing._lock import hold
hold(os.open(sys.argv[1], os.O_RDONLY))
os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def holder(root):
    """A process that has the lock and is stopped."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, root]) as process:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        yield process
        process.kill()


def test_a_holder_that_is_stopped_is_not_waited_for_for_ever_and_named(root, holder, monkeypatch):
    monkeypatch.setattr(_lock, "LONGEST_WAIT", 0.05)
    (root / "file.txt").write_text("old")
    workspace = Workspace(root)
    for result in (
        WriteFile(workspace).call(path="file.txt", content="new", overwrite=True),
        WriteFile(workspace).call(path="new.txt", content="new"),
        EditFile(workspace).call(path="file.txt", old_string="old", new_string="new"),
    ):
        assert result.error_type == "unavailable"
        if sys.platform == "linux":
            assert f"process {holder.pid} (which is stopped)" in result.error
    assert EditFile(workspace).call(path="file.txt", old_string="old", new_string="new", dry_run=True).ok
    assert os.listdir(root) == ["file.txt"]
    assert (root / "file.txt").read_text() == "old"


def test_a_holder_that_dies_leaves_no_lock(root, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert WriteFile(root).call(path="new.txt", content="new").ok


def test_a_call_that_nobody_waits_for_any_longer_stops_waiting_too(root, holder):
    context = Context()
    context.cancel()
    with pytest.raises(Exception, match="cancelled") as caught:
        WriteFile(root).execute(path="new.txt", content="new", context=context)
    assert caught.value.type == "cancelled"


def test_a_lock_ends_with_the_write_even_if_a_process_that_was_started_meanwhile_has_the_folder(root, monkeypatch):
    monkeypatch.setattr(_lock, "LONGEST_WAIT", 0.05)
    with Access(Workspace(root)) as access, Target(access.place("file.txt")) as target:
        target.lock()
        command = [sys.executable, "-c", "input()"]
        heir = subprocess.Popen(command, pass_fds=[target.folder], stdin=subprocess.PIPE)
    with heir:
        assert WriteFile(root).call(path="file.txt", content="x").ok
        heir.kill()


def test_a_lock_is_taken_again_by_the_same_descriptor_and_by_no_other(root, monkeypatch):
    monkeypatch.setattr(_lock, "LONGEST_WAIT", 0.01)
    first, second = os.open(root, os.O_RDONLY), os.open(root, os.O_RDONLY)
    try:
        _lock.hold(first)
        _lock.hold(first)
        with pytest.raises(Exception, match="has kept the folder locked"):
            _lock.hold(second)
        _lock.release(first)
        _lock.hold(second)
    finally:
        os.close(first)
        os.close(second)
