"""A web application that streams an agent's events as lines of JSON. Needs starlette and uvicorn."""

import json
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import StreamingResponse
from starlette.routing import Route

from tools_agent import Agent, Request, ScriptedProvider, TextDelta, ToolFinished, open_store
from tools_core import ToolCall, tool

STORE = open_store(":memory:")  # or a file, or postgresql://...


@tool(read_only=True)
async def weather(city: str) -> str:
    """Look up the weather in a city."""
    return f"{city}: sunny"


def reply(request: Request) -> str | ToolCall:  # plays the model; with a real one: model="openai:gpt-5"
    return ToolCall(None, "weather", {"city": "Oslo"}) if request.messages[-1].role == "user" else "It is sunny."


async def chat(request: HttpRequest) -> StreamingResponse:
    body = await request.json()
    agent = Agent(body["session"], store=STORE, model=ScriptedProvider(default=reply), tools=[weather])

    async def lines() -> AsyncIterator[str]:
        stream = agent.astream(body["prompt"])
        async for event in stream:
            match event:
                case TextDelta(content):
                    yield json.dumps({"text": content}) + "\n"
                case ToolFinished(call, result):
                    yield json.dumps({"tool": call.name, "result": str(result)}) + "\n"
        pending = [dict(request) for request in stream.response.pending]  # to be answered by session.approve(...)
        yield json.dumps({"outcome": stream.response.outcome, "pending": pending}) + "\n"

    return StreamingResponse(lines(), media_type="application/jsonl")


app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app)  # curl -d '{"session": "ada", "prompt": "How is Oslo?"}' http://127.0.0.1:8000/chat
