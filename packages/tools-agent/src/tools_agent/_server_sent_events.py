"""The events of a stream as JSON: `event_to_dict`, and `server_sent_events` for web front ends."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from dataclasses import asdict
from typing import Any

from tools_agent._events import (
    Interrupt,
    PartialOutput,
    ReasoningDelta,
    Retrying,
    TextDelta,
    TextDone,
    ToolCallDelta,
    ToolCallDone,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    UsageUpdate,
)
from tools_agent._loop._stream import AsyncStream
from tools_core.text import sendable


async def server_sent_events(stream: AsyncStream[Any]) -> AsyncGenerator[str]:
    r"""Yield each event of a stream as a server-sent event, and the end of the run as the last one, `end`.

        return StreamingResponse(server_sent_events(agent.astream(prompt)), media_type="text/event-stream")

    An event is two lines: `event: text_delta` and `data: {"content": "Hi"}`. An exception of the run ends the stream
    with an event `error`, whose data has only its type: its message may be a secret of the server.
    """
    try:
        async with stream:  # a client that leaves ends the run
            async for event in stream:
                data = event_to_dict(event)
                yield _encoded(data.pop("type"), data)
    except Exception as error:
        yield _encoded("error", {"type": type(error).__name__})
        raise
    response = stream.response
    pending = [dict(request) for request in response.pending]
    yield _encoded("end", {"outcome": response.outcome, "content": response.content, "pending": pending})


def event_to_dict(event: object) -> dict[str, Any]:
    """Return an event of a stream as JSON values: `{"type": "text_delta", "content": "Hi"}`."""
    return {"type": re.sub("(?<!^)(?=[A-Z])", "_", type(event).__name__).lower(), **_data_of(event)}


def _encoded(name: str, data: dict[str, Any]) -> str:
    text = sendable(json.dumps(data, ensure_ascii=False, default=str))  # one line: JSON escapes line breaks
    return f"event: {name}\ndata: {text}\n\n"


def _data_of(event: Any) -> dict[str, Any]:
    """Return the members of an event as JSON values."""
    match event:
        case TextDelta() | ReasoningDelta() | TextDone() | ToolCallDelta() | Retrying():
            return asdict(event)
        case PartialOutput(data):
            return {"data": data}
        case ToolCallDone():
            return {"id": event.id, "name": event.name, "arguments": event.arguments}
        case ToolStarted():
            return {"id": event.id, "name": event.name, "arguments": event.arguments, "agent": event.agent}
        case ToolProgress(_, done, total, message, agent):
            progress = {"done": done, "total": total, "message": message}
            return {"id": event.id, "name": event.name, **progress, "agent": agent}
        case ToolFinished(_, result, agent):
            outcome = {"result": str(result), "error_type": result.error_type}
            return {"id": event.id, "name": event.name, **outcome, "agent": agent}
        case UsageUpdate(usage, total):
            return {"usage": usage.model_dump(), "total": total.model_dump()}
        case Interrupt(reason, _, pending):
            return {"reason": None if reason is None else str(reason), "pending": [dict(item) for item in pending]}
        case _:
            return {}
