"""`ask-tools schema` and `ask-tools check`."""

from __future__ import annotations

import pytest

from tools_core.formats import FORMATS

CLEAN = '''
    from typing import Annotated

    from tools_core import Tool, tool


    @tool
    def get(city: Annotated[str, "City name"]) -> str:
        """Get the weather."""
        return city


    @tool
    def bare(city: str, days: Annotated[int, "How many"] = 1) -> str:
        return city


    class Odd(Tool):
        """Odd."""

        name = "odd"

        def execute(self) -> str:
            return ""

        @property
        def definition(self):
            return {**super().definition, "input_schema": {"type": "objekt"}}
'''


@pytest.fixture
def clean(site):
    site.install("tools-clean", {"get": "get"}, CLEAN)


@pytest.mark.parametrize("name", ["openai", "gemini"])
def test_a_format_prints_the_definition_as_its_module_does(ask_tools, clean, name):
    definition = ask_tools("schema", "get").json
    assert (definition["name"], definition["input_schema"]["required"]) == ("get", ["city"])
    assert ask_tools("schema", "get", "--for", name).json == FORMATS[name].definitions([definition])[0]


@pytest.mark.slow
def test_all_and_several_names_print_a_list(ask_tools, site, clean):
    site.install_weather()
    every = ask_tools("schema", "--all", "--for", "anthropic")
    assert (every.code, len(every.json)) == (0, 10)
    assert [tool["name"] for tool in ask_tools("schema", "rain", "get", "rain").json] == ["rain", "get"]
    assert ask_tools("schema", "--all", ASK_TOOLS_ALLOW="get").json == [ask_tools("schema", "get").json]


def test_names_that_two_packages_share_become_valid_and_stay_different(ask_tools, site, clean):
    site.install("tools-other", {"get": "get"}, CLEAN)
    names = [tool["function"]["name"] for tool in ask_tools("schema", "--all", "--for", "openai").json]
    assert len(set(names)) == 2
    assert ":" not in "".join(names)


def test_check_prints_ok_for_each_tool(ask_tools, clean):
    result = ask_tools("check")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == ["get (tools-clean 1.0)  ok", "1 tool: 0 errors, 0 warnings"]


def test_missing_descriptions_are_warnings_and_errors_with_strict(ask_tools, site):
    site.install("tools-clean", {"bare": "bare"}, CLEAN)
    result = ask_tools("check", "bare")
    assert result.code == 0
    assert "  warning: it has no description: a model sees only its name" in result.out.splitlines()
    assert "  warning: parameter `city` has no description" in result.out.splitlines()
    assert "days" not in result.out
    assert ask_tools("check", "bare", "--strict").code == 1


def test_a_call_of_a_tool_without_its_approval_is_a_warning(ask_tools, tmp_path):
    source = """
from tools_core import Tool, tool

@tool(requires_approval=True)
def delete(path: str) -> str:
    "Delete."
    return path

@tool
def clean() -> str:
    "Clean."
    return delete("x")

class Sweep(Tool):
    "Sweep."
    def execute(self) -> str:
        return delete("x")

@tool(requires_approval=True)
def wipe() -> str:
    "Wipe."
    return delete("x")
"""
    path = tmp_path / "chores.py"
    path.write_text(source)
    rows = {row["name"].rpartition(":")[2]: row for row in ask_tools("check", path, "--json").json["tools"]}
    warned = [name for name, row in rows.items() if any("it calls `delete`" in text for text in row["warnings"])]
    assert sorted(warned) == ["Sweep", "clean"]


def test_placeholders_and_unknown_parameters_in_docstrings_are_warnings(ask_tools, tmp_path):
    source = '@tool\ndef {0}(x: int) -> int:\n    """{1}\n\n    Args:\n        x: {2}\n    """\n\n\n'
    tools = [
        ("fresh", "Describe here what the tool does and when to use it.", "How many."),
        ("later", "Count.", "TODO: describe"),
        ("unused", "Count.", "How many.\n        y: None."),
        ("fine", "Describe a city for tourists.", "How many."),
    ]
    (tmp_path / "here" / "lib.py").write_text(
        "from tools_core import tool\n" + "".join(source.format(*tool) for tool in tools)
    )
    report = ask_tools("check", "lib.py", "--strict", "--json")
    assert report.code == 1
    assert {row["name"]: row["warnings"] for row in report.json["tools"]} == {
        "lib.py:fresh": ["its description is a placeholder"],
        "lib.py:later": ["the description of parameter `x` is a placeholder"],
        "lib.py:unused": ["its docstring describes `y`, which is not a parameter"],
        "lib.py:fine": [],
    }


def test_a_broken_tool_a_shared_name_and_an_invalid_definition_are_errors(ask_tools, site, clean):
    site.install("tools-other", {"get": "get", "odd": "Odd"}, CLEAN)
    site.install("tools-bad", {"bad": "get"}, "import not_there")
    report = ask_tools("check", "--json")
    errors = {row["name"]: row["errors"][0] for row in report.json["tools"]}
    assert report.code == 1
    assert "`get` is also the name of tools-other" in errors["tools-clean:get"]
    assert "`get` is also the name of tools-clean" in errors["tools-other:get"]
    assert "its definition is not valid" in errors["odd"]
    assert "No module named 'not_there'" in errors["bad"]
