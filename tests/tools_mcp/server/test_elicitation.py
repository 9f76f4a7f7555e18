"""Approval of calls and questions of tools: the client asks its user if it can, in both eras of the protocol."""

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, ElicitResult, InputRequiredResult

from tools_code import CodeMode
from tools_core import Context, tool
from tools_mcp import Server
from tools_runtime import Policy

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user without policy files."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def calls():
    return []


@pytest.fixture
def save(calls):
    @tool(destructive=True)
    def save(name: str) -> str:
        """Save."""
        calls.append(name)
        return "saved"

    return save


@pytest.fixture(params=["function", "coroutine"])
def deploy(request):
    """A tool that asks two questions."""

    @tool(read_only=True)
    def deploy(name: str, context: Context) -> str:
        """Deploy."""
        return f"{context.ask(f'Where to, {name}?', ['eu', 'us'])} as {context.ask('Which version?')}"

    @tool(read_only=True, name="deploy")
    async def adeploy(name: str, context: Context) -> str:
        """Deploy."""
        return f"{await context.aask(f'Where to, {name}?', ['eu', 'us'])} as {await context.aask('Which version?')}"

    return deploy if request.param == "function" else adeploy


def ask(server, mode, answers, count=1, capability=True, tool="save", **arguments):
    """Run calls with a client whose user gives these answers; return the results and the forms that the user saw."""
    forms = []

    async def elicit(_, params):
        forms.append(params)
        action, content = answers[min(len(forms), len(answers)) - 1]
        return ElicitResult(action=action, content=content)

    async def main():
        options = {"elicitation_callback": elicit} if capability else {}
        async with Client(server.lowlevel, mode=mode, **options) as client:
            return [await client.call_tool(tool, arguments or {"name": "a"}) for _ in range(count)], forms

    return anyio.run(main)


def test_an_accepted_call_runs(mode, save, calls):
    [answer], [form] = ask(Server([save]), mode, [("accept", {"scope": "once"})])
    assert (answer.is_error, calls) == (False, ["a"])
    assert "Allow save?" in form.message
    assert '"name": "a"' in form.message


def test_an_empty_form_approves_one_call(mode, save, calls):
    answers, forms = ask(Server([save]), mode, [("accept", None)], count=2)
    assert ([answer.is_error for answer in answers], len(forms)) == ([False, False], 2)


def test_an_approval_for_the_session_holds_for_later_calls(mode, save, calls):
    _, forms = ask(Server([save]), mode, [("accept", {"scope": "run"})], count=3)
    assert (calls, len(forms)) == (["a"] * 3, 1)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (("decline", None), "save was not approved"),
        (("cancel", None), "save needs approval"),
        (("accept", {"scope": "forever"}), "save was not approved"),
    ],
)
def test_any_other_answer_refuses_the_call_and_names_the_way_to_allow_it(mode, save, calls, answer, text):
    [result], _ = ask(Server([save]), mode, [answer])
    assert result.is_error
    assert text in result.content[0].text
    assert "allow=['save']" in result.content[0].text
    assert calls == []


def test_a_client_without_elicitation_gets_advice(mode, save, calls):
    [result], _ = ask(Server([save]), mode, [], capability=False)
    assert result.is_error
    assert "save needs approval" in result.content[0].text
    assert "allow=['save']" in result.content[0].text
    assert calls == []


def test_allowed_tools_need_no_approval(mode, save, calls):
    [result], forms = ask(Server([save], allow=["sa*"]), mode, [], capability=False)
    assert (result.is_error, forms) == (False, [])


def test_a_tool_with_a_shared_name_can_be_allowed(mode, save, calls):
    server = Server({"tools-a:save": save, "tools-b:save": save}, allow=["tools-a:save"])
    results = [
        ask(server, mode, [], capability=False, name=name, tool=f"{name}_save")[0] for name in ("tools-a", "tools-b")
    ]
    assert [result.is_error for [result] in results] == [False, True]
    assert calls == ["tools-a"]


