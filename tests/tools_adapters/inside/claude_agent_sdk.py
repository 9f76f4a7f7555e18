"""`to_claude_agent_sdk` and `from_claude_agent_sdk`: over MCP, and with Claude Code and a scripted model."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query
from claude_agent_sdk import tool as their_tool
from mcp import Client
from samples import fail, is_cancelled, leave, picture, removal, weather

from tools_adapters import from_claude_agent_sdk, to_claude_agent_sdk


async def call(tools, name, arguments, **options):
    async with Client(to_claude_agent_sdk(tools, **options)["instance"]) as client:
        return await client.call_tool(name, arguments)


def result_of(tools, name, options=(), **arguments):
    return asyncio.run(call(tools, name, arguments, **dict(options)))


def test_the_schema_repairs_and_messages_are_ours():
    result = result_of([weather], "weather", city="Oslo", days="3", agent="mine")
    output = json.loads(result.content[0].text)
    assert (output["days"], output["names"], result.is_error) == (3, "mine", False)
    wrong = result_of([weather], "weather", days="x")
    assert (wrong.content[0].text, wrong.is_error) == (
        'city is required: a string; days must be an integer, got "x"',
        True,
    )
    assert result_of([fail], "fail").content[0].text == "no such city"
    assert result_of([leave], "leave").content[0].text == "bye"

    async def definitions():
        async with Client(to_claude_agent_sdk([weather])["instance"]) as client:
            return (await client.list_tools()).tools

    (definition,) = asyncio.run(definitions())
    assert (definition.input_schema, definition.description) == (weather.input_schema, weather.description)


def test_pictures_are_parts_of_the_content():
    content = result_of([picture], "picture").content
    assert [part.type for part in content] == ["text", "image", "text", "text"]


def test_a_call_that_requires_approval_needs_an_answer_of_ours():
    remove, removed = removal()
    assert "requires approval" in result_of([remove], "remove", path="a").content[0].text
    assert removed == []
    assert result_of([remove], "remove", {"approve": "all"}, path="a").content[0].text == "removed a"


def test_cancelling_the_task_cancels_the_tool():
    assert is_cancelled(lambda wait: call([wait], "wait", {}))


def test_their_tools_become_ours():
    @their_tool("divide", "Divide.", {"a": int, "b": int})
    async def divide(arguments):
        return {"content": [{"type": "text", "text": str(arguments["a"] / arguments["b"])}]}

    (ours,) = from_claude_agent_sdk([divide])
    assert ours.definition["input_schema"]["required"] == ["a", "b"]
    assert ours.call({"a": "8", "b": 2}).output == "4.0"
    assert "division by zero" in ours.call({"a": 1, "b": 0}).error


@pytest.fixture
def model():
    """A server with Anthropic's API that calls the weather tool once, then answers with the result that it read."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            names = [tool["name"] for tool in body.get("tools", ())]
            last = body["messages"][-1]["content"]
            results = [part for part in last if isinstance(part, dict) and part.get("type") == "tool_result"]
            if "mcp__tools__weather" in names and not results:
                block = {"type": "tool_use", "id": "toolu_1", "name": "mcp__tools__weather", "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps({"city": "Oslo", "days": 3})}
                reason = "tool_use"
            else:
                block, reason = {"type": "text", "text": ""}, "end_turn"
                delta = {"type": "text_delta", "text": json.dumps(results[0]["content"]) if results else "done"}
            usage = {"input_tokens": 1, "output_tokens": 1}
            message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": []}
            events = [
                {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
                {"type": "message_stop"},
            ]
            text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def do_GET(self):
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_claude_code_calls_a_tool_and_reads_its_result(model, tmp_path):
    async def main():
        options = ClaudeAgentOptions(
            mcp_servers={"tools": to_claude_agent_sdk([weather])},
            allowed_tools=["mcp__tools__weather"],
            cwd=str(tmp_path),
            env={
                "ANTHROPIC_BASE_URL": model,
                "ANTHROPIC_API_KEY": "key",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "ENABLE_TOOL_SEARCH": "false",  # the definition is sent in the first request
                "HOME": str(tmp_path),
            },
            max_turns=3,
        )
        return [message async for message in query(prompt="Weather in Oslo?", options=options)]

    (result,) = [message for message in asyncio.run(main()) if isinstance(message, ResultMessage)]
    assert "Oslo" in (result.result or "")
