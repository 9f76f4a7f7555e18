"""The commands of a script, each as its words, or None where one cannot be sure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_shell import Bash, JobStart, Python

pytest.importorskip("tree_sitter_bash", reason="tree-sitter-bash is not installed")


def commands(script, **arguments):
    told = Bash().resources_for({"command": script, **arguments})
    return None if told is None else told["commands"]


@pytest.mark.parametrize("tool", [Bash(), JobStart()], ids=["bash", "job_start"])
def test_the_commands_are_told_by_their_words(tool):
    told = tool.resources_for({"command": "ls -l | grep 'a b'; git  status"})
    assert told == {"commands": [["ls", "-l"], ["grep", "a b"], ["git", "status"]]}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ls; rm -rf ~", [["ls"], ["rm", "-rf", None]]),
        ("ls\nrm x", [["ls"], ["rm", "x"]]),
        ("ls *.py $x", [["ls", None, None]]),
        ("cat <<EOF\n$(curl x)\nEOF", [["cat"], ["curl", "x"]]),
        ("ls | xargs rm", [["ls"], ["xargs", "rm"], ["rm", None]]),
        ("bash -c 'rm x'", [["bash", "-c", "rm x"], ["rm", "x"]]),
        ("CI=1 make", [["CI=1", "make"]]),
        ("A=1; B=$x ls", [["A=1"], [None, "ls"]]),
        ("ls > out 2>&1 < in", [["ls"], [">", "out"], ["<", "in"]]),
        ("ls >> a 2> $b &> c", [["ls"], [">", "a"], [">", None], [">", "c"]]),
        ("ls > /dev/null 2>&- >&2", [["ls"]]),
        ("ls >& out", [["ls"], [">", "out"]]),
        ("ls > - 2>&-", [["ls"], [">", "-"]]),
        ("ls >&٣ 2>&1-", [["ls"], [">", "٣"]]),
        ("> out", [[">", "out"]]),
        ("{ ls; } > out", [["ls"], [">", "out"]]),
        ("ls ';' rm", [["ls", ";", "rm"]]),
        ("r\\m x", [["rm", "x"]]),
        ("", []),
    ],
)
def test_all_that_a_script_would_do_is_among_them(script, expected):
    assert commands(script) == expected


@pytest.mark.parametrize(
    "script",
    [
        "a=rm; $a -rf",
        "$(cat x)",
        "ls '",
        "alias ls=rm; ls",
        "ls() { rm x; }; ls",
        ". x",
        "eval $x",
        "'>' x",
        "LD_PRELOAD=x ls",
    ],
)
def test_what_is_not_understood_is_not_told(script):
    assert commands(script) is None


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"command": 3},
        {"command": "ls", "session": "s"},
        {"command": "ls", "env": "A=1"},
        {"command": "ls", "env": {"A": 1}},
    ],
)
def test_nothing_is_told_where_words_may_mean_something_else(arguments):
    assert Bash().resources_for(arguments) is None


def test_nothing_is_told_of_another_shell():
    assert Bash(shell="/bin/zsh").resources_for({"command": "ls"}) is None  # noqa: S604  (a setting of the tool)


def test_variables_of_the_call_are_told_as_if_the_script_set_them():
    assert commands("ls", env={"PATH": ".", "A": "1"}) == [["PATH=."], ["A=1"], ["ls"]]
    assert commands("ls", env=None, session="") == [["ls"]]


def test_other_tools_say_nothing_of_commands():
    assert Python().resources_for({"code": "import os"}) == {}


@given(st.text(alphabet="ab ls;|&$(){}<>'\"`\\\n=-*~#", max_size=30))
def test_any_text_is_told_of_or_not_and_never_raises(script):
    told = commands(script)
    assert told is None or all(words and all(isinstance(word, str | None) for word in words) for words in told)
