"""`ask-tools doctor`: problems of an installation, each with a fix."""

from __future__ import annotations

import pytest

import tools_core

GOOD = """
    from tools_core import tool


    @tool
    def get() -> str:
        return __name__
"""


def test_a_healthy_installation_has_no_problems(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GOOD)
    result = ask_tools("doctor")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0].startswith(f"tools-core {tools_core.__version__}, Python 3.")
    assert "tools-a 1.0: get" in lines
    assert lines[-1] == "no problems"


@pytest.mark.parametrize(
    ("source", "error", "line", "fix"),
    [
        ("\nimport not_there", "No module named 'not_there'", 2, "install the package that provides `not_there`"),
        ("\n\nraise RuntimeError('boom')", "RuntimeError: boom", 3, "uninstall tools-bad"),
        ("\nimport sys; sys.exit(3)", "called sys.exit(3)", 2, "uninstall tools-bad"),
        ("\nimport os; os.abort()", "ended the process with signal 6", None, "uninstall tools-bad"),
        pytest.param(
            "\nimport threading; threading.Event().wait()",
            "timed out after 20 s",
            None,
            "uninstall tools-bad",
            marks=pytest.mark.slow,
        ),
        ("get = 5", "5 is n", None, "uninstall tools-bad"),
    ],
    ids=["module", "raises", "sys.exit", "crash", "hangs", "no tool"],
)
def test_a_broken_package_is_reported_with_its_line_and_a_fix(ask_tools, site, source, error, line, fix):
    site.install("tools-bad", {"bad": "get"}, source)
    site.install("tools-good", {"get": "get"}, GOOD)
    report = ask_tools("doctor", "--json")
    assert report.code == 1
    (problem,) = report.json["problems"]
    assert (problem["name"], problem["distribution"], problem["version"]) == ("bad", "tools-bad", "1.0")
    assert error in problem["error"]
    # The mark that it was imported is its first line.
    assert problem["location"] == ("" if line is None else f"{site.folder / 'tools_bad.py'}:{line + 1}")
    assert fix in problem["fix"]
    assert [row["distribution"] for row in report.json["distributions"] if "get" in row["tools"]] == ["tools-good"]


@pytest.mark.slow
def test_doctor_and_call_print_the_line_that_failed(ask_tools, site):
    site.install("tools-bad", {"bad": "get"}, "import not_there")
    place = f"  at {site.folder / 'tools_bad.py'}:2"
    as_text = ask_tools("doctor")
    assert (as_text.code, as_text.out.splitlines()[-1]) == (1, "1 problem")
    assert place in as_text.out.splitlines()
    assert "  fix: install the package that provides `not_there`" in as_text.out.splitlines()
    called = ask_tools("call", "bad")
    assert (called.code, called.out) == (1, "")
    assert called.err.splitlines()[1:] == [place, "  details: ask-tools doctor"]


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
            return {**super().diagnose(), "isolation": "landlock", "warnings": ["no sandbox: install one"]}


    class Lame(Tool):
        """Lame."""

        def execute(self) -> None: ...

        def diagnose(self):
            raise ToolError("needs a shell; install bash", "unavailable")


    class Broken(Tool):
        """Broken."""

        def execute(self) -> None: ...

        def diagnose(self):
            return {}["key"]
'''


def test_facts_about_the_machine_are_shown_once_for_each_package(ask_tools, site):
    site.install("tools-a", {"one": "One", "two": "Two"}, DIAGNOSING)
    report = ask_tools("doctor", "--json")
    (package,) = report.json["distributions"]
    programs = {"rg": "/usr/bin/rg", "bwrap": None}
    facts = {"isolation": "none", "programs": programs, "for_all": ["a", 1], "two isolation": "landlock"}
    facts["warnings"] = ["no sandbox: install one"]
    assert (report.code, package["facts"]) == (0, facts)
    lines = ask_tools("doctor").out.splitlines()
    for line in ("  isolation: none", "  programs: rg /usr/bin/rg, bwrap none", "  for all: a, 1"):
        assert line in lines
    assert "  ! no sandbox: install one" in lines
    assert lines[-1] == "no problems, 1 warning"


def test_a_tool_that_cannot_work_here_is_a_problem(ask_tools, site):
    site.install("tools-a", {"lame": "Lame", "broken": "Broken", "one": "One"}, DIAGNOSING)
    report = ask_tools("doctor", "--json")
    problems = {problem["name"]: problem["error"] for problem in report.json["problems"]}
    assert report.code == 1
    assert problems == {"lame": "needs a shell; install bash", "broken": "KeyError: 'key'"}


def test_a_shared_name_is_a_problem_for_both(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GOOD)
    site.install("tools-b", {"get": "get"}, GOOD)
    report = ask_tools("doctor", "--json")
    assert (report.code, [row["distribution"] for row in report.json["problems"]]) == (1, ["tools-a", "tools-b"])


def test_blocked_packages_are_shown_and_not_imported(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GOOD)
    site.install("tools-b", {"set": "get"}, GOOD)
    report = ask_tools("doctor", "--json", ASK_TOOLS_ALLOW="tools-a")
    assert (report.code, report.json["blocked"], site.imported) == (0, ["tools-b:set"], ["tools_a"])


def test_prints_of_a_package_do_not_spoil_the_report(ask_tools, site):
    site.install("tools-a", {"get": "get"}, "print('hello from an import')\n" + GOOD.replace("\n    ", "\n"))
    report = ask_tools("doctor", "--json")
    assert (report.json["problems"], report.err) == ([], "hello from an import\n")
