"""The tools that the kits try things with; at module level, where other processes find them."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated

from tools_core import Context, Halt, ToolError, tool


@tool(read_only=True)
def add(a: Annotated[int, "The first number"], b: Annotated[int, "What to add"] = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
def refuse(reason: Annotated[str, "Why"]) -> str:
    """Fail in the expected way."""
    raise ToolError(reason, "not_found")


@tool
def crash(text: Annotated[str, "What the exception says"]) -> str:
    """Fail in an unexpected way."""
    raise LookupError(text)


@tool
def cancel() -> str:
    """Let out a cancellation, as `asyncio.run` of something that was cancelled does."""
    raise asyncio.CancelledError


@tool
async def cancel_later() -> str:
    """Let one out that comes from what a coroutine waited for."""
    await asyncio.sleep(0)
    raise asyncio.CancelledError


@tool
def stop(answer: Annotated[str, "The last word"]) -> str:
    """End the conversation."""
    raise Halt(answer)


@tool
def surroundings(context: Context, key: Annotated[str, "What to look up"] = "user") -> dict[str, str | None]:
    """Tell what the call knows besides its arguments."""
    context.progress(1, 2, "half")
    return {"state": str(context.state.get(key)), "workspace": str(context.workspace), "call_id": context.call_id}


@tool
async def later(text: Annotated[str, "What to answer"]) -> str:
    """Answer later."""
    import asyncio  # the tool's own need

    await asyncio.sleep(0)
    return text


@tool
def wait(context: Context) -> None:
    """Wait to be told to stop, as tools should; `state["told"]`, an Event, is set then."""
    pause = threading.Event()
    while not context.cancelled:
        pause.wait(0.01)
    if "told" in context.state:
        context.state["told"].set()


limited_wait = tool(wait, name="limited_wait", timeout=0.2)


@tool
def give_up(context: Context) -> list[bool]:
    """Tell whether the call is cancelled before and after its caller, at `state["caller"]`, gives up."""
    before = context.cancelled
    context.state["caller"].cancel()
    return [before, context.cancelled]


# Names that the wire of one provider or the other does not take, or that come out alike there.
STRAINING_NAMES = ["read", "read_file", "read-file", "Read", "r", "_", "__init__", "a" * 64, "a" * 63 + "b", "x-1_2"]
