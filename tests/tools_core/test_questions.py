"""Tools that ask the user, and the key that a call keeps when it is retried."""

import asyncio
import threading
import time

import pytest

from tools_core import Context, ToolCall, tool


@tool
def deploy(site: str, context: Context) -> str:
    """Deploy a site."""
    try:
        region = context.ask("Which region?", ["eu", "us"])
    except Exception:  # noqa: BLE001  (which must not swallow the question)
        region = "swallowed"
    return f"{site} in {region}"


@tool
async def adeploy(site: str, context: Context) -> str:
    """Deploy a site."""
    return f"{site} in {await context.aask('Which region?', ['eu', 'us'])}"


@pytest.fixture(params=["function", "coroutine", "function in a loop"])
def call(request):
    """Call the tool with a context."""
    tested = adeploy if request.param == "coroutine" else deploy

    def run(context=None):
        call = ToolCall("1", tested.name, {"site": "a.org"})
        return tested.call(call, context) if request.param == "function" else asyncio.run(tested.acall(call, context))

    return run


def test_a_tool_receives_the_answer_of_the_user(call):
    questions = []

    def answer(question):
        questions.append((question.tool.removeprefix("a"), question.text, question.choices, question.context.call_id))
        return "eu"

    assert call(Context(on_ask=answer)).output == "a.org in eu"
    assert questions == [("deploy", "Which region?", ("eu", "us"), "1")]


@pytest.mark.parametrize("context", [None, Context(), Context(on_ask=lambda _: None)])
def test_a_call_without_an_answer_ends_with_the_question(context, call):
    result = call(context)
    assert result.error_type == "answer_required"
    assert "needs an answer from the user: Which region? (eu, us)" in result.error
    pending = result.metadata["pending"]
    assert (pending["question"], pending["choices"], pending["call_id"]) == ("Which region?", ["eu", "us"], "1")


def test_an_answer_has_to_be_one_of_the_choices():
    result = adeploy.call({"site": "a.org"}, Context(on_ask=lambda _: "mars"))
    assert (result.error_type, result.error) == ("unavailable", "the answer 'mars' is not one of eu, us")


def test_the_limit_of_a_call_excludes_the_time_for_an_answer(call):
    def answer(question):
        while time.monotonic() < question.context.deadline + 0.2:
            threading.Event().wait(0.05)
        return "us"

    assert call(Context(timeout=0.2, on_ask=answer)).output == "a.org in us"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_hangs_after_an_answer_times_out(is_async):
    over = threading.Event()

    @tool(timeout=0.2)
    def hang(context: Context) -> str:
        """Ask, then hang."""
        context.ask("Continue?")
        return str(over.wait(20))

    context = Context(on_ask=lambda _: "yes")
    result = asyncio.run(hang.acall({}, context)) if is_async else hang.call({}, context)
    over.set()
    assert result.error_type == "timeout_error"


def test_a_cancelled_question_ends_the_call_as_cancelled(call):
    context = Context()
    context.on_ask = lambda _: context.cancel()
    assert call(context).error_type == "cancelled"


def test_a_call_keeps_its_idempotency_key_when_it_is_repeated():
    def key(run, call, timeout=None):
        return Context(run_id=run).for_call(timeout, call).idempotency_key

    assert key("a", "1") == key("a", "1", timeout=5)
    assert len({key("a", "1"), key("a", "2"), key("b", "1")}) == 3
    assert Context().idempotency_key is None
