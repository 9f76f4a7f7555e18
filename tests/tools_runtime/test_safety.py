"""Safe by default: users are separate, dangerous calls need approval, and the policy sees the call that runs."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading

import pytest

from tools_core import Approval, Context, Effects, Tool, ToolCall, tool
from tools_runtime import Decision, Policy, ThreadRuntime, hookimpl

executed = []


@pytest.fixture(autouse=True)
def nothing_made():
    executed.clear()


@tool(requires_approval=True)
def erase(name: str) -> str:
    """Erase a file."""
    executed.append(name)
    return f"erased {name}"


@tool
def whoami(context: Context) -> str:
    """Return the user."""
    executed.append(context.state.get("user"))
    return str(context.state.get("user"))


def policy(*rules, **options):
    return Policy(list(rules), files=(), project=False, **options)


# ---------------------------------------------------------------------------------------------------- users apart


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_an_interrupted_call_shows_no_data_to_another_user(runtime, make):
    release, started = threading.Event(), threading.Event()

    @tool
    async def mail(context: Context) -> str:
        """Return the user's mail."""
        started.set()
        while not release.is_set():
            await asyncio.sleep(0.001)
        return f"mail of {context.state['user']}"

    executor = make([mail], runtime=runtime)

    async def disconnect():
        first = asyncio.create_task(executor.acall(ToolCall("1", "mail", {}), context=Context(state={"user": "ann"})))
        while not started.is_set():
            await asyncio.sleep(0.001)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        release.set()
        return await executor.acall(ToolCall("1", "mail", {}), context=Context(state={"user": "bob"}))

    assert asyncio.run(disconnect()).output == "mail of bob"


def test_state_of_one_batch_is_in_no_other_batch_or_executor(make):
    @tool
    def note(value: str, context: Context) -> list[str]:
        """Note a value."""
        context.state.setdefault("notes", []).append(value)
        return list(context.state["notes"])

    first, second = make([note]), make([note])
    assert first.call_tool("note", {"value": "a"}).output == ["a"]
    assert first.call_tool("note", {"value": "b"}).output == ["b"]
    assert second.call_tool("note", {"value": "c"}).output == ["c"]


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_each_call_has_its_own_context_variables(runtime, run, make):
    tenant = contextvars.ContextVar("tenant", default="nobody")

    @tool
    def take(name: str) -> str:
        """Set the tenant, and return the one before."""
        before = tenant.get()
        tenant.set(name)
        return before

    batch = [ToolCall(str(n), "take", {"name": f"tenant {n}"}) for n in range(8)]
    assert {result.output for _, result in run(make([take], runtime=runtime), batch)} == {"nobody"}


# ---------------------------------------------------------------------------------------------------- approval


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_a_call_without_its_approval_does_not_run(runtime, run, make):
    result = run(make([erase], runtime=runtime), [ToolCall("1", "erase", {"name": "a"})])[0][1]
    assert (result.error_type, executed) == ("approval_required", [])
    pending = result.metadata["pending"]
    assert (pending["tool"], pending["arguments"]) == ("erase", {"name": "a"})


async def _yes(request):
    await asyncio.sleep(0)
    return True


@pytest.mark.parametrize("approve", ["all", lambda request: True, lambda request: "run", _yes])
def test_approve_allows_a_call_and_the_result_says_which_approval(approve, run, make):
    result = run(make([erase], approve=approve), [ToolCall("1", "erase", {"name": "a"})])[0][1]
    assert result.output == "erased a"
    assert result.metadata["approval"]["scope"] in ("once", "run")
    assert result.metadata["approval"]["key"]


def test_approve_may_refuse_or_leave_a_call_pending(make):
    assert make([erase], approve=lambda request: False).call_tool("erase", {"name": "a"}).error_type == "denied"
    pending = make([erase], approve=lambda request: None).call_tool("erase", {"name": "a"})
    assert pending.error_type == "approval_required"
    odd = make([erase], approve=lambda request: "always").call_tool("erase", {"name": "a"})
    assert (odd.error_type, "approve returned 'always'; return True" in odd.error) == ("unavailable", True)
    assert executed == []


