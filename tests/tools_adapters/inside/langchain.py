"""`to_langchain` and `from_langchain`, with LangChain's own fake models; and what all adapters share."""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import ToolException
from langchain_core.tools import tool as their_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from samples import fail, is_cancelled, leave, picture, removal, weather

from tools_adapters import from_langchain, langchain_halt, to_langchain
from tools_core import Context, Registry, Toolset, tool
from tools_runtime import Executor, Policy

CONFIG = {"configurable": {"thread_id": "talk"}}


class Model(FakeMessagesListChatModel):
    def bind_tools(self, tools, **options):
        return self


def call(name, **arguments):
    return {"type": "tool_call", "id": "call_1", "name": name, "args": arguments}


def agent(tools, *calls, **options):
    answers = [AIMessage("", tool_calls=list(calls)), AIMessage("done")]
    return create_agent(Model(responses=answers), to_langchain(tools), **options)


def messages(agent):
    return agent.invoke({"messages": "hi"})["messages"]


def output_of(agent, **arguments):
    return agent.invoke(call(agent.name, **arguments)).artifact["output"]


def test_the_schema_is_ours_and_so_are_repairs_and_messages():
    assert to_langchain(weather)[0].tool_call_schema["required"] == ["city"]
    message = messages(agent([weather], call("weather", city="Oslo", days="3", config="mine")))[2]
    output = message.artifact["output"]
    assert (output["days"], output["names"], output["call"]) == (3, "mine", "call_1")
    assert message.artifact["metadata"] == {"repaired": ['days: "3" -> 3']}
    wrong = messages(agent([weather], call("weather", days="x")))[2]
    assert (wrong.status, wrong.content) == ("error", 'city is required: a string; days must be an integer, got "x"')


def test_a_failure_is_an_error_message_or_an_exception_without_a_call():
    (converted,) = to_langchain(fail)
    message = converted.invoke(call("fail"))
    assert (message.status, message.content, message.artifact["error_type"]) == ("error", "no such city", "not_found")
    with pytest.raises(ToolException, match="no such city"):
        converted.invoke({})
    with pytest.raises(ToolException, match="send one JSON object"):
        converted.invoke("{")


def test_pictures_and_pdfs_are_content_blocks_and_files_of_text_are_text():
    content = messages(agent([picture], call("picture")))[2].content
    kinds = [(block["type"], block.get("text")) for block in content]
    assert kinds == [("text", "see"), ("image", None), ("file", None), ("text", "[file, text/plain]\nwords")]


def test_text_that_utf_8_cannot_encode_is_replaced():
    named = tool(lambda: "caf\udce9", name="named", description="Read a name.")
    assert to_langchain(named)[0].invoke({}) == "caf\ufffd"


def test_the_run_is_the_thread_and_progress_goes_to_the_custom_stream():
    conversation = agent([weather], call("weather", city="Oslo"), checkpointer=InMemorySaver())
    events = list(conversation.stream({"messages": "hi"}, CONFIG, stream_mode=["custom", "values"]))
    assert ("custom", {"done": 1, "total": 2, "message": "half"}) in events
    assert events[-1][1]["messages"][2].artifact["output"]["run"] == "talk"


def test_asynchronous_agents_cancel_a_tool():
    assert is_cancelled(lambda wait: agent([wait], call("wait")).ainvoke({"messages": "hi"}))


def test_a_halt_ends_the_run_with_the_middleware():
    answers = messages(agent([leave, weather], call("leave"), middleware=[langchain_halt()]))
    assert [message.content for message in answers] == ["hi", "", "bye"]
    assert messages(agent([leave], call("leave")))[-1].content == "done"


@pytest.mark.parametrize(
    ("decision", "expected", "done"),
    [
        ({"type": "approve"}, "removed a", ["a"]),
        ({"type": "edit", "edited_action": {"name": "remove", "args": {"path": "b"}}}, "removed b", ["b"]),
        ({"type": "reject", "message": "never"}, "never", []),
    ],
)
def test_a_call_that_requires_approval_interrupts_the_graph(decision, expected, done):
    remove, removed = removal()
    conversation = agent([remove], call("remove", path="a"), checkpointer=InMemorySaver())
    (interrupt,) = conversation.invoke({"messages": "hi"}, CONFIG)["__interrupt__"]
    assert interrupt.value["action_requests"][0]["args"] == {"path": "a"}
    assert removed == []
    answers = conversation.invoke(Command(resume={"decisions": [decision]}), CONFIG)["messages"]
    assert (answers[2].content, removed) == (expected, done)


def test_a_wrong_answer_to_an_interrupt_shows_a_valid_one():
    conversation = agent([removal()[0]], call("remove", path="a"), checkpointer=InMemorySaver())
    conversation.invoke({"messages": "hi"}, CONFIG)
    with pytest.raises(ValueError, match="resume with"):
        conversation.invoke(Command(resume=True), CONFIG)


