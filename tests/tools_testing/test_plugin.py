"""The pytest plugin, in runs of pytest as its users start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import tools_testing
from tools_core import Context, Halt, Result, ToolError, tool
from tools_testing import CONTRACT, RecordingContext, assert_error, assert_halted, assert_ok

HEAD = """
from typing import Annotated
import pytest
from tools_core import Context, Halt, Tool, ToolError, tool

@tool(read_only=True)
def repeat(text: Annotated[str, "A text"], context: Context, times: Annotated[int, "The number of times"] = 1) -> str:
    \"\"\"Repeat a text.\"\"\"
    context.progress(1, 2, "half")
    if times < 0:
        raise ToolError("times must be at least 0", "limit_exceeded")
    if times == 0:
        raise Halt("nothing to do")
    return text * times
"""


def test_the_plugin_imports_neither_hypothesis_nor_the_core():
    program = """
    import sys
    import pytest
    before = set(sys.modules)
    import tools_testing._plugin
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    assert new <= {"tools_testing"}, new
    """
    subprocess.run([sys.executable, "-c", "\n".join(map(str.strip, program.splitlines()))], check=True)


def test_the_package_lists_its_names():
    assert dir(tools_testing) == sorted(tools_testing.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = tools_testing.nonsense


# Fixtures, in this very run


def test_the_workspace_is_an_empty_folder_and_belongs_to_the_context(workspace, tool_context):
    assert list(workspace.iterdir()) == []
    assert tool_context.workspace == workspace


def test_call_tool_passes_the_context(call_tool, workspace):
    @tool
    def look(context: Context, extra: str = "") -> list[str]:
        """Look around."""
        context.progress(1)
        return [str(context.workspace), extra]

    assert call_tool(look).output == [str(workspace), ""]
    assert call_tool(look, {"extra": "x"}).output == [str(workspace), "x"]
    assert call_tool(look, extra="x", context=Context(workspace="elsewhere")).output == ["elsewhere", "x"]


def test_call_tool_finds_installed_tools(call_tool, workspace):
    (workspace / "a.txt").write_text("hello", encoding="utf-8")
    assert "hello" in str(call_tool("read_file", path="a.txt"))


def test_progress_is_recorded(call_tool, tool_context):
    @tool
    async def work(context: Context) -> None:
        """Work."""
        context.progress(1, 2, "half")
        context.progress(2, 2)

    call_tool(work)
    assert tool_context.reports == [(1, 2, "half"), (2, 2, "")]
    assert tool_context.reports[0].message == "half"


def test_a_recording_context_accepts_the_options_of_a_context():
    context = RecordingContext(workspace="here", state={"user": "ada"}, timeout=5, call_id="1")
    assert (str(context.workspace), context.state["user"], context.call_id) == ("here", "ada", "1")
    assert context.remaining is not None and context.remaining <= 5


# Assertions


def test_assertions_return_the_output_or_the_message():
    assert assert_ok(Result.ok({"a": 1})) == {"a": 1}
    assert assert_ok(Result.ok([1]), [1]) == [1]
    assert assert_error(Result.error("no city", type="not_found"), type="not_found", match="city") == "no city"
    assert assert_halted(Result.halt("done"), "done") == "done"


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: assert_ok(Result.error("no city", type="not_found")), ["expected a success", "no city", "not_found"]),
        (
            lambda: assert_ok(Result.ok({"a": 1, "b": [1, 2]}), {"a": 1, "b": [1, 3]}),
            ["expected another output", "-     3", "+     2", '    "a": 1'],
        ),
        (lambda: assert_ok(Result.ok((1,)), [1]), ["- [1]", "+ (1,)"]),
        (lambda: assert_error(Result.ok("fine"), type="denied"), ["expected an error of type denied", "fine"]),
        (lambda: assert_error(Result.error("x"), type="denied"), ["type denied, got execution_error"]),
        (lambda: assert_error(Result.error("abc"), match="^b"), ["message that matches '^b'", "abc"]),
        (lambda: assert_halted(Result.ok("x")), ["expected a halt"]),
        (lambda: assert_halted(Result.halt("x"), "y"), ["expected another output of the halt", '- "y"', '+ "x"']),
    ],
    ids=["error", "output", "type", "ok", "other type", "message", "not a halt", "other halt"],
)
def test_a_failed_assertion_shows_the_difference(check, message):
    with pytest.raises(AssertionError) as caught:
        check()
    assert [text for text in message if text not in str(caught.value)] == []


def test_a_failed_assertion_shows_the_line_that_raised():
    @tool
    def crash() -> None:
        """Crash."""
        raise LookupError("no such city")

    with pytest.raises(AssertionError, match='raise LookupError\\("no such city"\\)'):
        assert_ok(crash.call())


def test_assertions_accept_only_results():
    with pytest.raises(TypeError, match="expected a Result, got str"):
        assert_ok("fine")


def test_assertions_recognise_halts_and_tool_errors(call_tool):
    @tool
    def choose(how: str) -> str:
        """Choose."""
        raise Halt("end") if how == "halt" else ToolError("no", "denied")

    assert_halted(call_tool(choose, how="halt"), "end")
    assert_error(call_tool(choose, how="x"), type="denied")


# Separate runs of pytest


def test_fixtures_need_no_configuration(run_pytest):
    text = (
        HEAD
        + """
