import asyncio

import pytest

from tools_agent import Assistant, ProviderError, Request, ScriptedProvider, TextDelta, ToolCallDelta, User
from tools_core import ToolCall

ASK = Request(model="any", messages=[User(content="1 + 2?")])


def pieces_of(provider, request=ASK):
    async def collect():
        return [piece async for piece in provider.astream(request)]

    return asyncio.run(collect())


REPLY = Assistant(content="Hello", stop_reason="length")
ADD = ToolCall(None, "add", {"a": 1})


@pytest.mark.parametrize("reply", ["It is  three.\n", ADD, ["Let me", " see", ADD, ADD], REPLY, lambda _: ["a", ADD]])
def test_a_script_yields_the_deltas_and_then_the_whole_reply(reply):
    *deltas, message = pieces_of(ScriptedProvider(reply))
    assert "".join(delta.content for delta in deltas if isinstance(delta, TextDelta)) == message.content
    calls = [ToolCall(delta.id, delta.name, delta.arguments) for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert [call.arguments for call in calls] == [call.arguments for call in message.tool_calls]
    assert [call.id for call in message.tool_calls] == ["call_1", "call_2"][: len(calls)]
    assert message.stop_reason == (reply.stop_reason if reply is REPLY else "tool" if calls else "stop")


def test_text_is_split_into_words():
    assert pieces_of(ScriptedProvider("It is three."))[:-1] == [*map(TextDelta, ("It", " is", " three."))]


def test_new_calls_receive_ids_that_the_conversation_lacks():
    history = [User(content="x"), Assistant(tool_calls=[ToolCall("call_1", "add")])]
    *_, message = pieces_of(ScriptedProvider(ADD), Request(model="any", messages=history))
    assert message.tool_calls[0].id == "call_2"


def test_recorded_requests_do_not_change_with_the_conversation():
    provider, messages = ScriptedProvider(default="ok"), [User(content="a")]
    pieces_of(provider, Request(model="any", messages=messages))
    messages.append(User(content="b"))
    pieces_of(provider, Request(model="any", messages=messages))
    assert [[message.content for message in call.messages] for call in provider.calls] == [["a"], ["a", "b"]]


def test_an_exhausted_script_is_an_error_unless_it_has_a_default():
    provider = ScriptedProvider("first")
    pieces_of(provider)
    with pytest.raises(ProviderError, match="no reply to request 2: add replies, or pass default="):
        pieces_of(provider)
    provider.add("third")
    assert pieces_of(provider)[-1].content == "third"


def test_items_before_an_exception_are_streamed_first():
    async def main():
        pieces = ScriptedProvider(["Let", ConnectionError("cut")]).astream(ASK)
        assert await anext(pieces) == TextDelta("Let")
        with pytest.raises(ConnectionError, match="cut"):
            await anext(pieces)

    asyncio.run(main())


def test_a_reply_may_be_a_coroutine_function():
    async def reply(request):
        return request.messages[0].content

    assert pieces_of(ScriptedProvider(reply))[-1].content == "1 + 2?"
