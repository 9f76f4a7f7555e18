"""`ask-tools mcp install` and `uninstall` with real configuration files in a separate home folder."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

from tools_core.command import main

CONFIG = "Library/Application Support" if sys.platform == "darwin" else ".config"
FILES = {
    "claude-desktop": (f"{CONFIG}/Claude/claude_desktop_config.json", "mcpServers"),
    "claude-code": (".claude.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (f"{CONFIG}/Code/User/mcp.json", "servers"),
    "zed": (".config/zed/settings.json", "context_servers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "gemini-cli": (".gemini/settings.json", "mcpServers"),
}
PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "zed": ".zed/settings.json",
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
}
SERVE = ["-P", "-m", "tools_core", "serve"]
IN_FOLDER = [*SERVE, "--workspace", "${workspaceFolder}"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "project")
    return home


def written(home, client, text):
    file = home / FILES[client][0]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def entries(file, section):
    text = file.read_text()
    return (tomllib.loads(text) if file.suffix == ".toml" else json.loads(text))[section]


@pytest.mark.parametrize("client", FILES)
def test_each_client_gets_an_entry_that_uninstall_removes(client, home):
    path, section = FILES[client]
    (home / "project/notes").mkdir()
    words = ["--tools", "read_*", "--workspace", "notes", "--", "--read-only"]
    assert main(["mcp", "install", client, *words]) == 0
    entry = entries(home / path, section)["ask-tools"]
    assert entry.pop("type", "stdio") == "stdio"
    folder = str(home / "project/notes")
    arguments = [*SERVE, "--tools", "read_*", "--workspace", folder, "--read-only"]
    more = {"required": True, "startup_timeout_sec": 60} if client == "codex" else {}
    assert entry == {"command": sys.executable, "args": arguments, **more}
    assert main(["mcp", "uninstall", client]) == 0
    assert (home / path).read_text() == "" or entries(home / path, section) == {}


@pytest.mark.parametrize("client", PROJECT_FILES)
def test_with_project_the_file_in_this_folder_is_edited(client, home):
    assert main(["mcp", "install", client, "--project", "--name", "here"]) == 0
    assert "here" in entries(home / "project" / PROJECT_FILES[client], FILES[client][1])
    assert not (home / FILES[client][0]).exists()


def test_variables_can_move_the_folder_of_a_client(home, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(home / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    assert [main(["mcp", "install", client]) for client in ("codex", "claude-code")] == [0, 0]
    assert (home / "codex/config.toml").exists()
    assert (home / "claude/.claude.json").exists()


@pytest.mark.parametrize(("client", "arguments"), [("vscode", IN_FOLDER), ("cursor", IN_FOLDER), ("zed", SERVE)])
def test_file_tools_are_confined_to_the_project_that_the_client_has_open(client, arguments, home):
    assert main(["mcp", "install", client]) == 0
    path, section = FILES[client]
    assert entries(home / path, section)["ask-tools"]["args"] == arguments


def test_the_entry_ignores_modules_in_the_current_folder(home):
    assert main(["mcp", "install", "gemini-cli"]) == 0
    entry = entries(home / FILES["gemini-cli"][0], "mcpServers")["ask-tools"]
    (home / "project/json.py").write_text("raise SystemExit('imported from the folder')")
    command = [entry["command"], *entry["args"][:-1], "--version"]
    completed = subprocess.run(command, env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")


ZED = """\
// Settings
{
    "theme": "One", // dark
    /* servers */
    "context_servers": {
        "other": { "command": "a", "args": ["b"], }, // mine
    },
    "vim_mode": true, /* last */
}
"""


def test_a_file_with_comments_gets_no_edit_but_an_entry_to_paste(home, capsys):
    file = written(home, "zed", ZED)
    assert main(["mcp", "install", "zed"]) == 1
    error = capsys.readouterr().err
    assert "has comments, which an edit would lose\n  add to context_servers:" in error
    assert '"ask-tools": {' in error
    file.write_text(
        pasted := ZED.replace(
            '"other"', f'"ask-tools": {{"command": "ask-tools", "args": {json.dumps(SERVE)}}}, "other"'
        )
    )
    assert main(["mcp", "uninstall", "zed"]) == 1
    assert "remove ask-tools from context_servers" in capsys.readouterr().err
    assert file.read_text() == pasted


def test_other_settings_of_a_file_are_preserved(home):
    text = '{\n\t"theme": "é",\n\t"context_servers": {\n\t\t"other": {\n\t\t\t"command": "a"\n\t\t}\n\t}\n}\n'
    file = written(home, "zed", text)
    assert main(["mcp", "install", "zed"]) == 0
    assert entries(file, "context_servers")["ask-tools"]["args"] == SERVE
    assert main(["mcp", "uninstall", "zed"]) == 0
    assert file.read_text() == text


TOML = """\
model = "gpt-5"  # mine

