"""Patches of several files whose process dies, or whose system fails, at every single system call."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_filesystem import ApplyPatch, WriteFile

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

# It starts up once, and does each patch in a child that waits until strace has got hold of it.
DRIVER = """
import os, sys
from tools_filesystem import ApplyPatch, WriteFile
patch = sys.argv[1]
for line in sys.stdin:
    root, what = line.rstrip("\\n").split("\\t")
    tool = ApplyPatch(root)
    tool.call(patch=patch, dry_run=True)  # loads whatever is loaded late
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(ready, 1)
        if what == "patch":
            result = tool.call(patch=patch)
            code = 0 if result.is_ok else 4 if "all files were changed" in result.error_message else 3
        else:
            code = 0 if WriteFile(root).call(path="other.txt", content="x", overwrite=True).is_ok else 3
        os._exit(code)
    print(child, flush=True)
    sys.stdin.readline()
    os.write(go, b"!")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os.close(ready), os.close(go)
"""

CALLS = ["openat", "write", "fsync", "linkat", "renameat", "renameat2", "unlinkat", "mkdirat", "fchmod"]


@pytest.fixture(scope="module")
def driver():
    command = [sys.executable, "-c", DRIVER, PATCH]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        yield process
        process.stdin.close()


def under_fault(driver, root, what, inject):
    """The exit code of one patch, or one write, during which strace does what `inject` says."""
    driver.stdin.write(f"{root}\t{what}\n")
    child = int(driver.stdout.readline())
    command = ["strace", "-o", os.devnull, "-e", f"inject={inject}", "-p", str(child)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        attached = strace.stderr.readline()
        assert "attached" in attached, attached
        driver.stdin.write("go\n")
        return int(driver.stdout.readline())


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
    """What all of the patch makes of it."""
    found = dict(before)
    found["changed.txt"] = (before["changed.txt"][0], "one\nTWO\n")
    found["folder/moved.txt"] = found.pop("moved.txt")
    found["new"] = found["new/folder"] = found["new/other"] = before["folder"]
    found["new/folder/added.txt"] = (found.pop("gone.txt")[0], "added\n")
    found["new/other/new-name.txt"] = (found.pop("old-name.txt")[0], "after\n")
    return found


def contents(root):
    """All entries with kind, mode and content."""
    found = {}
    for path in sorted(root.rglob("*")):
        text = path.read_text() if path.is_file() else None
        found[str(path.relative_to(root))] = (oct(path.stat().st_mode), text)
    return found


def fresh(root, name):
    copy = root.with_name(name)
    shutil.copytree(root, copy)
    return copy


def next_use(root):
    assert WriteFile(root).call(path="other.txt", content="x", overwrite=True).is_ok
    (root / "other.txt").unlink()
    return contents(root)


@pytest.mark.slow
@needs_strace
@pytest.mark.parametrize("call", CALLS)
def test_a_patch_killed_at_any_system_call_is_whole_or_undone_after_the_next_use(driver, root, before, after, call):
    outcomes = []
    for number in range(1, 100):
        copy = fresh(root, f"{call}-{number}")
        code = under_fault(driver, copy, "patch", f"{call}:signal=KILL:when={number}")
        outcomes.append(next_use(copy))
        assert outcomes[-1] in (before, after), number
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert outcomes[-1] == after
    assert call == "fchmod" or len(outcomes) > 2 or outcomes[0] == before


STEP = re.compile(r'(?m)^\d+ +(\w+)\(\d+<([^>]*)>(?:, "((?:[^"\\]|\\.)*)")?')


@pytest.mark.slow
@needs_strace
def test_each_step_is_on_the_disk_before_the_next_one_begins(root, before, tmp_path):
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-y", "-o", trace, "-e", "trace=write,fsync,linkat,renameat,renameat2,unlinkat,mkdirat"]
    program = "import sys; from tools_filesystem import ApplyPatch; ApplyPatch(sys.argv[1]).call(patch=sys.argv[2])"
    subprocess.run([*command, sys.executable, "-c", program, root, PATCH], check=True)
    made = [step for step in STEP.findall(trace.read_text()) if step[1].startswith(str(root))]  # call, where, what
    marks = [number for number, (call, _, text) in enumerate(made) if call == "write" and text.startswith("[")]
    states = [re.match(r"\W*(\w+)", made[number][2])[1] for number in marks]
    assert states == ["staging", "applying", "done"]
    journal = f"{root}/.ask-tools-journal"
    for number in marks:  # a state holds when its file is there, has its name, and the name is there
        assert [step[:2] for step in made[number + 1 : number + 4]] == [
            ("fsync", f"{journal}/plan.tmp"), ("renameat", journal), ("fsync", journal),
        ]  # fmt: skip
    staged, applied = made[marks[0] + 4 : marks[1]], made[marks[1] + 4 : marks[2]]
    written = {path for call, path, _ in staged if call == "write"}
    assert len(written) == 3
    assert written < {path for call, path, _ in staged if call == "fsync"}
    assert not any(".new" in text for call, _, text in staged if call.startswith("rename"))
    for part, changes in ((staged, ("linkat", "mkdirat")), (applied, ("renameat", "renameat2", "unlinkat"))):
        last = max(number for number, (call, _, _) in enumerate(part) if call in changes)
        changed = {path for call, path, _ in part if call in changes}
        assert changed
        assert changed <= {path for call, path, _ in part[last:] if call == "fsync"}


@pytest.mark.slow
@needs_strace
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("call", CALLS)
def test_a_patch_that_fails_at_any_system_call_is_undone_at_once(driver, root, before, after, call, error):
    for number in range(1, 100):
        copy = fresh(root, f"{call}-{number}")
        code = under_fault(driver, copy, "patch", f"{call}:error={error}:when={number}")
        found = contents(copy)
        if code == 3:
            assert {name: state for name, state in found.items() if ".ask-tools" not in name} == before, number
        assert next_use(copy) == (before if code == 3 else after), number
        if code == 0 and found == after:
            break
    assert code == 0


@pytest.mark.slow
@needs_strace
@pytest.mark.parametrize("call", ["openat", "linkat", "renameat", "renameat2", "unlinkat", "fsync"])
def test_a_recovery_that_is_killed_itself_is_taken_up_again(driver, root, before, call):
    crashed = fresh(root, "crashed")
    # The first unlink is that of the deleted file, in the middle of the patch.
    assert under_fault(driver, crashed, "patch", "unlinkat:signal=KILL:when=1") == -signal.SIGKILL
    assert contents(crashed) != before
    for number in range(1, 100):
        copy = fresh(crashed, f"{call}-{number}")
        code = under_fault(driver, copy, "write", f"{call}:signal=KILL:when={number}")
        (copy / "other.txt").unlink(missing_ok=True)
        assert next_use(copy) == before, number
        if code == 0:
            break
    assert code == 0


def test_a_patch_in_progress_is_not_taken_for_a_crash(root, before):
    from fcntl import LOCK_EX, flock

    journal = root / ".ask-tools-journal"
    journal.mkdir()
    (journal / "plan.json").write_text('["staging", ["folder"], []]')
    held = os.open(journal, os.O_RDONLY)
    try:
        flock(held, LOCK_EX)
        assert WriteFile(root).call(path="other.txt", content="x").is_ok
        assert (journal / "plan.json").exists()
    finally:
        os.close(held)
    assert WriteFile(root).call(path="other.txt", content="x", overwrite=True).is_ok
    assert not journal.exists()


@pytest.mark.parametrize(
    "plan",
    [
        "not json",
        "[]",
        '["applying", [], [["", "../outside.txt", ".ask-tools-0000000000000000-0.new", "x", null, null]]]',
        '["applying", [], [["", "changed.txt", "kept.txt", "folder", [1, 2, 3], [1, 2, 3]]]]',
        '["other", [], []]',
    ],
)
def test_a_journal_that_the_tools_did_not_write_is_never_acted_upon(root, before, plan):
    (root / ".ask-tools-journal").mkdir()
    (root / ".ask-tools-journal" / "plan.json").write_text(plan)
    result = ApplyPatch(root).call(patch=PATCH)
    assert result.error_type == "unavailable"
    assert ".ask-tools-journal/plan.json" in result.error_message
    found = contents(root)
    assert {name: state for name, state in found.items() if ".ask-tools" not in name} == before


def test_a_forged_journal_restores_nothing_in_a_protected_place(root):
    (root / ".git" / "hooks").mkdir(parents=True)
    evil = root / ".git" / "hooks" / ".ask-tools-0000000000000000-0.old"
    evil.write_text("evil")
    (root / ".ask-tools-journal").mkdir()
    names = '".ask-tools-0000000000000000-0.new", ".ask-tools-0000000000000000-0.old"'
    plan = f'["applying", [], [[".git/hooks", "pre-commit", {names}, null, [1, 1, 1]]]]'
    (root / ".ask-tools-journal" / "plan.json").write_text(plan)
    assert WriteFile(root).call(path="x", content="x").error_type == "denied"
    assert not (root / ".git" / "hooks" / "pre-commit").exists()


def test_what_somebody_writes_after_a_crash_is_not_overwritten_by_the_recovery(root, before):
    # The state in which a kill leaves a patch that has changed its first file and not yet marked itself as done.
    (root / ".ask-tools-0000000000000000-0.old").hardlink_to(root / "changed.txt")
    old = (root / "changed.txt").stat()
    (root / "staged").write_text("ONE\n")
    new = (root / "staged").stat()
    (root / "staged").rename(root / "changed.txt")
    (root / "changed.txt").write_text("somebody's own work\n")
    names = '".ask-tools-0000000000000000-0.new", ".ask-tools-0000000000000000-0.old"'
    ids = [[found.st_ino, found.st_size, found.st_mtime_ns] for found in (new, old)]
    (root / ".ask-tools-journal").mkdir()
    plan = f'["applying", [], [["", "changed.txt", {names}, {ids[0]}, {ids[1]}]]]'
    (root / ".ask-tools-journal" / "plan.json").write_text(plan)
    next_use(root)
    assert (root / "changed.txt").read_text() == "somebody's own work\n"
    assert not (root / ".ask-tools-0000000000000000-0.old").exists()


def test_patches_of_many_threads_to_the_same_files_are_applied_one_after_the_other(root):
    (root / "left.txt").write_text("0\n")
    (root / "right.txt").write_text("0\n")
    tool = ApplyPatch(root)

    def count_up(_):
        while True:
            value = (root / "left.txt").read_text().strip()
            change = f"-{value}\n+{int(value) + 1}\n"
            sections = f"*** Update File: left.txt\n{change}*** Update File: right.txt\n{change}"
            result = tool.call(patch=f"*** Begin Patch\n{sections}*** End Patch\n")
            if result.is_ok:
                return
            assert result.error_type == "conflict", result

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count_up, range(20)))
    assert (root / "left.txt").read_text() == (root / "right.txt").read_text() == "20\n"
    assert sorted(entry.name for entry in root.iterdir()) == ["left.txt", "right.txt"]
