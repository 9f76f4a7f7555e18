"""`ask-tools doctor` prints what docs/isolation-levels.md says, on machines that lack something."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools_core.linux import landlock_abi

PAGE = (Path(__file__).resolve().parents[2] / "docs/isolation-levels.md").read_text(encoding="utf-8")
DOCTOR = [sys.executable, "-m", "tools_core", "doctor"]
READ_ONLY = 'mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys; "$@"'
ROWS = {  # the first words of a row of the page, and a command before `doctor` that makes the machine so
    "`bwrap`, and": [],
    "the same, with": ["unshare", "-m", "sh", "-c", READ_ONLY],
    "no `bwrap`": ["env", "PATH=programs"],
    "`bwrap`, but": ["unshare", "-U", "-r", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces; "$@"'],
    "neither, on Linux": ["env", "ASK_TOOLS_ISOLATION=contained"],
}


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_doctor_prints_the_level_of_the_page(row, tmp_path):
    if shutil.which("bwrap") is None or landlock_abi() < 6 or os.geteuid() != 0:
        pytest.skip("the page describes Linux 6.12 with bwrap, and namespaces of root")
    (tmp_path / "programs").mkdir()
    for name in ("bash", "sh", "git"):
        (tmp_path / "programs" / name).symlink_to(shutil.which(name))
    before = [word.replace("PATH=programs", f"PATH={tmp_path}/programs") for word in ROWS[row]]
    before += ["sh"] * ("sh" in before)
    environment = {name: value for name, value in os.environ.items() if name != "ASK_TOOLS_ISOLATION"}
    report = subprocess.run(
        [*before, *DOCTOR], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    if "unshare: " in report.stderr or "mount: " in report.stderr:
        pytest.skip(f"this kernel or user cannot: {report.stderr}")
    (line,) = re.findall(rf"^\| {re.escape(row)}.*\| `(.*?)` \| `(.*?)`", PAGE, re.MULTILINE)
    levels = re.findall(r"^  (?:isolation|not isolated): (.*)$", report.stdout, re.MULTILINE)
    assert [levels[0], levels[1].removesuffix(", privileges")] == [*line]