[mcp_servers.other]
command = "a"

[tui]
theme = "dark"
"""


def test_tables_and_comments_of_a_toml_file_are_preserved(home):
    file = written(home, "codex", TOML)
    assert main(["mcp", "install", "codex"]) == 0
    assert re.sub(r"\[mcp_servers.ask-tools\]\n(.+\n)+\n", "", file.read_text()) == TOML
    assert main(["mcp", "install", "codex", "--", "--read-only"]) == 0
    assert entries(file, "mcp_servers")["ask-tools"]["args"] == [*SERVE, "--read-only"]
    assert main(["mcp", "uninstall", "codex"]) == 0
    assert file.read_text() == TOML


def test_another_installation_preserves_additions_of_the_user(home, capsys):
    assert main(["mcp", "install", "cursor"]) == 0
    file = home / FILES["cursor"][0]
    before = file.read_text()
    assert main(["mcp", "install", "cursor"]) == 0
    assert "needs no change" in capsys.readouterr().out
    assert file.read_text() == before
    assert not file.with_name("mcp.json.before-ask-tools").exists()

    file.write_text(before.replace('"command"', '"env": {"A": "1"},\n      "command"'))
    assert main(["mcp", "install", "cursor", "--", "--read-only"]) == 0
    entry = entries(file, "mcpServers")["ask-tools"]
    assert (entry["env"], entry["args"]) == ({"A": "1"}, [*IN_FOLDER, "--read-only"])


@pytest.mark.parametrize(
    ("before", "again", "after"),
    [
        (["--", "--allow", "bash"], ["--", "--allow", "write_file"], ["--allow", "bash,write_file"]),
        (["--", "--allow", "b*"], ["--", "--allow=b*,write_file"], ["--allow", "b*,write_file"]),
        (["--", "--allow", "bash", "--allow", "edit_file"], ["--", "--allow", "bash"], ["--allow", "bash,edit_file"]),
        (["--", "--allow=bash", "--read-only"], [], ["--allow=bash", "--read-only"]),
        (["--tools", "read_*,bash"], ["--", "--allow", "bash"], ["--tools", "read_*,bash", "--allow", "bash"]),
        (["--tools", "read_*"], ["--tools", "grep"], ["--tools", "grep"]),
        (["--workspace", "/"], ["--", "--allow", "bash"], ["--workspace", "/", "--allow", "bash"]),
        (["--", "--network", "a.org", "b.org"], ["--", "--network", "c.org"], ["--network", "c.org"]),
    ],
)
@pytest.mark.parametrize("client", ["codex", "claude-code", "cursor"])
def test_installing_again_keeps_earlier_options(client, before, again, after, home):
    path, section = FILES[client]
    assert [main(["mcp", "install", client, *words]) for words in (before, again)] == [0, 0]
    folder = ["--workspace", "${workspaceFolder}"] if client == "cursor" and "--workspace" not in after else []
    words = entries(home / path, section)["ask-tools"]["args"]
    assert sorted(words) == sorted([*SERVE, *folder, *after])


@pytest.mark.parametrize("old", [["--gone"], ["--tools", "gone.py"], ["--allow", "gone"]])
def test_an_entry_that_no_longer_works_names_the_way_to_start_afresh(old, home, capsys):
    entry = {"command": "python", "args": [*SERVE, *old]}
    file = written(home, "cursor", text := json.dumps({"mcpServers": {"mine": entry}}))
    assert main(["mcp", "install", "cursor", "--name", "mine", "--", "--allow", "bash"]) == 2
    error = capsys.readouterr().err
    assert "gone" in error and " ".join(old) in error
    assert "to start afresh: ask-tools mcp uninstall cursor --name mine\n" in error
    assert file.read_text() == text


def test_an_installed_entry_needs_no_workspace_again(home, capsys):
    assert main(["mcp", "install", "claude-desktop", "--workspace", "/"]) == 0
    assert main(["mcp", "install", "claude-desktop", "--", "--allow", "bash"]) == 0
    path, section = FILES["claude-desktop"]
    assert entries(home / path, section)["ask-tools"]["args"] == [*SERVE, "--workspace", "/", "--allow", "bash"]


@pytest.mark.parametrize(
    ("client", "permissions"),
    [
        ("claude-code", "--allowedTools mcp__mine__bash,mcp__mine__write_file"),
        (
            "codex",
            '[mcp_servers.mine] write:\n  tools.bash.approval_mode = "approve"\n  tools.write_file.approval_mode',
        ),
    ],
)
def test_install_names_the_permissions_that_the_client_wants_for_allowed_tools(client, permissions, capsys):
    assert main(["mcp", "install", client, "--name", "mine", "--", "--allow", "bash,write_file,bas*"]) == 0
    error = capsys.readouterr().err
    assert permissions in error and error.count("bash") == 1


PLACES = [[], ["--name", "mine"], ["--project"], ["--name", "mine", "--project"]]


@pytest.mark.slow
@pytest.mark.parametrize("words", PLACES, ids=str)
@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini-cli", "cursor"])
def test_the_command_in_a_refusal_allows_the_tool_of_the_entry(client, words, home, capsys):
    def start():
        path = home / "project" / PROJECT_FILES[client] if "--project" in words else home / FILES[client][0]
        entries_of_client = entries(path, FILES[client][1])
        [entry] = entries_of_client.values()
        arguments = [str(home) if word == "${workspaceFolder}" else word for word in entry["args"]]
        return StdioServerParameters(command=entry["command"], args=arguments, env={"HOME": str(home)})

    async def refused():
        info = Implementation(name=f"{client}-mcp-client", version="1")
        async with Client(stdio_client(start()), client_info=info) as connected:
            result = await connected.call_tool("write_file", {"path": "a", "content": "x"})
        return result.is_error, result.content[0].text

    assert main(["mcp", "install", client, *words]) == 0
    is_refused, text = anyio.run(refused)
    assert is_refused
    line = shlex.split(re.search("`ask-tools (mcp install [^`]+)`", text)[1])
    assert main(line) == 0
    assert anyio.run(refused)[0] is False


@pytest.mark.parametrize("words", PLACES, ids=str)
def test_install_prints_lines_that_name_the_entry(words, capsys):
    assert main(["mcp", "install", "codex", *words]) == 0
    line = re.search("(mcp install codex.*)", capsys.readouterr().err)[1]
    assert main(line.split()) == 0
    assert "--allow" in capsys.readouterr().out


def test_install_prints_the_change_and_backs_up_the_file(home, capsys):
    text = '{\n  "mcpServers": {\n    "other": {"url": "http://x"}\n  }\n}\n'
    file = written(home, "cursor", text)
    file.chmod(0o600)
    assert main(["mcp", "install", "cursor"]) == 0
    backup = file.with_name("mcp.json.before-ask-tools")
    assert backup.read_text() == text
    assert {oct(path.stat().st_mode & 0o777) for path in (file, backup)} == {"0o600"}
    out = capsys.readouterr().out
    assert re.search(r'^\+    "ask-tools": \{$', out, re.MULTILINE)
    assert f"the old file is {backup}" in out


def test_uninstall_leaves_the_backup_of_install(home):
    file = written(home, "cursor", "{}")
    assert main(["mcp", "install", "cursor"]) == 0
    assert main(["mcp", "uninstall", "cursor"]) == 0
    assert file.with_name("mcp.json.before-ask-tools").read_text() == "{}"


def test_a_dry_run_shows_the_change_without_writing_it(home, capsys):
    file = written(home, "zed", "{}")
    assert main(["mcp", "install", "zed", "--dry-run"]) == 0
    assert '+    "ask-tools": {' in capsys.readouterr().out
    assert os.listdir(file.parent) == ["settings.json"]
    assert file.read_text() == "{}"


@pytest.mark.parametrize(
    ("client", "text", "place"),
    [
        ("gemini-cli", '{\n  "a": x\n}', "line 2 column 8"),
        ("zed", '{\n  // a\n  "a": x\n}', "line 3 column 8"),
        ("zed", "[]", "it is not an object"),
        ("codex", "a = 1\nb = ?\n", "at line 2 col 4"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_refused_with_the_place(client, text, place, home, capsys):
    file = written(home, client, text)
    assert main(["mcp", "install", client]) == 1
    error = capsys.readouterr().err
    assert f"{file} cannot be parsed: " in error and place in error
    assert file.read_text() == text
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("action", ["install", "uninstall"])
@pytest.mark.parametrize("args", ['["serve"]', "3"])
def test_an_entry_of_another_server_is_not_touched(action, args, home, capsys):
    text = '{"mcpServers": {"github": {"command": "npx", "args": ' + args + "}}}"
    file = written(home, "cursor", text)
    assert main(["mcp", action, "cursor", "--name", "github"]) == 1
    assert "github in" in capsys.readouterr().err
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["emacs"], "claude-desktop"),
        (["claude-desktop", "--project"], "leave out --project"),
        (["claude-desktop"], "--workspace DIR"),
        (["cursor", "--workspace", "missing"], "is not a folder"),
        (["cursor", "--", "--read-onyl"], "--read-onyl"),
        (["cursor", "--name", ""], "letters, digits, _ and -"),
        (["cursor", "--name", "my tools"], "letters, digits, _ and -"),
    ],
)
def test_wrong_usage_is_refused_with_advice(words, reason, capsys):
    assert main(["mcp", "install", *words]) == 2
    assert reason in capsys.readouterr().err


def test_servers_that_are_not_an_object_are_refused(home, capsys):
    written(home, "cursor", '{"mcpServers": null}')
    assert main(["mcp", "install", "cursor"]) == 1
    assert "is not an object" in capsys.readouterr().err
