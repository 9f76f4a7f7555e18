"""Approvals: of one exact call, for one run or a project, from any process of the same user."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tools_core import Approval, Context, Effects, Tool, ToolCall, tool
from tools_runtime import Executor, Policy, PolicyError

SAVE = {"path": "a"}


@pytest.fixture
def decide(place, tools):
    """Run a call, with a policy that has no rules, and return its outcome, its request and its approval."""

    def decide(policy=None, arguments=SAVE, *, run="run-1", tool=tools.save, workspace=place.project, answer=None):
        requests = []
        executor = Executor(
            [tool], policy=policy or Policy(), approve=lambda request: requests.append(request) or answer, plugins=False
        )
        result = executor.call(ToolCall("1", tool.name, arguments), Context(workspace=workspace, run_id=run))
        return SimpleNamespace(
            outcome={None: "allow", "approval_required": "ask", "denied": "deny"}[result.error_type],
            request=requests[0] if requests else None,
            approval=result.metadata.get("approval"),
            error=result.error,
        )

    return decide


def remember(policy, decide, scope, by="ann", **options):
    """Answer the request for a call."""
    decide(policy, answer=Approval(scope, by), **options)


def test_a_request_is_plain_json_with_everything_that_a_reviewer_needs(place, decide):
    request = decide().request
    document = json.loads(json.dumps(request.to_dict()))
    assert document["run_id"] == "run-1"
    assert document["key"] == request.key
    assert document["key"].startswith("run-1.")
    assert document["arguments"] == {"path": "a"}
    assert document["effects"]["paths"] == [str(place.project / "a")]
    assert document["scopes"] == ["once", "run", "project"]
    assert document["reasons"] == ["no rule matches; the call is not marked read-only"]


def test_once_is_not_remembered_by_the_policy(decide):
    policy = Policy()
    remember(policy, decide, "once")
    assert decide(policy).outcome == "ask"


def test_a_run_is_that_run_alone(place, decide):
    policy = Policy()
    remember(policy, decide, "run")
    allowed = decide(policy)
    assert (allowed.outcome, allowed.approval["scope"], allowed.approval["by"]) == ("allow", "run", "ann")
    assert decide(policy, run="run-2").outcome == "ask"
    assert decide(Policy()).outcome == "ask"
    assert not place.approvals.exists()


def test_runs_without_a_name_do_not_share_approvals(decide):
    policy = Policy()
    first, second = decide(policy, run=None), decide(policy, run=None)
    assert first.request.key != second.request.key
    remember(policy, decide, "run", run=None)
    assert decide(policy, run=None).outcome == "ask"


def test_an_approval_for_a_project_holds_in_all_its_runs(decide, tmp_path):
    policy = Policy()
    remember(policy, decide, "project")
    assert decide(Policy(), run="run-2").approval["scope"] == "project"
    other = tmp_path / "other"
    other.mkdir()
    assert decide(Policy(project=other)).outcome == "ask"


@pytest.mark.parametrize(
    "changed",
    [
        {"path": "b"},
        {"path": "a", "limit": 11},
        {"path": "a", "force": True},
        {"path": "a\u200b"},
        {"path": "\u0430"},
    ],
)
def test_an_approval_is_for_these_very_arguments(decide, changed):
    policy = Policy()
    remember(policy, decide, "project")
    assert decide(policy, changed).outcome == "ask"


def test_the_same_call_in_another_spelling_is_the_same_call(decide):
    first, second = decide(None, {"path": "a", "limit": 3}), decide(None, '{ "limit": "3",\n"path": "\\u0061"}')
    assert first.request.key == second.request.key


def test_an_approval_is_for_this_definition_these_settings_and_this_workspace(place, decide, tools):
    class Isolated(Tool):
        """Runs."""

        def __init__(self, level):
            self.level = level

        def execute(self) -> str:
            return ""

        def effects(self, arguments, context=None):
            return Effects({}, settings={"isolation": self.level})

    def key(**options):
        return decide(None, **options).request.key

    assert key(arguments={}, tool=Isolated("full")) == key(arguments={}, tool=Isolated("full"))
    assert key(arguments={}, tool=Isolated("full")) != key(arguments={}, tool=Isolated("none"))
    assert key() != key(tool=tool(tools.save, destructive=True))
    assert key(arguments={"path": "/a"}) != key(arguments={"path": "/a"}, workspace=place.home)


def test_an_approval_ends_when_a_link_has_another_target(place, decide):
    policy = Policy()
    link = place.project / "link"
    link.symlink_to("src")
    remember(policy, decide, "project", arguments={"path": "link/a"})
    assert decide(policy, {"path": "link/a"}).outcome == "allow"
    link.unlink()
    link.symlink_to(place.home)
    assert decide(policy, {"path": "link/a"}).outcome == "ask"


def test_a_rule_that_denies_is_stronger_than_an_approval(place, decide):
    remember(Policy(), decide, "project")
    assert decide().outcome == "allow"
    place.user.write_text('[[rule]]\ndecision = "deny"\ntool = "save"\n')
    assert decide().outcome == "deny"


# other processes


def in_another_process(code, *arguments):
    program = f"import sys; from tools_runtime import Policy, PolicyError; key = sys.argv[1]; {code}"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, check=True, cwd="/", capture_output=True, text=True, timeout=60).stdout


def test_another_process_approves_one_call(decide):
    policy = Policy()
    key = decide(policy).request.key
    in_another_process("Policy().approve(key, by='ann')", key)
    assert decide(policy, {"path": "b"}).outcome == "ask"
    assert decide(policy, run="run-2").outcome == "ask"
    allowed = decide(policy)
    assert allowed.outcome == "allow"
    assert allowed.approval == {"scope": "once", "by": "ann", "key": key}
    assert decide(policy).outcome == "ask"
    assert decide(Policy()).outcome == "ask"


def test_another_process_approves_a_run_or_the_project(decide):
    policy = Policy()
    in_another_process("Policy().approve(key, 'run', by='ann')", decide(policy).request.key)
    assert [decide(policy).outcome for _ in range(2)] == ["allow", "allow"]
    assert decide(Policy()).approval["by"] == "ann"
    request = decide(policy, run="run-2").request
    in_another_process("Policy().approve(key, 'project')", request.key)
    assert decide(policy, run="run-3").approval["scope"] == "project"


def test_another_process_denies_a_call_for_the_run(decide):
    policy = Policy()
    key = decide(policy).request.key
    in_another_process("Policy().deny(key, 'not on a Friday', by='ann')", key)
    denied = decide(policy)
    assert (denied.outcome, "not on a Friday" in denied.error) == ("deny", True)
    assert decide(policy, run="run-2").outcome == "ask"
    policy.approve(key)
    assert decide(policy).outcome == "allow"


def test_of_several_processes_one_uses_an_approval_up(decide, place):
    policy = Policy()
    key = decide(policy).request.key
    policy.approve(key)
    program = (
        "import sys; from pathlib import Path; from tools_core import Context, ToolCall, tool\n"
        "from tools_runtime import Executor, Policy\n"
        "@tool\n"
        "def save(path: Path, limit: int = 10, tags: list[str] | None = None, force: bool = False) -> str:\n"
        "    'Writes a file.'\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "context = Context(workspace='.', run_id='run-1')\n"
        "print(Executor([save], policy=Policy()).call(ToolCall('1', 'save', {'path': 'a'}), context).error_type)"
    )
    command = [sys.executable, "-c", program]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": place.project}
    processes = [subprocess.Popen(command, **pipes) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    outcomes = sorted(process.communicate(timeout=60)[0] for process in processes)
    assert outcomes == ["None\n", "approval_required\n", "approval_required\n"]


def test_two_processes_can_approve_at_the_same_time(place):
    keys = [f"run-{number}.{number:064x}" for number in range(40)]
    code = "print('ready', flush=True); sys.stdin.readline(); [Policy().approve(each, 'run') for each in sys.argv[1:]]"
    program = f"import sys; from tools_runtime import Policy; {code}"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([sys.executable, "-c", program, *part], **pipes) for part in (keys[:20], keys[20:])]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("\n", timeout=60)
        assert writer.returncode == 0
    assert set(json.loads(place.approvals.read_text())["answers"]) == set(keys)


@pytest.mark.parametrize(
    ("key", "scope"),
    [("", "once"), ("run-1", "run"), ("run-1.abc", "once"), ("." + "0" * 64, "project"), ("run-1." + "0" * 64, "ever")],
)
def test_a_key_or_scope_that_does_not_exist_is_refused(key, scope):
    with pytest.raises(PolicyError, match=r"key of a request|scope is 'ever'"):
        Policy().approve(key, scope)


# the file


def test_the_file_belongs_to_its_owner_alone(place, decide):
    Policy().approve(decide().request.key)
    assert stat.S_IMODE(place.approvals.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.approvals.parent.stat().st_mode) == 0o700
    assert [file.name for file in place.approvals.parent.iterdir() if file.name.startswith(".")] == []


def _all_can_write(file):
    file.chmod(0o602)


def _foreign(file):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(file, 65534, -1)


def _not_json(file):
    file.write_text("{")


def _other_version(file):
    file.write_text(json.dumps({"version": 1}))


def _pipe(file):
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("spoil", [_all_can_write, _foreign, _not_json, _other_version, _pipe])
def test_a_file_that_another_user_may_have_written_does_not_count(place, decide, spoil, caplog):
    policy = Policy()
    remember(policy, decide, "project")
    spoil(place.approvals)
    assert decide(policy, run="run-2").outcome == "ask"
    with pytest.raises(PolicyError, match=r"approvals\.json"):
        policy.approve(decide(policy).request.key)
    remember(policy, decide, "project")
    assert [decide(policy).outcome, decide(policy, run="run-2").outcome] == ["allow", "ask"]
    assert "holds for this run only" in caplog.text


def test_a_folder_that_other_users_can_write_to_takes_no_approvals(place, decide):
    place.approvals.parent.mkdir(parents=True)
    place.approvals.parent.chmod(0o777)
    with pytest.raises(PolicyError, match="other users can write"):
        Policy().approve(decide().request.key)
