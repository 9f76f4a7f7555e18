"""No update is lost, and no call waits without a limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tools_core import Context
from tools_filesystem import DeletePath, EditFile, MakeDirectory, WriteFile

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
def test_concurrent_processes_lose_no_update(root, program):
    (root / "file.txt").write_text("END")
    workers = [subprocess.Popen([sys.executable, "-c", program, root, str(name)]) for name in range(4)]
    assert [worker.wait() for worker in workers] == [0, 0, 0, 0]
    content = (root / "file.txt").read_text()
    assert sorted(line for line in content.replace("END", "").split("\n") if line) == sorted(
        f"<{name}-{number}>" for name in range(4) for number in range(50)
    )
    assert os.listdir(root) == ["file.txt"]


HOLDER = """
import fcntl, os, signal, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def holder(root):
    """A process that has the lock and is stopped."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, root]) as process:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        yield process
        process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["create", "edit", "delete", "make"])
def test_waiting_for_a_stopped_writer_ends(root, holder, tool):
    (root / "file.txt").write_text("old")
    call = {
        "create": (WriteFile, {"path": "new.txt", "content": "new"}),
        "edit": (EditFile, {"path": "file.txt", "old_string": "old", "new_string": "new"}),
        "delete": (DeletePath, {"path": "file.txt"}),
        "make": (MakeDirectory, {"path": "new/folder"}),
    }
    kind, arguments = call[tool]
    result = kind(root).call(arguments, Context(timeout=2))
    assert result.error_type == "unavailable"
    assert "another writer has kept the folder locked" in result.error
    assert os.listdir(root) == ["file.txt"]
    assert (root / "file.txt").read_text() == "old"


def test_a_dry_run_waits_for_no_lock(root, holder):
    (root / "file.txt").write_text("old")
    assert EditFile(root).call(path="file.txt", old_string="old", new_string="new", dry_run=True).ok


def test_a_holder_that_dies_leaves_no_lock(root, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert WriteFile(root).call(path="new.txt", content="new").ok


def test_an_abandoned_call_stops_waiting_for_the_lock(root, holder):
    context = Context()
    context.cancel()
    with pytest.raises(Exception, match="cancelled") as caught:
        WriteFile(root).execute(path="new.txt", content="new", context=context)
    assert caught.value.type == "cancelled"
