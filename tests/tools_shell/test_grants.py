"""What the user grants to sandboxed commands: in settings, and by the variables that options of the command set."""

import os
from pathlib import Path

import pytest

from tools_core import Context
from tools_shell import Bash, Sandbox

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


def test_without_grants_there_is_nothing_but_the_workspace():
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
            "unknown key 'readible'; the keys are network, protected, readable, writable",
        ),
        ('[sandbox]\nreadable = "~/a"', "readable must be a list of paths"),
        ('sandbox = "none"', r"\[sandbox\] must be a table"),
    ],
)
def test_wrong_settings_are_an_error_instead_of_no_grant(text, message):
    settings(text)
    with pytest.raises(ValueError, match=message):
        Bash()


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


def test_settings_name_more_files_whose_changes_are_reported():
    settings('[sandbox]\nprotected = ["Makefile"]\n')
    warnings = Bash().call({"command": "touch Makefile .npmrc"}, Context(workspace=".")).metadata["warnings"]
    assert {warning.split(":")[0] for warning in warnings} == {"created .npmrc", "created Makefile"}
