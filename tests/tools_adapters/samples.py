"""Tools and helpers of the tests that run inside the frameworks' environments."""

from __future__ import annotations

import asyncio
import threading

from tools_core import Context, File, Image, Result, ToolError, tool

PNG = b"\x89PNG\r\n\x1a\n...."


@tool
def weather(city: str, days: int = 1, config: str = "", ctx: str = "", agent: str = "", *, context: Context) -> object:
    """Weather of a city; further parameters have names that frameworks use."""
    context.progress(1, 2, "half")
    names = f"{config}{ctx}{agent}"
    return {"city": city, "days": days, "names": names, "run": context.run_id, "call": context.call_id}


@tool
def picture() -> list[object]:
    """Show a picture."""
    return ["see", Image(PNG), File(b"%PDF-1.7", name="a.pdf"), File(b"words", "text/plain")]


@tool
def leave(well: bool = True) -> str:
    """End the run."""
    return Result.halt("bye" if well else Result.error("bitter end"))


@tool
def fail(options: dict[str, int] | None = None) -> str:
    """Fail."""
    raise ToolError("no such city", "not_found")


def removal():
    """A tool that requires approval, and the list of removed paths."""
    removed = []

    @tool(requires_approval=True)
    def remove(path: str, force: bool | None = None) -> str:
        """Remove a file."""
        removed.append(path)
        return f"removed {path}"

    return remove, removed


def is_cancelled(run):
    """Cancel the coroutine of `run(tool)` in the middle of the call; return whether the tool was cancelled."""
    started, cancelled = threading.Event(), threading.Event()

    @tool
    def wait(context: Context) -> str:
        """Wait."""
        context.on_cancel(cancelled.set)
        started.set()
        cancelled.wait(30)
        return "late"

    async def main():
        task = asyncio.create_task(run(wait))
        await asyncio.to_thread(started.wait, 30)  # the tool does not block the loop
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    return cancelled.is_set()
