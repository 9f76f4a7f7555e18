"""`ask-tools policy` as users run it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tools_core import Context, ToolCall
from tools_runtime import Executor, Policy

pytest.importorskip("tools_filesystem")

WRITE = ("explain", "write_file", "path=src/a", "content=x")
ALLOW = '[[rule]]\ndecision = "allow"\ntool = "write_file"\npaths = ["src/**"]\nreason = "sources"\n'


@pytest.fixture
def run(place):
    """Run it in the project, and return the exit code and its output."""

    def ran(*words):
        command = [sys.executable, "-m", "tools_core", "policy", *words]
        process = subprocess.run(command, check=False, capture_output=True, text=True, encoding="utf-8", timeout=60)
        return process.returncode, process.stdout, process.stderr

    return ran


@pytest.fixture
def pending(place):
    """Run a call that no rule allows."""

    def run():
        call = ToolCall(None, "write_file", {"path": "src/a", "content": "x"})
        executor = Executor(policy=Policy(), plugins=False)
        return executor.call(call, Context(workspace=place.project, run_id="run-1"))

    return run


def test_explain_shows_the_rule_and_the_effects_without_running(place, run):
    place.user.write_text(ALLOW)
    status, out, _ = run(*WRITE)
    assert status == 0
    for words in ("decision: allow", f"by: rule 1 of {place.user}", 'paths = ["src/**"]', "reasons: sources",
                  f"paths: {place.project / 'src/a'}"):  # fmt: skip
        assert words in out
    assert not (place.project / "src/a").exists()


def test_explain_as_json_has_the_facts(run):
    status, out, _ = run("explain", "--json", "bash", '{"command": "ls; rm -rf x"}')
    report = json.loads(out)
    assert (status, report["decision"], report["by"], report["rule"]) == (1, "ask", "the default", "")
    assert report["arguments"] == {"command": "ls; rm -rf x"}
    if report["commands"] is not None:  # with a parser
        assert report["commands"] == [["ls"], ["rm", "-rf", "x"]]


def test_a_call_of_a_tool_in_a_file_is_explained(tmp_path, run):
    path = tmp_path / "weather.py"
    path.write_text(
        "from tools_core import tool\n\n\n@tool(read_only=True)\ndef rain(days: int) -> bool:\n    return True\n"
    )
    status, out, _ = run("explain", f"{path}:rain", "days=2", "--json")
    assert (status, json.loads(out)["arguments"]) == (0, {"days": 2})


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("explain",),
        ("explain", "nope"),
        ("explain", "read_file"),
        ("explain", "read_file", "path"),
        ("explain", "read_file", '{"path": "a", "path": "b"}'),
        ("approve",),
    ],
)
def test_wrong_usage_is_an_error(run, words):
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")


def test_an_invalid_policy_is_an_error_of_the_command(place, run):
    place.user.write_text('[[rule]]\ndecision = "alow"\n')
    for words in (WRITE, ("check",)):
        status, out, err = run(*words)
        assert status == 1
        assert f"{place.user}: rule 1: decision is 'alow'" in out + err


def test_check_reports_unknown_names_and_missing_trust(place, run):
    place.user.write_text(
        """
        [[rule]]
        decision = "deny"
        tool = ["read_fil", "write_*", "*"]
        arguments = { path = "b" }
        [[rule]]
        decision = "deny"
        tool = "glob"
        arguments = { patern = { glob = "**" } }
        """
    )
    place.theirs.write_text('[[rule]]\ndecision = "allow"\ntool = "glob"\n')
    status, out, _ = run("check", "--json")
    report = json.loads(out)
    assert (status, report["rules"]) == (1, 3)
    assert report["problems"] == [
        f"rule 1 of {place.user}: no installed tool is called 'read_fil' (did you mean read_file?)",
        f"rule 2 of {place.user}: no tool that it is for has an argument 'patern' (did you mean pattern?)",
    ]
    place.user.unlink()
    status, out, _ = run("check")
    assert status == 0
    assert "notes: the project's rules that allow calls do not count before: ask-tools policy trust" in out


def test_check_names_extras_to_install(place, run):
    site = place.home / "site"
    metadata = site / "needy-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: needy\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[ask_tools.tools]\nneedy = needy:Needy\n")
    (site / "needy.py").write_text(
        "from tools_core import Effects, Tool\n"
        "class Needy(Tool):\n"
        "    'Runs a script.'\n"
        "    def execute(self, script: str, times: int) -> str: ...\n"
        "    def effects(self, arguments, context=None):\n"
        "        return Effects({}, commands=None, missing=['needy[parser]'] if arguments['script'] else [])\n"
    )
    place.user.write_text('[[rule]]\ndecision = "allow"\ntool = "needy"\ncommands = ["ls *"]\n')
    program = f"import sys; sys.path.insert(0, {str(site)!r}); from tools_core.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "policy", "check"]
    out = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60).stdout
    assert "it cannot be evaluated without needy[parser]; install it" in out


def test_trust_lets_the_projects_file_allow_until_it_changes(place, run):
    assert run("trust")[0] == 1
    place.theirs.write_text(ALLOW)
    assert run(*WRITE)[0] == 1
    status, out, _ = run("trust")
    assert status == 0
    assert out.startswith(f"trusted: {place.theirs}\nrules: decision = ")
    assert run(*WRITE)[0] == 0
    place.theirs.write_text(ALLOW + "\n")
    assert run(*WRITE)[0] == 1


def test_a_pending_call_is_approved_once_or_for_the_project(run, pending):
    key = pending().metadata["pending"]["key"]
    assert run("approve", key)[:2] == (0, f"approved: {key}\nscope: once\n")
    assert [pending().error_type for _ in range(2)] == [None, "approval_required"]
    assert run("approve", key, "--scope", "project")[0] == 0
    assert pending().ok
    status, out, _ = run(*WRITE)
    assert status == 0
    assert "approved_by: " in out


def test_a_pending_call_is_denied(run, pending):
    key = pending().metadata["pending"]["key"]
    assert run("deny", key, "--reason", "not now")[0] == 0
    assert "not now" in pending().error
    assert run("approve", "nonsense")[0] == 1


@pytest.mark.slow
def test_answers_are_listed_and_forgotten(run, pending):
    assert run("approvals")[:2] == (0, "")
    key = pending().metadata["pending"]["key"]
    run("deny", key, "--reason", "\x1b[2J")
    status, out, _ = run("approvals")
    assert status == 0
    assert key in out
    assert json.loads(run("approvals", "--json")[1])[key]["scope"] == "deny"
    assert [run("approvals", "--forget", key[:16])[0] for _ in range(2)] == [0, 1]
    assert run("approvals", "--forget", "all")[0] == 0
    assert pending().error_type == "approval_required"
