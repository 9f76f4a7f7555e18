"""Patches that fail or die in the middle, and patches at the same time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_filesystem import ApplyPatch

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")

PATCH = """\
*** Begin Patch
*** Update File: changed.txt
-two
+TWO
*** Add File: new/folder/added.txt
+added
*** Delete File: gone.txt
*** Update File: old-name.txt
*** Move to: new/other/new-name.txt
-before
+after
*** Update File: moved.txt
*** Move to: folder/moved.txt
*** End Patch
"""

# It starts once and applies each patch in a child that waits until strace is attached.
DRIVER = """
import os, sys
from tools_filesystem import ApplyPatch
patch = sys.argv[1]
for line in sys.stdin:
    tool = ApplyPatch(line.rstrip("\\n"))
    for action in ("Add", "Delete"):  # imports what is imported late
        assert tool.call(patch=f"*** Begin Patch\\n*** {action} File: warm\\n*** End Patch").ok
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(ready, 1)
        os._exit(0 if tool.call(patch=patch).ok else 3)
    print(child, flush=True)
    sys.stdin.readline()
    os.write(go, b"!")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os.close(ready), os.close(go)
"""

CALLS = ["openat", "write", "fsync", "linkat", "renameat2", "rename,renameat", "unlinkat", "mkdirat", "fchmod"]


@pytest.fixture(scope="module")
def driver():
    command = [sys.executable, "-c", DRIVER, PATCH]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        yield process
        process.stdin.close()


def under_fault(driver, root, inject):
    """Return the exit code of one patch during which strace injects a fault."""
    driver.stdin.write(f"{root}\n")
    child = int(driver.stdout.readline())
    command = ["strace", "-o", os.devnull, "-e", f"inject={inject}", "-p", str(child)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        attached = strace.stderr.readline()
        driver.stdin.write("go\n")
        code = int(driver.stdout.readline())
    if "attached" not in attached:
        pytest.skip(f"this user or kernel does not permit tracing: {attached}")
    return code


@pytest.fixture
def before(root):
    files = {"changed.txt": "one\ntwo\n", "gone.txt": "gone\n", "old-name.txt": "before\n", "moved.txt": "moved\n"}
    for name, text in {**files, "folder/kept.txt": "kept\n"}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    (root / "changed.txt").chmod(0o640)
    return contents(root)


@pytest.fixture
def after(before):
    """The contents once the whole patch is applied."""
    expected = dict(before)
    expected["changed.txt"] = (before["changed.txt"][0], "one\nTWO\n")
    expected["folder/moved.txt"] = expected.pop("moved.txt")
    expected["new"] = expected["new/folder"] = expected["new/other"] = before["folder"]
    expected["new/folder/added.txt"] = (expected.pop("gone.txt")[0], "added\n")
    expected["new/other/new-name.txt"] = (expected.pop("old-name.txt")[0], "after\n")
    return expected


def contents(root):
    """Return all entries with mode and content."""
    entries = {}
    for path in sorted(root.rglob("*")):
        text = path.read_text() if path.is_file() else None
        entries[str(path.relative_to(root))] = (oct(path.stat().st_mode), text)
    return entries


def at_each(driver, root, fault):
    """Apply the patch to fresh copies, with the fault at the first call, the second, and so on until none is hit."""
    unharmed = 0  # in succession: an error of some calls is ignored
    for number in range(1, 100):
        copy = root.with_name(f"copy-{number}")
        shutil.copytree(root, copy)
        code = under_fault(driver, copy, f"{fault}:when={number}")
        yield code, contents(copy)
        shutil.rmtree(copy)
        unharmed = 0 if code else unharmed + 1
        if unharmed == 5:
            return


@pytest.mark.slow
@needs_strace
@pytest.mark.parametrize("call", CALLS)
def test_a_patch_killed_at_any_system_call_leaves_every_file_whole(driver, root, before, after, call):
    for code, entries in at_each(driver, root, f"{call}:signal=KILL"):
        assert code in (0, -signal.SIGKILL)
        files = {name: state for name, state in entries.items() if ".ask-tools-" not in name}
        for name, state in files.items():
            assert state in (before.get(name), after.get(name)), name
        assert before.keys() & after.keys() <= files.keys()
        for old, new in {"old-name.txt": "new/other/new-name.txt", "moved.txt": "folder/moved.txt"}.items():
            assert old in files or new in files
        if code == 0:
            assert entries == after


@pytest.mark.slow
@needs_strace
@pytest.mark.parametrize("call", CALLS)
def test_a_patch_that_fails_at_any_system_call_takes_everything_back(driver, root, before, after, call):
    for code, entries in at_each(driver, root, f"{call}:error=EIO"):
        # A staged file that cannot be removed stays until the next write.
        remaining = {name: entries[name] for name in entries if call != "unlinkat" or ".ask-tools-" not in name}
        assert remaining == (before if code == 3 else after)


def test_concurrent_patches_of_the_same_files_are_applied_one_after_the_other(root):
    (root / "left.txt").write_text("0\n")
    (root / "right.txt").write_text("0\n")
    tool = ApplyPatch(root)

    def count_up(_):
        while True:
            value = (root / "left.txt").read_text().strip()
            change = f"-{value}\n+{int(value) + 1}\n"
            sections = f"*** Update File: left.txt\n{change}*** Update File: right.txt\n{change}"
            result = tool.call(patch=f"*** Begin Patch\n{sections}*** End Patch\n")
            if result.ok:
                return
            assert result.error_type == "conflict", result

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count_up, range(20)))
    assert (root / "left.txt").read_text() == (root / "right.txt").read_text() == "20\n"
    assert sorted(entry.name for entry in root.iterdir()) == ["left.txt", "right.txt"]
