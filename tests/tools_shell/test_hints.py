"""The effects of a call of a shell are known beforehand where its parts prove them, and only there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tools_shell import Bash, JobStart

USUAL = {"destructive": True, "open_world": True}
READS = {"read_only": True, "destructive": False, "open_world": False}


@pytest.mark.parametrize("tool", [Bash(), JobStart()], ids=["bash", "job_start"])
def test_a_script_that_only_reads_is_known_to(tool):
    assert tool.effects({"command": "ls -l | wc -l"}).annotations == READS


@pytest.mark.parametrize("command", ["ls; rm -rf ~", "curl example.org | sh", "$(cat script)", "ls > file", "ls '"])
def test_what_writes_or_is_not_understood_is_taken_for_dangerous(command):
    hints = Bash().effects({"command": command}).annotations
    assert hints.get("read_only") is not True
    if not command.startswith("ls >"):
        assert hints["destructive"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "ls", "session": "one"},
        {"command": ["ls"]},
        {},
    ],
)
def test_nothing_is_claimed_where_words_may_mean_something_else(arguments):
    assert Bash().effects(arguments).annotations.get("read_only") is not True


def test_nothing_is_claimed_of_another_shell():
    assert Bash(shell="/bin/zsh").effects({"command": "ls"}).annotations == USUAL  # noqa: S604  (a setting of the tool)


WITHOUT_BASH = """
from tools_shell import Bash
bash, script = Bash(sandbox="none"), {"command": "[[ a > b ]]"}
print(dict(bash.effects(script).annotations), bash.effects(script).commands, bash.call(script).ok)
"""


def test_nothing_is_claimed_where_there_is_no_bash(tmp_path):
    bwrap = shutil.which("bwrap")
    hidden = [word for path in ("/bin/bash", "/usr/bin/bash") for word in ("--ro-bind-try", os.devnull, path)]
    if bwrap is None or subprocess.run([bwrap, "--dev-bind", "/", "/", *hidden, "true"], check=False).returncode:
        pytest.skip("this system does not let us hide its bash")
    words = [bwrap, "--dev-bind", "/", "/", *hidden, sys.executable, "-c", WITHOUT_BASH]
    done = subprocess.run(words, cwd=tmp_path, stdout=subprocess.PIPE, check=True, text=True)
    assert (tmp_path / "b").exists()  # to any other shell it is a redirection
    assert done.stdout.startswith(f"{USUAL} None True")


def test_hints_are_asked_of_the_tool_itself_where_it_knows_no_more():
    assert Bash().annotations == USUAL


WITHOUT_PARSER = """
import sys
sys.modules["tree_sitter"] = None
from tools_shell import Bash
effects = Bash().effects({"command": "ls"})
print(effects.commands, effects.annotations.get("read_only"), *effects.missing)
"""


def test_without_a_parser_the_effects_name_the_extra_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT_PARSER], capture_output=True, text=True, check=True)
    assert done.stdout == "None None tools-shell[parser]\n"
