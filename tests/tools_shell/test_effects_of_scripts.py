"""`effects` of a script: its commands, each as its words, or None where they cannot be known for certain."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_runtime import Executor, Policy
from tools_shell import Bash, JobStart, Python

pytest.importorskip("tree_sitter_bash", reason="tree-sitter-bash is not installed")

USUAL = {"destructive": True, "open_world": True}
READS = {"read_only": True, "destructive": False, "open_world": False}


def commands(script, **arguments):
    found = Bash().effects({"command": script, **arguments}).commands
    return None if found is None else [list(words) for words in found]


@pytest.mark.parametrize("tool", [Bash(), JobStart()], ids=["bash", "job_start"])
def test_commands_are_listed_by_their_words(tool):
    effects = tool.effects({"command": "ls -l | grep 'a b'; git  status"})
    assert effects.commands == (("ls", "-l"), ("grep", "a b"), ("git", "status"))
    assert (effects.paths, effects.missing) == (None, ())


@pytest.mark.parametrize("tool", [Bash(), JobStart()], ids=["bash", "job_start"])
def test_the_hints_of_a_call_are_those_of_its_script(tool):
    assert tool.annotations == USUAL
    assert tool.effects({"command": "ls -l | wc -l"}).annotations == READS
    for command in ("ls; rm -rf ~", "curl example.org | sh", "$(cat script)", "ls > file", "ls '"):
        assert tool.effects({"command": command}).annotations == USUAL


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ls; rm -rf ~", [["ls"], ["rm", "-rf", None]]),
        ("ls\nrm x", [["ls"], ["rm", "x"]]),
        ("ls *.py $x", [["ls", None, None]]),
        ("cat <<'EOF'\n$(curl x)\nEOF", [["cat"]]),
        ("ls | xargs rm", [["ls"], ["xargs", "rm"], ["rm", None]]),
        ("CI=1 make", [["CI=1", "make"]]),
        ("A=1; B=$x ls", [["A=1"], [None, "ls"]]),
        ("ls > out 2>&1 < in", [["ls"], [">", "out"], ["<", "in"]]),
        ("ls >> a 2> $b &> c", [["ls"], [">", "a"], [">", None], [">", "c"]]),
        ("ls > /dev/null >&2", [["ls"]]),
        ("ls > -", [["ls"], [">", "-"]]),
        ("> out", [[">", "out"]]),
        ("{ ls; } > out", [["ls"], [">", "out"]]),
        ("ls ';' rm", [["ls", ";", "rm"]]),
        ("r\\m x", [["rm", "x"]]),
        ("", []),
    ],
)
def test_everything_that_a_script_would_do_is_listed(script, expected):
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
        "ls >& out",
        "ls 2>&-",
        "ls >&٣",
    ],
)
def test_a_script_that_is_not_understood_has_unknown_commands(script):
    assert commands(script) is None


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"command": 3},
        {"command": "ls", "session": "s"},
    ],
)
def test_commands_are_unknown_where_words_may_mean_something_else(arguments):
    effects = Bash().effects(arguments)
    assert effects.commands is None and effects.paths is None
    assert effects.annotations == USUAL


def test_nothing_is_known_of_another_shell():
    effects = Bash(shell="/bin/zsh").effects({"command": "ls"})  # noqa: S604  (a setting of the tool)
    assert (effects.commands, effects.annotations) == (None, USUAL)


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


def test_the_effects_of_code_are_unknown():
    effects = Python().effects({"code": "import os"})
    assert (effects.commands, effects.paths) == (None, None)


def result_under(rules, tool, arguments):
    with Executor([tool], policy=Policy(rules, files=[], project=False)) as executor:
        return executor.call_tool(tool.name, arguments)


@pytest.mark.parametrize(
    "allow", [{"commands": ["cat *", "ls *"]}, {"tool": "bash", "read_only": True}, {"tool": "*"}], ids=str
)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (Bash, {"command": "cat .env"}),
        (Bash, {"command": "cat ./a/../.env"}),
        (Bash, {"command": "eval 'cat .env'"}),
        (Python, {"code": "print(open('.env').read())"}),
    ],
)
def test_a_denied_path_binds_commands_and_code(tmp_path, allow, tool, arguments):
    (tmp_path / ".env").write_text("canary")
    rules = [{"decision": "deny", "paths": [".env"]}, {"decision": "allow", **allow}]
    result = result_under(rules, tool(tmp_path, sandbox="none"), arguments)
    assert result.error_type in ("denied", "approval_required")
    assert "canary" not in str(result)


@pytest.mark.parametrize("workdir", ["vendor/pkg", "link", "link/..", "vendor/pkg/../../vendor/pkg/"])
@pytest.mark.parametrize("command", ["./build.sh", "git status"])
def test_an_allowed_command_is_allowed_only_in_the_workspace_itself(tmp_path, command, workdir):
    (tmp_path / "vendor" / "pkg").mkdir(parents=True)
    (tmp_path / "vendor" / "pkg" / "inner").mkdir()
    (tmp_path / "link").symlink_to("vendor/pkg/inner")
    rules = [{"decision": "allow", "commands": ["git status", "./build.sh"]}]
    bash = Bash(tmp_path, sandbox="none")
    assert result_under(rules, bash, {"command": command, "workdir": workdir}).error_type == "approval_required"
    assert result_under(rules, bash, {"command": command, "workdir": "./"}).ok


def test_a_rule_for_cd_allows_a_workdir(tmp_path):
    (tmp_path / "inner").mkdir()
    rules = [{"decision": "allow", "commands": ["cd inner", "pwd"]}]
    bash = Bash(tmp_path, sandbox="none")
    assert result_under(rules, bash, {"command": "pwd", "workdir": "inner"}).ok
    assert result_under(rules, bash, {"command": "cd inner && pwd"}).ok


def test_an_approval_depends_on_the_settings_of_the_tool(tmp_path):
    settings = Bash(tmp_path, shell="/bin/bash").effects({"command": "ls"}).settings  # noqa: S604
    assert (settings["root"], settings["env"], settings["shell"]) == (str(tmp_path.resolve()), {}, "/bin/bash")
    assert "level" in settings["sandbox"]


def test_an_approval_depends_on_the_environment_without_showing_its_values(tmp_path):
    def settings(value):
        return Bash(tmp_path, env={"TOKEN": value}).effects({"command": "ls"}).settings

    assert settings("canary") == settings("canary") != settings("other")
    assert "canary" not in repr(settings("canary"))


@given(st.text(alphabet="ab ls;|&$(){}<>'\"`\\\n=-*~#", max_size=30))
def test_any_text_has_known_or_unknown_commands_and_never_raises(script):
    found = commands(script)
    assert found is None or all(words and all(isinstance(word, str | None) for word in words) for words in found)
