"""Definitions as providers want them, and what is wrong with them."""

from __future__ import annotations

import pytest

from tools_core.formats import FORMATS

CLEAN = '''
    from typing import Annotated

    from tools_core import tool


    @tool
    def get(city: Annotated[str, "City name"]) -> str:
        """Get the weather."""
        return city


    @tool
    def bare(city: str, days: Annotated[int, "How many"] = 1) -> str:
        return city
'''
RECURSIVE = '''
    from tools_core import tool


    @tool(input_schema={
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/node", "description": "A tree."}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    })
    def tree(**arguments) -> str:
        """Walk a tree."""
        return ""
'''


@pytest.fixture
def clean(site):
    site.install("tools-clean", {"get": "get"}, CLEAN)


def test_without_a_format_the_definition_is_our_own(ask_tools, clean):
    shown = ask_tools("schema", "get").json
    assert (shown["name"], shown["description"]) == ("get", "Get the weather.")
    assert shown["input_schema"]["required"] == ["city"]


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_gives_what_its_module_gives(ask_tools, site, clean, name):
    definition = ask_tools("schema", "get").json
    assert ask_tools("schema", "get", "--for", name).json == FORMATS[name].definitions([definition])[0]


def test_all_gives_one_list_and_several_names_as_well(ask_tools, site, clean):
    site.install_weather()
    every = ask_tools("schema", "--all", "--for", "anthropic")
    assert (every.code, len(every.json)) == (0, 11)
    assert [tool["name"] for tool in ask_tools("schema", "rain", "get", "rain").json] == ["rain", "get"]
    assert ask_tools("schema", "--all", ASK_TOOLS_ALLOW="get").json == [ask_tools("schema", "get").json]


def test_names_that_two_packages_share_become_legal_and_stay_apart(ask_tools, site, clean):
    site.install("tools-other", {"get": "get"}, CLEAN)
    names = [tool["function"]["name"] for tool in ask_tools("schema", "--all", "--for", "openai").json]
    assert len(set(names)) == 2
    assert ":" not in "".join(names)


def test_names_or_all_have_to_be_given_and_not_both(ask_tools, clean):
    for words in ([], ["get", "--all"]):
        ended = ask_tools("schema", *words)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("error: name tools, or say --all")
    assert ask_tools("schema", "get", "--for", "bard").code == 2


def test_a_list_that_lacks_a_broken_tool_ends_with_one(ask_tools, site, clean):
    site.install("tools-bad", {"bad": "get"}, "import not_there")
    ended = ask_tools("schema", "--all")
    assert (ended.code, [tool["name"] for tool in ended.json]) == (1, ["get"])
    assert "1 problem found" in ended.err


def test_a_tool_with_nothing_to_find_fault_with_is_ok_for_all(ask_tools, clean):
    ended = ask_tools("check")
    assert (ended.code, ended.err) == (0, "")
    first, last = ended.out.splitlines()
    assert first.startswith("get (tools-clean 1.0)  ~") and first.endswith("  ok")
    assert last.endswith(": 0 errors, 0 warnings")


def test_missing_descriptions_are_warnings_and_errors_only_when_strict(ask_tools, site):
    site.install("tools-clean", {"bare": "bare"}, CLEAN)
    ended = ask_tools("check", "bare")
    assert ended.code == 0
    assert "  warning: it has no description: a model has only the name to go by" in ended.out.splitlines()
    assert "  warning: parameter `city` has no description" in ended.out.splitlines()
    assert "days" not in ended.out
    assert ask_tools("check", "bare", "--strict").code == 1


def test_a_tool_that_cannot_be_strict_is_a_warning_for_a_strict_format_alone(ask_tools, site):
    site.install("tools-tree", {"tree": "tree"}, RECURSIVE)
    assert "strict" not in ask_tools("check").out
    ended = ask_tools("check", "--for", "anthropic-strict")
    assert ended.code == 0
    assert "warning: anthropic-strict sends it without strict" in ended.out
    assert "sends it" not in ask_tools("check", "--for", "openai-strict").out  # which knows recursion


def test_the_cost_is_estimated_from_what_a_model_is_sent(ask_tools, clean):
    import json

    definition = ask_tools("schema", "get").json
    sent = {key: definition[key] for key in ("name", "description", "input_schema")}
    characters = len(json.dumps(sent, ensure_ascii=False, separators=(",", ":")))
    report = ask_tools("check", "--json").json
    assert report["tools"][0]["tokens"] == report["tokens"] == -(-characters // 4)


def test_a_tool_that_does_not_load_is_an_error_with_its_fix(ask_tools, site, clean):
    site.install("tools-bad", {"bad": "get"}, "import not_there")
    ended = ask_tools("check")
    assert ended.code == 1
    assert "fix: pip install not_there" in ended.out
    assert ask_tools("check", "get").code == 0


def test_two_tools_of_one_name_are_an_error_for_each(ask_tools, site, clean):
    site.install("tools-other", {"get": "get"}, CLEAN)
    report = ask_tools("check", "--json")
    assert report.code == 1
    assert [row["name"] for row in report.json["tools"]] == ["tools-clean:get", "tools-other:get"]
    assert all("is also the name of" in row["errors"][0] for row in report.json["tools"])


def test_names_that_look_alike_are_a_warning(ask_tools, site, clean):
    site.install("tools-other", {"Get": "get"}, CLEAN)
    report = ask_tools("check", "--json").json
    assert any("a model may take `get` for `Get`" in text for row in report["tools"] for text in row["warnings"])


def test_a_definition_that_is_computed_and_not_legal_is_an_error(ask_tools, site):
    source = '''
        from tools_core import Tool


        class Odd(Tool):
            """Odd."""

            name = "odd"

            def execute(self) -> str:
                return ""

            @property
            def definition(self):
                return {**super().definition, "input_schema": {"type": "objekt"}}
    '''
    site.install("tools-odd", {"odd": "Odd"}, source)
    report = ask_tools("check", "odd", "--json")
    assert report.code == 1
    assert "its definition is not legal" in report.json["tools"][0]["errors"][0]


def test_an_unknown_tool_is_wrong_usage(ask_tools, clean):
    for command in ("check", "schema"):
        ended = ask_tools(command, "gte")
        assert (ended.code, ended.out) == (2, "")
        assert "did you mean get?" in ended.err
