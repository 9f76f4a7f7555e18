"""Jobs, sessions and interpreters belong to a workspace and a run."""

from __future__ import annotations

import os

import pytest

from tools_core import Context
from tools_shell import Bash, JobInput, JobOutput, JobStart, JobStop, Python, end_run


@pytest.fixture
def folders(tmp_path):
    places = [tmp_path / name for name in ("one", "two")]
    for folder in places:
        folder.mkdir()
    yield places
    for run_id in ("mine", "other", ""):
        end_run(run_id)


def strangers(folders):
    """Contexts that have nothing to do with the run "mine" in the first folder."""
    first, two = folders
    return [Context(workspace=first, run_id="other"), Context(workspace=two, run_id="mine"), Context(workspace=first)]


def start(context, command="cat; sleep 900", **arguments):
    result = JobStart(sandbox="none").call({"command": command, "stdin": True, **arguments}, context)
    assert result.ok, result
    return result.output["id"]


def test_no_other_run_or_workspace_reaches_a_job(folders):
    mine = Context(workspace=folders[0], run_id="mine")
    id = start(mine)
    for context in strangers(folders):
        assert JobOutput().call({}, context).output == []
        for tool, arguments in ((JobOutput(), {"cursor": 0}), (JobInput(), {"text": "x"}), (JobStop(), {"grace": 0})):
            refused = tool.call({"id": id, **arguments}, context)
            unknown = tool.call({"id": "job-0", **arguments}, context)
            assert refused.error_type == unknown.error_type == "not_found"
            assert refused.error == unknown.error.replace("job-0", id)
    again = Context(workspace=folders[0], run_id="mine")
    assert [row["id"] for row in JobOutput().call({}, again).output] == [id]
    assert JobOutput().call({"id": id}, again).output["status"] == "running"
    assert JobOutput().call({"id": id}, again).output["output"] == ""


@pytest.mark.parametrize("tool", [Bash, Python])
def test_no_other_run_or_workspace_reaches_a_session(folders, tool):
    argument = "command" if tool is Bash else "code"
    script = "echo $x" if tool is Bash else "print(globals().get('x', ''))"
    instance = tool(sandbox="none")
    mine = Context(workspace=folders[0], run_id="mine")
    assert instance.call({argument: "x=1", "session": "s"}, mine).ok
    for context in strangers(folders):
        assert instance.call({argument: script, "session": "s"}, context).output["output"] == "\n"
    again = Context(workspace=folders[0], run_id="mine")
    assert instance.call({argument: script, "session": "s"}, again).output["output"] == "1\n"


def test_a_workspace_is_its_folder_after_a_rename(folders):
    mine = Context(workspace=folders[0], run_id="mine")
    id = start(mine)
    moved = folders[0].with_name("moved")
    folders[0].rename(moved)
    folders[0].mkdir()
    assert JobOutput().call({"id": id}, mine).error_type == "not_found"
    (moved.parent / "link").symlink_to(moved)
    for path in (moved, moved.parent / "link"):
        assert JobOutput().call({"id": id}, Context(workspace=path, run_id="mine")).ok


def test_direct_calls_without_a_context_share_their_jobs_and_sessions(folders, monkeypatch):
    first, two = folders
    id = JobStart(first, sandbox="none").call(command="sleep 900").output["id"]
    assert [row["id"] for row in JobOutput(first).call().output] == [id]
    assert JobOutput(two).call().output == []
    assert JobOutput(first).call({"id": id}, Context(run_id="other")).error_type == "not_found"
    monkeypatch.chdir(first)
    assert JobStop().call(id=id, grace=0).output["stopped"]
    bash = Bash(first, sandbox="none")
    bash.call(command="x=1", session="s")
    assert bash.call(command="echo $x", session="s").output["output"] == "1\n"


def test_end_run_ends_only_jobs_and_sessions_of_the_run(folders, lifeline):
    mine, other = (Context(workspace=folders[0], run_id=run_id) for run_id in ("mine", "other"))
    bash, python = Bash(sandbox="contained"), Python(sandbox="contained")
    for context in (mine, other):
        bash.call({"command": "x=1", "session": "s"}, context)
    python.call({"code": f"held = open({str(lifeline.path)!r}, 'w')", "session": "s"}, mine)
    id = start(mine, f"exec 9> {lifeline.path}; sleep 900 & echo ready; wait")
    JobOutput().call({"id": id, "wait_for": "ready"}, mine)
    other_job = start(other)
    end_run("mine")
    assert lifeline.holders_are_gone()
    assert JobOutput().call({}, mine).output == []
    assert JobOutput().call({"id": other_job}, other).output["status"] == "running"
    assert bash.call({"command": "echo $x", "session": "s"}, other).output["output"] == "1\n"
    assert bash.call({"command": "echo $x", "session": "s"}, mine).output["output"] == "\n"


def test_a_workspace_that_does_not_exist_is_named(tmp_path):
    for tool, arguments in ((JobOutput(), {}), (JobOutput(), {"id": "x"}), (Bash(), {"command": "1", "session": "s"})):
        result = tool.call(arguments, Context(workspace=tmp_path / "gone"))
        assert result.error_type == "not_found"
        assert str(os.path.join(tmp_path, "gone")) in result.error
