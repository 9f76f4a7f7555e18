"""Output of tools on terminals, in files and in pipes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core.command import json_text, one_line
from tools_core.text import visible

EVIL = "\x1b]0;owned\x07\x1b[2Jsafe\u202etxt.exe\u200b\tend\r"
ESCAPED = r"\x1b]0;owned\x07\x1b[2Jsafe\u202etxt.exe\u200b" + "\tend" + r"\r"


def test_the_result_of_a_tool_cannot_control_a_terminal(on_terminal, site):
    site.install_weather()
    status, output = on_terminal("call", "evil")
    assert (status, output.rstrip("\r\n").expandtabs()) == (0, ESCAPED.expandtabs())


def test_a_pipe_gets_the_text_as_it_is(ask_tools, site):
    site.install_weather()
    assert ask_tools("call", "evil").out == EVIL.replace("\r", "\n")  # universal newlines of the test


def test_json_is_safe_on_a_terminal_and_keeps_the_value(ask_tools, on_terminal, site):
    site.install_weather()
    piped = ask_tools("call", "evil", "--json")
    assert piped.json["output"] == EVIL
    assert one_line(piped.out.rstrip("\n")) == piped.out.rstrip("\n")
    _, output = on_terminal("call", "evil", "--json")
    assert json.loads(output)["output"] == EVIL
    assert visible(output, keep_layout=True) == output


def test_structured_output_is_indented_on_a_terminal_alone(ask_tools, on_terminal, site):
    site.install_weather()
    _, output = on_terminal("call", "forecast", "city=Ålesund")
    assert output.splitlines() == ["{", '  "city": "Ålesund",', '  "days": 3,', '  "units": "C"', "}"]
    assert ask_tools("call", "forecast", "city=Ålesund").out == '{"city":"Ålesund","days":3,"units":"C"}\n'


@pytest.mark.slow
def test_a_description_cannot_control_a_terminal(on_terminal, site):
    source = """
        from tools_core import tool


        @tool(description="De\\x1b[2Jscription")
        def get(x: int) -> str:
            return ""
    """
    site.install("tools-a", {"get": "get"}, source)
    for words in (["list"], ["show", "get"], ["doctor"], [], ["schema", "get"], ["check"], ["lock"]):
        _, output = on_terminal(*words)
        assert "\x1b" not in output


def test_a_table_keeps_to_the_width_of_the_terminal(on_terminal, site, environment):
    site.install_weather()
    environment["COLUMNS"] = "30"
    _, output = on_terminal("list")
    assert {len(line) for line in output.splitlines()[1:]} == {30}


def test_characters_that_the_encoding_lacks_are_escaped(ask_tools, site):
    site.install_weather()
    result = ask_tools("call", "rain", "city=日本", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert (result.code, result.out) == (0, "rain in \\u65e5\\u672c\n")


any_text = st.text(st.characters(codec=None))


@given(any_text)
def test_text_for_one_line_has_no_line_end(text):
    assert len(one_line(text).splitlines()) <= 1


@given(any_text)
def test_json_has_no_invisible_characters_and_the_same_value(text):
    for pretty in (False, True):
        encoded = json_text({text: [text]}, pretty=pretty)
        assert json.loads(encoded) == {text: [text]}
        assert visible(encoded, keep_layout=True) == encoded
