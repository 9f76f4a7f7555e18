"""One pattern language for all commands that take tools."""

from __future__ import annotations

import pytest

NOTES = """
    from tools_core import Toolset, tool


    class Notes(Toolset):
        "Notes."

        def add(self, text: str) -> str:
            "Add a note."
            return text


    @tool
    def remind() -> str:
        "Remind the user."
        return "remember"
"""


@pytest.fixture(autouse=True)
def installed(ask_tools, site, tmp_path):
    site.install_weather()
    site.install("tools-notes", {"notes_add": "Notes.add", "remind": "remind"}, NOTES)
    (tmp_path / "here" / "notes.py").write_text(NOTES.replace("\n    ", "\n"))


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("rain", ["rain"]),
        ("r*", ["remind", "radar", "rain"]),
        ("tools-notes", ["notes_add", "remind"]),
        ("tools-notes:remind", ["remind"]),
        ("tools-weather:r*", ["radar", "rain"]),
        ("./notes.py", ["./notes.py:Notes.add", "./notes.py:remind"]),
        ("notes.py:Notes.add", ["notes.py:Notes.add"]),
        ("rain,tools-notes:remind", ["rain", "remind"]),
    ],
)
def test_a_pattern_selects_names_packages_and_files(ask_tools, pattern, names):
    assert [tool["name"] for tool in ask_tools("list", pattern, "--json").json] == names


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list --json", "show --json", "schema", "check --json"])
def test_commands_take_several_patterns(ask_tools, command):
    report = ask_tools(*command.split(), "notes.py", "tools-weather:r*").json
    rows = report["tools"] if "check" in command else report
    assert [row["name"].rpartition(":")[2] for row in rows][1:] == ["remind", "radar", "rain"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list", "show", "call", "schema", "check"])
def test_a_pattern_without_a_tool_is_wrong_usage(ask_tools, command):
    result = ask_tools(command, "rian")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith('error: no tool or package "rian"; did you mean rain')


def test_an_empty_pattern_is_wrong_usage(ask_tools):
    result = ask_tools("list", "")
    assert (result.code, result.out) == (2, "")
    assert "empty pattern" in result.err
    assert ask_tools("schema").err.startswith("error: name tools, or use --all")


def test_call_takes_exactly_one_tool(ask_tools, site):
    result = ask_tools("call", "tools-weather:r*")
    assert (result.code, result.err.splitlines()) == (
        2,
        ["error: tools-weather:r* matches 2 tools; name one of them", "  radar", "  rain"],
    )
    assert site.imported == []
    assert ask_tools("call", "tools-weather:rai*", "city=Oslo").out == "rain in Oslo\n"


def test_a_broken_tool_is_skipped_in_a_wider_pattern(ask_tools, site):
    site.install("tools-bad", {"bad": "bad"}, "import not_there")
    result = ask_tools("schema", "bad", "rain")
    assert (result.code, [tool["name"] for tool in result.json]) == (1, ["rain"])
    assert result.err.startswith("skipped: `bad` of tools-bad 1.0 is unavailable")
    assert ask_tools("schema", "bad").code == 1
