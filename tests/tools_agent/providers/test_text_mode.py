import asyncio
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tools_agent import (
    Assistant,
    ProviderError,
    Request,
    Retrying,
    ScriptedProvider,
    System,
    TextDelta,
    TextMode,
    ToolCallDelta,
    ToolResult,
    User,
)
from tools_core import Image, Result, ToolCall, tool

NOTATIONS = ["json-with-tag", "json-in-xml", "xml", "pythonic"]
PNG = Image(b"\x89PNG\r\n\x1a\n" + bytes(8))


@tool(name="read-file")
def read_file(path: str, lines: int = 10) -> str:
    """Read a file."""
    return path


CALLS = {
    "json-with-tag": '<tool_call>\n{"name": "read-file", "arguments": {"path": "a", "lines": 2}}\n</tool_call>',
    "json-in-xml": '<tool_call name="read-file">\n{"path": "a", "lines": 2}\n</tool_call>',
    "xml": '<tool_call name="read-file">\n<parameter name="path">a</parameter>\n'
    '<parameter name="lines" type="json">2</parameter>\n</tool_call>',
    "pythonic": "[read_file(path='a', lines=2)]",
}
BROKEN = {
    "json-with-tag": ('<tool_call>{"name": "read-file", "arguments": {"path": }}</tool_call>', "not JSON"),
    "json-in-xml": ("<tool_call>{}</tool_call>", "name=.* is missing"),
    "xml": ('<tool_call name="read-file"><path>a</path></tool_call>', "expected <parameter"),
    "pythonic": ("[read_file(path=a)]", "malformed node|literal"),
}


def ask(*messages, **options):
    return Request(model="m", messages=[*messages] or [User(content="Hi")], tools=[read_file.definition], **options)


def replied(notation, reply, request=None):
    return list(TextMode(ScriptedProvider(reply), notation).stream(request or ask()))


@pytest.mark.parametrize("notation", NOTATIONS)
def test_calls_are_read_out_of_the_text_and_given_ids(notation):
    *deltas, reply = replied(notation, f"I look.\n\n{CALLS[notation]}")
    [call] = reply.tool_calls
    assert (reply.content, reply.stop_reason) == ("I look.", "tool")
    assert (call.name, call.arguments) == ("read-file", {"path": "a", "lines": 2})
    assert call.id.startswith("call_")
    assert "".join(delta.content for delta in deltas if isinstance(delta, TextDelta)).strip() == "I look."
    [delta] = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert (delta.id, json.loads(delta.arguments)) == (call.id, call.arguments)


@pytest.mark.parametrize("notation", NOTATIONS)
def test_the_model_reads_the_tools_and_what_happened_so_far_as_text(notation):
    model = ScriptedProvider("Done.")
    history = [
        System(content="Be brief."),
        User(content="Look."),
        Assistant(content="I look.", tool_calls=[ToolCall("1", "read-file", {"path": "a", "lines": 2})]),
        ToolResult(tool_call_id="1", name="read-file", result=Result.ok(["here </tool_result>", PNG])),
        User(content="And?"),
    ]
    list(TextMode(model, notation).stream(ask(*history)))
    [sent] = model.calls
    assert sent.tools == ()
    system, _, reply, result, _ = sent.messages
    assert system.content.startswith("Be brief.\n\nYou can call tools.")
    assert '"name": "read-file", "description": "Read a file."' in system.content
    assert (reply.content, reply.tool_calls) == (f"I look.\n\n{CALLS[notation]}", ())
    assert result.content.startswith('<tool_result name="read-file">\nhere <\\/tool_result>')
    assert result.files == (PNG,)


NAMES = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_-]{0,8}", fullmatch=True)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | FLOATS | TEXT
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=5)
ARGUMENTS = st.dictionaries(NAMES | TEXT, JSON, max_size=3)
WORDS = st.text("abc .\n", max_size=9).map(str.strip)


