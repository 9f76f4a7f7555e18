"""Typed replies: validators that ask again, and values while they arrive."""

from __future__ import annotations

import asyncio
import json

import pytest
from pydantic import BaseModel

from tools_agent import Agent, PartialOutput, Retrying, ScriptedProvider, TextDelta
from tools_core import ToolCall


class Booking(BaseModel):
    room: str
    guests: int = 1


def booking(room, **more):
    return json.dumps({"room": room, **more})


def is_free(output, context):
    if output.room not in context["free"]:
        raise ValueError(f"{output.room} is taken")


def in_capitals(output):
    return output.model_copy(update={"room": output.room.upper()})


async def checked_elsewhere(output):
    await asyncio.sleep(0)
    is_free(output, {"free": ["b"]})


class Checker:
    def is_free(self, output, context=None):
        is_free(output, {"free": ["b"]} if context is None else context)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "validator",
    [is_free, checked_elsewhere, Checker().is_free, lambda output: is_free(output, {"free": ["b"]})],
    ids=["with the context", "coroutine function", "method", "lambda"],
)
def test_a_validator_lets_the_model_reply_again(validator, is_async, arun):
    model = ScriptedProvider(booking("a"), booking("b"))
    agent = Agent(model=model, output=Booking, output_validators=[validator], context={"free": ["b"]})
    response = arun(agent.agenerate("Book")) if is_async else agent.generate("Book")
    assert response.output == Booking(room="b")
    assert "a is taken" in model.calls[1].messages[-1].content


def test_mistakes_of_both_kinds_count_as_retries():
    model = ScriptedProvider("no", booking("a"), booking("b"))
    options = {"output": Booking, "output_validators": [is_free], "context": {"free": ["b"]}}
    response = Agent(model=model, output_retries=1, **options).generate("Book")
    assert (response.outcome, response.output, response.detail) == ("invalid_output", None, "a is taken")
    model = ScriptedProvider("no", booking("a"), booking("b"))
    assert Agent(model=model, output_retries=2, **options).generate("Book").completed


def test_a_validator_corrects_the_output_for_callers_and_for_the_next_validator():
    def is_upper(output):
        assert output.room.isupper()

    child = Agent(
        name="desk", model=ScriptedProvider(booking("a")), output=Booking, output_validators=[in_capitals, is_upper]
    )
    caller = Agent(model=ScriptedProvider(ToolCall("1", "desk", {"prompt": "Book"}), "ok"), tools=[child.as_tool()])
    caller.generate("Go")
    assert caller.session.messages[2].result.output == {"room": "A", "guests": 1}


def test_validators_without_a_type_see_the_text():
    def is_short(text):
        if len(text) > 5:
            raise ValueError("at most 5 letters")

    model = ScriptedProvider("Certainly", ToolCall("1", "none", {}), "Yes")
    response = Agent(model=model, output_validators=[is_short]).generate("Well?")
    assert (response.outcome, response.content, response.steps) == ("completed", "Yes", 3)


def test_other_exceptions_of_a_validator_reach_the_caller():
    def broken(output):
        raise KeyError(output.room)

    agent = Agent(model=ScriptedProvider(default=booking("a")), output=Booking, output_validators=[broken])
    with pytest.raises(KeyError, match="a"):
        agent.generate("Book")
    agent.output_validators = [in_capitals]
    assert agent.generate().output == agent.generate().output == Booking(room="A")


def partial_outputs(agent):
    return [event for event in agent.stream("Go") if isinstance(event, PartialOutput)]


@pytest.mark.parametrize(
    ("before", "after"),
    [("", ""), ("```json\n", "\n```"), ("Here it is:\n\n```\n", "\n```\nBye {x}"), ("<think>hm</think>\n", "")],
    ids=["JSON", "fence", "fence between sentences", "thoughts"],
)
def test_a_typed_reply_is_seen_while_it_arrives(before, after):
    text = f'{before}{{"room": "a b c", "guests": 2}}{after}'
    events = partial_outputs(Agent(model=ScriptedProvider(text), output=Booking))
    if before.startswith("<"):  # a provider removes thoughts
        return
    rooms = [event.data.get("room") for event in events]
    assert rooms[:4] == [None, "a", "a b", "a b c"]
    assert events[1].value == Booking(room="a")
    assert events[-1].value == Booking(room="a b c", guests=2)


def test_a_list_has_the_items_that_are_complete():
    text = json.dumps([{"room": "a", "guests": 1}, {"room": "b", "guests": 2}])
    counts = [
        len(event.value or ()) for event in partial_outputs(Agent(model=ScriptedProvider(text), output=list[Booking]))
    ]
    assert counts == sorted(counts)
    assert counts[-1] == 2


@pytest.mark.parametrize("kind", [None, str, int, str | Booking])
def test_text_has_no_partial_output(kind):
    model = ScriptedProvider("12", default="12")
    assert partial_outputs(Agent(model=model, output=kind)) == []


def test_a_retry_begins_with_an_empty_value():
    class Cut(ScriptedProvider):
        async def astream(self, request):
            yield TextDelta('{"room": "wrong')
            yield Retrying("cut", 0)
            async for piece in super().astream(request):
                yield piece

    events = partial_outputs(Agent(model=Cut(booking("right")), output=Booking))
    assert [event.data.get("room") for event in events] == ["wrong", None, "right", "right", "right"][: len(events)]


def test_long_replies_are_read_in_proportion_to_their_length():
    rooms = [{"room": "word " * 20, "guests": 1}] * 300
    text = f"<think>hm</think>{json.dumps(rooms)}"  # reading this takes minutes if the time is quadratic
    assert len(Agent(model=ScriptedProvider(text), output=list[Booking]).generate("Go").output) == 300
    events = partial_outputs(Agent(model=ScriptedProvider(json.dumps(rooms)), output=list[Booking]))
    assert len(events) < 600  # of 6,600 pieces
