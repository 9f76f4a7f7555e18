"""What the user grants to sandboxed commands: in settings, and by the variables that options of the command set."""

import os
import sys
import venv
from pathlib import Path

import pytest

from tools_core import Context
from tools_shell import Bash, Python, Sandbox

VARIABLES = ("ASK_TOOLS_NETWORK", "ASK_TOOLS_READABLE", "ASK_TOOLS_WRITABLE", "ASK_TOOLS_ISOLATION")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A new home of a user, without grants; the current folder is a workspace in it."""
    for name in (*VARIABLES, "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def settings(text):
    path = Path("~/.config/ask-tools/settings.toml").expanduser()
    path.parent.mkdir(parents=True)
    path.write_text(text)


def grants(tool):
    sandbox = tool.effects({"command": "true"}).settings["sandbox"]
    return sandbox["network"], sandbox["readable"], sandbox["writable"]


def test_without_grants_commands_see_only_the_workspace():
    assert grants(Bash()) == (False, [], [])


def test_settings_and_variables_grant_together(home, monkeypatch):
    settings('[sandbox]\nreadable = ["~/data"]\nwritable = ["/srv/cache"]\n')
    monkeypatch.setenv("ASK_TOOLS_NETWORK", "all")
    monkeypatch.setenv("ASK_TOOLS_READABLE", os.pathsep.join([f"{home}/data", f"{home}/more"]))
    assert grants(Bash()) == (True, [f"{home}/data", f"{home}/more"], ["/srv/cache"])


def test_grants_are_part_of_approvals_and_end_the_confinement(monkeypatch):
    before = Bash(sandbox="required").effects({"command": "touch a"})
    monkeypatch.setenv("ASK_TOOLS_NETWORK", "all")
    after = Bash(sandbox="required").effects({"command": "touch a"})
    assert (before.confined, after.confined) == (True, False)
    assert before.settings != after.settings


def test_a_sandbox_of_a_program_has_its_own_settings(monkeypatch):
    monkeypatch.setenv("ASK_TOOLS_NETWORK", "all")
    assert grants(Bash(sandbox=Sandbox())) == (False, [], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[sandbox]\nreadible = ["~/a"]',
            "unknown key 'readible'; the keys are network, protected, python, readable, writable",
        ),
        ('[sandbox]\nreadable = "~/a"', "readable must be a list of paths"),
        ('sandbox = "none"', r"\[sandbox\] must be a table"),
    ],
)
def test_wrong_settings_are_an_error_instead_of_no_grant(text, message):
    settings(text)
    with pytest.raises(ValueError, match=message):
        Bash()


def prefix(tool=None):
    result = (tool or Python()).call({"code": "import sys\nsys.prefix"}, Context(workspace="."))
    return result.error or result.output["value"].strip("'")


def test_settings_choose_the_interpreter_of_the_python_tool(home):
    for name in ("chosen", "other", "project/.venv"):
        venv.create(home / name, with_pip=False)
    assert prefix() == str(home / "project/.venv")
    settings('[sandbox]\npython = "~/chosen"\n')
    assert prefix() == str(home / "chosen")
    assert prefix(Python(interpreter=home / "other")) == str(home / "other")
    assert prefix(Python(sandbox=Sandbox())) == str(home / "project/.venv")


def test_a_bare_name_of_an_interpreter_is_looked_up_on_path(home, monkeypatch):
    venv.create(home / "chosen", with_pip=False)
    (home / "chosen/bin/python3.0").symlink_to("python")
    monkeypatch.setenv("PATH", f"{home}/chosen/bin", prepend=os.pathsep)
    settings('[sandbox]\npython = "python3.0"\n')
    assert prefix() == str(home / "chosen")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (home / "project/python3.0").symlink_to("/usr/bin/python3")
    assert "there is no 'python3.0' on PATH; python in [sandbox] of" in prefix()


def test_the_interpreter_in_the_settings_is_part_of_approvals():
    before = Python().effects({"code": "1"}).settings
    settings(f'[sandbox]\npython = "{sys.executable}"\n')
    assert Python().effects({"code": "1"}).settings != before


@pytest.mark.parametrize("value", ["3.12", '""', '["python3"]', '"envs/a"'])
def test_a_wrong_setting_of_the_interpreter_is_an_error(value):
    settings(f"[sandbox]\npython = {value}\n")
    with pytest.raises(ValueError, match="python must be a name, or an absolute path"):
        Python()
    Bash()


@pytest.mark.parametrize("session", ["", "s"])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "there is no Python"),
        ("this is no program\n", "start"),
        ("#!/bin/sh\nexit 0\n", "did not start"),
        ("#!/bin/sh\necho 'unknown option -P' >&2; exit 2\n", "did not start (exit 2): unknown option -P"),
    ],
)
def test_an_interpreter_that_does_not_start_is_an_error_that_names_the_setting(home, content, problem, session):
    if content is not None:
        (home / "python").write_text(content)
        (home / "python").chmod(0o755)
    settings(f'[sandbox]\npython = "{home}/python"\n')
    result = Python().call({"code": "1", "session": session}, Context(workspace="."))
    assert result.error_type == "unavailable"
    assert problem in result.error
    assert "python in [sandbox] of" in result.error


def test_code_may_end_the_interpreter_of_the_setting():
    settings(f'[sandbox]\npython = "{sys.executable}"\n')
    result = Python().call({"code": "import os; os._exit(2)"}, Context(workspace="."))
    assert (result.error, result.output["exit_code"]) == (None, 2)


def test_a_granted_folder_can_be_read_and_another_changed(home, monkeypatch):
    for name in ("read", "write"):
        (home / name).mkdir()
        (home / name / "a").write_text(f"{name}\n")
    monkeypatch.setenv("ASK_TOOLS_READABLE", f"{home}/read")
    monkeypatch.setenv("ASK_TOOLS_WRITABLE", f"{home}/write")
    script = "cat ~/read/a; echo changed > ~/write/a; echo changed > ~/read/a"
    result = Bash().call({"command": f"HOME={home}; {script}"}, Context(workspace=Path.cwd()))
    assert (home / "write/a").read_text() == "changed\n"
    assert result.content.startswith("read\n")
    if result.metadata["isolation"] in ("bubblewrap", "landlock"):
        assert (home / "read/a").read_text() == "read\n"


def test_a_note_about_a_missing_grant_names_its_option():
    result = Bash().call(
        {"command": "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 3)'"},
        Context(workspace=Path.cwd()),
    )
    if result.metadata["isolation"] in ("bubblewrap", "landlock"):
        assert "(--network)" in result.content
        assert result.metadata["missing_grants"] == ["network"]


def test_a_result_names_the_missing_grant_to_write():
    result = Bash().call({"command": "echo a > /usr/a"}, Context(workspace=Path.cwd()))
    if result.metadata["isolation"] == "bubblewrap":
        assert result.metadata["missing_grants"] == ["write"]
    assert "missing_grants" not in Bash().call({"command": "exit 1"}, Context(workspace=Path.cwd())).metadata


def test_settings_add_files_whose_changes_are_reported():
    settings('[sandbox]\nprotected = ["Makefile"]\n')
    warnings = Bash().call({"command": "touch Makefile .npmrc"}, Context(workspace=".")).metadata["warnings"]
    assert {warning.split(":")[0] for warning in warnings} == {"created .npmrc", "created Makefile"}
