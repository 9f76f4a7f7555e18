"""`to_langchain` and `from_langchain`, with LangChain's own fake models."""

from __future__ import annotations

import asyncio
import threading

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

from tools_adapters import from_langchain, langchain_halt, to_langchain
from tools_core import Context, File, Image, Result, ToolError, tool
from tools_runtime import Executor, Policy

PNG = b"\x89PNG\r\n\x1a\n...."


class Model(FakeMessagesListChatModel):
    def bind_tools(self, tools, **options):
        return self


@tool
def weather(city: str, days: int = 1, config: str = "", *, context: Context) -> dict[str, object]:
    """Weather of a city."""
    context.progress(1, 2, "half")
    return {"city": city, "days": days, "config": config, "run": context.run_id, "call": context.call_id}


@tool
def picture() -> list[object]:
    """Show a picture."""
    return ["see", Image(PNG), File(b"%PDF-1.7"), File(b"words", "text/plain")]


@tool
def leave() -> str:
    """End."""
    return Result.halt("bye")


@tool
def fail() -> str:
    """Fail."""
    raise ToolError("no such city", "not_found")


def removal():
    removed = []

    @tool(requires_approval=True)
    def remove(path: str) -> str:
        """Remove a file."""
        removed.append(path)
        return f"removed {path}"

    return remove, removed


def call(name, **arguments):
    return {"type": "tool_call", "id": "call_1", "name": name, "args": arguments}


def agent(tools, asked, **options):
    answers = [AIMessage("", tool_calls=[each]) for each in asked]
    return create_agent(Model(responses=[*answers, AIMessage("done")]), to_langchain(tools), **options)


def answer_to(tools, asked, **options):
    return agent(tools, [asked], **options).invoke({"messages": "hi"})["messages"][2]


def test_the_schema_is_ours_and_so_are_repairs_and_messages():
    (made,) = to_langchain(weather)
    assert made.tool_call_schema["required"] == ["city"]
    message = answer_to([weather], call("weather", city="Oslo", days="3", config="mine"))
    assert message.artifact["output"] | {"run": ""} == {
        "city": "Oslo", "days": 3, "config": "mine", "run": "", "call": "call_1",
    }  # fmt: skip
    assert message.artifact["metadata"] == {"repaired": ['days: "3" -> 3']}
    wrong = answer_to([weather], call("weather", days="x"))
    assert (wrong.status, wrong.content) == ("error", 'city is required: a string; days must be an integer, got "x"')


def test_a_failure_is_an_error_message_or_an_exception_without_a_call():
    (made,) = to_langchain(fail)
    message = made.invoke(call("fail"))
    assert (message.status, message.content, message.artifact["error_type"]) == ("error", "no such city", "not_found")
    with pytest.raises(ToolException, match="no such city"):
        made.invoke({})
    with pytest.raises(ToolException, match="send one JSON object"):
        made.invoke("{")


def test_pictures_and_pdfs_are_content_blocks_and_files_of_text_are_text():
    kinds = [(block["type"], block.get("text")) for block in answer_to([picture], call("picture")).content]
    assert kinds == [("text", "see"), ("image", None), ("file", None), ("text", "[file, text/plain]\nwords")]


