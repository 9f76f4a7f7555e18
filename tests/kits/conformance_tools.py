"""The tools that `runtime_conformance` calls, in a module that other processes find."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

from tools_core import Context, Halt, ToolError, tool


@tool(read_only=True)
def add(a: Annotated[int, "The first number"], b: Annotated[int, "The second number"] = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(reason: Annotated[str, "The message"]) -> str:
    """Fail in an expected way."""
    raise ToolError(reason, "not_found")


@tool
def crash(text: Annotated[str, "The message"]) -> str:
    """Fail in an unexpected way."""
    raise LookupError(text)


@tool
def cancel() -> str:
    """Raise CancelledError, as `asyncio.run` does for a cancelled task."""
    raise asyncio.CancelledError


@tool
async def cancel_later() -> str:
    """Raise CancelledError in a coroutine."""
    await asyncio.sleep(0)
    raise asyncio.CancelledError


@tool
def stop(answer: Annotated[str, "The last words"]) -> str:
    """End the conversation."""
    raise Halt(answer)


@tool
def describe_context(context: Context, key: Annotated[str, "A key of the state"] = "user") -> dict[str, Any]:
    """Return what the context of the call has, and report progress."""
    context.progress(1, 2, "half")
    return {
        "state": context.state.get(key), "workspace": str(context.workspace), "call_id": context.call_id,
        "run_id": context.run_id,
    }  # fmt: skip


@tool
async def repeat_later(text: Annotated[str, "Any text"]) -> str:
    """Return a text, from a coroutine."""
    await asyncio.sleep(0)
    return text


@tool
def wait(context: Context) -> None:
    """Report progress, before and after the call is cancelled; then set the Event `state["ended"]` if there is one.

    Raises: ToolError of the type "cancelled" at the end.
    """
    context.progress(0)
    pause = threading.Event()
    while not context.cancelled:
        pause.wait(0.01)
    context.progress(1)
    if "ended" in context.state:
        context.state["ended"].set()
    raise ToolError("stopped", "cancelled")


@tool
async def wait_later(context: Context) -> None:
    """Report progress, and wait in a coroutine."""
    context.progress(0)
    await asyncio.Event().wait()


limited_wait = tool(wait, name="limited_wait", timeout=0.2)
