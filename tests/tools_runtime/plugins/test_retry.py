from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tools_core import Context, Halt, Result, Tool, tool
from tools_runtime import Event, Executor, hookimpl
from tools_runtime.plugins import Retry


class Listener:
    def __init__(self):
        self.heard: list[Event] = []

    @hookimpl
    def on_event(self, event):
        if event.kind == "retry":
            self.heard.append(event)


def failing(times, error, **options):
    """A tool that fails so many times, and counts how often it was called."""

    def fetch(key: str = "a", password: str = "") -> Result:
        fetch.made += 1
        return error if fetch.made <= times else Result.ok("here")

    fetch.made = 0
    return tool(fetch, **options)


def made(fetch):
    return fetch.__wrapped__.made


BUSY = Result.error("busy", type="unavailable")


def test_a_call_that_fails_for_the_moment_is_made_again_until_it_succeeds(run, calls):
    fetch = failing(2, BUSY, read_only=True)
    [result] = run([fetch], calls("fetch", {}), [Retry(first=0.001)])
    assert result.output == "here"
    assert result.metadata == {"attempts": 3}
    assert made(fetch) == 3


def test_attempts_are_all_there_are(run, calls):
    fetch = failing(9, BUSY, idempotent=True)
    [result] = run([fetch], calls("fetch", {}), [Retry(4, first=0.001)])
    assert (result.error_message, result.metadata, made(fetch)) == ("busy", {"attempts": 4}, 4)


def test_a_success_costs_one_attempt_and_leaves_no_trace(run, calls):
    fetch = failing(0, BUSY, read_only=True)
    [result] = run([fetch], calls("fetch", {}), [Retry()])
    assert (result.metadata, made(fetch)) == ({}, 1)


@pytest.mark.parametrize("options", [{}, {"destructive": True}, {"read_only": False}, {"idempotent": False}])
def test_a_tool_that_may_have_effects_is_called_once(options, calls):
    fetch = failing(1, BUSY, **options)
    Executor([fetch], hooks=[Retry(first=0.001)]).execute(calls("fetch", {}))
    assert made(fetch) == 1


@pytest.mark.parametrize(
    "kind", ["validation_error", "denied", "not_found", "conflict", "cancelled", "execution_error"]
)
def test_failures_that_do_not_pass_are_not_repeated(kind, calls):
    fetch = failing(1, Result.error("no", type=kind), read_only=True)
    Executor([fetch], hooks=[Retry(first=0.001)]).execute(calls("fetch", {}))
    assert made(fetch) == 1


def test_a_time_to_come_back_does_not_make_a_final_failure_pass(calls):
    for kind in ("denied", "validation_error", "cancelled"):
        fetch = failing(1, Result.error("no", type=kind, metadata={"retry_after": 0.001}), read_only=True)
        Executor([fetch], hooks=[Retry(first=0.001)]).execute(calls("fetch", {}))
        assert made(fetch) == 1


def test_the_users_own_types_are_repeated_and_impossible_ones_refused(calls):
    fetch = failing(1, Result.error("no", type="execution_error"), read_only=True)
    Executor([fetch], hooks=[Retry(types=["execution_error"], first=0.001)]).execute(calls("fetch", {}))
    assert made(fetch) == 2
    with pytest.raises(ValueError, match="denied does not pass by itself"):
        Retry(types=["denied"])
    with pytest.raises(TypeError, match="not one string"):
        Retry(types="unavailable")


def test_an_unknown_tool_and_invalid_arguments_are_answered_once(run, calls):
    listener = Listener()
    fetch = failing(0, BUSY, read_only=True)
    results = run([fetch], [*calls("fetch", {"key": []}), *calls("nothing", {})], [Retry(first=0.001), listener])
    assert [result.error_type for result in results] == ["validation_error", "unknown_tool"]
    assert listener.heard == []


def test_a_halt_with_a_failure_is_final(calls):
    @tool(read_only=True)
    def fetch() -> str:
        nonlocal count
        count += 1
        raise Halt(BUSY)

    count = 0
    [(_, result)] = Executor([fetch], hooks=[Retry(first=0.001)]).execute(calls("fetch", {}))
    assert result.is_halted and result.is_error and count == 1


def test_consent_for_a_tool_with_effects_ends_where_it_may_have_had_some(calls):
    hook = Retry(tools=["fetch"], first=0.001)
    for error, expected in [
        (BUSY, 2),
        (BUSY.with_metadata({"crash": True}), 1),
        (BUSY.with_metadata({"killed": True}), 1),
        (BUSY.with_metadata({"abandoned": True}), 1),
        (Result.error("late", type="timeout_error"), 1),
    ]:
        fetch = failing(1, error)
        Executor([fetch], hooks=[hook]).execute(calls("fetch", {}))
        assert made(fetch) == expected, error


def test_what_is_declared_safe_is_repeated_after_a_crash_and_after_its_limit(calls):
    for error in (BUSY.with_metadata({"crash": True}), Result.error("late", type="timeout_error")):
        fetch = failing(1, error, idempotent=True)
        Executor([fetch], hooks=[Retry(first=0.001)]).execute(calls("fetch", {}))
        assert made(fetch) == 2


