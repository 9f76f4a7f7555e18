"""`ask-tools` alone, its help, its version, and words that it does not know."""

from __future__ import annotations

import tools_core

COMMANDS = ["list", "show", "call", "schema", "check", "lock", "verify", "new", "add", "doctor", "skill", "completion"]


def test_without_a_command_the_first_steps_are_printed(ask_tools, site):
    site.install_weather()
    result = ask_tools()
    first, *rest = result.out.splitlines()
    version = tools_core.__version__
    assert first == f"ask-tools {version} · 9 tools installed from 1 package · no telemetry, no account"
    steps = [line.split()[1] for line in rest if line.startswith("  ask-tools")]
    assert (result.code, steps) == (0, ["list", "call", "new", "doctor"])


def test_help_lists_every_command_and_the_exit_codes(ask_tools):
    result = ask_tools("--help")
    assert result.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in result.out
    assert "0 success, 1 a tool failed or a problem was found, 2 wrong usage" in result.out
    assert ask_tools("help").out == result.out
    assert ask_tools("--version").out == f"ask-tools {tools_core.__version__}\n"


def test_an_unknown_command_is_wrong_usage_and_the_nearest_is_proposed(ask_tools):
    result = ask_tools("lsit")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: unknown command lsit\n  did you mean list?\n")


def test_the_name_of_a_tool_as_a_command_suggests_call(ask_tools, site):
    site.install_weather()
    result = ask_tools("rain", "city=Oslo")
    assert result.code == 2
    assert "  it is a tool: ask-tools call rain" in result.err.splitlines()
    assert site.imported == []


def test_an_unknown_option_is_wrong_usage(ask_tools):
    result = ask_tools("--verison")
    message = "error: unknown option --verison\n  did you mean --version?\n  ask-tools --help\n"
    assert (result.code, result.err) == (2, message)


def test_debug_before_a_command_shows_tracebacks(ask_tools):
    result = ask_tools("--debug", "call", "absent")
    assert result.code == 2
    assert "Traceback (most recent call last):" in result.err


def test_call_without_arguments_asks_for_a_tool_alone(ask_tools):
    result = ask_tools("call")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: the following arguments are required: TOOL")


def test_new_refuses_the_name_of_an_installed_tool(ask_tools, site, tmp_path):
    site.install_weather()
    duplicate = ask_tools("new", "rain")
    assert duplicate.code == 2
    assert "tools-weather 1.0" in duplicate.err
    created = ask_tools("new", "tides", "--json")
    assert created.code == 0, created
    assert created.json["tool"] == "tides"
    assert (tmp_path / "here" / created.json["distribution"] / "pyproject.toml").is_file()
