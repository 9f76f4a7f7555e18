"""`ask-tools` alone, its help, its version, and words that it does not know."""

from __future__ import annotations

import pytest

import tools_core

COMMANDS = ["list", "show", "call", "schema", "check", "lock", "verify", "new", "add", "doctor", "completion"]


def test_alone_it_shows_what_is_installed_and_the_next_steps(ask_tools, site):
    site.install_weather()
    ended = ask_tools()
    first, *rest = ended.out.splitlines()
    version = tools_core.__version__
    assert first == f"ask-tools {version} · 10 tools installed from 1 package · no telemetry, no account"
    steps = [line.split()[1] for line in rest if line.startswith("  ask-tools")]
    assert (ended.code, steps) == (0, ["list", "call", "new", "doctor"])


def test_alone_with_nothing_installed_it_succeeds(ask_tools):
    ended = ask_tools()
    assert ended.code == 0
    assert " · 0 tools installed · " in ended.out


def test_help_lists_every_command_and_the_exit_codes(ask_tools):
    ended = ask_tools("--help")
    assert ended.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in ended.out
    assert "0 success, 1 a tool failed or a problem was found, 2 wrong usage" in ended.out
    assert ask_tools("help").out == ask_tools("-h").out == ended.out


@pytest.mark.parametrize("command", ["list", "new"])
def test_each_command_explains_its_options(ask_tools, command):
    ended = ask_tools(command, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"usage: ask-tools {command} ")
    assert ask_tools("help", command).out == ended.out


def test_the_version_is_printed(ask_tools):
    assert ask_tools("--version").out == ask_tools("-V").out == f"ask-tools {tools_core.__version__}\n"


def test_an_unknown_command_is_wrong_usage_and_the_nearest_is_proposed(ask_tools):
    ended = ask_tools("lsit")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: unknown command lsit\n  did you mean list?\n")


def test_the_name_of_a_tool_as_a_command_is_an_error_with_the_call(ask_tools, site):
    site.install_weather()
    ended = ask_tools("rain", "city=Oslo")
    assert ended.code == 2
    assert "  it is a tool: ask-tools call rain" in ended.err.splitlines()
    assert site.imported == []


def test_an_unknown_option_is_wrong_usage(ask_tools):
    ended = ask_tools("--verison")
    message = "error: unknown option --verison\n  did you mean --version?\n  ask-tools --help\n"
    assert (ended.code, ended.err) == (2, message)


def test_debug_before_a_command_shows_tracebacks(ask_tools):
    ended = ask_tools("--debug", "call", "absent")
    assert ended.code == 2
    assert "Traceback (most recent call last):" in ended.err


def test_call_without_arguments_asks_for_a_tool_alone(ask_tools):
    ended = ask_tools("call")
    assert (ended.code, ended.err.splitlines()[0]) == (2, "error: the following arguments are required: TOOL")


def test_new_makes_a_package_and_knows_which_names_are_taken(ask_tools, site, tmp_path):
    site.install_weather()
    taken = ask_tools("new", "rain")
    assert taken.code == 2
    assert "tools-weather 1.0" in taken.err
    made = ask_tools("new", "tides", "--json")
    assert made.code == 0, made
    assert made.json["tool"] == "tides"
    assert (tmp_path / "here" / made.json["distribution"] / "pyproject.toml").is_file()
