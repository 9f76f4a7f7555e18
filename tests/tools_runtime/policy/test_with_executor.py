"""The policy in an executor, and in `ask-tools call`: denied calls do not run, pending calls run after an approval."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from tools_core import Context, ToolCall, tool
from tools_runtime import Executor, Policy

SAVE = {"path": "a"}


@pytest.fixture
def executed():
    """The arguments of the calls that were made."""
    return []


@pytest.fixture
def call(place, tools, executed):
    """Call `save` in a run."""

    @tool
    def save(path: str, limit: int = 10) -> str:
        """Writes a file."""
        executed.append(path)
        return "saved"

    def called(arguments=SAVE, *, run="run-1", **options):
        with Executor([save, tools.look], plugins=False, **options) as executor:
            return executor.call_tool("save", arguments, Context(workspace=place.project, run_id=run))

    return called


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_a_denied_call_names_the_rule(place, call, executed, runtime):
    place.user.write_text('[[rule]]\ndecision = "deny"\ntool = "save"\nreason = "frozen until Monday"\n')
    result = call(policy=Policy(), runtime=runtime)
    assert result.error_type == "denied"
    for words in ("save was not run", "frozen until Monday", f"rule 1 of {place.user}", "Do not work around"):
        assert words in result.error
    assert executed == []


@pytest.mark.parametrize(
    ("answers", "outcomes"),
    [
        (["once", False], ["saved", "denied", "denied"]),
        (["run", None], ["saved", "saved", "approval_required"]),
        (["project"], ["saved", "saved", "saved"]),
    ],
)
def test_an_answer_holds_for_its_scope(call, answers, outcomes):
    policy, remaining = Policy(), iter([*answers, False])

    def outcome(run):
        result = call(run=run, policy=policy, approve=lambda request: next(remaining))
        return result.error_type or result.output

    assert [outcome("run-1"), outcome("run-1"), outcome("run-2")] == outcomes


def test_concurrent_users_of_one_policy_do_not_share_their_answers(place, tools):
    requests = []

    async def approve(request):
        requests.append(request.run_id)
        await asyncio.sleep(0)
        return "run" if request.run_id == "ann" else False

    async def main():
        with Executor([tools.save], policy=Policy(), approve=approve, plugins=False, runtime="async") as executor:
            calls = [executor.acall_tool("save", SAVE, Context(run_id=run)) for run in ("ann", "bob", "ann", "bob")]
            first = await asyncio.gather(*calls[:2])
            return [result.error_type for result in (*first, *(await asyncio.gather(*calls[2:])))]

    assert asyncio.run(main()) == [None, "denied", None, "denied"]
    assert sorted(requests) == ["ann", "bob", "bob"]


# `ask-tools call`


@pytest.fixture
def make_call(place):
    """The function that `ask-tools call` uses."""
    (entry,) = entry_points(group="ask_tools.call")
    function = entry.load()
    return lambda tool, arguments=None, approve=None: function(
        tool, ToolCall(None, tool.name, arguments), Context(workspace=place.project), approve
    )


def test_a_typed_call_runs_unless_a_rule_or_the_tool_prevents_it(place, tools, make_call):
    assert make_call(tools.save, SAVE).output == "saved a"
    assert make_call(tools.fetch).error_type is None
    assert make_call(tools.peek).error_type == "approval_required"
    assert make_call(tools.peek, approve="all").output == "secret"
    place.user.write_text('[[rule]]\ndecision = "ask"\ntool = "save"\n')
    assert make_call(tools.save, SAVE).error_type == "approval_required"
    assert make_call(tools.save, SAVE, lambda request: "once").output == "saved a"
    place.theirs.write_text('[[rule]]\ndecision = "deny"\ntool = "save"\n')
    assert make_call(tools.save, SAVE, "all").error_type == "denied"


def test_an_invalid_policy_denies_a_typed_call(place, tools, make_call):
    place.theirs.write_text("[[rule]]\n")
    result = make_call(tools.save, SAVE)
    assert result.error_type == "denied"
    assert f"{place.theirs}: rule 1: decision is None" in result.error


@pytest.mark.slow
@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_ask_tools_call_obeys_the_policy_of_the_project(place, decision):
    pytest.importorskip("tools_filesystem")
    command = [sys.executable, "-m", "tools_core", "call", "write_file", "path=a", "content=x"]

    def call(*more):
        return subprocess.run(
            [*command, *more], check=False, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        )

    place.theirs.write_text(f'[[rule]]\ndecision = "{decision}"\ntool = "write_file"\nreason = "frozen"\n')
    assert call().returncode == 1
    assert "frozen" in call().stderr if decision == "deny" else "--yes" in call().stderr
    assert call("--yes").returncode == (1 if decision == "deny" else 0)
    assert (place.project / "a").exists() is (decision == "ask")
