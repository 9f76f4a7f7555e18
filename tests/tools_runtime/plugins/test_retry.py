from __future__ import annotations

import threading

import pytest

from tools_core import Context, Effects, Result, Tool, tool
from tools_runtime import Executor, hookimpl
from tools_runtime.plugins import Retry

BUSY = Result.error("busy", type="unavailable")


class Listener:
    def __init__(self):
        self.retries = []

    @hookimpl
    def on_event(self, event):
        if event.kind == "retry":
            self.retries.append(event)


def failing(times, error, **options):
    """A tool that fails so many times, and counts how often it was called."""

    def fetch(key: str = "a") -> Result:
        fetch.made += 1
        return error if fetch.made <= times else Result.ok("here")

    fetch.made = 0
    return tool(fetch, **options)


def executed(fetch):
    return fetch.__wrapped__.made


def test_a_transient_failure_is_retried_until_it_succeeds(run, calls):
    fetch = failing(2, BUSY, read_only=True)
    [result] = run([fetch], calls("fetch", {}), [Retry(first=0.001)])
    assert (result.output, result.metadata, executed(fetch)) == ("here", {"attempts": 3}, 3)


def test_the_number_of_attempts_is_limited_and_the_last_error_is_the_result(call):
    fetch = failing(9, BUSY, idempotent=True)
    result = call(fetch, [Retry(4, first=0)])
    assert (result.error, result.metadata, executed(fetch)) == ("busy", {"attempts": 4}, 4)


@pytest.mark.parametrize("options", [{}, {"destructive": True}, {"read_only": False}, {"idempotent": False}])
def test_a_tool_that_may_have_effects_is_called_once(options, call):
    fetch = failing(1, BUSY, **options)
    call(fetch, [Retry(first=0)])
    assert executed(fetch) == 1


@pytest.mark.parametrize("kind", ["validation_error", "denied", "not_found", "conflict", "cancelled"])
def test_permanent_failures_are_never_retried(kind, call):
    fetch = failing(1, Result.error("no", type=kind, metadata={"retry_after": 0}), read_only=True)
    call(fetch, [Retry(first=0)])
    assert executed(fetch) == 1
    with pytest.raises(ValueError, match=f"ended with {kind} is never retried"):
        Retry(types=[kind])


@pytest.mark.parametrize(
    ("error", "options", "expected"),
    [
        (Result.error("no"), {}, 1),
        (Result.error("no"), {"types": ["execution_error"]}, 2),
        (Result.error("gone", metadata={"crash": "SIGKILL"}), {}, 2),
        (Result.error("gone", type="crashed"), {}, 2),
        (Result.error("late", type="timeout_error"), {}, 2),
        (Result.error("busy", metadata={"retry_after": 0.001}), {}, 2),
        (Result.error("busy", metadata={"retry_after": 31}), {}, 1),
        (Result.error("busy", metadata={"retry_after": 10**400}), {}, 1),
        (Result.halt(BUSY), {}, 1),
    ],
    ids=["other", "own-type", "crash", "crashed", "timeout", "asks", "asks-too-much", "asks-for-ever", "halt"],
)
def test_which_failures_are_for_the_moment(error, options, expected, call):
    fetch = failing(1, error, idempotent=True)
    call(fetch, [Retry(first=0, **options)])
    assert executed(fetch) == expected


def test_a_retry_after_an_abandoned_attempt_is_reported(calls):
    stuck, count = threading.Event(), []

    @tool(read_only=True, timeout=0.5)
    def fetch() -> str:
        count.append(1)
        if len(count) == 1:
            stuck.wait(20)
        return "here"

    try:
        executor = Executor([fetch], runtime="thread", hooks=[Retry(first=0)], plugins=False)
        [(_, result)] = executor.execute(calls("fetch", {}))
    finally:
        stuck.set()
    assert (result.output, result.metadata) == ("here", {"attempts": 2, "abandoned": True})


def test_the_annotations_of_the_call_decide_about_retries(calls):
    class Fetch(Tool):
        def effects(self, arguments, context=None):
            if arguments["key"] == "boom":
                raise RuntimeError("no effects")
            return Effects({"read_only": bool(arguments["dry"])})

        def execute(self, key: str, dry: bool = False) -> Result:
            executed.append(key)
            return BUSY

    executed: list[str] = []
    requests = [{"key": "a", "dry": True}, {"key": "b", "dry": "false"}, {"key": "boom"}]
    Executor([Fetch()], hooks=[Retry(2, first=0)], plugins=False).execute(calls("fetch", *requests))
    assert executed == ["a", "a", "b", "boom"]


def test_each_further_attempt_is_announced_by_an_event(run, calls):
    listener, context = Listener(), Context(run_id="run-7")
    fetch = failing(2, Result.error("busy", metadata={"retry_after": 0.001}), read_only=True)
    run([fetch], calls("fetch", {}), [Retry(first=0), listener], context)
    assert [(event.call.id, event.run_id, event.attempt) for event in listener.retries] == [
        ("call-0", "run-7", attempt) for attempt in (2, 3)
    ]
    for event in listener.retries:
        assert event.detail["error_type"] == "execution_error"
        assert event.detail["delay"] >= 0.001


def test_retries_end_at_the_deadline(run, calls):
    fetch = failing(9, Result.error("busy", metadata={"retry_after": 20}), read_only=True)
    [result] = run([fetch], calls("fetch", {}), [Retry()], Context(timeout=10))
    assert (result.error, executed(fetch)) == ("busy", 1)


@pytest.mark.parametrize("delay", [0, 0.01], ids=["while-it-runs", "while-it-waits"])
def test_cancelling_ends_retries(run, calls, delay):
    context, attempts = Context(), []

    @tool(read_only=True)
    def fetch() -> Result:
        attempts.append(1)
        timer = threading.Timer(delay, context.cancel)
        timer.start()
        if not delay:
            timer.join()
        return Result.error("busy", metadata={"retry_after": 3_600})

    [result] = run([fetch], calls("fetch", {}), [Retry(most=3_600)], context)
    assert not result.ok and attempts == [1]


def test_invalid_options_are_refused():
    for options in ({"attempts": 0}, {"first": -1}, {"first": 2, "most": 1}):
        with pytest.raises(ValueError, match="attempts must be"):
            Retry(**options)
    with pytest.raises(TypeError, match="not one string"):
        Retry(types="unavailable")
