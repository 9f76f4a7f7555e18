"""What is broken, with the fix."""

from __future__ import annotations

import pytest

import tools_core

GOOD = """
    from tools_core import tool


    @tool
    def get() -> str:
        return __name__
"""


def test_a_healthy_environment_has_no_problems_and_ends_with_zero(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GOOD)
    ended = ask_tools("doctor")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0].startswith(f"tools-core {tools_core.__version__}, Python 3.")
    assert "tools-a 1.0: get" in lines
    assert lines[-1] == "no problems"


@pytest.mark.parametrize(
    ("source", "error", "fix"),
    [
        ("import not_there", "No module named 'not_there'", "pip install not_there"),
        (
            "raise RuntimeError('boom')",
            "RuntimeError: boom",
            "pip install -U tools-bad or pip uninstall tools-bad",
        ),
        ("import sys; sys.exit(3)", "sys.exit(3)", "pip install -U tools-bad or pip uninstall tools-bad"),
        ("get = 5", "5 is no tool", "pip install -U tools-bad or pip uninstall tools-bad"),
        ("", "no attribute 'get'", "pip install -U tools-bad or pip uninstall tools-bad"),
    ],
    ids=["missing module", "raises", "exits", "no tool", "no attribute"],
)
def test_a_broken_package_is_named_with_its_fix_and_hides_no_other(ask_tools, site, source, error, fix):
    site.install("tools-bad", {"bad": "get"}, source)
    site.install("tools-good", {"get": "get"}, GOOD)
    report = ask_tools("doctor", "--json")
    assert report.code == 1
    (problem,) = report.json["problems"]
    assert (problem["name"], problem["distribution"], problem["version"]) == ("bad", "tools-bad", "1.0")
    assert error in problem["error"]
    assert problem["fix"] == fix
    as_text = ask_tools("doctor")
    assert (as_text.code, as_text.out.splitlines()[-1]) == (1, "1 problem")
    assert f"  fix: {fix}" in as_text.out.splitlines()
    assert ask_tools("call", "get").out == "tools_good\n"
    called = ask_tools("call", "bad")
    assert (called.code, called.out) == (1, "")
    assert called.err.endswith("details: ask-tools doctor\n")


def test_a_package_that_hangs_when_it_is_imported_holds_up_nothing_else(ask_tools, site):
    site.install("tools-bad", {"bad": "get"}, "import threading; threading.Event().wait()")
    site.install("tools-good", {"get": "get"}, GOOD)
    report = ask_tools("doctor", "--json", ASK_TOOLS_LOAD_TIMEOUT="0.2")
    (problem,) = report.json["problems"]
    assert (report.code, problem["distribution"]) == (1, "tools-bad")
    assert ask_tools("call", "get", ASK_TOOLS_LOAD_TIMEOUT="0.2").out == "tools_good\n"


def test_a_shadowed_name_is_a_problem_that_names_both(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GOOD)
    site.install("tools-b", {"get": "get"}, GOOD)
    report = ask_tools("doctor", "--json")
    assert report.code == 1
    text = str(report.json["problems"])
    assert "tools-a" in text
    assert "tools-b" in text


def test_what_the_lists_bar_is_shown_and_not_imported(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GOOD)
    site.install("tools-b", {"set": "get"}, GOOD)
    report = ask_tools("doctor", "--json", ASK_TOOLS_ALLOW="tools-a")
    assert (report.code, report.json["blocked"], site.imported) == (0, ["tools-b:set"], ["tools_a"])


def test_a_package_that_prints_when_it_is_imported_does_not_spoil_the_report(ask_tools, site):
    site.install("tools-a", {"get": "get"}, "print('hello from an import')\n" + GOOD.replace("\n    ", "\n"))
    report = ask_tools("doctor", "--json")
    assert (report.json["problems"], report.err) == ([], "hello from an import\n")
