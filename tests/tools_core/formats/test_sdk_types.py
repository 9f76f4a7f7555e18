"""Converted definitions and results, checked against the types of the SDKs and the documented keywords."""

from __future__ import annotations

from itertools import chain

import pytest
from pydantic import TypeAdapter

from tools_core import Audio, File, Image, Result, ToolCall
from tools_core.formats import FORMATS, gemini

pytestmark = pytest.mark.slow


PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
DEFINITION_TYPES = {
    "openai": ("openai.types.chat", "ChatCompletionToolParam"),
    "openai-strict": ("openai.types.chat", "ChatCompletionToolParam"),
    "responses": ("openai.types.responses", "FunctionToolParam"),
    "responses-strict": ("openai.types.responses", "FunctionToolParam"),
    "anthropic": ("anthropic.types", "ToolParam"),
    "anthropic-strict": ("anthropic.types", "ToolParam"),
    "mcp": ("mcp_types", "Tool"),
}
CHAT_MESSAGES = {
    "tool": ("openai.types.chat", "ChatCompletionToolMessageParam"),
    "user": ("openai.types.chat", "ChatCompletionUserMessageParam"),
}
RESULT_TYPES = {
    "responses": ("openai.types.responses.response_input_item_param", "FunctionCallOutput"),
    "responses-strict": ("openai.types.responses.response_input_item_param", "FunctionCallOutput"),
    "anthropic": ("anthropic.types", "MessageParam"),
    "anthropic-strict": ("anthropic.types", "MessageParam"),
    "mcp": ("mcp_types", "CallToolResult"),
}
RESULTS = {
    "text": Result.ok("sunny"),
    "empty": Result.ok(""),
    "data": Result.ok({"degrees": 21, "at": [1, 2.5, None]}),
    "error": Result.error("no such city; did you mean Oslo?", type="not_found"),
    "error of no words": Result.error("", type="unavailable"),
    "halt": Result.halt("done"),
    "image": Result.ok(Image(PNG)),
    "audio": Result.ok(Audio(b"RIFF\0\0\0\0WAVE", name="a.wav")),
    "pdf": Result.ok(File(b"%PDF-1.7", name="r.pdf")),
    "text file": Result.ok(File("häuser".encode(), "text/plain", name="h ö.txt")),
    "mixed": Result.ok(["before", Image(PNG), "", File(b"\xff\x00"), "after", Image(PNG)]),
}


@pytest.fixture
def accepted(sdk):
    """Return whether the SDK's type accepts every value and has a field for each of its keys."""

    def accepted(kind, values):
        adapter = TypeAdapter(sdk(*kind))
        for value in values:
            parsed = adapter.dump_python(adapter.validate_python(value), mode="json", by_alias=True, exclude_unset=True)
            assert parsed == value
        return True

    return accepted


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "gemini"])
def test_real_definitions_match_the_types_of_sdks(name, real_definitions, accepted):
    for definitions in real_definitions:
        converted = FORMATS[name].definitions(definitions)
        assert len(converted) == len(definitions)
        assert accepted(DEFINITION_TYPES[name], converted)


def test_real_definitions_match_the_types_of_gemini(real_definitions, sdk):
    for definitions in real_definitions:
        for converted in gemini.definitions(definitions):
            parsed = sdk("google.genai.types", "FunctionDeclaration").model_validate(converted)
            dumped = parsed.model_dump(mode="json", by_alias=True, exclude_unset=True)
            assert dumped == converted
    [tool] = gemini.tools(real_definitions[0])
    assert len(sdk("google.genai.types", "Tool").model_validate(tool).function_declarations) == len(real_definitions[0])


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("name", FORMATS)
def test_results_match_the_types_of_sdks(name, result, sdk, accepted):
    calls = [ToolCall("call_1", "weather.get", {}), ToolCall("call_2", "other", {})]
    converted = FORMATS[name].results([(calls[0], result), (calls[1], Result.ok("x"))])
    if name == "gemini":
        for content in converted:
            parsed = sdk("google.genai.types", "Content").model_validate(content)
            assert [part.function_response.name for part in parsed.parts] == ["weather.get", "other"]
    elif name.startswith("openai"):
        for message in converted:
            assert accepted(CHAT_MESSAGES[message["role"]], [message])
    else:
        assert accepted(RESULT_TYPES[name], converted)


CONTENT_TYPES = {
    "openai": ("openai.types.chat", "ChatCompletionUserMessageParam"),
    "responses": ("openai.types.responses", "EasyInputMessageParam"),
    "anthropic": ("anthropic.types", "MessageParam"),
}


@pytest.mark.parametrize("name", CONTENT_TYPES)
def test_files_in_messages_match_the_types_of_sdks(name, accepted):
    files = [Image(PNG), Audio(b"ID3"), Audio(b"fLaC"), File(b"%PDF-1.7"), File(b"x", "text/plain"), File(b"\xff")]
    message = {"role": "user", "content": FORMATS[name].content(["Look:", *files])}
    assert accepted(CONTENT_TYPES[name], [message])


def test_files_in_messages_match_the_types_of_gemini(sdk):
    files = [Image(PNG), Audio(b"ID3"), File(b"%PDF-1.7"), File(b"x", "text/plain"), File(b"\xff")]
    content = sdk("google.genai.types", "Content").model_validate({"role": "user", "parts": gemini.content(files)})
    assert [bool(part.inline_data) for part in content.parts] == [True, True, True, True, False]


CLOSED = {"properties", "required", "additionalProperties"}
KEYWORDS = {
    "openai-strict": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "pattern"},
    "anthropic-strict": {"default", "minItems"},
}


def parts(schema):
    """Yield a converted schema and all of its subschemas."""
    yield schema
    for part in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]:
        yield from parts(part)
    if "items" in schema:
        yield from parts(schema["items"])


@pytest.mark.parametrize("name", KEYWORDS)
def test_strict_schemas_have_only_documented_keywords(name, real_definitions):
    parsed = KEYWORDS[name] | CLOSED | {"type", "enum", "const", "description", "title", "items", "anyOf", "format"}
    strict = 0
    for definition in chain.from_iterable(real_definitions):
        [converted] = FORMATS[name].definitions([definition])
        converted = converted.get("function", converted)
        strict += converted["strict"]
        for part in parts(converted.get("parameters") or converted["input_schema"]) if converted["strict"] else ():
            assert part.keys() <= parsed
            assert "anyOf" in part or "type" in part
            if "object" in part.get("type", ()):
                assert part.keys() >= CLOSED
                assert part["additionalProperties"] is False
                assert name != "openai-strict" or part["required"] == list(part["properties"])
    assert strict > 2_500
