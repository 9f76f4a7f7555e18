"""This project beside its peers: the adapter that the side-by-side harness loads."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NotRequired, TypedDict

import common  # the harness's own: the tools' bodies and the expected answers

from tools_core import Result, tool

NAME = "ours"
VENV = "ours"
DIST = "tools-core"
IMPORT = "import tools_core"
ASYNC = False

DISCOVERY = """
from tools_core import Registry
print(len(Registry().discover(group='GROUP')))
"""


class LineItem(TypedDict):
    product_id: str
    quantity: int
    notes: NotRequired[str | None]


class Shipping(TypedDict):
    street: str
    city: str
    zip: NotRequired[str | None]


@tool
def place_order(order_id: str, items: list[LineItem], shipping: Shipping) -> str:
    """Place an order.

    Args:
        order_id: The order's identifier.
        items: The lines of the order.
        shipping: Where it goes.
    """
    return common.summary(order_id, sum(item["quantity"] for item in items), len(items), shipping["city"])


def add_calls() -> dict[str, Callable[..., Result]]:
    return {"tool.call -> Result": tool(common.add).call}


def order_calls() -> dict[str, Callable[..., Result]]:
    return {"tool.call(JSON text) -> Result": place_order.call}


def schema_cold() -> dict[str, Callable[[], object]]:
    def cold() -> object:
        class LineItem(TypedDict):
            product_id: str
            quantity: int
            notes: NotRequired[str | None]

        class Shipping(TypedDict):
            street: str
            city: str
            zip: NotRequired[str | None]

        def place_order(order_id: str, items: list[LineItem], shipping: Shipping) -> str:
            """Place an order.

            Args:
                order_id: The order's identifier.
                items: The lines of the order.
                shipping: Where it goes.
            """
            return ""

        return tool(place_order).definition

    return {"TypedDict classes + @tool + definition": cold}


def schema_warm() -> dict[str, Callable[[], object]]:
    return {
        "tool.input_schema": lambda: place_order.input_schema,
        "tool.definition (a copy)": lambda: place_order.definition,
    }


def parallel() -> dict[str, Callable[[int, float], object]]:
    @tool
    def wait(seconds: float) -> None:
        """Wait in a thread."""
        time.sleep(seconds)

    @tool
    async def await_(seconds: float) -> None:
        """Wait in the event loop."""
        await asyncio.sleep(seconds)

    def gathered(wait: object) -> Callable[[int, float], object]:
        async def calls(n: int, seconds: float) -> list[Result]:
            return await asyncio.gather(*(wait.acall({"seconds": seconds}) for _ in range(n)))  # type: ignore[attr-defined]

        return lambda n, seconds: asyncio.run(calls(n, seconds))

    def executed(wait: object, runtime: str) -> Callable[[int, float], object]:
        from tools_core import ToolCall
        from tools_runtime import Executor

        executor = Executor([wait], runtime=runtime, plugins=False)

        def calls(n: int, seconds: float) -> list[ToolCall]:
            return [ToolCall(str(number), wait.name, {"seconds": seconds}) for number in range(n)]  # type: ignore[attr-defined]

        if runtime == "thread":
            return lambda n, seconds: executor.execute(calls(n, seconds))
        return lambda n, seconds: asyncio.run(executor.aexecute(calls(n, seconds)))

    rows = {"gather(acall), sync tool": gathered(wait), "gather(acall), async tool": gathered(await_)}
    with suppress(ImportError):  # without tools-runtime
        rows["Executor, ThreadRuntime()"] = executed(wait, "thread")
        rows["Executor, AsyncRuntime()"] = executed(await_, "async")
    return rows


def shell() -> dict[str, Callable[[str], Result]]:
    from tools_shell import Bash

    def row(level: str) -> Callable[[str], Result]:
        # The shell that the others use: bash takes longer to start than all of us together.
        tool = Bash(sandbox=level, shell="/bin/sh")  # noqa: S604  (a setting of the tool)
        return lambda command: tool.call({"command": command})

    rows = {}
    for level in ("none", "contained", "landlock", "bubblewrap"):
        call = row(level)
        if call("true").ok:  # this machine may lack a level
            rows[f"bash.call, {level}"] = call
    return rows


def files() -> dict[str, Callable[..., str]]:
    import os

    from tools_filesystem import EditFile, ReadFile

    def read_lines(path: str, first: int, last: int) -> str:
        read = ReadFile(os.path.dirname(path))
        return str(read.call({"path": path, "offset": first, "limit": last - first + 1}))

    def edit(path: str, old: str, new: str) -> str:
        return str(EditFile(os.path.dirname(path)).call({"path": path, "old_string": old, "new_string": new}))

    rows: dict[str, Callable[..., str]] = {"lines: read_file": read_lines, "edit: edit_file": edit}
    with suppress(ImportError):
        from tools_filesystem import Glob, Grep

        def search(root: str, pattern: str) -> str:
            return str(Grep(root).call({"pattern": pattern}))

        rows |= {"grep: grep": search, "grep-hard: grep": search}
        rows["glob: glob"] = lambda root, pattern: str(Glob(root).call({"pattern": pattern, "limit": 10_000}))
    return rows