from tools_testing import assert_error, assert_halted, assert_ok

def test_one(call_tool, tool_context):
    assert_ok(call_tool(repeat, text="a", times=3), "aaa")
    assert_error(call_tool(repeat, text="a", times=-1), type="limit_exceeded", match="at least")
    assert_halted(call_tool(repeat, text="a", times=0), "nothing to do")
    assert [report.message for report in tool_context.reports] == ["half"] * 3
"""
    )
    process = run_pytest("-W", "error", test_it=text)
    assert process.returncode == 0, process.stdout


@pytest.mark.slow
def test_the_contract_of_a_tool_is_checked_without_a_test_file(run_pytest):
    process = run_pytest("--tool-contract=list_directory", "-v", "-rs")
    assert process.returncode == 0, process.stdout
    assert f"collected {len(CONTRACT)} items" in process.stdout
    assert all(f"list_directory::{name}" in process.stdout for name in CONTRACT)


@pytest.mark.slow
def test_patterns_choose_tools_and_pytest_options_choose_promises(run_pytest):
    process = run_pytest(
        "--tool-contract=tools-filesystem:*_path,file_info", "--collect-only", "-q", "-k", "description_is_present"
    )
    listed = [line for line in process.stdout.splitlines() if "::" in line]
    tools = ["delete_path", "file_info", "move_path"]
    assert sorted(listed) == [f"{name}::description_is_present" for name in tools]
    process = run_pytest(
        "--tool-contract=glob", "-q", "--deselect", "glob::description_is_present", "-m", "tool_contract"
    )
    assert "1 deselected" in process.stdout and process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patterns", "tools"),
    [
        (["--tool-contract=tools-workspace"], 0),
        (["--tool-contract=tools-filesystem"], 11),
        (["--tool-contract=tools-filesystem:glob,./rain.py"], 3),
        (["--tool-contract=rain.py:rain", "--tool-contract=gl?b"], 2),
    ],
)
def test_the_patterns_of_all_commands_choose_the_tools_of_the_contract(run_pytest, patterns, tools):
    file = (
        "from tools_core import tool\n@tool(read_only=True)\ndef {}() -> int:\n    'Return a number.'\n    return 1\n"
    )
    process = run_pytest(*patterns, "-k", "description_is_present", rain=file.format("rain") + file.format("snow"))
    assert (f"{tools} passed" in process.stdout) == bool(tools), process.stdout


@pytest.mark.slow
def test_the_contract_is_checked_together_with_the_tests_of_a_suite(run_pytest):
    process = run_pytest("--tool-contract=list_directory", test_it="def test_one(): pass")
    assert f"collected {len(CONTRACT) + 1} items" in process.stdout
    process = run_pytest("--tool-contract=list_directory", "-m", "not tool_contract")
    assert "1 passed" in process.stdout


@pytest.mark.slow
def test_an_unknown_tool_is_a_usage_error(run_pytest):
    process = run_pytest("--tool-contract=reed_file")
    assert process.returncode == pytest.ExitCode.USAGE_ERROR
    assert 'no tool or package "reed_file"' in process.stdout and "read_file" in process.stdout


@pytest.fixture
def installed(tmp_path):
    """A folder with a distribution of broken tools."""
    folder = tmp_path / "installed"
    information = folder / "tools_bad-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Name: tools-bad\nVersion: 1.0\n", encoding="utf-8")
    (information / "entry_points.txt").write_text(
        "[ask_tools.tools]\nbad = tools_bad:bad\nmissing = tools_bad:missing\nrisky = tools_bad:risky\n"
        "pair_one = tools_bad:Pair.one\npair_two = tools_bad:Pair.two\n", encoding="utf-8"
    )  # fmt: skip
    (folder / "tools_bad.py").write_text(
        'from typing import Annotated\nfrom tools_core import Toolset, tool\n\nprint("hello")\n\n'
        "@tool(read_only=True)\ndef bad(x: str) -> str:\n    return x[0]\n\n"
        "@tool(destructive=True)\ndef risky(path: Annotated[str, 'A path']) -> None:\n"
        "    '''Write.'''\n    open('ran', 'w').close()\n\n"
        "class Pair(Toolset):\n    '''Two.'''\n    def one(self) -> int:\n        '''One.'''\n        return 1\n"
        "    def two(self) -> int:\n        '''Two.'''\n        return 2\n", encoding="utf-8"
    )  # fmt: skip
    return {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])}


@pytest.mark.slow
def test_every_broken_promise_is_reported_with_its_fix(run_pytest, installed):
    process = run_pytest("--tool-contract=bad", env=installed)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED
    for name in (
        "description_is_present",
        "parameters_are_described",
        "body_does_not_crash",
        "import_has_no_side_effects",
    ):
        assert f"{name}: {CONTRACT[name].demand}" in process.stdout
        assert f"fix: {CONTRACT[name].fix}" in process.stdout
    assert "Traceback" not in process.stdout
    assert "4 failed" in process.stdout


@pytest.mark.slow
def test_a_destructive_tool_is_checked_and_never_runs(run_pytest, installed, tmp_path):
    process = run_pytest("--tool-contract=risky", env=installed)
    assert "1 failed" in process.stdout, process.stdout  # the module prints when it is imported
    assert "risky" in process.stdout
    assert not (tmp_path / "suite" / "ran").exists()


def test_an_installed_tool_that_does_not_load_fails_with_the_reason(run_pytest, installed):
    process = run_pytest("--tool-contract=missing", env=installed)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED
    assert "missing" in process.stdout and "has no attribute" in process.stdout and "fix:" in process.stdout


def test_each_tool_of_a_toolset_is_checked(run_pytest, installed):
    process = run_pytest("--tool-contract=pair_*", "-k", "description_is_present or deterministic", "-v", env=installed)
    assert process.returncode == 0, process.stdout
    assert "pair_one::description_is_present PASSED" in process.stdout
    assert "pair_two::definition_is_deterministic PASSED" in process.stdout


# Snapshots

SNAPSHOT = (
    HEAD
    + """
