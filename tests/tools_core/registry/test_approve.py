"""`Registry.call` and `acall`: a tool that requires approval is called when it is approved, and only then."""

from __future__ import annotations

import asyncio

import pytest

from tools_core import Approval, ApprovalRequest, Context, Denial, Effects, Registry, Tool, ToolCall, tool

SEND = ToolCall("1", "send", {"to": "ada", "copies": "2"})


class Post:
    """A registry with a tool that requires approval, and the letters it sent."""

    def __init__(self):
        self.sent = []
        self.registry = Registry()

        @self.registry.register
        @tool(requires_approval=True, destructive=True)
        def send(to: str, copies: int = 1) -> str:
            """Send a letter."""
            self.sent.append((to, copies))
            return "sent"


@pytest.fixture
def post():
    return Post()


@pytest.fixture(params=["call", "acall"])
def call(request, post):
    """Both doors of the registry."""
    if request.param == "call":
        return post.registry.call
    return lambda *args, **options: asyncio.run(post.registry.acall(*args, **options))


def test_without_approval_the_call_ends_and_the_message_says_how_to_allow_it(post, call):
    result = call(SEND, Context(run_id="r"))
    assert (result.error_type, post.sent) == ("approval_required", [])
    assert result.error == "send needs approval by the user and was not run: the tool requires approval."
    assert "approve=" in result.metadata["hint"]
    pending = result.metadata["pending"]
    assert (pending["tool"], pending["run_id"], pending["arguments"]) == ("send", "r", {"to": "ada", "copies": 2})


@pytest.mark.parametrize("approve", ["all", lambda request: True, lambda request: "once"])
def test_an_approved_call_runs(post, call, approve):
    assert call(SEND, approve=approve).output == "sent"
    assert post.sent == [("ada", 2)]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(False, "denied"), (None, "approval_required"), (Denial(reason="no"), "denied"), ("yes", "unavailable")],
)
def test_any_other_answer_prevents_the_call(post, call, answer, kind):
    assert call(SEND, approve=lambda request: answer).error_type == kind
    assert post.sent == []


def test_an_approval_may_edit_the_arguments(post, call):
    assert call(SEND, approve=lambda request: Approval(arguments={"to": "bob", "copies": "3"})).ok
    assert post.sent == [("bob", 3)]
    assert call(SEND, approve=lambda request: Approval(arguments={"to": 1})).error_type == "validation_error"


def test_the_request_describes_the_call(post, call):
    requests, context = [], Context(run_id="r")
    call(SEND, context, approve=lambda request: requests.append(request) or True)
    (request,) = requests
    assert isinstance(request, ApprovalRequest)
    assert (request.call, request.tool, request.run_id) == (SEND, post.registry["send"], "r")
    assert request.arguments == {"to": "ada", "copies": 2}  # repaired, as the tool receives them
    assert request.effects.annotations == {"destructive": True}


def test_an_approved_call_runs_in_the_run_that_was_judged(call, post):
    runs = []

    class Look(Tool):
        """Note the run in which effects and body are asked."""

        requires_approval = True

        def execute(self, context: Context) -> None:
            runs.append(context.run_id)

        def effects(self, arguments, context=None):
            runs.append(context.run_id)
            return Effects({})

    post.registry.register(Look())
    assert call(ToolCall("1", "look"), approve=lambda request: runs.append(request.run_id) or True).ok
    assert len(runs) == 3 and len(set(runs)) == 1 and runs[0]


def test_invalid_arguments_are_refused_before_the_approver_is_asked(call):
    def ask(request):
        raise AssertionError

    assert call(ToolCall("1", "send", {"whom": "ada"}), approve=ask).error_type == "validation_error"


def test_a_failing_approver_denies_the_call(post, call):
    def ask(request):
        raise OSError("gone")

    result = call(SEND, approve=ask)
    assert (result.error_type, post.sent) == ("unavailable", [])
    assert "OSError: gone" in result.error


def test_a_coroutine_function_may_approve_asynchronous_calls_only(post):
    async def ask(request):
        await asyncio.sleep(0)
        return True

    assert asyncio.run(post.registry.acall(SEND, approve=ask)).ok
    with pytest.raises(TypeError, match="coroutine function: use acall"):
        post.registry.call(SEND, approve=ask)
    assert len(post.sent) == 1


@pytest.mark.parametrize("approve", [True, "yes"])
def test_an_invalid_approver_is_a_type_error(call, approve):
    with pytest.raises(TypeError, match='approve must be "all", a function of an ApprovalRequest, or None'):
        call(SEND, approve=approve)
