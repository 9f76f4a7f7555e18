"""Compare code mode with plain calls: `python tests/benchmarks/code_mode.py`.

A model writes a report on 50 files, and one on 50 orders of a service: with one call in each reply, with all calls in
one reply, and with code. Its replies are scripted, so the run needs no network. Tokens are estimates, with the rule of
`ask-tools list --tokens`. `input` is the sum over all requests, and `largest` the size of the largest request. The time
is that of this project alone; a real model adds its time for each turn.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypedDict

from tools_agent import Agent, Assistant, Message, Request, ScriptedProvider, ToolResult
from tools_code import CodeMode
from tools_core import Tool, ToolCall, formats, tool
from tools_filesystem import Glob, ReadFile

COUNT = 50
CUSTOMERS = ("ada", "alan", "barbara", "edsger", "grace")
FRUIT = ("apples", "figs", "lemons", "limes", "pears", "plums")

CODE_OF_FILES = """\
totals = {}
for path in glob("*.csv").splitlines():
    customer, *rows = read_file(path, line_numbers=False).splitlines()
    for row in rows:
        item, count, price = row.split(",")
        totals[customer] = totals.get(customer, 0) + int(count) * int(price)
for customer in sorted(totals):
    print(f"{customer}: {totals[customer]}")
"""
CODE_OF_ORDERS = """\
totals = {}
for id in list_orders():
    order = get_order(id)
    for item in order["items"]:
        totals[order["customer"]] = totals.get(order["customer"], 0) + item["count"] * item["price"]
for customer in sorted(totals):
    print(f"{customer}: {totals[customer]}")
"""


class Item(TypedDict):
    name: str
    count: int
    price: int


class Order(TypedDict):
    customer: str
    items: list[Item]


class Task(NamedTuple):
    """A report: the tools, the calls that read its data, and code with the same calls."""

    tools: Sequence[Tool]
    calls: list[ToolCall]
    code: str


def main() -> None:
    """Print one row for each task and method."""
    orders = create_orders()
    totals: Counter[str] = Counter()
    for order in orders:
        totals[order["customer"]] += sum(item["count"] * item["price"] for item in order["items"])
    report = "\n".join(f"{customer}: {total}" for customer, total in sorted(totals.items()))
    print(f"{'task':7} {'method':23} {'turns':>5} {'input':>8} {'largest':>8} {'output':>7} {'seconds':>8}")
    with TemporaryDirectory() as folder:
        for name, task in (("files", files(orders, Path(folder))), ("orders", service(orders))):
            code = ToolCall(None, "run_code", {"code": task.code})
            print_row(name, "one call in each reply", task.tools, [[call] for call in task.calls], report)
            print_row(name, "all calls in one reply", task.tools, [task.calls[:1], task.calls[1:]], report)
            print_row(name, "code", [CodeMode(task.tools)], [[code]], report)


def create_orders() -> list[Order]:
    """Return the same random orders in each run."""
    numbers = random.Random(7)
    return [
        {
            "customer": numbers.choice(CUSTOMERS),
            "items": [
                {"name": name, "count": numbers.randint(1, 9), "price": numbers.randint(1, 99)}
                for name in numbers.choices(FRUIT, k=12)
            ],
        }
        for _ in range(COUNT)
    ]


def files(orders: Sequence[Order], folder: Path) -> Task:
    """Return the report on files."""
    for number, order in enumerate(orders):
        rows = [f"{item['name']},{item['count']},{item['price']}" for item in order["items"]]
        (folder / f"{number:02}.csv").write_text("\n".join([order["customer"], *rows]))
    calls = [ToolCall(None, "read_file", {"path": f"{number:02}.csv"}) for number in range(COUNT)]
    tools = [Glob(folder), ReadFile(folder)]
    return Task(tools, [ToolCall(None, "glob", {"pattern": "*.csv"}), *calls], CODE_OF_FILES)


def service(orders: Sequence[Order]) -> Task:
    """Return the report on orders of a service."""

    @tool(read_only=True)
    def list_orders() -> list[int]:
        """Return the ids of all orders."""
        return list(range(len(orders)))

    @tool(read_only=True)
    def get_order(id: int) -> Order:
        """Return an order with its items."""
        return orders[id]

    calls = [ToolCall(None, "get_order", {"id": number}) for number in range(COUNT)]
    return Task([list_orders, get_order], [ToolCall(None, "list_orders", {}), *calls], CODE_OF_ORDERS)


def print_row(
    name: str, method: str, tools: Sequence[Tool], replies: Sequence[Sequence[ToolCall]], report: str
) -> None:
    """Run an agent whose model sends these calls and then the report, and print the cost."""
    model = ScriptedProvider(*replies, report)
    with Agent(model=model, tools=tools, max_steps=None) as agent:
        start = time.perf_counter()
        agent.generate("Sum up the orders of each customer.")
        seconds = time.perf_counter() - start
        results = [message.result for message in agent.session if isinstance(message, ToolResult)]
        sent = [message for message in agent.session if isinstance(message, Assistant)]
    if not all(result.ok for result in results) or (method == "code" and str(results[-1]) != report):
        raise SystemExit(f"{name}, {method}: a call failed: {results[-1]}")
    sizes = [tokens_of_request(request) for request in model.calls]
    output = sum(map(tokens_of_message, sent))
    print(f"{name:7} {method:23} {len(sizes):5} {sum(sizes):8,} {max(sizes):8,} {output:7,} {seconds:8.2f}")


def tokens_of_request(request: Request) -> int:
    """Estimate the input tokens of a request."""
    return formats.openai.tokens(list(request.tools)) + sum(map(tokens_of_message, request.messages))


def tokens_of_message(message: Message) -> int:
    """Estimate the tokens of a message, with three for its frame."""
    texts = [getattr(message, "content", "")]
    if isinstance(message, Assistant):
        texts += [f"{call.name} {json.dumps(call.arguments)}" for call in message.tool_calls]
    return 3 + sum(map(tokens_of_text, texts))


def tokens_of_text(text: str) -> int:
    """Estimate the tokens of a text, as the description of a definition."""
    definitions = [{"name": "text", "description": part, "input_schema": {"type": "object"}} for part in (text, "")]
    with_text, without = (formats.openai.tokens([definition]) for definition in definitions)
    return with_text - without


if __name__ == "__main__":
    main()