def test_a_renamed_tool_may_ask_questions_after_its_approval(mode):
    @tool(destructive=True)
    def save(name: str, context: Context) -> str:
        """Save."""
        return context.ask("Overwrite?", ["yes", "no"])

    server = Server({"tools-a:save": save, "tools-b:save": save})
    answers = [("accept", {"scope": "once"}), ("accept", {"answer": "no"})]
    [result], forms = ask(server, mode, answers, tool="tools-a_save")
    assert (result.content[0].text, len(forms)) == ("no", 2)


def test_a_rule_that_denies_holds_for_allowed_tools(mode, save, calls):
    policy = Policy([{"decision": "deny", "tool": "save"}])
    [result], _ = ask(Server([save], policy=policy, allow=["save"]), mode, [])
    assert result.is_error
    assert calls == []


def test_arguments_cannot_change_the_layout_of_the_question(mode, save):
    _, [form] = ask(Server([save]), mode, [("decline", None)], name="\x1b[2J\u202eevil" + "x" * 10_000)
    assert "\x1b" not in form.message
    assert "\u202e" not in form.message
    assert "x" * 10_000 in form.message


def test_arguments_that_are_too_long_to_show_need_another_approval(mode, save, calls):
    [result], forms = ask(Server([save]), mode, [("accept", {"scope": "once"})], name="x" * 40_000)
    assert (forms, calls) == ([], [])
    assert "The arguments have 40," in result.content[0].text
    assert "Server(allow=['save'])" in result.content[0].text


def rounds(server, *requests):
    """Send calls as a client of 2026-07-28; each request is a function of the previous answer."""

    async def elicit(*_):
        raise AssertionError("the test answers")

    async def main():
        answers = []
        async with Client(server.lowlevel, mode="2026-07-28", elicitation_callback=elicit) as client:
            for request in requests:
                params = request(answers[-1] if answers else None)
                answers.append(await client.session.call_tool(**params, allow_input_required=True))
        return answers

    return anyio.run(main)


def first(_):
    return {"name": "save", "arguments": {"name": "a"}}


def accepted(answer, **changes):
    approval = {"approval": ElicitResult(action="accept", content={"scope": "once"})}
    state = {"input_responses": approval, "request_state": answer.request_state}
    return {"name": "save", "arguments": {"name": "a"}, **state, **changes}


def test_the_stateless_protocol_asks_in_a_result(save, calls):
    question, answer = rounds(Server([save]), first, accepted)
    assert isinstance(question, InputRequiredResult)
    assert isinstance(answer, CallToolResult)
    assert calls == ["a"]


@pytest.mark.parametrize(
    "changes",
    [
        {"request_state": "v1.forged"},
        {"arguments": {"name": "b"}},
    ],
    ids=["forged", "other arguments"],
)
def test_an_approval_is_valid_only_for_its_call(save, calls, changes):
    with pytest.raises(ExceptionGroup) as caught:
        rounds(Server([save]), first, lambda answer: accepted(answer, **changes))
    assert caught.group_contains(MCPError, match="requestState", depth=None)
    assert calls == []


@pytest.mark.parametrize("changes", [{"request_state": None}, {"input_responses": {}}], ids=["no state", "no answer"])
def test_an_answer_without_its_question_is_requested_again(save, calls, changes):
    _, again = rounds(Server([save]), first, lambda answer: accepted(answer, **changes))
    assert isinstance(again, InputRequiredResult)
    assert calls == []


def test_a_tool_receives_the_answers_of_the_client_to_its_questions(mode, deploy):
    answers = [("accept", {"answer": "us"}), ("accept", {"answer": "2.1"})]
    [result], forms = ask(Server([deploy]), mode, answers, tool="deploy")
    assert (result.is_error, result.content[0].text) == (False, "us as 2.1")
    assert [form.message for form in forms] == ["deploy asks: Where to, a?", "deploy asks: Which version?"]
    fields = [form.requested_schema["properties"]["answer"] for form in forms]
    assert [(field["type"], field.get("enum")) for field in fields] == [("string", ["eu", "us"]), ("string", None)]


