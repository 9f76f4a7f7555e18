"""The policy as a hook: what is denied is not called, and what is allowed goes the way of all calls."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import Context, Registry, Result, Tool, ToolCall, tool
from tools_runtime import Executor, hookimpl
from tools_runtime._policy import Policy, PolicyError

SAVE = ToolCall("1", "save", {"path": "a"})
DENY = [{"decision": "deny", "tool": "save", "reason": "frozen until Monday"}]
RUNTIMES = ["inline", "thread", "async"]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_denied_call_is_a_result_that_says_by_what_and_why(place, execute, made, runtime):
    place.user.write_text('[[rule]]\ndecision = "deny"\ntool = "save"\nreason = "frozen until Monday"\n')
    result = execute(Policy(), SAVE, runtime=runtime)
    assert result.error_type == "denied"
    for words in ("save was not called", "frozen until Monday", f"rule 1 of {place.user}", "Do not try"):
        assert words in result.error_message
    assert result.metadata["policy"]["decision"] == "deny"
    assert made == []


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_allowed_call_is_made_and_gives_its_own_result(place, execute, made, runtime):
    result = execute(Policy([{"decision": "allow", "tool": "save"}], files=[]), SAVE, runtime=runtime)
    assert result == Result.ok("saved")
    assert made == [("save", "a", 10)]


def test_without_a_terminal_the_message_says_who_can_allow_it(place, execute, made):
    result = execute(Policy(), SAVE)
    assert result.error_type == "denied"
    assert str(place.user) in result.error_message
    assert made == []


@pytest.mark.parametrize("arguments", ['{"path": "a", "path": "b"}', '{"path": ', {"pth": "a"}, {}, "[]", {"path": 3}])
def test_invalid_arguments_are_refused_by_the_tool_and_nobody_is_asked(place, execute, made, arguments):
    asked = []
    policy = Policy([{"decision": "allow", "tool": "*"}], files=[], ask=asked.append)
    result = execute(policy, ToolCall("1", "save", arguments))
    assert result.error_type == "validation_error"
    assert (made, asked) == ([], [])


def test_arguments_without_a_bottom_are_refused(place, execute, made):
    deep = []
    for _ in range(5000):
        deep = [deep]
    for arguments in ({"path": "a", "tags": deep}, '{"path": "a", "tags": ' + "[" * 5000 + "]" * 5000 + "}"):
        assert execute(Policy([{"decision": "allow"}], files=[]), ToolCall("1", "save", arguments)).is_error
    assert made == []


def test_huge_arguments_are_judged_and_remembered_by_their_hash(place, execute, made):
    policy = Policy(ask=lambda request: "project")
    assert execute(policy, ToolCall("1", "look", {"what": "x" * 5_000_000})).is_ok
    tags = ["x" * 1000] * 5000
    assert execute(policy, ToolCall("1", "save", {"path": "a", "tags": tags})).is_ok
    assert place.approvals.stat().st_size < 2000
    assert execute(Policy(ask=lambda request: None), ToolCall("2", "save", {"path": "a", "tags": tags})).is_ok
    tags[-1] += "x"
    assert (
        execute(Policy(ask=lambda request: None), ToolCall("3", "save", {"path": "a", "tags": tags})).error_type
        == "denied"
    )


def test_a_tool_with_a_call_of_its_own_does_not_get_what_is_not_understood(place):
    ran = []

    class Lenient(Tool):
        """Takes anything."""

        name = "lenient"

        def execute(self, n: int = 0) -> int:
            return n

        def call(self, arguments=None, /, context=None, **keywords):
            ran.append(arguments)
            return Result.ok("ran")

    with Executor(
        [Lenient()], policy=Policy([{"decision": "allow", "tool": "lenient"}], files=[]), plugins=False
    ) as executor:
        assert executor.call(ToolCall("1", "lenient", '{"n": 1, "n": 2}')).error_type == "validation_error"
        assert ran == []
        assert executor.call(ToolCall("1", "lenient", {"n": 2})).is_ok


@pytest.mark.parametrize("name", ["nope", "s\u0430ve", "save\u200b", "SAVE"])
def test_an_unknown_tool_is_unknown_and_nobody_is_asked(place, execute, made, name):
    asked = []
    result = execute(
        Policy([{"decision": "allow", "tool": "*"}], files=[], ask=asked.append), ToolCall("1", name, {"path": "a"})
    )
    assert result.error_type == "unknown_tool"
    assert (made, asked) == ([], [])


class Broken(Tool):
    """Fails when it is asked what it would do."""

    name = "broken"
    ran = False

    def execute(self) -> str:
        Broken.ran = True
        return "ran"

    def annotations_for(self, arguments):
        raise RuntimeError("annotations_for failed")


class Mistaken(Broken):
    """Says it in a form that nobody understands."""

    name = "mistaken"
    touched = ("x",)

    def annotations_for(self, arguments):
        return {"read_only": True}

    def resources_for(self, arguments, context=None):
        return {"paths": ["relative"]}


class Stringly(Mistaken):
    """Says commands as text."""

    name = "stringly"

    def resources_for(self, arguments, context=None):
        return {"commands": ["rm -rf x"]}


@pytest.mark.parametrize("kind", [Broken, Mistaken, Stringly])
def test_a_tool_that_cannot_say_what_it_would_do_is_not_called(place, kind):
    Broken.ran = False
    with Executor([kind()], policy=Policy([{"decision": "allow", "tool": "*"}], files=[]), plugins=False) as executor:
        assert executor.call(ToolCall("1", kind().name, {})).error_type == "unavailable"
    assert not Broken.ran


@pytest.mark.parametrize("answer", ["sure", 1, "", "ONCE", object()])
def test_an_answer_that_is_none_is_no_approval(place, execute, made, answer):
    assert execute(Policy(ask=lambda request: answer), SAVE).is_error
    assert made == []


def test_what_nobody_can_ask_with_is_refused_at_once():
    with pytest.raises(PolicyError, match="ask is 'yes'; it is a function"):
        Policy(ask="yes")


def test_an_ask_that_fails_is_no_approval(place, execute, made):
    def ask(request):
        raise OSError("gone")

    assert execute(Policy(ask=ask), SAVE).error_type == "unavailable"
    assert made == []


@pytest.mark.parametrize("answer", [None, False, "no"])
def test_no_is_no(place, execute, made, answer):
    result = execute(Policy(ask=lambda request: answer), SAVE)
    assert result.error_type == "denied"
    assert "not approved" in result.error_message
    assert made == []


def test_who_is_asked_sees_what_the_tool_would_get(place, execute):
    asked = []
    execute(Policy(ask=asked.append), ToolCall("1", "save", '{"limit": "3", "path": "src/../a"}'))
    (request,) = asked
    assert request.arguments == {"path": "src/../a", "limit": 3}
    assert request.tool.name == "save"
    assert request.decision.facts.paths == [str(place.project / "a")]
    assert len(request.key) == 64


def test_a_call_that_was_cancelled_while_somebody_was_asked_is_not_made(place, every, made):
    context = Context(workspace=place.project)
    inner = []

    class Watch:
        @hookimpl
        def around_tool_call(self, call, tool, context):
            inner.append(context)
            return (yield)

    def ask(request):
        inner[0].cancel()
        return True

    with Executor(every, policy=Policy(ask=ask), hooks=[Watch()], plugins=False) as executor:
        assert executor.call(SAVE, context).error_type == "cancelled"
    assert made == []


def test_approved_calls_and_denied_ones_pass_the_same_hooks(place, every):
    seen = []

    class Watch:
        @hookimpl
        def around_tool_call(self, call, tool, context):
            seen.append(("around", call.name))
            result = yield
            seen.append(("result", result.error_type))
            return result

        @hookimpl
        def after_tool_call(self, call, result):
            seen.append(("after", result.error_type))

        @hookimpl
        def on_event(self, event):
            seen.append((event.kind, event.call.name))

    answers = [True, False]
    policy = Policy(ask=lambda request: answers.pop(0))
    with Executor(every, policy=policy, hooks=[Watch()], plugins=False) as executor:
        executor.call(SAVE)
        approved = list(seen)
        seen.clear()
        executor.call(SAVE)
    assert {("around", "save"), ("result", None), ("start", "save"), ("end", "save")} <= set(approved)
    assert {("around", "save"), ("result", "denied"), ("start", "save"), ("end", "save")} <= set(seen)


def test_what_an_outer_hook_makes_of_a_call_is_what_is_judged(place, every, made):
    class Redirect:
        @hookimpl
        def around_tool_call(self, call, tool, context):
            return (yield ToolCall(call.id, call.name, {"path": "/etc/passwd"}))

    policy = Policy([{"decision": "allow", "tool": "save", "paths": ["**"]}], files=[])
    with Executor(every, policy=policy, hooks=[Redirect()], plugins=False) as executor:
        assert executor.call(SAVE, place.context).error_type == "denied"
        assert made == []


def test_what_a_hook_before_the_call_makes_of_it_is_what_is_judged(place, every, made):
    seen = []

    class Redirect:
        @hookimpl
        def before_tool_call(self, call):
            return ToolCall(call.id, call.name, {"path": "/etc/passwd"})

        @hookimpl
        def after_tool_call(self, result):
            seen.append(result.error_type)

    policy = Policy([{"decision": "allow", "tool": "save", "paths": ["**"]}], files=[])
    with Executor(every, policy=policy, hooks=[Redirect()], plugins=False) as executor:
        assert executor.call(SAVE, place.context).error_type == "denied"
        assert made == []
        assert seen == ["denied"]


@pytest.mark.parametrize("is_async", [True, False])
def test_asking_does_not_hold_up_an_event_loop(place, every, made, is_async):
    go_on = threading.Event()

    def wait(request):
        assert go_on.wait(30)
        return True

    async def await_(request):
        await asyncio.to_thread(go_on.wait, 30)
        return True

    async def main():
        policy = Policy(ask=await_ if is_async else wait)
        with Executor(every, policy=policy, runtime="async", plugins=False) as executor:
            asked = asyncio.create_task(executor.acall(SAVE))
            assert (await executor.acall(ToolCall("2", "look", {"what": "now"}))).is_ok
            assert made == [("look", "now")]
            go_on.set()
            assert (await asked).is_ok

    asyncio.run(main())
    assert ("save", "a", 10) in made


def test_an_async_ask_serves_synchronous_callers_too(place, execute):
    async def ask(request):
        await asyncio.sleep(0)
        return "once"

    assert execute(Policy(ask=ask), SAVE).is_ok


def test_waiting_for_an_answer_does_not_count_as_the_time_of_the_tool(place, every):
    def ask(request):
        time.sleep(0.3)
        return True

    with Executor(every, policy=Policy(ask=ask), runtime="thread", default_timeout=0.2, plugins=False) as executor:
        assert executor.call(SAVE).is_ok


def test_a_qualified_name_reaches_the_same_rules(place, made):
    registry = Registry()

    @tool
    def save(n: int = 1) -> int:
        """Saves."""
        made.append(n)
        return n

    registry.register(save)
    with Executor(registry, policy=Policy(DENY, files=[]), plugins=False) as executor:
        assert executor.call(ToolCall("1", "save", {})).error_type == "denied"
    assert made == []


NAMES = st.sampled_from(["look", "save", "l*", "*", "s?ve"])
RULES = st.lists(
    st.fixed_dictionaries(
        {"decision": st.sampled_from(["allow", "ask", "deny"])},
        optional={
            "tool": NAMES,
            "read_only": st.booleans(),
            "arguments": st.fixed_dictionaries({"limit": st.integers(1, 3)}),
        },
    ),
    max_size=4,
)


def _oracle(rules, name, arguments):
    """The same in other words: the first rule all of whose conditions hold, else whether it only reads."""
    import re

    for rule in rules:
        pattern = rule.get("tool", "*").replace("*", ".*").replace("?", ".")
        if not re.fullmatch(pattern, name) or rule.get("read_only", name == "look") != (name == "look"):
            continue
        if "arguments" in rule and (name == "look" or arguments.get("limit", 10) != rule["arguments"]["limit"]):
            continue
        return rule["decision"]
    return "allow" if name == "look" else "ask"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RULES, st.sampled_from(["look", "save"]), st.integers(1, 3) | st.none(), st.booleans())
def test_a_call_is_made_if_and_only_if_the_rules_or_a_person_say_so(place, every, made, rules, name, limit, says_yes):
    made.clear()
    arguments = {} if name == "look" else {"path": "a"} | ({} if limit is None else {"limit": limit})
    asked = []

    def ask(request):
        asked.append(request)
        return says_yes

    with Executor(every, policy=Policy(rules, files=[], ask=ask), plugins=False) as executor:
        result = executor.call(ToolCall("1", name, arguments))
    expected = _oracle(rules, name, arguments)
    assert bool(asked) is (expected == "ask")
    is_made = expected == "allow" or (expected == "ask" and says_yes)
    assert result.is_ok is is_made
    assert len(made) == is_made
