"""`ask-tools hooks`, and `doctor --hooks`: what happens around calls, and who brought it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKING = """
from tools_runtime import hookimpl

@hookimpl
def before_tool_call(call):
    return None

@hookimpl(tryfirst=True)
def around_tool_call(call, tool, context):
    return (yield)
"""


@pytest.fixture
def site(tmp_path):
    """Installs made-up distributions with a plugin into a folder."""

    def install(distribution, name, source):
        module = distribution.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[ask_tools.plugins]\n{name} = {module}\n")

    return install


@pytest.fixture
def ask_tools(tmp_path):
    """Runs the command with what `site` installed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ASK_TOOLS_", "PYTHON"))}
    command = Path(sys.executable).with_name("ask-tools")

    def run(*words, **variables):
        return subprocess.run(
            [command, *words],
            env=kept | {"PYTHONPATH": str(tmp_path)} | variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_hooks_are_shown_in_their_order_with_their_origin(site, ask_tools):
    site("acme-hooks", "guard", WORKING)
    site("other-hooks", "guard", WORKING.replace("tryfirst=True", ""))
    ended = ask_tools("hooks")
    assert ended.returncode == 0, ended.stderr
    shown = [line.split("  (")[0].split() for line in ended.stdout.splitlines()]
    assert shown == [
        ["around_tool_call", "acme-hooks:guard"],
        ["around_tool_call", "other-hooks:guard"],
        ["before_tool_call", "acme-hooks:guard"],
        ["before_tool_call", "other-hooks:guard"],
    ]
    assert "(acme-hooks 1.5, loaded in" in ended.stdout


SAYING = """
from tools_runtime import hookimpl

@hookimpl(trylast=True)
def around_tool_call(call):
    print("around_tool_call", "{0}")
    return (yield)

@hookimpl
def before_tool_call(call):
    print("before_tool_call", "{0}")

@hookimpl
def after_tool_call(call):
    print("after_tool_call", "{0}")

@hookimpl
def on_event(event):
    if event.kind == "start":
        print("on_event", "{0}")
"""


def test_hooks_are_shown_in_the_order_in_which_they_run(site, ask_tools, tmp_path):
    for distribution in ("acme-hooks", "other-hooks", "third-hooks"):
        site(distribution, "guard", SAYING.format(f"{distribution}:guard"))
    program = tmp_path / "program.py"
    program.write_text(
        "from tools_core import ToolCall, tool\n"
        "from tools_runtime import Executor\n"
        "Executor([tool(lambda: None, name='f', description='F.')]).call(ToolCall('1', 'f'))\n"
    )
    ended = subprocess.run(
        [sys.executable, program], env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    ran = sorted(ended.stdout.splitlines(), key=lambda line: line.split()[0])  # each hook's own, in their order
    shown = [" ".join(line.split()[:2]) for line in ask_tools("hooks").stdout.splitlines()]
    assert len(ran) == 12
    assert sorted(shown, key=lambda line: line.split()[0]) == ran


@pytest.mark.parametrize("words", [("hooks", "--json"), ("doctor", "--hooks", "--json")], ids=" ".join)
def test_a_plugin_that_does_not_work_is_named_and_the_others_are_there(site, ask_tools, words):
    site("acme-hooks", "guard", WORKING)
    site("broken-hooks", "guard", "raise RuntimeError('not \x1b[2J today')")
    site("exiting-hooks", "guard", "raise SystemExit(3)")
    site("misspelt-hooks", "guard", WORKING.replace("before_tool_call", "befor_tool_call"))
    ended = ask_tools(*words)
    assert ended.returncode == 1, ended.stderr
    report = json.loads(ended.stdout)
    assert {each["plugin"] for each in report["hooks"]} == {"acme-hooks:guard"}
    reasons = {each["plugin"]: each["error"] for each in report["problems"]}
    assert reasons["broken-hooks:guard"] == "RuntimeError: not \x1b[2J today"
    assert reasons["exiting-hooks:guard"] == "SystemExit: 3"
    assert "befor_tool_call" in reasons["misspelt-hooks:guard"]
    assert "around_tool_call" in reasons["misspelt-hooks:guard"]  # what there is


def test_what_a_plugin_says_cannot_act_on_the_terminal(site, ask_tools):
    site("broken-hooks", "guard", "raise RuntimeError('not \x1b[2J today')")
    assert "\x1b" not in ask_tools("hooks").stdout
    assert r"not \x1b[2J today" in ask_tools("hooks").stdout


def test_a_plugin_that_is_denied_is_not_imported(site, ask_tools, tmp_path):
    site("acme-hooks", "guard", f"open({str(tmp_path / 'imported')!r}, 'w')\n{WORKING}")
    assert ask_tools("hooks", ASK_TOOLS_DENY="acme-hooks").stdout == "no plugin with hooks is installed\n"
    assert not (tmp_path / "imported").exists()
    assert ask_tools("hooks").returncode == 0
    assert (tmp_path / "imported").exists()


def test_with_a_lock_only_plugins_that_were_locked_are_imported(site, ask_tools, tmp_path):
    site("acme-hooks", "guard", WORKING)
    locked = ask_tools("lock", "--file", "tools.lock")
    assert locked.returncode == 0, locked.stderr
    site("late-hooks", "guard", f"open({str(tmp_path / 'imported')!r}, 'w')\n{WORKING}")
    ended = ask_tools("hooks", "--json", ASK_TOOLS_LOCK="tools.lock")
    assert {each["plugin"] for each in json.loads(ended.stdout)["hooks"]} == {"acme-hooks:guard"}
    assert not (tmp_path / "imported").exists()


def test_without_plugins_it_says_so(ask_tools):
    ended = ask_tools("doctor", "--hooks")
    assert (ended.returncode, ended.stdout) == (0, "no plugin with hooks is installed\n")