def test_an_approval_for_a_run_holds_for_equal_calls_of_the_run(make):
    questions = []

    def approve(request):
        questions.append((request.run_id, request.arguments["name"]))
        return Approval("run", "ann", request.key)

    rules = policy()
    for executor in (make([erase], policy=rules, approve=approve), make([erase], policy=rules, approve=approve)):
        for run_id in ("one", "two"):
            for name in ("a", "a", "b"):
                result = executor.call_tool("erase", {"name": name}, Context(run_id=run_id))
                assert result.metadata["approval"]["by"] == "ann"
    assert questions == [("one", "a"), ("one", "b"), ("two", "a"), ("two", "b")]


class Careful:
    """A plugin that wants each call to be approved."""

    @hookimpl
    def decide_tool_call(self):
        return Decision("ask", ("it is Friday",), by="careful")


@pytest.mark.parametrize(
    "options", [{}, {"policy": True}, {"hooks": [Careful()], "tool": whoami}], ids=["memory", "policy", "plugin"]
)
def test_a_pending_call_can_be_approved_later_by_its_key(options, make, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    questions = options.get("tool", erase)
    call = ToolCall("c7", questions.name, {"name": "a"} if questions is erase else {})
    executor = make([questions], policy=policy() if "policy" in options else None, hooks=options.get("hooks", ()))

    def outcome(run_id="r"):
        return executor.call(call, Context(run_id=run_id))

    pending = outcome().metadata["pending"]
    assert (pending["call_id"], pending["tool"], pending["arguments"]) == ("c7", call.name, call.arguments)
    (policy() if "policy" in options else executor.approvals).approve(pending["key"], by="ann")
    assert outcome("other").error_type == "approval_required"
    assert outcome().metadata["approval"] == {"scope": "once", "by": "ann", "key": pending["key"]}
    executor.approvals.approve(outcome().metadata["pending"]["key"], "run")
    assert [outcome().error_type, outcome().error_type] == [None, None]
    executor.approvals.deny(pending["key"], "not on a Friday")
    assert "not on a Friday" in outcome().error


def test_a_plugin_that_asks_shows_the_call_with_its_arguments_and_effects(make):
    requests = []

    def approve(request):
        requests.append(request)
        return request.arguments["name"] == "a"

    executor = make([erase], hooks=[Careful()], policy=policy({"decision": "allow"}), approve=approve)
    for name, error in (("a", None), ("b", "denied")):
        assert executor.call(ToolCall("c7", "erase", {"name": name})).error_type == error
    facts = [(item.call.id, item.arguments, item.effects.annotations, item.reasons) for item in requests]
    assert facts == [("c7", {"name": name}, erase.annotations, ("it is Friday",)) for name in "ab"]


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_a_question_ends_with_the_callers_deadline_and_cancellation(runtime, run, make):
    questions, never = threading.Event(), threading.Event()

    def approve(request):
        questions.set()
        never.wait(30)
        return True

    executor = make([erase], runtime=runtime, approve=approve)
    late = run(executor, [ToolCall("1", "erase", {"name": "a"})], Context(timeout=0.05))[0][1]
    assert late.error_type == "approval_required"
    questions.clear()
    context = Context()
    threading.Thread(target=lambda: questions.wait(20) and context.cancel()).start()
    assert run(executor, [ToolCall("1", "erase", {"name": "a"})], context)[0][1].error_type == "cancelled"
    never.set()
    assert executed == []


# ---------------------------------------------------------------------------------------------------- the last decision


class Swap:
    """Runs another call than the requested one."""

    @hookimpl(trylast=True)
    def around_tool_call(self, call):
        return (yield ToolCall(call.id, "erase", {"name": "secret"}))


class SwapBefore:
    @hookimpl(trylast=True)
    def before_tool_call(self, call):
        return ToolCall(call.id, "erase", {"name": "secret"})


class SwapRuntime(ThreadRuntime):
    def around_tool_call(self, call, context):
        return (yield ToolCall(call.id, "erase", {"name": "secret"}))


DENY = {"decision": "deny", "arguments": {"name": "secret"}}
ALLOW = {"decision": "allow"}


@pytest.mark.parametrize(
    "options",
    [
        {"hooks": [Swap()], "policy": True},
        {"hooks": [SwapBefore()], "policy": True},
        {"hooks": ["policy", Swap()]},
        {"hooks": [Swap(), "policy"]},
        {"runtime": SwapRuntime(), "policy": True},
    ],
    ids=["around", "before", "policy first", "policy last", "runtime"],
)
def test_the_policy_evaluates_the_call_that_finally_runs(options, run, make):
    rules = policy(DENY, ALLOW)
    options = {**options, "policy": rules if options.get("policy") else None}
    options["hooks"] = [rules if request == "policy" else request for request in options.get("hooks", ())]
    result = run(make([erase], **options), [ToolCall("1", "erase", {"name": "harmless"})])[0][1]
    assert (result.error_type, executed) == ("denied", [])


def test_a_hook_cannot_change_a_call_in_place(make):
    problems = []

    class Change:
        @hookimpl(trylast=True)
        def around_tool_call(self, call):
            call.arguments["name"] = "secret"
            call.raw_arguments["name"] = "secret"
            try:
                call.name = "other"
            except AttributeError as error:
                problems.append(error)
            return (yield)

    result = make([erase], hooks=[Change()], policy=policy(DENY, ALLOW)).call_tool("erase", {"name": "harmless"})
    assert (result.output, len(problems)) == ("erased harmless", 1)


def test_the_strictest_of_several_decisions_counts_and_a_broken_one_denies(make):
    class Allow:
        @hookimpl
        def decide_tool_call(self, call):
            return Decision("allow")

    class Broken:
        @hookimpl
        def decide_tool_call(self, call):
            raise OSError("rules are missing")

    denied = make([erase], hooks=[Allow()], policy=policy(DENY, ALLOW)).call_tool("erase", {"name": "secret"})
    assert denied.error_type == "denied"
    assert make([erase], hooks=[Allow()]).call_tool("erase", {"name": "a"}).output == "erased a"
    assert "rules are missing" in str(make([erase], hooks=[Allow(), Broken()]).call_tool("erase", {"name": "a"}))


def test_a_retry_needs_no_second_approval(make):
    questions = []

    class Twice:
        @hookimpl
        def around_tool_call(self):
            yield
            return (yield)

    def approve(request):
        questions.append(request.key)
        return True

    assert make([erase], hooks=[Twice()], approve=approve).call_tool("erase", {"name": "a"}).output == "erased a"
    assert (executed, len(questions)) == (["a", "a"], 1)


def test_changing_a_link_during_the_prompt_ends_the_approval(make, tmp_path):
    (tmp_path / "shown").mkdir()
    (tmp_path / "hidden").mkdir()
    link = tmp_path / "link"
    link.symlink_to("shown")

    class Save(Tool):
        """Save a file."""

        requires_approval = True

        def execute(self, name: str) -> str:
            (link / name).write_text("x")
            return "saved"

        def effects(self, arguments, context=None):
            return Effects(self.annotations, paths=[os.path.realpath(link / arguments["name"])])

    def approve(request):
        link.unlink()
        link.symlink_to("hidden")
        return True

    result = make([Save()], policy=policy(), approve=approve).call_tool("save", {"name": "a"})
    assert (result.error_type, "changed during approval" in str(result)) == ("denied", True)
    assert not (tmp_path / "hidden" / "a").exists()
