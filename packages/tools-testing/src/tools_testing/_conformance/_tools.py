"""The tools that the kits try things with."""

from __future__ import annotations

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
def stop(answer: Annotated[str, "The last word"]) -> str:
    """End the conversation."""
    raise Halt(answer)


@tool
def surroundings(context: Context, key: Annotated[str, "What to look up"] = "user") -> dict[str, str | None]:
    """Tell what the call knows besides its arguments."""
    context.progress(1, 2, "half")
    return {"state": str(context.state.get(key)), "workspace": str(context.workspace), "call_id": context.call_id}


# Names that the wire of one provider or the other does not take, or that come out alike there.
STRAINING_NAMES = ["read", "read_file", "read-file", "Read", "r", "_", "__init__", "a" * 64, "a" * 63 + "b", "x-1_2"]
