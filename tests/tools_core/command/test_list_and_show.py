"""What is installed, read from metadata; and one tool, loaded alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

GET = """
    from tools_core import tool


    @tool
    def get() -> str:
        return __name__
"""


def test_list_shows_name_origin_and_summary_and_imports_nothing(ask_tools, site):
    site.install("tools-b", {"get_b": "get"}, "raise RuntimeError")
    site.install("tools-a", {"get_a": "get"}, "import sys; sys.exit(3)", version="2.1")
    ended = ask_tools("list")
    assert ended.code == 0, ended
    assert [line.split(maxsplit=3) for line in ended.out.splitlines()] == [
        ["TOOL", "FROM", "SUMMARY"],
        ["get_a", "tools-a", "2.1", "What tools-a does"],
        ["get_b", "tools-b", "1.0", "What tools-b does"],
    ]
    assert site.imported == []


def test_list_loads_neither_the_contract_nor_what_is_slow_to_import(environment, site):
    site.install_weather()
    code = "import sys; from tools_core._cli import main; main(['list']); print(*sys.modules)"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {"tools_core", "tools_core._registry._registry"} <= loaded
    slow = {
        "tools_core._registry._lock_file",
        "tools_core.formats",
        "hashlib",
        "argparse",
        "asyncio",
        "dataclasses",
        "importlib.metadata",
        "inspect",
        "json",
        "pathlib",
        "shutil",
    }
    assert not loaded & {*slow, "tools_core._tools._tool", "tools_core._execution._body", "tools_core._jsonschema"}


def test_list_as_json_has_every_field(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GET)
    assert ask_tools("list", "--json").json == [
        {
            "name": "get",
            "distribution": "tools-a",
            "version": "1.0",
            "entry_point": "tools_a:get",
            "summary": "What tools-a does",
        }
    ]


def test_list_takes_patterns_for_names_and_distributions(ask_tools, site):
    site.install_weather()
    site.install("tools-a", {"get": "get", "set": "get"}, GET)

    def names(*words):
        return [tool["name"] for tool in ask_tools("list", "--json", *words).json]

    assert names("r*") == ["radar", "rain"]
    assert names("tools-a") == ["get", "set"]
    assert names("tools-a:s*", "rain") == ["set", "rain"]
    assert names("nothing") == []
    nothing = ask_tools("list", "nothing")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == "none of the 12 tools matches nothing\n"


TAGGED = '''
    from tools_core import Toolset, tool


    @tool(read_only=True, tags=["sea"])
    def tides(city: str, days: int = 1) -> str:
        """Tell the tides.

        More.
        """
        return ""


    @tool(destructive=True, requires_approval=True, tags=["sea", "risky"])
    def drain() -> str:
        """Drain the sea."""
        return ""


    class Boats(Toolset):
        """Boats."""

        @tool(read_only=False)
        def sail(self, to: str) -> str:
            """Sail somewhere."""
            return to
'''


@pytest.fixture
def sea(site):
    site.install_weather()
    site.install("tools-sea", {"tides": "tides", "drain": "drain", "boats": "Boats"}, TAGGED)


def listed(ask_tools, *words):
    return [tool["name"] for tool in ask_tools("list", "--json", *words).json]


def test_list_of_a_package_needs_no_import(ask_tools, site, sea):
    assert listed(ask_tools, "--package", "Tools_Sea") == ["boats", "drain", "tides"]
    assert listed(ask_tools, "--package", "tools-sea", "ti*") == ["tides"]
    assert site.imported == []


def test_list_filters_by_what_only_the_tools_can_say(ask_tools, site, sea):
    assert listed(ask_tools, "--read-only") == ["tides", "forecast"]
    assert listed(ask_tools, "--tag", "sea", "--tag", "other") == ["drain", "tides"]
    assert listed(ask_tools, "--tag", "sea", "--read-only") == ["tides"]
    nothing = ask_tools("list", "--tag", "none")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.startswith("none of the ")


def test_details_show_effect_cost_and_parameters_of_every_tool_of_a_package_and_import_no_other(ask_tools, site, sea):
    ended = ask_tools("list", "--details", "--package", "tools-sea")
    rows = [line.split() for line in ended.out.splitlines()]
    assert rows[0] == ["TOOL", "EFFECT", "~TOKENS", "PARAMETERS", "FROM", "SUMMARY"]
    shown = {row[0]: " ".join(row[1:]) for row in rows[1:]}
    assert list(shown) == ["boats_sail", "drain", "tides"]
    assert shown["drain"].startswith("destructive, asks ")
    assert shown["tides"].startswith("read-only ")
    assert shown["tides"].endswith(" city [days] tools-sea 1.0 Tell the tides.")
    assert shown["boats_sail"].startswith("writes ")
    assert site.imported == ["tools_sea"]
    (row,) = ask_tools("list", "--details", "--json", "tides").json
    definition = ask_tools("show", "tides", "--json").json
    sent = {key: definition[key] for key in ("name", "description", "input_schema")}
    assert row["tokens"] == -(-len(json.dumps(sent, separators=(",", ":"))) // 4)
    assert (row["effect"], row["tags"], row["summary"]) == ("read-only", ["sea"], "Tell the tides.")


def test_details_leave_out_what_does_not_load_and_say_so(ask_tools, site, sea):
    site.install("tools-bad", {"bad": "get"}, "import not_there")
    ended = ask_tools("list", "--details")
    assert ended.code == 0
    assert "bad" not in ended.out
    assert ended.err == "1 problem found; details: ask-tools doctor\n"


def test_list_understands_its_options_wherever_they_stand(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GET)
    assert ask_tools("list", "get", "--json").out == ask_tools("list", "--json", "--", "get").out


def test_list_of_nothing_proposes_to_make_a_tool(ask_tools):
    ended = ask_tools("list")
    assert (ended.code, ended.out) == (0, "")
    assert "ask-tools new NAME" in ended.err


def test_two_tools_of_one_name_are_listed_with_their_distributions_and_a_hint(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GET)
    site.install("tools-b", {"get": "get"}, GET)
    ended = ask_tools("list")
    assert [line.split()[0] for line in ended.out.splitlines()] == ["TOOL", "tools-a:get", "tools-b:get"]
    assert ended.err.endswith("details: ask-tools doctor\n")
    assert len(ended.err.splitlines()) == 1


def test_both_tools_of_one_name_can_be_called_and_the_bare_name_names_both(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GET)
    site.install("tools-b", {"get": "get"}, GET)
    assert ask_tools("call", "tools-a:get").out == "tools_a\n"
    assert ask_tools("call", "tools-b:get").out == "tools_b\n"
    ambiguous = ask_tools("call", "get")
    assert ambiguous.code == 2
    assert "tools-a:get" in ambiguous.err
    assert "tools-b:get" in ambiguous.err


def test_what_is_denied_is_neither_listed_nor_imported(ask_tools, site):
    site.install_weather()
    site.install("tools-a", {"get": "get"}, GET)
    ended = ask_tools("list", "--json", ASK_TOOLS_DENY="tools-weather")
    assert [tool["name"] for tool in ended.json] == ["get"]
    assert "10 barred by" in ended.err
    assert ask_tools("call", "rain", "city=Oslo", ASK_TOOLS_DENY="rain").code == 2
    assert site.imported == []


def test_show_says_what_a_tool_takes_and_where_it_comes_from(ask_tools, site):
    site.install_weather()
    ended = ask_tools("show", "forecast")
    assert ended.code == 0, ended
    lines = ended.out.splitlines()
    assert lines[:4] == ["forecast", "  Forecast the weather.", "", "  Says nothing about the past."]
    assert [line.split() for line in lines if line.startswith(("  city", "  days", "  units"))] == [
        ["city", "string", "required", "City", "name"],
        ["days", "integer", "default", "3"],
        ["units", '"C"', "|", '"F"', "default", '"C"'],
    ]
    assert "  read-only" in lines
    assert "  ask-tools call forecast city=STRING" in lines
    assert any(line.split() == ["distribution", "tools-weather"] for line in lines)


def test_show_as_json_is_the_definition_and_the_origin(ask_tools, site):
    site.install_weather()
    shown = ask_tools("show", "rain", "--json").json
    assert shown["input_schema"]["required"] == ["city"]
    origin = shown["origin"]
    assert (origin["distribution"], origin["version"]) == ("tools-weather", "1.0")
    source = (site.folder / "tools_weather.py").read_text().splitlines()
    assert origin["file"] == str(site.folder / "tools_weather.py")
    assert source[origin["line"] - 1 : origin["line"] + 1] == ["@tool", "def rain(city: str) -> str:"]


def test_show_lists_the_members_of_objects_by_the_names_that_call_takes(ask_tools, site):
    source = """
        from typing import TypedDict

        from tools_core import tool


        class Address(TypedDict):
            city: str
            zip: int


        @tool
        def ship(to: Address, notes: list[str] | None = None) -> dict:
            return {"to": to, "notes": notes}
    """
    site.install("tools-post", {"ship": "ship"}, source)
    rows = [line.split() for line in ask_tools("show", "ship").out.splitlines()]
    assert ["to.city", "string", "required"] in rows
    assert ["to.zip", "integer", "required"] in rows
    called = ask_tools("call", "ship", "to.city=Oslo", "to.zip=150", "notes=a", "notes=b")
    assert called.json == {"to": {"city": "Oslo", "zip": 150}, "notes": ["a", "b"]}


def test_show_of_an_unknown_tool_names_the_nearest(ask_tools, site):
    site.install_weather()
    ended = ask_tools("show", "forcast")
    assert ended.code == 2
    assert ended.err == 'error: no tool "forcast"; did you mean forecast?\n  ask-tools list\n'


def test_a_reader_that_stops_reading_is_no_error(environment, site):
    site.install("tools-a", {"get": "get"}, GET)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys._base_executable, "-m", "tools_core", "list"]
    done = subprocess.run(command, env=environment, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
