"""A web application that streams an agent's events as server-sent events. Needs starlette and uvicorn."""

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import StreamingResponse
from starlette.routing import Route

from tools_agent import Agent, Request, ScriptedProvider, open_store, server_sent_events
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

    return StreamingResponse(server_sent_events(agent.astream(body["prompt"])), media_type="text/event-stream")


app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app)  # curl -d '{"session": "ada", "prompt": "How is Oslo?"}' http://127.0.0.1:8000/chat
