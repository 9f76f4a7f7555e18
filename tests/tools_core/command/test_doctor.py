"""What is broken, with the fix."""

from __future__ import annotations

from textwrap import dedent

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


DIAGNOSING = '''
    from tools_core import Tool, ToolError


    class Base(Tool, abstract=True):
        def diagnose(self):
            return {"isolation": "none", "programs": {"rg": "/usr/bin/rg", "bwrap": None}, "for_all": ["a", 1]}


    class One(Base):
        """One."""

        def execute(self) -> None: ...


    class Two(Base):
        """Two."""

        def execute(self) -> None: ...

        def diagnose(self):
            return {**super().diagnose(), "isolation": "landlock"}


    class Lame(Tool):
        """Lame."""

        def execute(self) -> None: ...

        def diagnose(self):
            raise ToolError("nothing to run it with; install something", "unavailable")


    class Broken(Tool):
        """Broken."""

        def execute(self) -> None: ...

        def diagnose(self):
            return {}["key"]
'''


def test_what_tools_say_of_the_machine_is_shown_once_for_each_package(ask_tools, site):
    site.install("tools-a", {"one": "One", "two": "Two"}, DIAGNOSING)
    report = ask_tools("doctor", "--json")
    (package,) = report.json["distributions"]
    programs = {"rg": "/usr/bin/rg", "bwrap": None}
    facts = {"isolation": "none", "programs": programs, "for_all": ["a", 1], "two isolation": "landlock"}
    assert (report.code, package["facts"]) == (0, facts)
    lines = ask_tools("doctor").out.splitlines()
    for line in ("  isolation: none", "  programs: rg /usr/bin/rg, bwrap none", "  for all: a, 1"):
        assert line in lines


def test_what_keeps_a_tool_from_working_is_a_problem_and_its_failure_to_tell_as_well(ask_tools, site):
    site.install("tools-a", {"lame": "Lame", "broken": "Broken", "one": "One"}, DIAGNOSING)
    report = ask_tools("doctor", "--json")
    problems = {problem["name"]: problem["error"] for problem in report.json["problems"]}
    assert report.code == 1
    assert problems == {"lame": "nothing to run it with; install something", "broken": "KeyError: 'key'"}
    assert report.json["distributions"][0]["facts"]["isolation"] == "none"


@pytest.mark.slow
def test_the_time_that_each_package_takes_is_its_own(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GOOD)
    site.install("tools-slow", {"slow": "get"}, "import threading; threading.Event().wait(0.5)\n" + dedent(GOOD))
    report = ask_tools("doctor", "--json").json
    times = {each["distribution"]: each["milliseconds"] for each in report["distributions"]}
    assert times["tools-slow"] >= 500
    assert times["tools-a"] < times["tools-slow"]
    assert [line for line in ask_tools("doctor").out.splitlines() if line.startswith("  loaded in ")]


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
