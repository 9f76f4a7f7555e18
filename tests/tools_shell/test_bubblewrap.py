"""The surroundings of a command in bubblewrap: the mounts, its home, and its space for temporary files."""

from __future__ import annotations

import os

import pytest

from tools_core import ToolError
from tools_shell import Bash, Sandbox


@pytest.fixture
def bash(root):
    """`bash(environment, **paths)`: a tool in bubblewrap."""
    try:
        Bash(root, sandbox="bubblewrap").diagnose()
    except ToolError as error:
        pytest.skip(f"this system does not have it: {error.message}")

    def make(environment=None, **paths):
        return Bash(root, sandbox=Sandbox(level="bubblewrap", **paths), env=environment)

    return make


def test_paths_that_are_not_mounted_are_read_only_or_missing(bash):
    output = bash().call(command="touch /file /dev/file /usr/file; ls -d /var/log /srv /etc/shadow").output
    assert output["output"].count("Read-only file system") == output["output"].count("No such file") == 3


@pytest.mark.parametrize("home", ["/", "/usr/none", "relative", "/dev/null", "/home/../dev/null", "ROOT/home", "/me"])
def test_a_home_is_a_folder_with_a_cache(bash, root, home):
    (root / "home").mkdir()
    home = home.replace("ROOT", str(root))
    output = (
        bash({"HOME": home}).call(command="echo ~; mkdir -p ~/.cache && touch ~/.cache/file && ls ~/.cache/file").output
    )
    expected = home if home in (f"{root}/home", "/me") else "/tmp"
    assert output["output"] == f"{expected}\n{expected}/.cache/file\n"


@pytest.mark.parametrize("named", ["readable", "writable"])
def test_a_readable_or_writable_home_is_the_real_home(bash, tmp_path, named):
    (tmp_path / "file").write_text("mine")
    output = bash({"HOME": str(tmp_path)}, **{named: [tmp_path]}).call(command=f"cat {tmp_path}/file").output
    assert output["output"] == "mine"


def test_variables_for_temporary_folders_are_set_only_for_writable_folders(bash, root):
    environment = {"TMPDIR": "/var/tmp/mine", "TEMP": str(root), "OTHER": "/var/tmp"}
    assert bash(environment).call(command="echo $TMPDIR $TEMP $OTHER").output["output"] == f"{root} /var/tmp\n"
    script = "mktemp; touch /dev/shm/file && echo both"
    output = bash(readable=["/tmp"]).call(command=script).output
    assert output["output"].startswith("/dev/shm/") and output["output"].endswith("both\n")
    assert not os.path.exists("/dev/shm/file")
