"""A web application that streams an agent's events as server-sent events. Needs starlette and uvicorn."""

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
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


async def chat(request: HttpRequest) -> Response:
    user = request.headers.get("X-User")  # your authentication: here a proxy in front has checked it
    if not user:
        return JSONResponse({"error": "who are you?"}, status_code=401)
    body = await request.json()
    session = f"{user}/{body['session']}"  # so nobody reads the sessions of another user
    model = ScriptedProvider(default=reply)
    agent = await Agent.aopen(session, {"user": user}, store=STORE, model=model, tools=[weather])
    return StreamingResponse(server_sent_events(agent.astream(body["prompt"])), media_type="text/event-stream")


app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])

if __name__ == "__main__":
    # curl -H 'X-User: ada' -d '{"session": "trip", "prompt": "How is Oslo?"}' http://127.0.0.1:8000/chat
    uvicorn.run(app)
