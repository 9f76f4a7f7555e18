"""`ToolCall`: immutable, whatever is done with the arguments that went in or came out."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import ToolCall

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("name", ["id", "name"])
def test_attributes_cannot_be_set(name):
    call = ToolCall("1", "send", {"to": "ada"})
    with pytest.raises(AttributeError):
        setattr(call, name, "x")
    assert call.to_dict() == {"id": "1", "name": "send", "arguments": {"to": "ada"}}


def test_a_call_copies_its_arguments():
    arguments = {"to": ["ada"], "options": {"at": (1, [2])}}
    call = ToolCall("1", "send", arguments)
    arguments["to"].append("eve")
    arguments["options"]["at"][1].append(3)
    arguments["more"] = 1
    assert call.arguments == {"to": ["ada"], "options": {"at": [1, [2]]}}


@pytest.mark.parametrize(
    "read", [lambda call: call.arguments, lambda call: call.raw_arguments, lambda call: call.to_dict()["arguments"]]
)
@pytest.mark.parametrize("arguments", [{"to": "ada"}, {"to": ["ada"]}])
def test_a_call_returns_copies_of_its_arguments(read, arguments):
    call = ToolCall("1", "send", arguments)
    out = read(call)
    out["more"] = 1
    if isinstance(out["to"], list):
        out["to"].append("eve")
    assert read(call) == arguments


@given(st.none() | st.text() | st.dictionaries(st.text(), JSON, max_size=4))
def test_copies_and_round_trips_are_equal(arguments):
    call = ToolCall("1", "send", arguments)
    for other in (
        pickle.loads(pickle.dumps(call)),
        copy.copy(call),
        copy.deepcopy(call),
        ToolCall.from_dict(call.to_dict()),
    ):
        assert other == call and hash(other) == hash(call)


@pytest.mark.slow
def test_arguments_that_contain_themselves_or_nest_deeply_can_be_held():
    loop: list[object] = []
    loop.append(loop)
    copied = ToolCall("1", "send", {"x": loop}).arguments["x"]
    assert copied is not loop and copied[0] is copied
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert ToolCall("1", "send", {"x": deep}).arguments["x"] is not deep
