"""`Context`: its run, and cancellation by callback."""

import asyncio
import threading

from tools_core import Context, tool


def test_a_run_id_is_random_by_default():
    context = Context()
    assert context.run_id and context.run_id != Context().run_id


def test_contexts_of_one_run_share_its_id():
    outer = Context()
    assert outer.for_call(5).for_call().run_id == outer.run_id


def test_calls_without_a_context_share_one_random_run():
    @tool
    def run_of(*, context: Context) -> str:
        """Return the run of the call."""
        return context.run_id

    run_id = run_of.call().output
    assert run_id and run_id == asyncio.run(run_of.acall()).output != Context().run_id
    assert run_of.call({}, Context(run_id="r-1")).output == "r-1"


def test_a_callback_runs_once_in_the_thread_that_cancels():
    context, calls = Context(), []
    context.on_cancel(lambda: calls.append(threading.current_thread()))
    thread = threading.Thread(target=context.cancel)
    thread.start()
    thread.join()
    context.cancel()
    assert calls == [thread]


def test_a_callback_runs_at_once_when_the_context_is_cancelled_already():
    calls = []
    for context in (Context(), Context().for_call()):
        context.cancel()
        context.on_cancel(lambda: calls.append(1))
    assert calls == [1, 1]


def test_a_callback_that_was_unregistered_does_not_run():
    context, calls = Context(), []
    unregister = context.for_call().on_cancel(lambda: calls.append(1))
    unregister()
    unregister()
    context.cancel()
    assert calls == []


def test_cancelling_reaches_derived_contexts_and_no_others():
    outer, calls = Context(), []
    inner = outer.for_call()
    for name, context in {
        "outer": outer,
        "inner": inner,
        "innermost": inner.for_call(),
        "other": outer.for_call(),
    }.items():
        context.on_cancel(lambda name=name: calls.append(name))
    inner.cancel()
    assert calls == ["inner", "innermost"] and not outer.cancelled
    outer.cancel()
    assert calls == ["inner", "innermost", "outer", "other"] and outer.cancelled


def test_a_callback_that_raises_is_logged_and_stops_no_other(caplog):
    context, calls = Context(), []
    context.on_cancel(lambda: 1 / 0)
    context.on_cancel(lambda: calls.append(1))
    context.cancel()
    assert calls == [1]
    assert "ZeroDivisionError" in caplog.text


def test_a_callback_runs_exactly_once_while_threads_register_cancel_and_unregister():
    for _ in range(200):
        outer, barrier, calls = Context(), threading.Barrier(3), []
        inner = outer.for_call()

        def register(inner=inner, barrier=barrier, calls=calls):
            barrier.wait()
            inner.on_cancel(lambda: calls.append(1))

        def cancel(context, barrier=barrier):
            barrier.wait()
            context.cancel()

        jobs = [(register, ()), (cancel, (outer,)), (cancel, (inner,))]
        threads = [threading.Thread(target=target, args=args) for target, args in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert calls == [1]


def test_the_nearer_limit_counts_and_the_context_names_its_origin():
    outer = Context(timeout=10)
    assert (outer.timeout, outer.timeout_set_by) == (10, "the caller")
    nearer, farther = outer.for_call(2, set_by="the executor"), outer.for_call(20)
    assert (nearer.timeout, nearer.timeout_set_by) == (2, "the executor")
    assert (farther.timeout, farther.timeout_set_by, farther.deadline) == (10, "the caller", outer.deadline)
    assert Context().for_call(3).timeout_set_by == "the tool"
    assert Context().for_call().timeout is None