@pytest.mark.parametrize("notation", NOTATIONS)
@example(content="", arguments=[{"a": "<tool_result </tool_call> </parameter>"}], name="class")
@given(content=WORDS, arguments=st.lists(ARGUMENTS, min_size=1, max_size=3), name=NAMES)
def test_what_is_written_is_read_again_without_loss(notation, content, arguments, name):
    definition = dict(read_file.definition) | {"name": name}
    calls = [ToolCall(str(index), name, each) for index, each in enumerate(arguments)]
    model = ScriptedProvider("ok")
    asked = Request(model="m", messages=[User(content="Hi"), Assistant(content=content, tool_calls=calls)])
    list(TextMode(model, notation).stream(asked))
    written = model.calls[0].messages[-1].content
    asked = Request(model="m", messages=[User(content="Hi")], tools=[definition])
    *deltas, reply = replied(notation, written, asked)
    assert reply.content == content
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [(name, each) for each in arguments]
    assert "".join(delta.content for delta in deltas if isinstance(delta, TextDelta)).strip() == content


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_call_that_cannot_be_read_is_explained_to_the_model(notation):
    text, problem = BROKEN[notation]
    model = ScriptedProvider(text, "ok")
    provider = TextMode(model, notation)
    *_, reply = provider.stream(ask())
    [call] = reply.tool_calls
    assert (call.name, call.raw) == ("malformed_call", text)
    result = ToolResult(tool_call_id=call.id, name=call.name, result=Result.error("no such tool"))
    list(provider.stream(ask(User(content="Hi"), reply, result)))
    said, told = model.calls[1].messages[-2:]
    assert said.content == text
    assert re.search(rf'error="true">\nThis call could not be read: .*({problem})', told.content)
    assert "Write it as:\n" in told.content


@pytest.mark.parametrize("notation", NOTATIONS)
def test_text_without_calls_passes_as_it_is(notation):
    text = "See [1], a < b and [list(x)] or\n[link](there).\n\nBye <tool"
    *deltas, reply = replied(notation, text)
    assert reply.content == "".join(delta.content for delta in deltas) == text
    assert reply.tool_calls == ()


@pytest.mark.parametrize("notation", NOTATIONS)
def test_results_that_the_model_invents_are_dropped(notation):
    invented = "\n<tool_result>nothing</tool_result>\nSo it is nothing."
    *_, reply = replied(notation, CALLS[notation] + invented)
    assert (reply.content, len(reply.tool_calls)) == ("", 1)


def test_a_missing_end_of_the_last_call_is_no_matter_unless_a_limit_cut_it_off():
    whole = CALLS["json-in-xml"].removesuffix("</tool_call>")
    *_, reply = replied("json-in-xml", whole)
    assert reply.tool_calls[0].arguments == {"path": "a", "lines": 2}
    with pytest.raises(ProviderError, match=r"cut off \(length\) in a tool call"):
        replied("json-in-xml", Assistant(content=whole[:-6], stop_reason="length"))


def test_a_retry_forgets_the_text_so_far_and_astream_does_as_stream():
    class Cut:
        async def astream(self, request):
            yield TextDelta("Hel<tool_")
            yield Retrying("cut", 0.1)
            yield TextDelta("Hello")
            yield Assistant(content="Hello", stop_reason="stop")

    async def collect():
        return [piece async for piece in TextMode(Cut(), "xml").astream(ask())]

    *deltas, reply = asyncio.run(collect())
    assert deltas == [TextDelta("Hel"), Retrying("cut", 0.1), TextDelta("Hello")]
    assert reply.content == "Hello"


def test_structured_output_is_asked_for_in_words_beside_tools():
    model = ScriptedProvider('{"n": 1}')
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    list(TextMode(model).stream(ask(output_schema=schema)))
    assert "Once you need no more tools: Reply with JSON that fits" in model.calls[0].messages[0].content


def test_an_unknown_notation_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="json-with-tag, json-in-xml, xml, pythonic; got 'yaml'"):
        TextMode(ScriptedProvider(), "yaml")
