import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_agent import Assistant, System, ToolResult, Usage, User, message_from_dict
from tools_core import File, Image, Result, ToolCall

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
FILES = [Image(PNG), File(b"x", "text/plain", name="a.txt")]
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=6)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
CALLS = st.builds(ToolCall, TEXT | st.none(), TEXT, st.none() | TEXT | OBJECTS)
RESULTS = (
    st.builds(Result.ok, JSON)
    | st.builds(lambda text: Result.error(text, type="timeout_error"), TEXT)
    | st.builds(Result.halt, JSON)
)
MESSAGES = st.one_of(
    st.builds(System, content=TEXT),
    st.builds(User, content=TEXT, files=st.lists(st.sampled_from(FILES), max_size=2)),
    st.builds(
        Assistant,
        content=TEXT,
        tool_calls=st.lists(CALLS, max_size=3),
        items=st.lists(OBJECTS, max_size=2),
        output=JSON,
        usage=st.none() | st.builds(Usage, input_tokens=st.integers(0, 9)),
    ),
    st.builds(ToolResult, tool_call_id=TEXT, name=TEXT, result=RESULTS),
)


@given(MESSAGES)
def test_every_message_survives_json_without_loss(message):
    assert message_from_dict(json.loads(json.dumps(message.to_dict()))) == message
    assert message_from_dict(message.to_json()) == message


def test_an_image_in_a_result_survives_json():
    message = ToolResult(tool_call_id="1", name="chart", result=Result.ok(Image(PNG)))
    again = message_from_dict(message.to_json())
    assert isinstance(again, ToolResult)
    assert again.result.output == Image(PNG)


def test_half_a_surrogate_pair_survives_json():
    message = ToolResult(tool_call_id="1", name="list", result=Result.ok("caf\udce9"))
    assert message_from_dict(message.to_json()) == message


def test_message_ids_are_unique():
    assert User(content="a").id != User(content="a").id


@pytest.mark.parametrize(
    "value", [{}, {"role": "robot"}, {"role": "user", "contents": "x"}, {"role": "tool", "name": "x"}]
)
def test_the_error_for_an_invalid_message_names_the_field(value):
    with pytest.raises(ValueError, match=r"role|contents|tool_call_id"):
        message_from_dict(value)


def test_usage_can_be_added():
    total = Usage(input_tokens=3, output_tokens=1) + Usage(input_tokens=2, cache_read_tokens=2)
    assert total == Usage(input_tokens=5, output_tokens=1, cache_read_tokens=2)
    assert total.total_tokens == 6
