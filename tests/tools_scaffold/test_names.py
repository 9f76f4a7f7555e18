"""The names of a package, all derived from the name of its tool."""

from __future__ import annotations

import keyword
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_scaffold import ScaffoldError, plan_package


def names(text, tmp_path):
    return plan_package(text, into=tmp_path).tool.names


@pytest.mark.parametrize(
    "text", ["weather", "Weather", "tools-weather", "tools_weather", "weather-tool", "WeatherTool", "ToolsWeather"]
)
def test_all_spellings_of_a_name_give_the_same_package(text, tmp_path):
    assert names(text, tmp_path) == ("weather", "tools-weather", "tools_weather")


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("my-weather", "my_weather"),
        ("HTTPServer", "http_server"),
        ("s3-upload2", "s3_upload2"),
        ("x", "x"),
        ("a" * 40, "a" * 40),
    ],
)
def test_tools_use_underscores_and_distributions_use_hyphens(text, tool, tmp_path):
    assert names(text, tmp_path) == (tool, f"tools-{tool.replace('_', '-')}", f"tools_{tool}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a valid name"),
        ("3d-print", "is not a valid name"),
        ("a--b", "is not a valid name"),
        ("café", "is not a valid name"),
        ("../evil", "is not a valid name"),
        ("weather\n", "is not a valid name"),
        ("\ud800", "is not a valid name"),
        ("a" * 41, "has 41 characters; use at most 40"),
        ("class", "is a Python keyword; try my-class"),
        ("print", "is a Python builtin, which the tool would hide; try my-print"),
        ("tools-core", "names tools-core, a package of ask-tools; try my-core"),
        ("code", "names tools-code, a package of ask-tools; try my-code"),
        ("tools_workspace", "names tools-workspace, a package of ask-tools; try my-workspace"),
        ("pytest", "is a name that the generated code uses; try my-pytest"),
        ("contract", "is a name that the generated code uses; try my-contract"),
        ("con", "is the name of a device on Windows, which a file cannot have; try my-con"),
        ("Com1", "is the name of a device on Windows, which a file cannot have; try my-com1"),
        ("test-weather", "would be collected by pytest as a test; try my-test-weather"),
    ],
)
def test_an_invalid_name_is_refused_with_the_reason(text, reason, tmp_path):
    with pytest.raises(ScaffoldError, match=re.escape(reason)):
        plan_package(text, into=tmp_path)
    assert list(tmp_path.iterdir()) == []


@given(st.text() | st.from_regex(r"[A-Za-z0-9_-]{1,45}", fullmatch=True))
def test_every_text_is_a_valid_name_or_refused_in_one_line(tmp_path_factory, text):
    try:
        derived = names(text, tmp_path_factory.getbasetemp())
    except ScaffoldError as error:
        assert str(error).isprintable()
    else:
        assert re.fullmatch("[a-z][a-z0-9_]{0,39}", derived.tool)
        assert not keyword.iskeyword(derived.tool)
        assert derived.distribution == f"tools-{derived.tool.replace('_', '-')}"
