"""Approvals: of one exact call, kept where only their owner writes, and by several processes at once."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tools_core import Context, ToolCall, tool
from tools_runtime._policy import Policy, PolicyError
from tools_runtime._policy._approvals import Approvals, canonical

SAVE = {"path": "a"}


@pytest.fixture
def answers():
    """What the person says, in order, and what was asked."""

    class Person:
        def __init__(self):
            self.says = []
            self.asked = []

        def __call__(self, request):
            self.asked.append(request)
            return self.says.pop(0)

    return Person()


def test_once_is_for_one_call(place, execute, answers, made):
    policy = Policy(ask=answers)
    answers.says = ["once", "no"]
    assert execute(policy, ToolCall("1", "save", SAVE)).is_ok
    assert execute(policy, ToolCall("1", "save", SAVE)).error_type == "denied"
    assert len(made) == 1


def test_a_session_is_this_policy(place, execute, answers, made):
    policy = Policy(ask=answers)
    answers.says = ["session", "no"]
    assert execute(policy, ToolCall("1", "save", SAVE)).is_ok
    assert execute(policy, ToolCall("2", "save", SAVE)).is_ok
    assert execute(Policy(ask=answers), ToolCall("3", "save", SAVE)).error_type == "denied"
    assert not place.approvals.exists()


def test_a_project_is_for_later_policies_too_and_for_this_project_alone(place, execute, answers, tmp_path):
    answers.says = ["project", "no"]
    assert execute(Policy(ask=answers), ToolCall("1", "save", SAVE)).is_ok
    assert execute(Policy(ask=answers), ToolCall("2", "save", SAVE)).is_ok
    assert len(answers.asked) == 1
    other = tmp_path / "other"
    other.mkdir()
    assert execute(Policy(ask=answers, project=other), ToolCall("3", "save", SAVE)).error_type == "denied"


@pytest.mark.parametrize(
    "changed",
    [
        {"path": "b"},
        {"path": "a", "limit": 11},
        {"path": "a", "tags": []},
        {"path": "a", "tags": ["a"]},
        {"path": "a", "force": True},
        {"path": "a "},
        {"path": "A"},
        {"path": "a\u200b"},
        {"path": "\u0430"},
    ],
)
def test_an_approval_is_for_these_very_arguments(place, execute, answers, changed):
    policy = Policy(ask=answers)
    answers.says = ["project", "no"]
    assert execute(policy, ToolCall("1", "save", SAVE)).is_ok
    assert execute(policy, ToolCall("2", "save", changed)).error_type == "denied"


def test_the_same_call_in_another_spelling_is_the_same_call(place, execute, answers):
    policy = Policy(ask=answers)
    answers.says = ["session"]
    assert execute(policy, ToolCall("1", "save", {"path": "a", "limit": 3})).is_ok
    assert execute(policy, ToolCall("2", "save", '{ "limit": "3",\n"path": "\\u0061"}')).is_ok
    assert len(answers.asked) == 1


def test_an_approval_ends_when_the_definition_of_the_tool_changes(place, answers):
    policy = Policy(ask=answers)

    @tool(name="t")
    def first(n: int) -> int:
        """Adds."""
        return n

    @tool(name="t")
    def second(n: int) -> int:
        """Adds, and sends it away."""
        return n

    def key(each):
        return answers_key(policy, each)

    assert key(first) == key(first)
    assert key(first) != key(second)
    assert key(first) != key(tool(first, timeout=3, destructive=True))


@pytest.mark.parametrize(
    "other",
    [
        {"root": "src"},
        {"sandbox": "none"},
        {"env": {"PATH": "/other"}},
        {"shell": "/bin/dash"},
    ],
)
def test_an_approval_of_a_command_is_for_where_it_runs_and_how_it_is_isolated(place, answers, other):
    shell = pytest.importorskip("tools_shell")
    given = {"root": place.project, "sandbox": "contained", **other}
    first, second = shell.Bash(place.project, sandbox="contained"), shell.Bash(**given)
    policy = Policy(ask=answers)

    def key(each):
        return answers_key(policy, each, {"command": "touch made"})

    assert key(first) == key(shell.Bash(place.project, sandbox="contained"))
    assert key(first) != key(second)


def answers_key(policy, each, arguments=None, workspace=None):
    from tools_runtime._policy._approvals import key_of

    call = ToolCall("1", each.name, arguments or {"n": 1})
    return key_of(each, policy.decide(call, each, Context(workspace=workspace)).facts)


def test_an_approval_ends_when_a_link_leads_elsewhere(place, execute, answers):
    policy = Policy(ask=answers)
    link = place.project / "link"
    link.symlink_to("src")
    answers.says = ["project", "no"]
    assert execute(policy, ToolCall("1", "save", {"path": "link/a"})).is_ok
    link.unlink()
    link.symlink_to(place.home)
    assert execute(policy, ToolCall("2", "save", {"path": "link/a"})).error_type == "denied"


def test_what_changes_while_somebody_is_asked_is_not_what_was_approved(place, execute, made):
    link = place.project / "link"
    link.symlink_to("src")

    def ask(request):
        link.unlink()
        link.symlink_to(place.home)
        return "project"

    result = execute(Policy(ask=ask), ToolCall("1", "save", {"path": "link/a"}))
    assert result.error_type == "denied"
    assert "changed" in result.error_message
    assert made == []
    assert not place.approvals.exists()


def test_arguments_that_change_while_somebody_is_asked_are_those_that_were_shown(place, execute, made):
    arguments = {"path": "a", "tags": ["x"]}

    def ask(request):
        arguments["path"] = "/etc/passwd"
        arguments["tags"].append("y")
        return True

    assert execute(Policy(ask=ask), ToolCall("1", "save", arguments)).is_ok
    assert made == [("save", "a", 10)]


def test_a_denial_is_stronger_than_an_approval(place, execute, answers):
    answers.says = ["project"]
    assert execute(Policy(ask=answers), ToolCall("1", "save", SAVE)).is_ok
    place.user.write_text('[[rule]]\ndecision = "deny"\ntool = "save"\n')
    assert execute(Policy(ask=answers), ToolCall("2", "save", SAVE)).error_type == "denied"


def test_how_long_an_answer_may_hold_can_be_limited(place, execute, answers):
    policy = Policy(ask=answers, remember="session")
    answers.says = ["project"]
    result = execute(policy, ToolCall("1", "save", SAVE))
    assert result.error_type == "unavailable"
    assert "one of once, session" in result.error_message
    assert answers.asked[0].scopes == ("once", "session")
    with pytest.raises(PolicyError, match="remember"):
        Policy(remember="ever")


# ------------------------------------------------------------------------------------------------------------- the file


def test_a_repository_cannot_bring_approvals(place, execute, answers):
    answers.says = ["project", "no"]
    assert execute(Policy(ask=answers), ToolCall("1", "save", SAVE)).is_ok
    text = place.approvals.read_text()
    place.approvals.unlink()
    for name in ("approvals.json", ".ask-tools/approvals.json", "ask-tools/approvals.json"):
        (place.project / name).parent.mkdir(exist_ok=True)
        (place.project / name).write_text(text)
    assert execute(Policy(ask=answers), ToolCall("2", "save", SAVE)).error_type == "denied"


def test_the_file_is_its_owners_alone(place):
    Approvals("/p").add("k", "save", {})
    assert stat.S_IMODE(place.approvals.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.approvals.parent.stat().st_mode) == 0o700
    assert [each.name for each in place.approvals.parent.iterdir() if each.name.startswith(".")] == []


def _group_can_write(file):
    file.chmod(0o620)


def _foreign(file):
    os.chown(file, 65534, -1)


def _link(file):
    moved = file.with_name("elsewhere.json")
    file.rename(moved)
    file.symlink_to(moved)


def _no_json(file):
    file.write_text("{")


def _other_form(file):
    file.write_text(json.dumps({"version": 1, "approvals": []}))


def _other_version(file):
    file.write_text(json.dumps({"version": 2}))


def _pipe(file):
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("spoil", [_group_can_write, _foreign, _link, _no_json, _other_form, _other_version, _pipe])
def test_a_file_that_somebody_else_may_have_written_does_not_count(place, execute, answers, spoil, caplog):
    if spoil is _foreign and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    answers.says = ["project", "no", "project"]
    assert execute(Policy(ask=answers), ToolCall("1", "save", SAVE)).is_ok
    spoil(place.approvals)
    with pytest.raises(PolicyError, match="approvals"):
        Approvals(str(place.project)).all()
    assert execute(Policy(ask=answers), ToolCall("2", "save", SAVE)).error_type == "denied"
    policy = Policy(ask=answers)
    assert execute(policy, ToolCall("3", "save", SAVE)).is_ok  # for the session only
    assert execute(policy, ToolCall("4", "save", SAVE)).is_ok
    assert "this session only" in caplog.text


def test_a_folder_that_others_can_write_to_takes_no_approvals(place):
    place.approvals.parent.mkdir(parents=True)
    place.approvals.parent.chmod(0o777)
    with pytest.raises(PolicyError, match="others can write"):
        Approvals("/p").add("k", "save", {})


def test_approvals_are_forgotten(place):
    approvals = Approvals("/p")
    for key in ("aa", "ab", "b"):
        approvals.add(key, "save", {})
    Approvals("/q").add("ac", "save", {})
    assert approvals.forget("a") == 2
    assert list(approvals.all()) == ["b"]
    assert approvals.forget("") == 1
    assert Approvals("/q").holds("ac")


WRITER = """
import sys
from tools_runtime._policy._approvals import Approvals
approvals = Approvals("/p")
print("ready", flush=True)
sys.stdin.readline()
for number in range(25):
    approvals.add(f"{sys.argv[1]}-{number}", "save", {"n": number})
"""


def test_two_processes_that_approve_at_once_lose_nothing(place):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    assert set(Approvals("/p").all()) == {f"{name}-{number}" for name in "ab" for number in range(25)}


# --------------------------------------------------------------------------------------------------------------- hashes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON)
def test_two_values_have_one_text_only_if_they_are_one_value(first, second):
    assert json.loads(canonical(first)) == first
    assume(repr(first) != repr(second))
    if canonical(first) == canonical(second):
        assert first == second  # dicts in another order


@pytest.mark.parametrize(
    ("first", "second"), [(1, 1.0), (1, True), (0, False), ("1", 1), (None, "null"), ([], {}), ("", None), (0.0, -0.0)]
)
def test_values_that_python_takes_for_equal_are_told_apart(first, second):
    assert canonical({"a": first}) != canonical({"a": second})
