"""Programs that know nothing of our locks, and change a file at any moment of a call."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial

import pytest

from tools_filesystem import ApplyPatch, EditFile, ReadFile, Workspace, WriteFile
from tools_filesystem._writing import _rename

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a last moment stays unwatched")


def watched(call, at, happens, file):
    """What a call returns, the system calls that it made, and whether something could happen before number `at`."""
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


@pytest.fixture(params=["renameat2", "without"])
def exchanging(request, monkeypatch):
    """Whether the system can exchange two names in one step."""
    if request.param == "without":
        monkeypatch.setattr(_rename, "_libc", lambda: None)
    return request.param == "renameat2"


def at_every_moment(root, name, happens):
    """The moments of a call at which something may happen to the file, each with the result and what is left."""
    moment = 0
    while True:
        moment += 1
        for old in root.iterdir():
            old.unlink()
        (root / "f").write_bytes(b"old\n")
        (root / "e").write_bytes(b"e\n")
        result, made, has_happened = watched(CALLS[name](root), moment, happens, root / "f")
        if len(made) < moment:
            return
        if has_happened:
            yield made[moment - 1], result, {file.name: file.read_bytes() for file in root.iterdir()}


@pytest.mark.parametrize("happens", [append, replace])
@pytest.mark.parametrize("name", NAMES)
def test_what_an_outsider_writes_at_any_moment_of_a_call_is_never_lost(root, exchanging, name, happens):
    lost, conflicts = [], 0
    for function, result, left in at_every_moment(root, name, happens):
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
    assert conflicts > 10
    if exchanging:
        assert lost == []
    else:  # the moment between the last look and the change itself
        assert set(lost) <= {"rename", "unlink"}
        assert len(lost) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_an_outsider_deletes_at_any_moment_of_a_call_does_not_come_back(root, exchanging, name):
    back, conflicts = [], 0
    for function, result, left in at_every_moment(root, name, os.unlink):
        conflicts += not result.ok
        if result.ok and name == "write after reading" and result.output["created"]:
            assert left["f"] == b"new"  # it was gone already, and nobody said which content must be there
        elif "f" in left and (result.ok or name not in ("patch that deletes", "patch that moves")):
            back.append(function)
        elif not result.ok:
            assert result.error_type in ("conflict", "not_found")
            # A patch that deletes cannot tell whose deletion it takes back.
            assert left in ({"e": b"e\n"}, {"e": b"e\n", "f": b"old\n"})
    assert conflicts > 10
    assert back == [] if exchanging else set(back) <= {"rename"}


def create(file):
    with file.open("xb") as out:
        out.write(b"theirs")


@pytest.mark.slow
def test_a_file_that_an_outsider_makes_at_any_moment_is_not_replaced_by_a_new_one(root, exchanging):
    patch = "*** Begin Patch\n*** Add File: f\n+new\n*** End Patch"
    for tool, arguments in ((WriteFile, {"path": "f", "content": "new"}), (ApplyPatch, {"patch": patch})):
        moment, conflicts = 0, 0
        while True:
            moment += 1
            (root / "f").unlink(missing_ok=True)
            result, made, has_happened = watched(partial(tool(root).call, arguments), moment, create, root / "f")
            if len(made) < moment:
                break
            if has_happened:
                assert (root / "f").read_bytes() == b"theirs"
                assert result.error_type == "conflict"
                assert "overwrite=true" not in result.error or tool is WriteFile
                conflicts += 1
            assert os.listdir(root) == ["f"]
        assert conflicts > 10