@pytest.mark.parametrize("answer", [("decline", None), ("cancel", None), ("accept", {})], ids=lambda answer: answer[0])
def test_a_question_without_an_answer_ends_the_call(mode, deploy, answer):
    [result], forms = ask(Server([deploy]), mode, [answer], tool="deploy")
    assert (result.is_error, len(forms)) == (True, 1)
    assert "needs an answer from the user: Where to, a? (eu, us)" in result.content[0].text
    assert "The client gave no answer, perhaps without asking its user." in result.content[0].text


def test_an_answer_outside_the_choices_is_refused(mode, deploy):
    [result], _ = ask(Server([deploy]), mode, [("accept", {"answer": "mars"})], tool="deploy")
    assert result.is_error
    assert "'mars' is not one of eu, us" in result.content[0].text


def test_a_client_without_elicitation_learns_that_a_tool_waits(mode, deploy):
    [result], _ = ask(Server([deploy]), mode, [], capability=False, tool="deploy")
    assert result.is_error
    assert "needs an answer from the user: Where to, a? (eu, us)" in result.content[0].text
    assert "This client has no way to ask its user" in result.content[0].text


def test_an_approved_call_can_ask_questions(mode, calls):
    @tool(destructive=True)
    def save(name: str, context: Context) -> str:
        """Save."""
        calls.append([context.ask("Overwrite?", ["yes", "no"]), context.ask("Overwrite?", ["yes", "no"])])
        return "saved"

    answers = [("accept", {"scope": "once"}), ("accept", {"answer": "yes"}), ("accept", {"answer": "no"})]
    [result], forms = ask(Server([save]), mode, answers)
    assert (result.is_error, len(forms), calls) == (False, 3, [["yes", "no"]])


def test_a_coroutine_that_asks_without_await_fails(mode):
    @tool(read_only=True)
    async def save(name: str, context: Context) -> str:
        """Save."""
        return context.ask("Overwrite?")

    [result], _ = ask(Server([save]), mode, [("accept", {"answer": "yes"})])
    assert result.is_error
    assert "use `await context.aask(...)`" in result.content[0].text


@pytest.mark.parametrize("names", [["a"], ["a", "a", "b"]], ids=["one call", "several at once, some equal"])
def test_calls_of_code_are_approved_by_the_user(mode, save, calls, names):
    code = f"import asyncio\nprint(await asyncio.gather(*[save.aio(name=name) for name in {names}]))"
    server = Server([CodeMode([save])], allow=["run_code"])
    [result], forms = ask(server, mode, [("accept", {"scope": "once"})], tool="run_code", code=code)
    assert (result.is_error, sorted(calls), len(forms)) == (False, names, len(names))


def test_calls_of_code_that_ran_are_not_repeated_for_another_question(mode, save, calls):
    server = Server([CodeMode([save])], allow=["run_code"])
    code = "save(name='a'); save(name='b')"
    [result], forms = ask(server, mode, [("accept", {"scope": "once"})], tool="run_code", code=code)
    if mode == "legacy":
        assert (result.is_error, calls, len(forms)) == (False, ["a", "b"], 2)
    else:  # each question starts the code again
        assert (result.is_error, calls, len(forms)) == (True, ["a"], 1)
        assert "run only the rest" in result.content[0].text


def test_equal_questions_of_calls_at_once_are_all_answered(mode):
    @tool(read_only=True)
    def pick(context: Context, name: str) -> str:
        """Pick."""
        return context.ask(f"Which {name}?")

    code = "import asyncio\nprint(*await asyncio.gather(*[pick.aio(name=name) for name in ['x', 'x', 'y']]))"
    server = Server([CodeMode([pick])], allow=["run_code"])
    [result], forms = ask(server, mode, [("accept", {"answer": "1"})], tool="run_code", code=code)
    assert (result.content[0].text.strip(), len(forms)) == ("1 1 1", 3)
