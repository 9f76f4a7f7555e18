"""A server with the tools that the checking programs call, defined as users define theirs: `python FILE [--http]`."""

import json
import sys

from tools_core import Audio, Context, File, Image, Registry, Result, tool
from tools_mcp import Server

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c4944415408d763f8cfc0000003010100f70341430000000049454e44ae426082"
)
WAV = (
    b"RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data"
)
TOOLS = Registry()


def add(function=None, **options):
    """Make a tool that only reads, unless options say otherwise, and register it."""
    if function is None:
        return lambda function: add(function, **options)
    return TOOLS.register(tool(**{"read_only": True, **options})(function))


@add
def test_simple_text() -> str:
    """Return text."""
    return "This is a simple text response for testing."


@add
def test_image_content() -> Image:
    """Return an image."""
    return Image(PNG)


@add
def test_audio_content() -> Audio:
    """Return audio."""
    return Audio(WAV + b"\x02\x00\x00\x00\x00\x00")


@add
def test_embedded_resource() -> File:
    """Return a file."""
    return File(b"This is an embedded resource content.", "text/plain", name="embedded.txt")


@add
def test_multiple_content_types() -> Result:
    """Return text, an image and a file."""
    return Result.ok(
        content=[
            "Multiple content types test:",
            Image(PNG),
            File(b'{"test": "data", "value": 123}', "application/json"),
        ]
    )


@add
def test_error_handling() -> str:
    """Fail."""
    raise RuntimeError("This tool intentionally returns an error for testing")


@add
def test_tool_with_progress(context: Context) -> str:
    """Report progress."""
    for done in (0, 50, 100):
        context.progress(done, 100, f"Completed step {done} of 100")
    return "done"


@add
def test_logging_tool() -> str:
    """Send no log messages, since the protocol deprecates them."""
    return "done"


def approved() -> str:
    """Run when the user approves."""
    return "approved"


for name in ("elicitation", "request_state", "tampered_state"):
    add(approved, name=f"test_input_required_result_{name}", requires_approval=True)
add(approved, name="test_streaming_elicitation", requires_approval=True)


@add(requires_approval=True)
def test_elicitation(message: str) -> str:
    """Run when the user approves."""
    return message


@add
def test_trigger_tool_change() -> str:
    """Add a tool, or remove it again."""
    if "test_changing" in TOOLS:
        TOOLS.unregister("test_changing")
    else:
        TOOLS.register(tool(test_changing))
    return json.dumps(sorted(TOOLS))


def test_changing() -> str:
    """Come and go."""
    return "here"


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "address",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@add(input_schema=SCHEMA)
def json_schema_2020_12_tool(**arguments) -> str:
    """Take arguments of a ready schema."""
    return json.dumps(arguments)


HEADER = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


@add(input_schema=HEADER)
def test_custom_header(**arguments) -> str:
    """Take an argument that clients repeat in a header."""
    return json.dumps(arguments)


@add
def add_numbers(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


if __name__ == "__main__":
    server = Server(TOOLS, name="judged", version="1.2.3")
    if "--http" in sys.argv:
        server.run_http(port=0, no_token=True)
    else:
        server.run_stdio()
