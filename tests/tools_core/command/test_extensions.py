"""Sub-commands of other packages."""

from __future__ import annotations

import pytest

COMMAND = """
    def configure(parser):
        parser.add_argument("--port", type=int, default=80)
        parser.set_defaults(run=run)


    def run(arguments):
        print(f"serving on {arguments.port}")
        return 0 if arguments.port == 80 else 1
"""


@pytest.fixture
def command(site):
    def install(distribution, name, source=COMMAND):
        site.install(distribution, {name: "configure"}, source, group="ask_tools.commands")

    return install


def test_a_package_adds_a_command_with_options_help_and_exit_code(ask_tools, command):
    command("tools-serve", "serve")
    assert ask_tools("serve").out == "serving on 80\n"
    assert ask_tools("serve", "--port", "81").code == 1
    assert ask_tools("serve", "--port", "x").code == 2
    assert ask_tools("serve", "--help").out.startswith("usage: ask-tools serve [-h] [--port PORT]")


@pytest.mark.slow
def test_a_command_is_imported_only_to_run_it(ask_tools, command, site):
    command("tools-serve", "serve")
    listed = ask_tools("--help")
    assert "  serve       from tools-serve 1.0" in listed.out.splitlines()
    for words in ([], ["list"], ["lst"], ["list", "--help"]):
        ask_tools(*words)
    assert site.imported == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    ["import sys; sys.exit(3)", "def configure(parser): 1 / 0", "def configure(parser): pass"],
    ids=["import exits", "configure fails", "no run"],
)
def test_a_broken_command_is_reported_with_its_package(ask_tools, command, source):
    command("tools-serve", "serve", source)
    result = ask_tools("serve")
    assert (result.code, result.out) == (1, "")
    head = "error: tools-serve 1.0 (tools_serve:configure) has the command serve and cannot be loaded: "
    assert result.err.startswith(head)
    assert "pip uninstall " in result.err and "--upgrade tools-serve" in result.err
    assert ask_tools("--help").code == ask_tools("list").code == 0


def test_two_commands_with_one_name_need_the_package(ask_tools, command):
    command("tools-a", "serve")
    command("tools-b", "serve")
    result = ask_tools("serve")
    assert result.code == 2
    assert result.err == (
        "error: two packages have a command serve\n  ask-tools tools-a:serve\n  ask-tools tools-b:serve\n"
    )
    assert ask_tools("tools-b:serve").out == "serving on 80\n"


def test_built_in_commands_cannot_be_replaced(ask_tools, command, site):
    command("tools-evil", "list")
    assert ask_tools("list").err == "no tools are installed; make your own: ask-tools new NAME\n"
    assert site.imported == []


def test_a_command_of_a_missing_package_names_the_package(ask_tools):
    result = ask_tools("run")
    assert result.code == 2
    assert result.err.startswith("error: run is part of tools-cli, which is not installed\n")
    assert result.err.endswith("--upgrade tools-cli\n")


def test_help_describes_commands_of_our_packages_without_importing_them(ask_tools, command, site):
    command("tools-cli", "run", "raise RuntimeError")
    assert "  run         run an agent with the tools" in ask_tools("--help").out.splitlines()
    assert site.imported == []


COUNT = """
    from tools_core.command import CommandError, load_tools, read_arguments, write_json, write_table


    def configure(parser):
        parser.add_argument("tools", nargs="*")
        parser.set_defaults(run=run, intermixed=True)


    def run(options):
        tools = load_tools(options.tools or None)
        if "flood" in tools:
            raise CommandError("flood is dangerous", "leave it out", status=1)
        write_json({name: len(tool.definition["input_schema"]["properties"]) for name, tool in tools.items()})
"""


@pytest.mark.slow
def test_a_command_loads_tools_and_fails_as_ours_do(ask_tools, command, site):
    site.install_weather()
    command("tools-count", "count", COUNT)
    assert ask_tools("count", "rain", "forecast").json == {"rain": 1, "forecast": 3}
    result = ask_tools("count")
    assert (result.code, result.err) == (1, "error: flood is dangerous\n  leave it out\n")
    unknown = ask_tools("count", "rian")
    assert (unknown.code, unknown.err.splitlines()[0]) == (2, 'error: no tool or package "rian"; did you mean rain?')


def test_a_command_can_exit_with_a_message(ask_tools, command):
    command("tools-serve", "serve", COMMAND.replace("print(", "raise SystemExit("))
    result = ask_tools("serve")
    assert (result.code, result.err) == (1, "error: serving on 80\n")
