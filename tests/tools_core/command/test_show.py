"""`ask-tools show`: the parameters and the origin of a tool."""

from __future__ import annotations


def test_show_prints_parameters_properties_origin_and_an_example(ask_tools, site):
    site.install_weather()
    result = ask_tools("show", "forecast")
    assert result.code == 0, result
    lines = result.out.splitlines()
    assert lines[:4] == ["forecast", "  Forecast the weather.", "", "  Says nothing about the past."]
    assert [line.split() for line in lines if line.startswith(("  city", "  days", "  units"))] == [
        ["city", "string", "required", "City", "name"],
        ["days", "integer", "default", "3"],
        ["units", '"C"', "|", '"F"', "default", '"C"'],
    ]
    assert "  read-only" in lines
    assert "  ask-tools call forecast city=STRING" in lines
    assert any(line.split() == ["distribution", "tools-weather"] for line in lines)


def test_json_is_the_definition_with_the_file_and_line_of_the_tool(ask_tools, site):
    site.install_weather()
    output = ask_tools("show", "rain", "--json").json
    assert output["input_schema"]["required"] == ["city"]
    origin = output["origin"]
    assert (origin["distribution"], origin["version"]) == ("tools-weather", "1.0")
    source = (site.folder / "tools_weather.py").read_text().splitlines()
    assert origin["file"] == str(site.folder / "tools_weather.py")
    assert source[origin["line"] - 1 : origin["line"] + 1] == ["@tool", "def rain(city: str) -> str:"]


def test_members_of_objects_have_the_names_that_call_takes(ask_tools, site):
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


def test_show_has_examples_and_how_models_use_the_tool(ask_tools, tmp_path):
    (tmp_path / "here" / "lib.py").write_text(
        "from tools_core import tool\n\n\n"
        "@tool(examples=[{'city': 'Oslo'}], deferred=True, verify='rain')\n"
        "def flood(city: str) -> str:\n    'Let it rain.'\n    return city\n"
    )
    lines = ask_tools("show", "lib.py").out.splitlines()
    assert '  ask-tools call lib.py:flood \'{"city":"Oslo"}\'' in lines
    assert "  deferred: a model finds it by search" in lines
    assert "  verified by rain" in lines
    report = ask_tools("show", "lib.py", "--json").json
    assert (report["examples"], report["deferred"], report["verify"]) == ([{"city": "Oslo"}], True, "rain")
