"""Temporary files and caches last as long as a run; nothing that is moved out is lost without a word."""

from __future__ import annotations

import pytest

from tools_core import Context
from tools_shell import Bash, end_run

LITTER = r"""
cd "$TMPDIR"
mkdir -p closed/inner deep && touch closed/inner/file $'odd\n\xff' && mkfifo fifo
ln -s "$OLDPWD" to-a-folder; ln -s "$OLDPWD/file" to-a-file; ln -s . to-itself; ln -s nothing to-nothing
chmod 0 closed/inner/file closed/inner closed
cd deep; path=$(printf 'abcdefgh/%.0s' {1..400}); mkdir -p $path && cd $path && mkdir -p $path && echo made
"""


SANDBOXES = ["landlock", "bubblewrap"]


@pytest.mark.parametrize("level", SANDBOXES, indirect=True)
def test_the_temporary_folder_of_a_run_is_removed_with_its_content(root, level, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (root / "file").write_text("kept")
    (root / "file").chmod(0o440)
    context = Context(workspace=root, run_id="r")
    assert Bash(sandbox=level).call({"command": LITTER}, context).output["output"] == "made\n"
    (runs,) = tmp_path.iterdir()
    assert len(list(runs.iterdir())) == 1
    end_run("r")
    assert list(runs.iterdir()) == []
    assert (root / "file").read_text() == "kept"
    assert (root / "file").stat().st_mode & 0o777 == 0o440


@pytest.mark.parametrize("level", SANDBOXES, indirect=True)
def test_temporary_files_and_caches_last_as_long_as_the_run(root, level):
    bash, ours = Bash(sandbox=level), Context(workspace=root, run_id="r")
    place = "${TMPDIR-/tmp}"
    first = bash.call({"command": f"echo kept > {place}/x; echo kept > ~/.cache/y"}, ours)
    assert "[new outside the workspace, and removed with this run: /tmp/x, ~/.cache/y]" in first.content
    read = {"command": f"cat {place}/x ~/.cache/y"}
    assert bash.call(read, ours).output["output"] == "kept\n" * 2
    assert bash.call(read, Context(workspace=root, run_id="other")).output["exit_code"] == 1
    end_run("other")


MOVES = {
    "the home": "mv x ~/",
    "a folder of the home": "mkdir ~/backup; mv x ~/backup/",
    "the folder above": "mv x ..",
    "two folders above": "mv x ../../",
    "the top": "mv x /",
    "another temporary folder": "mv x /var/tmp/",
    "an archive": "tar --remove-files -cf ~/x.tar x",
    "by Python": 'python3 -c \'import shutil; shutil.move("x", "..")\'',
    "a copy": "cp x ~/ && rm x",
}


@pytest.mark.parametrize("level", SANDBOXES, indirect=True)
def test_moving_a_file_out_of_the_workspace_fails_and_keeps_it(root, level):
    (root / "x").write_text("the only copy")
    for name, script in MOVES.items():
        assert Bash(root, sandbox=level).call(command=script).output["exit_code"], name
        assert (root / "x").read_text() == "the only copy", name


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
@pytest.mark.parametrize("level", ["bubblewrap"], indirect=True)
def test_a_file_moved_to_a_temporary_folder_can_be_moved_back(root, level, place):
    (root / "x").write_text("the only copy")
    context = Context(workspace=root, run_id="r")
    moved = Bash(sandbox=level).call({"command": f"mv x {place}/"}, context)
    assert f"removed with this run: {place}/x" in moved.content
    Bash(sandbox=level).call({"command": f"mv {place}/x ."}, context)
    assert (root / "x").read_text() == "the only copy"
