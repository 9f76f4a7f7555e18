"""`Registry.select`: the pattern language of subsets, allow and deny lists, and the command."""

from __future__ import annotations

import pytest

from tools_core import Tool, UnknownToolError

SOURCE = """
    from typing import NamedTuple


    class Found(NamedTuple):
        origin: str
        remote: str
        error: str = ""
        version: str = "1.0"
        value: str = "npx server"
        folder: str = "/etc/servers.json"
        fix: str = "repair it"

        @property
        def name(self):
            return f"{self.origin}_{self.remote}"


    def source():
        return [Found("github", "search"), Found("github", "get_issue"), Found("wiki", "get_page")]
"""


class Mine(Tool):
    """A tool of the program."""

    def execute(self) -> None: ...


@pytest.fixture
def registry(site, discovered):
    site.install("tools-weather", ["get_forecast = {}:A", "put_station = {}:B"], None)
    site.install("Tools_Air", ["get_air = {}:A", "air = {}:B"], None)
    site.install("tools-mcp", ["mcp = {}:source"], SOURCE, group="ask_tools.sources")
    registry = discovered()
    registry.register(Mine)
    return registry


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ("get_forecast", ["get_forecast"]),
        ("get_*", ["get_air", "get_forecast"]),
        ("tools-weather", ["get_forecast", "put_station"]),
        ("tools-weather:put_station", ["put_station"]),
        ("tools_air:get_*", ["get_air"]),
        ("tools-weather:*", ["get_forecast", "put_station"]),
        ("tools-*:get_*", ["get_air", "get_forecast"]),
        ("mcp:*", ["github_get_issue", "github_search", "wiki_get_page"]),
        ("mcp:github", ["github_get_issue", "github_search"]),
        ("mcp:github:*", ["github_get_issue", "github_search"]),
        ("mcp:GitHub:search", ["github_search"]),
        (["mine", "air,github_search"], ["mine", "github_search", "air"]),
        ([], []),
    ],
    ids=str,
)
def test_patterns_select_tools_by_name_and_package_in_order(registry, patterns, names):
    assert registry.select(patterns) == names


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("get_forcast", 'no tool or package "get_forcast"; did you mean get_forecast'),
        ("tools-wether", "did you mean tools-weather"),
        ("tools-weather:get_air", "no tool or package"),
        ("tools-*", "no tool or package"),
        ("quite_different", "there are mine, github_get_issue"),
    ],
)
def test_an_unmatched_pattern_is_an_error_with_similar_names(registry, pattern, message):
    with pytest.raises(UnknownToolError, match=message):
        registry.select(["mine", pattern])


def test_a_pattern_for_blocked_tools_says_that_they_are_blocked(site, registry):
    registry.discover(paths=[site.folder], deny=["tools-weather"])
    with pytest.raises(UnknownToolError, match="blocks tools-weather:get_forecast, tools-weather:put_station"):
        registry.select("tools-weather")


@pytest.mark.parametrize("patterns", ["", " , ", ["mine", ""]])
def test_an_empty_pattern_is_an_error_everywhere(registry, patterns):
    for use in (registry.select, lambda text: registry.subset(only=text), lambda text: registry.discover(deny=text)):
        with pytest.raises(ValueError, match="empty pattern"):
            use(patterns)


def test_selecting_imports_no_package(site, discovered):
    site.install("tools-weather", ["get = {}:Get"])
    assert discovered().select("tools-weather") == ["get"]
    assert site.times_imported("tools_weather") == 0