def test_a_call_that_was_left_behind_is_made_again_if_it_only_reads(calls):
    stuck = threading.Event()

    @tool(read_only=True, timeout=0.1)
    def fetch() -> str:
        nonlocal count
        count += 1
        if count == 1:
            stuck.wait(20)
        return "here"

    count = 0
    try:
        [(_, result)] = Executor([fetch], runtime="thread", hooks=[Retry(first=0.001)]).execute(calls("fetch", {}))
    finally:
        stuck.set()
    assert (result.output, result.metadata["attempts"]) == ("here", 2)


def test_hints_that_depend_on_the_arguments_decide(calls):
    class FetchTool(Tool):
        """Fetch."""

        def annotations_for(self, arguments):
            if arguments["key"] == "boom":
                raise RuntimeError("no hints")
            if arguments["key"] == "none":
                return None
            return {"read_only": arguments["key"] == "safe"}

        def execute(self, key: str) -> Result:
            made.append(key)
            return BUSY

    made: list[str] = []
    given = [{"key": key} for key in ("safe", "other", "boom", "none")]
    Executor([FetchTool()], hooks=[Retry(2, first=0.001)]).execute(calls("fetch", *given))
    assert made == ["safe", "safe", "other", "boom", "none"]


def test_hints_are_those_of_the_arguments_as_the_tool_gets_them(calls):
    class Act(Tool):
        """Acts, or only says what it would do."""

        made = 0

        def execute(self, dry_run: bool = False) -> Result:
            self.made += 1
            return Result.error("busy", type="unavailable")

        def annotations_for(self, arguments):
            return {"read_only": bool(arguments.get("dry_run"))}

    act = Act()
    with Executor([act], hooks=[Retry(attempts=3, first=0)], plugins=False) as executor:
        executor.execute(calls(act.name, {"dry_run": "false"}))
        assert act.made == 1
        executor.execute(calls(act.name, {"dry_run": "true"}))
        assert act.made == 4


def test_the_tool_says_when_to_come_back_and_too_long_a_wait_is_left_to_the_caller(calls):
    listener = Listener()
    fetch = failing(1, Result.error("busy", metadata={"retry_after": 0.05}), read_only=True)
    began = time.monotonic()
    Executor([fetch], hooks=[Retry(first=0.001), listener]).execute(calls("fetch", {}))
    assert made(fetch) == 2 and time.monotonic() - began >= 0.05
    assert [event.detail["delay"] for event in listener.heard] == [0.05]
    for asked in (31, float("inf"), 10**400):
        fetch = failing(1, Result.error("busy", metadata={"retry_after": asked}), read_only=True)
        Executor([fetch], hooks=[Retry(first=0.001)]).execute(calls("fetch", {}))
        assert made(fetch) == 1


def test_delays_grow_up_to_the_most_and_jitter_stays_below():
    plain = Retry(first=0.5, factor=2, most=3, jitter=False)
    assert [plain._delay(made, BUSY) for made in range(1, 6)] == [0.5, 1, 2, 3, 3]
    drawn = [Retry(first=0.5, most=3)._delay(3, BUSY) for _ in range(500)]
    assert 0 <= min(drawn) < 0.5 and 1.5 < max(drawn) <= 2
    assert Retry(1000, factor=100)._delay(999, BUSY) <= 30


def test_each_further_attempt_is_an_event(run, calls):
    listener = Listener()
    fetch = failing(2, BUSY, read_only=True)
    run([fetch], calls("fetch", {}), [Retry(first=0.001, jitter=False), listener])
    said = [(event.call.id, dict(event.detail)) for event in listener.heard]
    assert said == [
        ("call-0", {"attempt": 2, "delay": 0.001, "error_type": "unavailable"}),
        ("call-0", {"attempt": 3, "delay": 0.002, "error_type": "unavailable"}),
    ]


def test_there_is_no_attempt_beyond_the_callers_deadline_or_after_the_caller_gave_up(run, calls):
    fetch = failing(9, BUSY, read_only=True)
    [result] = run([fetch], calls("fetch", {}), [Retry(first=20, jitter=False)], Context(timeout=10))
    assert (result.error_message, made(fetch)) == ("busy", 1)
    gone = Context()
    gone.cancel()
    fetch = failing(9, BUSY, read_only=True)
    Executor([fetch], hooks=[Retry(first=0.001)]).execute(calls("fetch", {}), gone)
    assert made(fetch) <= 1


def test_who_gives_up_during_a_long_wait_has_its_result_soon(run, calls):
    class GivesUp:
        @hookimpl
        def on_event(self, event):
            if event.kind == "retry":
                context.cancel()

    context = Context()
    fetch = failing(5, Result.error("busy", metadata={"retry_after": 3}), read_only=True)
    began = time.monotonic()
    [result] = run([fetch], calls("fetch", {}), [GivesUp(), Retry()], context)
    assert result.is_error and time.monotonic() - began < 2


def test_a_thousand_calls_back_off_at_once_in_one_event_loop_without_threads(calls, threads):
    failed: set[int] = set()

    @tool(read_only=True)
    async def fetch(number: int) -> Result:
        threads.look()
        await asyncio.sleep(0)
        if number in failed:
            return Result.ok(number)
        failed.add(number)
        return BUSY

    executor = Executor([fetch], runtime="async", hooks=[Retry(first=0.2)])
    began = time.monotonic()
    pairs = asyncio.run(executor.aexecute(calls("fetch", *({"number": number} for number in range(1000)))))
    assert [result.output for _, result in pairs] == list(range(1000))
    assert threads.most <= 2
    assert time.monotonic() - began < 20  # one after the other they would take 100 s
