"""Programs that know nothing of our locks, and change a file at any moment of a call."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial

import pytest

from tools_filesystem import ApplyPatch, CopyPath, EditFile, MovePath, ReadFile, Workspace, WriteFile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a last moment stays unwatched")


def watched(call, at, happens, file):
    """Return the result of a call, its system calls, and whether something could happen before number `at`."""
    made, done = [], []

    def watch(_, event, function):
        if event == "c_call" and getattr(function, "__module__", None) == "posix":
            made.append(function.__name__)
            if len(made) == at:
                with suppress(FileNotFoundError, FileExistsError):  # what it happens to is gone, or is there already
                    happens(file)
                    done.append(True)

    sys.setprofile(watch)
    try:
        return call(), made, bool(done)
    finally:
        sys.setprofile(None)


def append(file):
    with file.open("r+b") as out:
        out.seek(0, os.SEEK_END)
        out.write(b"theirs")


def replace(file):
    file.with_name("other").write_bytes(b"theirs")
    file.with_name("other").rename(file)


def write_after_reading(root):
    workspace = Workspace(root)
    ReadFile(workspace).call(path="f")
    return partial(WriteFile(workspace).call, path="f", content="new")


def edit(root):
    return partial(EditFile(root).call, path="f", old_string="old", new_string="new")


def patch(text):
    """A patch that also changes `e`, before it comes to `f`."""
    first = "diff --git a/e b/e\n--- a/e\n+++ b/e\n@@ -1 +1 @@\n-e\n+E\n"
    return lambda root: partial(ApplyPatch(root).call, patch=f"{first}diff --git a/f b/{text}")


MOVE = "g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-old\n+new\n"
CALLS = {
    "write after reading": write_after_reading,
    "edit": edit,
    "patch": patch("f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"),
    "patch that deletes": patch("f\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"),
    "patch that moves": patch(MOVE),
}
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if "patch" in name else []) for name in CALLS]


def moments(root, call_in, happens, files):
    """A sample of the moments of a call at which something may happen to `f`, each with the result and what is left."""
    moment = 1
    while True:
        for old in root.iterdir():
            old.unlink()
        for name, data in files.items():
            (root / name).write_bytes(data)
        result, made, has_happened = watched(call_in(root), moment, happens, root / "f")
        if len(made) < moment:
            return
        if has_happened:
            yield made[moment - 1], result, {file.name: file.read_bytes() for file in root.iterdir()}
        moment += 2


FILES = {"f": b"old\n", "e": b"e\n"}


@pytest.mark.parametrize("happens", [append, replace])
@pytest.mark.parametrize("name", NAMES)
def test_what_an_outsider_writes_at_any_moment_of_a_call_is_never_lost(root, renaming, name, happens):
    lost, conflicts = [], 0
    for function, result, left in moments(root, CALLS[name], happens, FILES):
        if not any(b"theirs" in content for content in left.values()):
            lost.append(function)
            continue
        if not result.ok:
            conflicts += result.error_type == "conflict"
            assert left["e"] == b"e\n"
            assert {name: content for name, content in left.items() if b"theirs" not in content} == {"e": b"e\n"}
        elif "patch" in name:
            assert left["e"] == b"E\n"
        assert set(left) <= {"e", "f", "g"}
    assert conflicts > 2
    if renaming:
        assert lost == []
    else:  # the moment between the last look and the change itself
        assert set(lost) <= {"rename", "unlink"}
        assert len(lost) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_an_outsider_deletes_at_any_moment_of_a_call_does_not_come_back(root, renaming, name):
    back, conflicts = [], 0
    for function, result, left in moments(root, CALLS[name], os.unlink, FILES):
        conflicts += not result.ok
        if result.ok and name == "write after reading" and result.output["created"]:
            assert left["f"] == b"new"  # it was gone already, and no content was required
        elif "f" in left and (result.ok or name not in ("patch that deletes", "patch that moves")):
            back.append(function)
        elif not result.ok:
            assert result.error_type in ("conflict", "not_found")
            # A patch that deletes cannot tell whose deletion it takes back.
            assert left in ({"e": b"e\n"}, {"e": b"e\n", "f": b"old\n"})
    assert conflicts > 2
    assert back == [] if renaming else set(back) <= {"rename"}


def create(file):
    with file.open("xb") as out:
        out.write(b"theirs")


NEW = "*** Begin Patch\n*** Add File: f\n+new\n*** End Patch"
MAKERS = {
    "write": lambda root: partial(WriteFile(root).call, path="f", content="new"),
    "patch": lambda root: partial(ApplyPatch(root).call, patch=NEW),
    "move": lambda root: partial(MovePath(root).call, source="e", destination="f"),
    "copy": lambda root: partial(CopyPath(root).call, source="e", destination="f"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_file_that_an_outsider_makes_at_any_moment_is_not_replaced_by_a_new_one(root, renaming, name):
    files = {"e": b"e\n"} if name in ("move", "copy") else {}
    conflicts = 0
    for function, result, left in moments(root, MAKERS[name], create, files):
        if result.ok:  # the file was complete before
            assert left.pop("f", b"") == b"theirs", function
        else:
            assert left == {**files, "f": b"theirs"}, function
            assert result.error_type == "conflict"
            conflicts += 1
    assert conflicts > 2