def test_the_run_is_the_thread_and_progress_goes_to_the_custom_stream():
    for thread in ("a", "b"):
        made = agent([weather], [call("weather", city="Oslo")], checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": thread}}
        events = list(made.stream({"messages": "hi"}, config, stream_mode=["custom", "values"]))
        assert ("custom", {"done": 1, "total": 2, "message": "half"}) in events
        assert events[-1][1]["messages"][2].artifact["output"]["run"] == thread


def test_asynchronous_agents_do_not_block_their_loop_and_cancel_a_tool():
    entered, cancelled = threading.Event(), threading.Event()

    @tool
    def wait(context: Context) -> str:
        """Wait."""
        context.on_cancel(cancelled.set)
        entered.set()
        cancelled.wait(30)
        return "late"

    async def main():
        task = asyncio.create_task(agent([wait], [call("wait")]).ainvoke({"messages": "hi"}))
        await asyncio.to_thread(entered.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled.is_set()


def test_a_halt_ends_the_run_with_the_middleware():
    tools, asked = [leave, weather], [call("leave")]
    ended = agent(tools, asked, middleware=[langchain_halt()]).invoke({"messages": "hi"})["messages"]
    assert [message.content for message in ended] == ["hi", "", "bye"]
    assert agent(tools, asked).invoke({"messages": "hi"})["messages"][-1].content == "done"


@pytest.mark.parametrize(
    ("decision", "expected", "done"),
    [
        ({"type": "approve"}, "removed a", ["a"]),
        ({"type": "edit", "edited_action": {"name": "remove", "args": {"path": "b"}}}, "removed b", ["b"]),
        ({"type": "reject", "message": "never"}, "never", []),
        ({"type": "reject"}, "remove was not approved", []),
    ],
)
def test_a_call_that_requires_approval_interrupts_the_graph(decision, expected, done):
    remove, removed = removal()
    made = agent([remove], [call("remove", path="a")], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    (interrupt,) = made.invoke({"messages": "hi"}, config)["__interrupt__"]
    assert interrupt.value["action_requests"][0]["args"] == {"path": "a"}
    assert removed == []
    messages = made.invoke(Command(resume={"decisions": [decision]}), config)["messages"]
    assert (messages[2].content, removed) == (expected, done)


def test_a_wrong_answer_to_an_interrupt_says_what_would_work():
    remove, removed = removal()
    made = agent([remove], [call("remove", path="a")], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    made.invoke({"messages": "hi"}, config)
    with pytest.raises(ValueError, match="resume with"):
        made.invoke(Command(resume=True), config)
    assert removed == []


def test_parallel_calls_are_approved_one_by_one():
    remove, removed = removal()
    asked = AIMessage("", tool_calls=[call("remove", path=path) | {"id": path} for path in ("a", "b")])
    model = Model(responses=[asked, AIMessage("done")])
    made = create_agent(model, to_langchain([remove]), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    answers = {
        each.id: {
            "decisions": [{"type": "approve" if each.value["action_requests"][0]["args"]["path"] == "b" else "reject"}]
        }
        for each in made.invoke({"messages": "hi"}, config)["__interrupt__"]
    }
    assert len(answers) == 2
    made.invoke(Command(resume=answers), config)
    assert removed == ["b"]


def test_a_node_with_several_calls_cannot_ask_and_so_refuses():
    remove, removed = removal()
    graph = StateGraph(MessagesState).add_node("tools", ToolNode(to_langchain([remove]))).set_entry_point("tools")
    asked = AIMessage("", tool_calls=[call("remove", path="a")])
    ended = graph.compile(checkpointer=InMemorySaver()).invoke(
        {"messages": [asked]}, {"configurable": {"thread_id": "1"}}
    )
    assert (ended["messages"][-1].artifact["error_type"], removed) == ("approval_required", [])


def test_a_call_that_requires_approval_does_not_run_where_nothing_asks():
    remove, removed = removal()
    with pytest.raises(ToolException, match='Pass approve="all"'):
        to_langchain(remove)[0].invoke({"path": "a"})
    assert removed == []
    assert to_langchain(remove, approve="all")[0].invoke({"path": "a"}) == "removed a"
    assert to_langchain(remove, approve=lambda request: request.arguments == {"path": "b"})[0].invoke({"path": "b"})
    assert removed == ["a", "b"]


def test_an_executor_makes_the_calls_under_its_policy():
    policy = Policy([{"decision": "deny", "tool": "fail"}], files=(), project=False, default="allow")
    with Executor([weather, fail], policy=policy) as executor:
        made = to_langchain([weather, fail], executor=executor)
        assert asyncio.run(made[0].ainvoke(call("weather", city="Oslo"))).status == "success"
        assert made[1].invoke(call("fail")).artifact["error_type"] == "denied"


def test_their_tools_become_ours():
    @their_tool
    def divide(a: int, b: int) -> float:
        """Divide."""
        if b == 0:
            raise ToolException("b is 0")
        return a / b

    @their_tool(response_format="content_and_artifact", return_direct=True)
    def show() -> tuple[list, dict]:
        """Show."""
        return [{"type": "text", "text": "a"}, {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}], {
            "n": 1
        }

    ours = from_langchain([divide, show])
    assert ours[0].definition["input_schema"]["required"] == ["a", "b"]
    assert ours[0].call({"a": "8", "b": 2}).content == "4.0"
    assert (ours[0].call({"a": 1, "b": 0}).error, ours[0].call({"a": 1}).error_type) == ("b is 0", "validation_error")
    shown = ours[1].call({})
    assert (shown.output, shown.halted, shown.content[1].kind) == ({"n": 1}, True, "image")
    assert from_langchain(to_langchain([fail]))[0].call({}).error == "no such city"
