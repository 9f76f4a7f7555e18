"""Other programs that create a file at any moment of a call."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial

import pytest

from tools_filesystem import ApplyPatch, MovePath, WriteFile


def watched(call, at, happens, file):
    """Return the result of a call, its system calls, and whether something could happen before number `at`."""
    calls, done = [], []

    def watch(_, event, function):
        if event == "c_call" and getattr(function, "__module__", None) == "posix":
            calls.append(function.__name__)
            if len(calls) == at:
                with suppress(FileNotFoundError, FileExistsError):  # the file no longer exists, or exists already
                    happens(file)
                    done.append(True)

    sys.setprofile(watch)
    try:
        return call(), calls, bool(done)
    finally:
        sys.setprofile(None)


def moments(root, call_in, happens, files):
    """Yield moments of a call at which something happens to `f`, each with the result and the remaining files."""
    moment = 1
    while True:
        for old in root.iterdir():
            old.unlink()
        for name, data in files.items():
            (root / name).write_bytes(data)
        result, calls, has_happened = watched(call_in(root), moment, happens, root / "f")
        if len(calls) < moment:
            return
        if has_happened:
            yield calls[moment - 1], result, {file.name: file.read_bytes() for file in root.iterdir()}
        moment += 2


def create(file):
    with file.open("xb") as out:
        out.write(b"theirs")


NEW = "*** Begin Patch\n*** Add File: f\n+new\n*** End Patch"
MAKERS = {
    "write": lambda root: partial(WriteFile(root).call, path="f", content="new"),
    "patch": lambda root: partial(ApplyPatch(root).call, patch=NEW),
    "move": lambda root: partial(MovePath(root).call, source="e", destination="f"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_a_new_file_never_replaces_one_that_another_program_created(root, renaming, name):
    files = {"e": b"e\n"} if name == "move" else {}
    conflicts = 0
    for function, result, left in moments(root, MAKERS[name], create, files):
        if result.ok:  # the file was complete before
            assert left.pop("f", b"") == b"theirs", function
        else:
            assert left == {**files, "f": b"theirs"}, function
            assert result.error_type == "conflict"
            conflicts += 1
    assert conflicts > 2
