"""The private folder of a command is removed with all that the command has put there, and nothing else is touched."""

from __future__ import annotations

import contextlib
import os
import select

import pytest

from tools_shell import Bash

LITTER = r"""
cd "$TMPDIR"
mkdir -p closed/inner deep && touch closed/inner/file $'odd\n\xff' && mkfifo fifo
ln -s "$OLDPWD" to-a-folder; ln -s "$OLDPWD/file" to-a-file; ln -s . to-itself; ln -s nothing to-nothing
chmod 0 closed/inner/file closed/inner closed
cd deep; path=$(printf 'abcdefgh/%.0s' {1..400}); mkdir -p $path && cd $path && mkdir -p $path && echo made
"""


def supervisors(children_of):
    return {supervisor for server in children_of(os.getpid()) for supervisor in children_of(server)}


@pytest.mark.parametrize("level", ["landlock"], indirect=True)
def test_the_temporary_folder_of_a_command_is_removed_with_its_content(root, level, tmp_path, monkeypatch, children_of):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (root / "file").write_text("kept")
    (root / "file").chmod(0o440)
    before = supervisors(children_of)  # of earlier tests
    assert Bash(root, sandbox=level).call(command=LITTER).output["output"] == "made\n"
    for supervisor in supervisors(children_of) - before:  # it may still remove the folder
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(supervisor)
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            assert poll.poll(60_000)
            os.close(descriptor)
    assert os.listdir(tmp_path) == []
    assert (root / "file").read_text() == "kept"
    assert (root / "file").stat().st_mode & 0o777 == 0o440
