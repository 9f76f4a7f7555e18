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


@pytest.mark.parametrize("command", ["list --json", "show --json", "schema", "check --json"])
def test_commands_take_several_patterns(ask_tools, command):
    report = ask_tools(*command.split(), "notes.py", "tools-weather:r*").json
    rows = report["tools"] if "check" in command else report
    assert [row["name"].rpartition(":")[2] for row in rows][1:] == ["remind", "radar", "rain"]


@pytest.mark.parametrize("command", ["list", "show", "call", "schema", "check"])
def test_a_pattern_without_a_tool_is_wrong_usage(ask_tools, command):
    ended = ask_tools(command, "rian")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith('error: no tool or package "rian"; did you mean rain')


@pytest.mark.parametrize("pattern", ["", " , "])
def test_an_empty_pattern_selects_nothing(ask_tools, pattern):
    ended = ask_tools("list", pattern)
    assert (ended.code, ended.out) == (2, "")
    assert "empty pattern" in ended.err


def test_call_takes_exactly_one_tool(ask_tools, site):
    ended = ask_tools("call", "tools-weather:r*")
    assert (ended.code, ended.err.splitlines()) == (
        2,
        ["error: tools-weather:r* matches 2 tools; name one of them", "  radar", "  rain"],
    )
    assert site.imported == []
    assert ask_tools("call", "tools-weather:rai*", "city=Oslo").out == "rain in Oslo\n"


def test_a_broken_tool_is_left_out_of_a_wider_pattern(ask_tools, site):
    site.install("tools-bad", {"bad": "bad"}, "import not_there")
    ended = ask_tools("schema", "bad", "rain")
    assert (ended.code, [tool["name"] for tool in ended.json]) == (1, ["rain"])
    assert ended.err.startswith("left out: `bad` of tools-bad 1.0 is unavailable")
    assert ask_tools("schema", "bad").code == 1
