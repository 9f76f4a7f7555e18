"""The statements of RobotLab's page on ToolCallMessage, and what its other messages need for the round trip."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_agent import Assistant, ToolCallMessage, ToolMessage, ToolResult, ToolResultMessage
from tools_core import Result, ToolCall

TEXT = st.text()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)
)
TOOLS = st.builds(ToolMessage, id=TEXT, name=TEXT, input=st.dictionaries(TEXT, JSON) | TEXT)
MESSAGES = (
    TOOLS
    | st.builds(ToolCallMessage, role=st.sampled_from(["assistant", "user"]), tools=st.lists(TOOLS, max_size=3))
    | st.builds(
        ToolResultMessage, tool=TOOLS, content=st.fixed_dictionaries({}, optional={"data": JSON, "error": TEXT})
    )
)
WEATHER = ToolMessage(id="call_abc123", name="get_weather", input={"city": "New York"})


def test_a_tool_call_message_has_the_attributes_and_predicates_of_the_seed():
    message = ToolCallMessage(role="assistant", tools=[WEATHER])
    assert (message.role, message.type, message.content, message.stop_reason) == (
        "assistant",
        "tool_call",
        None,
        "tool",
    )
    assert (message.tools[0].id, message.tools[0].name) == ("call_abc123", "get_weather")
    assert message.tools[0].input == {"city": "New York"}
    assert (message.is_tool_call, message.is_text, message.is_assistant, message.is_tool_stop) == (
        True,
        False,
        True,
        True,
    )
    assert not (message.is_tool_result or message.is_user or message.is_system or message.is_stopped)


def test_a_tool_call_message_has_the_dict_and_the_json_of_the_seed():
    message = ToolCallMessage(role="assistant", tools=[WEATHER])
    shape = {
        "type": "tool_call",
        "role": "assistant",
        "tools": [{"type": "tool", "id": "call_abc123", "name": "get_weather", "input": {"city": "New York"}}],
        "stop_reason": "tool",
    }
    assert message.to_dict() == shape
    assert message.to_json() == json.dumps(shape)  # the keys are in this order


def test_the_stop_reason_can_be_set():
    assert ToolCallMessage(role="assistant", tools=[], stop_reason=None).is_tool_stop
    assert ToolCallMessage(role="assistant", tools=[], stop_reason="stop").is_stopped


def test_tools_can_be_dicts_with_input_or_arguments():
    values = {"id": "call_abc123", "name": "get_weather"}
    for key in ("input", "arguments"):
        assert ToolCallMessage(role="assistant", tools=[{**values, key: {"city": "New York"}}]).tools == (WEATHER,)
    assert ToolMessage(**values, input=None).input == ToolMessage(**values).input == {}
    with pytest.raises(ValueError, match="tools"):
        ToolCallMessage(role="assistant", tools=["get_weather"])
    with pytest.raises(ValueError, match="'system', 'user', 'assistant' or 'tool_result'"):
        ToolCallMessage(role="robot", tools=[])


def test_a_result_message_has_the_data_or_the_error_of_its_call():
    message = ToolResultMessage(tool=WEATHER, content={"data": {"sky": "clear"}})
    assert (message.role, message.type, message.stop_reason) == ("tool_result", "tool_result", "tool")
    assert (message.is_success, message.is_error, message.data, message.error) == (True, False, {"sky": "clear"}, None)
    assert message.to_dict() == {
        "type": "tool_result",
        "role": "tool_result",
        "tool": WEATHER.to_dict(),
        "content": {"data": {"sky": "clear"}},
        "stop_reason": "tool",
    }
    failed = ToolResultMessage(tool=WEATHER, content={"error": "no such city"})
    assert (failed.is_success, failed.is_error, failed.error) == (False, True, "no such city")


@pytest.mark.slow
@given(MESSAGES)
def test_each_message_survives_json_without_loss(message):
    again = type(message).from_dict(json.loads(message.to_json()))
    assert again == message
    assert again.to_dict() == message.to_dict()


def test_a_reply_survives_conversion_to_robotlab_messages():
    reply = Assistant(
        content="Let me look.", tool_calls=(ToolCall("call_1", "look", '{"at": 1}'), ToolCall("2", "x", "{"))
    )
    view = ToolCallMessage.from_message(reply)
    assert [tool.input for tool in view.tools] == [{"at": 1}, "{"]
    assert view.to_message() == reply
    assert view == ToolCallMessage.from_dict(view.to_dict())
    assert ToolCallMessage.from_dict(view.to_dict()).to_message().tool_calls[1] == reply.tool_calls[1]


@pytest.mark.parametrize("result", [Result.ok({"sky": "clear"}), Result.error("no such city")])
def test_a_result_survives_conversion_to_robotlab_messages(result):
    message = ToolResult(tool_call_id="call_1", name="get_weather", result=result)
    view = ToolResultMessage.from_message(message, ToolCall("call_1", "get_weather", {"city": "Oslo"}))
    assert (view.tool.input, view.data, view.error) == ({"city": "Oslo"}, result.output, result.error)
    assert view.to_message() == message
    assert ToolResultMessage.from_dict(view.to_dict()).to_message().result == result