def test_definition(tool_snapshot):
    tool_snapshot(repeat)
"""
)


@pytest.mark.slow
def test_a_definition_is_recorded_and_then_compared(run_pytest, tmp_path):
    record = tmp_path / "suite" / "__tool_snapshots__" / "test_it" / "repeat.json"
    process = run_pytest(test_it=SNAPSHOT)
    assert "`repeat` has no recorded definition: run pytest --tool-snapshot-update" in process.stdout
    assert not record.exists()
    process = run_pytest("--tool-snapshot-update")
    assert process.returncode == 0 and f"recorded: {record}" in process.stdout
    assert json.loads(record.read_text(encoding="utf-8"))["name"] == "repeat"
    assert run_pytest().returncode == 0
    changed = SNAPSHOT.replace("times: Annotated[int,", "count: Annotated[int,").replace("times", "count")
    process = run_pytest(test_it=changed)
    assert "the definition of `repeat` has changed:" in process.stdout
    assert '-      "times": {' in process.stdout and '+      "count": {' in process.stdout
    process = run_pytest("--tool-snapshot-update")
    assert f"updated: {record}" in process.stdout
    assert run_pytest().returncode == 0
    assert [path.name for path in record.parent.iterdir()] == ["repeat.json"]


INSTALLED = "def test_installed(tool_snapshot, call_tool):\n    from tools_core import registry\n"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_snapshots_of_equal_names_stay_apart_and_unused_ones_are_reported(run_pytest, tmp_path, workers):
    other = SNAPSHOT.replace("Repeat a text.", "Say it again.")
    glob = f"{INSTALLED}    tool_snapshot(registry['glob'])\n"
    process = run_pytest("--tool-snapshot-update", *workers, test_a=SNAPSHOT, test_b=other, test_c=glob)
    folder = tmp_path / "suite" / "__tool_snapshots__"
    names = ["test_a/repeat.json", "test_b/repeat.json", "tools_filesystem/glob.json"]
    assert [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.json"))] == names
    assert process.stdout.count("recorded: ") == 3
    process = run_pytest(*workers, test_b="def test_nothing(): pass")
    assert process.returncode == 0 and process.stdout.count("unused: ") == 1
    assert f"unused: {folder / 'test_b/repeat.json'}" in process.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["-k", "definition"], ["test_a.py"], ["test_a.py::test_definition"], ["--deselect", "test_c.py"]]
)
def test_a_part_of_the_tests_reports_no_snapshot_as_unused(run_pytest, words):
    run_pytest("--tool-snapshot-update", test_a=SNAPSHOT, test_c=f"{INSTALLED}    tool_snapshot(registry['glob'])\n")
    process = run_pytest(*words)
    assert process.returncode == 0 and "unused" not in process.stdout


def test_two_definitions_of_one_snapshot_are_an_error(run_pytest):
    twice = f"{SNAPSHOT}    tool_snapshot(tool(name='repeat')(lambda: 1))\n"
    process = run_pytest("--tool-snapshot-update", test_it=twice)
    assert "two tools with different definitions are called `repeat`" in process.stdout


@pytest.mark.slow
def test_a_skipped_test_keeps_its_snapshot(run_pytest):
    run_pytest("--tool-snapshot-update", test_a=SNAPSHOT, test_b=SNAPSHOT)
    process = run_pytest(test_b=SNAPSHOT.replace("def test_def", "@pytest.mark.skip\ndef test_def"))
    assert "1 passed, 1 skipped" in process.stdout and "unused" not in process.stdout
