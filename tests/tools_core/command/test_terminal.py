"""The output of tools on a terminal, and anywhere else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core._cli._terminal import json_text, one_line
from tools_core.text import visible

EVIL = "\x1b]0;owned\x07\x1b[2Jsafe\u202etxt.exe\u200b\tend\r"
SHOWN = r"\x1b]0;owned\x07\x1b[2Jsafe\u202etxt.exe\u200b" + "\tend" + r"\r"


def test_on_a_terminal_what_a_tool_returns_cannot_act(on_terminal, site):
    site.install_weather()
    ended, shown = on_terminal("call", "evil")
    assert (ended, shown.rstrip("\r\n").expandtabs()) == (0, SHOWN.expandtabs())


def test_on_a_terminal_an_error_cannot_act_either(on_terminal, site):
    source = """
        from tools_core import ToolError, tool


        @tool
        def refuse() -> str:
            raise ToolError("\\x1b[2Jno")
    """
    site.install("tools-a", {"refuse": "refuse"}, source)
    ended, shown = on_terminal("call", "refuse")
    assert ended == 1
    assert r"error: \x1b[2Jno" in shown
    assert "\x1b" not in shown


def test_into_a_pipe_it_goes_as_it_is(ask_tools, site):
    site.install_weather()
    assert ask_tools("call", "evil").out == EVIL.replace("\r", "\n")  # as this end reads it


def test_json_is_safe_anywhere_and_still_the_same_value(ask_tools, on_terminal, site):
    site.install_weather()
    piped = ask_tools("call", "evil", "--json")
    assert piped.json["output"] == EVIL
    assert one_line(piped.out.rstrip("\n")) == piped.out.rstrip("\n")
    _, shown = on_terminal("call", "evil", "--json")
    assert json.loads(shown)["output"] == EVIL
    assert visible(shown, keep_layout=True) == shown


def test_structured_output_is_laid_out_for_a_person_and_compact_for_a_program(ask_tools, on_terminal, site):
    site.install_weather()
    _, shown = on_terminal("call", "forecast", "city=Ålesund")
    assert shown.splitlines() == ["{", '  "city": "Ålesund",', '  "days": 3,', '  "units": "C"', "}"]
    assert ask_tools("call", "forecast", "city=Ålesund").out == '{"city":"Ålesund","days":3,"units":"C"}\n'


@pytest.mark.slow
def test_a_foreign_summary_or_description_cannot_act_on_a_terminal_either(on_terminal, site):
    source = """
        from tools_core import tool


        @tool(description="De\\x1b[2Jscription")
        def get(x: int) -> str:
            return ""
    """
    site.install("tools-a", {"get": "get"}, source)
    metadata = site.folder / "tools_a-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("What", "W\x1b[2Jhat"))
    for words in (
        ["list"], ["list", "--details"], ["show", "get"], ["doctor"], [], ["schema", "get"], ["check"], ["lock"],
        ["call", "get", "x=1", "--dry-run"],
    ):  # fmt: skip
        _, shown = on_terminal(*words)
        assert "\x1b" not in shown
    module = site.folder / "tools_a.py"
    module.write_text(module.read_text().replace("De\\x1b", "de\\x1b\\x1b"))
    _, shown = on_terminal("verify")
    assert r"\u001b" in shown
    assert "\x1b" not in shown


def test_a_table_keeps_to_the_width_of_the_terminal(on_terminal, site, environment):
    site.install_weather()
    environment["COLUMNS"] = "30"
    _, shown = on_terminal("list")
    assert {len(line) for line in shown.splitlines()[1:]} == {30}


def test_what_an_encoding_lacks_is_escaped_and_not_raised(ask_tools, site):
    site.install_weather()
    ended = ask_tools("call", "rain", "city=日本", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert (ended.code, ended.out) == (0, "rain in \\u65e5\\u672c\n")


any_text = st.text(st.characters(codec=None))


@given(any_text)
def test_a_text_for_a_line_never_ends_it(text):
    assert len(one_line(text).splitlines()) <= 1


@given(any_text)
def test_json_text_is_visible_as_it_is_and_parses_to_the_same(text):
    for pretty in (False, True):
        written = json_text({text: [text]}, pretty=pretty)
        assert json.loads(written) == {text: [text]}
        assert visible(written, keep_layout=True) == written