def test_parallel_calls_are_approved_one_by_one():
    remove, removed = removal()
    calls = [call("remove", path=path) | {"id": path} for path in ("a", "b")]
    conversation = agent([remove], *calls, checkpointer=InMemorySaver())
    answers = {}
    for interrupt in conversation.invoke({"messages": "hi"}, CONFIG)["__interrupt__"]:
        is_b = interrupt.value["action_requests"][0]["args"]["path"] == "b"
        answers[interrupt.id] = {"decisions": [{"type": "approve" if is_b else "reject"}]}
    assert len(answers) == 2
    conversation.invoke(Command(resume=answers), CONFIG)
    assert removed == ["b"]


def test_a_node_with_several_calls_cannot_ask_and_so_refuses():
    remove, removed = removal()
    graph = StateGraph(MessagesState).add_node("tools", ToolNode(to_langchain(remove))).set_entry_point("tools")
    message = AIMessage("", tool_calls=[call("remove", path="a")])
    state = graph.compile(checkpointer=InMemorySaver()).invoke({"messages": [message]}, CONFIG)
    assert (state["messages"][-1].artifact["error_type"], removed) == ("approval_required", [])


def test_a_call_that_requires_approval_does_not_run_in_a_custom_tool_node():
    remove, removed = removal()
    with pytest.raises(ToolException, match="needs approval"):
        to_langchain(remove)[0].invoke({"path": "a"})
    denied = to_langchain(remove, approve=lambda request: request.arguments == {"path": "b"})[0]
    with pytest.raises(ToolException, match="not approved"):
        denied.invoke({"path": "a"})
    assert removed == []
    assert asyncio.run(denied.ainvoke({"path": "b"})) == "removed b"
    assert to_langchain(remove, approve="all")[0].invoke({"path": "a"}) == "removed a"


def test_an_executor_makes_the_calls_under_its_policy():
    policy = Policy([{"decision": "deny", "tool": "fail"}], files=(), project=False, default="allow")
    with Executor([weather, fail], policy=policy) as executor:
        converted = to_langchain([weather, fail], executor=executor)
        assert asyncio.run(converted[0].ainvoke(call("weather", city="Oslo"))).status == "success"
        assert converted[1].invoke(call("fail")).artifact["error_type"] == "denied"
        with pytest.raises(TypeError, match="to the executor"):
            to_langchain(weather, executor=executor, approve="all")


def test_registries_mappings_toolsets_and_functions_convert():
    class Notes(Toolset):
        def add(self, text: str) -> str:
            """Add a note."""
            return text

    def plain() -> int:
        return 1

    registry = Registry()
    registry.register(weather)
    sources = [registry, {"here": weather}, weather, plain, [weather, Notes()], Notes(), Notes]
    names = [" ".join(tool.name for tool in to_langchain(tools)) for tools in sources]
    assert names == ["weather", "here", "weather", "plain", "weather notes_add", "notes_add", "notes_add"]
    with pytest.raises(ValueError, match="the name is taken by"):
        to_langchain([weather, tool(plain, name="weather")])
    with pytest.raises(TypeError, match="aprove"):
        to_langchain(weather, aprove="all")


def test_calls_receive_the_context_of_their_conversion(tmp_path):
    reports = []

    @tool
    async def look(context: Context) -> object:
        """Look."""
        context.progress(1)
        return [str(context.workspace), dict(context.state), context.run_id]

    context = Context(
        workspace=tmp_path, state={"user": 1}, run_id="mine", on_progress=lambda *facts: reports.append(facts)
    )
    assert output_of(to_langchain(look, context=context)[0]) == [str(tmp_path), {"user": 1}, "mine"]
    assert reports == [(1, None, "")]
    assert len({output_of(to_langchain(look)[0])[2] for _ in range(2)}) == 2
    context.cancel()
    assert to_langchain(look, context=context)[0].invoke(call("look")).artifact["error_type"] == "cancelled"


def test_their_tools_become_ours():
    @their_tool
    def divide(a: int, b: int) -> float:
        """Divide."""
        if b == 0:
            raise ToolException("b is 0")
        return a / b

    @their_tool("9.show", response_format="content_and_artifact", return_direct=True)
    def show() -> tuple[list, dict]:
        """Show."""
        image = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
        return [{"type": "text", "text": "a"}, image], {"n": 1}

    ours = from_langchain([divide, show])
    assert [(tool.name, tool.description) for tool in ours] == [("divide", "Divide."), ("_9_show", "Show.")]
    assert ours[0].definition["input_schema"]["required"] == ["a", "b"]
    assert ours[0].call({"a": "8", "b": 2}).content == "4.0"
    assert (ours[0].call({"a": 1, "b": 0}).error, ours[0].call({"a": 1}).error_type) == ("b is 0", "validation_error")
    result = ours[1].call({})
    assert (result.output, result.halted, result.content[1].kind) == ({"n": 1}, True, "image")
    assert from_langchain(to_langchain([fail]))[0].call({}).error == "no such city"


def test_an_executor_runs_their_tools_in_this_process():
    calls = []

    @their_tool
    def count() -> int:
        """Count."""
        calls.append(1)
        return len(calls)

    with Executor(from_langchain([count]), runtime="process") as executor:
        assert [executor.call_tool("count").content for _ in range(2)] == ["1", "2"]
