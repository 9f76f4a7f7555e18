"""Compare this project's speed with plain Python's, in one run and in turns: `make bench`.

Every row is a ratio to a baseline measured beside it: the machine may be shared and noisy, a ratio is not. Nothing
fails here; the targets are printed for the reader. With words as arguments only rows that contain one of them are run.
"""

import asyncio
import inspect
import json
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import time
import typing
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NotRequired, TypedDict

from tools_agent import Agent, Assistant, Record, Request, Session, SQLiteStore, User
from tools_core import Context, Result, ToolCall, tool
from tools_core.formats import FORMATS
from tools_runtime import Executor, ProcessRuntime, hookimpl
from tools_shell import Bash, Python

ROUNDS = 9
TURNS, TURN = 40, 0.01  # of calls, and how many seconds each of them takes: few interrupt a short one


class LineItem(TypedDict):
    product_id: str
    quantity: int
    notes: NotRequired[str | None]


class Shipping(TypedDict):
    street: str
    city: str
    zip: NotRequired[str | None]


def add(a: int, b: int, note: str = "") -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
        note: A remark, not used.
    """
    return a + b


def place_order(order_id: str, items: list[LineItem], shipping: Shipping) -> str:
    """Place an order.

    Args:
        order_id: The order's identifier.
        items: The lines of the order.
        shipping: Where it goes.
    """
    return f"{order_id}: {len(items)} lines, {sum(item['quantity'] for item in items)} units, to {shipping['city']}"


class Plain:
    """A minimal result."""

    __slots__ = ("content", "is_error")

    def __init__(self, content: Any, is_error: bool = False) -> None:
        self.content = content
        self.is_error = is_error


PARAMETERS = {"a", "b", "note"}


def checked_add(args: dict[str, Any]) -> Plain:
    """Check, call and wrap the result of `add`, as code written by hand would."""
    a, b, note = args.get("a"), args.get("b"), args.get("note", "")
    if type(a) is int and type(b) is int and type(note) is str and args.keys() <= PARAMETERS:
        return Plain(add(a, b, note))
    for name in ("a", "b"):
        if name not in args:
            return Plain(f"{name}: missing", True)
        if type(args[name]) is not int:
            return Plain(f"{name}: expected an integer, got {type(args[name]).__name__}", True)
    return Plain("note: expected a string", True)


def checked_order(text: str) -> Plain:
    """Check, call and wrap the result of `place_order`, from JSON text."""
    args = json.loads(text)
    order_id, items, shipping = args.get("order_id"), args.get("items"), args.get("shipping")
    if type(order_id) is not str or type(items) is not list or type(shipping) is not dict:
        return Plain("wrong", True)
    for item in items:
        get = item.get
        if type(item) is not dict or type(get("product_id")) is not str or type(get("quantity")) is not int:
            return Plain("wrong", True)
        if get("notes") is not None and type(get("notes")) is not str:
            return Plain("wrong", True)
    if type(shipping.get("street")) is not str or type(shipping.get("city")) is not str:
        return Plain("wrong", True)
    return Plain(place_order(order_id, items, shipping))


ORDER = json.dumps(
    {
        "order_id": "o-1001",
        "items": [
            {
                "product_id": f"sku-{n:05d}",
                "quantity": n,
                **({"notes": f"gift wrap for line {n}"} if n % 3 == 0 else {}),
            }
            for n in range(1, 51)
        ],
        "shipping": {"street": "1 Main Street", "city": "Springfield", "zip": "12345"},
    }
)


def fresh_order() -> Callable[..., str]:
    """Define the order's classes and its function again, so that nothing is cached."""

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

    return place_order


NAMES: dict[Any, str] = {str: "string", int: "integer", type(None): "null"}


def walk(hint: Any) -> dict[str, Any]:
    """Return the schema of the few hints above, with the standard library alone."""
    if hint in NAMES:
        return {"type": NAMES[hint]}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is list:
        return {"type": "array", "items": walk(arguments[0])}
    if origin is NotRequired:
        return walk(arguments[0])
    if arguments:
        return {"anyOf": [walk(argument) for argument in arguments]}
    properties = {name: walk(inner) for name, inner in typing.get_type_hints(hint).items()}
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(hint.__required_keys__),
        "additionalProperties": False,
    }


def introspected() -> dict[str, Any]:
    function = fresh_order()
    hints, parameters = typing.get_type_hints(function), inspect.signature(function).parameters
    properties = {name: walk(hints[name]) for name in parameters}
    return {"name": "place_order", "description": function.__doc__, "input_schema": {"properties": properties}}


def calls() -> list[tuple[str, str, Callable[[], Any], Callable[[], Any]]]:
    """Return rows within this process: title, target, ours, baseline."""
    sum_tool, order_tool = tool(add), tool(place_order)
    good, missing, wrong = {"a": 40, "b": 2, "note": "hi"}, {"a": 40, "note": "no b"}, {"a": "forty", "b": 2}
    stored = {"name": "place_order", "input_schema": {}}
    assert sum_tool.call(good) == Result.ok(42)
    assert not sum_tool.call(missing).ok and not sum_tool.call(wrong).ok
    assert order_tool.call(ORDER).output == checked_order(ORDER).content
    return [
        (
            "validated call / hand-written check and result",
            "2.5",
            lambda: sum_tool.call(good),
            lambda: checked_add(good),
        ),
        (
            "nested order from JSON / json.loads and hand-written check",
            "1.25",
            lambda: order_tool.call(ORDER),
            lambda: checked_order(ORDER),
        ),
        (
            "rejected, missing / hand-written rejection",
            "8",
            lambda: sum_tool.call(missing),
            lambda: checked_add(missing),
        ),
        (
            "rejected, wrong type / hand-written rejection",
            "8",
            lambda: sum_tool.call(wrong),
            lambda: checked_add(wrong),
        ),
        (
            "definition, cold / standard-library introspection",
            "2",
            lambda: tool(fresh_order()).definition,
            introspected,
        ),
        ("definition, warm / a stored dict", "3 us", lambda: order_tool.input_schema, lambda: stored),
    ]


def definitions() -> list[dict[str, Any]]:
    """Return a thousand ordinary definitions: five parameters, two of them optional, one a list, one a choice."""
    properties = {
        "city": {"type": "string", "description": "The city to look up."},
        "days": {"type": "integer", "description": "The number of days.", "default": 3},
        "units": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "The unit of temperatures."},
        "fields": {"type": "array", "items": {"type": "string"}, "description": "The values to report."},
        "verbose": {"type": "boolean"},
    }
    schema = {"type": "object", "properties": properties, "required": ["city", "units", "fields"]}
    schema["additionalProperties"] = False
    text = json.dumps({"description": "Look up the weather of a city, some days ahead.", "input_schema": schema})
    return [{"name": f"weather_{n}", **json.loads(text)} for n in range(1_000)]


def formats() -> list[tuple[str, str, Callable[[], Any], Callable[[], Any]]]:
    """Return rows of a thousand definitions in the format of every provider."""
    thousand = definitions()
    return [
        (
            f"1,000 definitions for {name} / json.dumps",
            target,
            partial(provider.definitions, thousand),
            partial(json.dumps, thousand),
        )
        for (name, provider), target in zip(FORMATS.items(), ("3", "15", "3", "15", "3", "15", "3", "3"), strict=True)
    ]


EVALUATE = """
import os
while data := os.read(0, 1000):
    os.write(1, repr(eval(compile(data, "cell", "eval"))).encode())
"""


def commands() -> list[tuple[str, str, Callable[[], Any], Callable[[], Any]]]:
    """Return rows of commands and code in other processes."""
    python = Python(sandbox="contained")
    evaluator = subprocess.Popen([sys.executable, "-c", EVALUATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert evaluator.stdin is not None
    assert evaluator.stdout is not None
    stdin, stdout = evaluator.stdin.fileno(), evaluator.stdout.fileno()

    def bare() -> bytes:
        os.write(stdin, b"1+1")
        return os.read(stdout, 1000)

    warm = partial(python.call, {"code": "1+1", "session": "s"})
    rows = [("python, in a session / two pipes and eval", "100 us", warm, bare)]
    targets = {"none": "1.3x", "contained": "6x", "landlock": "", "bubblewrap": ""}
    for level, target in targets.items():
        # The shell that baselines use: bash takes longer to start than all of the rest.
        tool = Bash(sandbox=level, shell="/bin/sh")  # noqa: S604  (a setting of the tool)
        if tool.call({"command": "true"}).ok:  # a machine may lack a level
            call = partial(tool.call, {"command": "echo hello"})
            rows.append((f"bash, {level} / os.posix_spawn sh -c", target, call, spawned))
    return rows


class Passing:
    """A hook that wraps each call and does nothing."""

    @hookimpl
    def around_tool_call(self, call: ToolCall, tool: object, context: Context) -> Generator[None, Result, Result]:
        return (yield)


class Looking:
    """A hook that sees each call before it runs."""

    @hookimpl
    def before_tool_call(self, call: ToolCall) -> None:
        """Do nothing."""


@tool
def nap(seconds: float) -> None:
    """Sleep in a thread."""
    time.sleep(seconds)


@tool
async def async_nap(seconds: float) -> None:
    """Sleep in the event loop."""
    await asyncio.sleep(seconds)


def executors() -> list[tuple[str, str, Callable[[], Any], Callable[[], Any]]]:
    """Return rows of the executor: its cost per call, and many calls at once."""
    adder, arguments = tool(add), {"a": 2, "b": 3}
    calls = [ToolCall("1", "add", arguments)] * 100

    def bare() -> list[Result]:
        return [adder.call(arguments) for _ in calls]

    rows: list[tuple[str, str, Callable[[], Any], Callable[[], Any]]] = []
    for title, target, hooks in [
        ("no hooks", "2", []),
        ("5 hooks that look", "5", [Looking() for _ in range(5)]),
        ("5 hooks around", "5", [Passing() for _ in range(5)]),
    ]:
        executor = Executor([adder], hooks=hooks, plugins=False)
        rows.append((f"100 calls by an executor, {title} / tool.call", target, partial(executor.execute, calls), bare))

    def pooled() -> None:
        with ThreadPoolExecutor(64) as pool:
            list(pool.map(lambda _: time.sleep(0.05), range(64)))

    async def gathered() -> None:
        await asyncio.gather(*(async_nap(0.05) for _ in range(1000)))

    threads, loop = (Executor([nap, async_nap], runtime=name, plugins=False) for name in ("thread", "async"))
    sync_calls = [ToolCall(str(number), "nap", {"seconds": 0.05}) for number in range(64)]
    async_calls = [ToolCall(str(number), "async_nap", {"seconds": 0.05}) for number in range(1000)]
    return [
        *rows,
        ("64 calls of 50 ms, threads / ThreadPoolExecutor(64)", "1.1", partial(threads.execute, sync_calls), pooled),
        (
            "1,000 calls of 50 ms, asyncio / gather of coroutines",
            "1.1",
            lambda: asyncio.run(loop.aexecute(async_calls)),
            lambda: asyncio.run(gathered()),
        ),
    ]


class Counting:
    """A model that calls `add` 50 times, without any delay."""

    def __init__(self) -> None:
        self.model, self.steps = "counting", 0

    async def astream(self, _request: Request) -> AsyncGenerator[Assistant]:
        self.steps += 1
        call = ToolCall(f"call_{self.steps}", "plus", {"a": 2, "b": 3})
        yield Assistant(tool_calls=(call,)) if self.steps <= 50 else Assistant(content="Done")


def agents(folder: Path) -> list[tuple[str, str, Callable[[], Any], Callable[[], Any]]]:
    """Return rows of the agent: its loop, and long sessions."""

    def ours() -> None:
        Agent(model=Counting(), tools=[plus], max_steps=None).generate("Go")

    rows: list[tuple[str, str, Callable[[], Any], Callable[[], Any]]] = []
    with suppress(ImportError):  # a peer, if it is installed
        import pydantic_ai
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel

        def theirs() -> None:
            numbers = count(1)

            def reply(_messages: Any, _info: Any) -> Any:
                number = next(numbers)
                call = ToolCallPart("plus", {"a": 2, "b": 3}, f"call_{number}")
                return ModelResponse(parts=[call if number <= 50 else TextPart("Done")])

            limits = pydantic_ai.UsageLimits(request_limit=None)
            pydantic_ai.Agent(FunctionModel(reply), tools=[plus.execute]).run_sync("Go", usage_limits=limits)

        rows.append(("50 steps of an agent / pydantic-ai with its FunctionModel", "0.2", ours, theirs))
    store = SQLiteStore(folder / "long.db")
    texts = [User(content="Look around. " * 10), Assistant(content="I see a tree. " * 10)]
    messages = [text.replace(id=f"{number} {text.role}") for number in range(2_500) for text in texts]
    Session(id="long", store=store, messages=messages)

    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE records (seq, data)"):
        bare.execute(statement)
    record = Record("message", {"message": Assistant(content="word " * 400).to_dict()})
    store.create("new")
    store.acquire("new", "run")
    numbers, seqs = count(), count()

    def append() -> None:
        store.append("new", [record], after=next(numbers), owner="run")

    def commit() -> None:
        bare.execute("BEGIN IMMEDIATE")
        bare.execute("INSERT INTO records VALUES (?, ?)", (next(seqs), json.dumps(record.data)))
        bare.execute("COMMIT")

    return [
        *rows,
        (
            "open a session of 5,000 messages / read its rows",
            "1.5",
            lambda: Session.open(store, "long"),
            lambda: store.read("long"),
        ),
        ("append a record of 2 KB / a bare SQLite commit", "1.3", append, commit),
    ]


@tool
def plus(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def workers() -> list[tuple[str, str, Callable[[], Any], Callable[[], Any]]]:
    """Return rows of a call in a worker process that runs already."""
    runtime, arguments = ProcessRuntime(1), {"a": 2, "b": 3}
    call, executor = ToolCall("1", "plus", arguments), Executor([plus], runtime=runtime, plugins=False)
    pool = ProcessPoolExecutor(1)

    def ours() -> Any:
        wait: Any = runtime.begin(plus, call, Context())
        return wait()

    def submitted() -> Result:
        return pool.submit(plus.call, arguments).result()

    return [
        ("process call, warm / ProcessPoolExecutor", "1", ours, submitted),
        ("process call by an executor, warm / ProcessPoolExecutor", "", lambda: executor.execute([call]), submitted),
    ]


BARE = """
import sys
import anyio, mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(ctx, params):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    return types.ListToolsResult(tools=[types.Tool(name="plus", description="Add two numbers.", input_schema=schema)])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="5")])

server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)

async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

if len(sys.argv) > 1:
    import uvicorn
    uvicorn.run(server.streamable_http_app(), port=int(sys.argv[1]), log_level="critical")
else:
    anyio.run(main)
"""
OURS = """
import sys
from tools_core import tool
from tools_mcp import Server

@tool(read_only=True)
async def plus(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

tools = {f"plus_{number}": plus.renamed(f"plus_{number}") for number in range(1_000)}
server = Server([plus] if sys.argv[1:] != ["many"] else tools)
server.run_http(port=int(sys.argv[1]), no_token=True) if sys.argv[1:] not in ([], ["many"]) else server.run_stdio()
"""


FASTMCP = """
import sys
from fastmcp import FastMCP

server = FastMCP("peer")

@server.tool
async def plus(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

transport = {"transport": "http", "port": int(sys.argv[1])} if len(sys.argv) > 1 else {}
server.run(show_banner=False, log_level="critical", **transport)
"""


class Lines:
    """A client of an MCP server on standard streams, without a protocol library in the way."""

    def __init__(self, source: str, *arguments: str) -> None:
        command = [sys.executable, "-c", source, *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        info: dict[str, Any] = {"capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", {"protocolVersion": "2025-11-25", **info})
        self.write({"method": "notifications/initialized"})

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        assert self.process.stdout is not None
        self.write({"id": 1, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())


class Posts:
    """A client of an MCP server over HTTP, on eight connections."""

    def __init__(self, source: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        self.process = subprocess.Popen([sys.executable, "-c", source, str(port)], stderr=subprocess.DEVNULL)
        self.connections = [HTTPConnection("127.0.0.1", port) for _ in range(8)]
        self.pool = ThreadPoolExecutor(8)
        while True:
            with suppress(ConnectionRefusedError):
                self.connections[0].connect()
                break
            time.sleep(0.1)

    def ask(self, method: str, params: dict[str, Any], connection: int = 0) -> Any:
        prefix = "io.modelcontextprotocol/"
        meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": params["name"]}
        self.connections[connection].request("POST", "/mcp", json.dumps(body), headers)
        return json.load(self.connections[connection].getresponse())

    def ask_often(self, method: str, params: dict[str, Any]) -> None:
        """Make four requests on each connection."""

        def ask(connection: int) -> None:
            for _ in range(4):
                self.ask(method, params, connection)

        list(self.pool.map(ask, range(8)))


def servers(words: list[str]) -> Generator[tuple[str, str, Callable[[], Any], Callable[[], Any]]]:
    """Return rows of MCP servers, beside the SDK's low-level server and a peer with a handler that does nothing."""
    if words and not any(word in "mcp call list" for word in words):
        return
    call = ("tools/call", {"name": "plus", "arguments": {"a": 2, "b": 3}})
    peers = [("low-level server", BARE, "1.1", "1.1"), ("FastMCP", FASTMCP, "1", "0.5")]
    for name, source, *targets in peers[: 2 if find_spec("fastmcp") else 1]:
        lines, posts = [Lines(OURS), Lines(source)], [Posts(OURS), Posts(source)]
        ours, baseline = (partial(client.ask, *call) for client in lines)
        yield f"mcp call over stdio / {name}", targets[0], ours, baseline
        ours, baseline = (partial(client.ask, *call) for client in posts)
        yield f"mcp call over HTTP / {name}", targets[0], ours, baseline
        ours, baseline = (partial(client.ask_often, *call) for client in posts)
        yield f"mcp 32 calls, 8 connections over HTTP / {name}", targets[1], ours, baseline
        for process in [client.process for client in [*lines, *posts]]:
            process.kill()
            process.wait()
    many = Lines(OURS, "many")
    listed = many.ask("tools/list", {})
    assert len(listed["result"]["tools"]) == 1_000
    yield (
        "mcp list of 1,000 tools / its JSON",
        "1.2",
        partial(many.ask, "tools/list", {}),
        lambda: json.loads(json.dumps(listed)),
    )
    many.process.kill()


def spawned() -> bytes:
    ours, theirs = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, theirs, 1), (os.POSIX_SPAWN_DUP2, theirs, 2)]
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "echo hello"], os.environ, file_actions=actions)
    os.close(theirs)
    with open(ours, "rb", buffering=0) as output:
        text = output.readall()
    os.waitpid(pid, 0)
    return text


def timed(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def per_call(ours: Callable[[], Any], baseline: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of both, the minimum of several turns: noise only adds."""
    first = timed(baseline, 1)
    count = max(1, int(TURN / timed(baseline, max(1, min(20, int(0.1 / first))))))
    timed(ours, min(count, 20))
    turns = [(timed(ours, count), timed(baseline, count)) for _ in range(TURNS)]
    return min(a for a, _ in turns), min(b for _, b in turns)


def install_packages(folder: Path, count: int) -> Path:
    """Return a folder of `count` installed distributions with one tool each."""
    site = folder / f"site-{count}"
    for n in range(count):
        info = site / f"tools_many_{n:04d}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: tools-many-{n:04d}\nVersion: 1.0\nSummary: An example.\n"
        )
        (info / "entry_points.txt").write_text(f"[ask_tools.tools]\nmany_{n:04d} = tools_many_{n:04d}:nothing\n")
        module = 'from tools_core import tool\n\n@tool\ndef nothing() -> None:\n    """Do nothing."""\n'
        (site / f"tools_many_{n:04d}.py").write_text(module)
    return site


DISCOVER = "from tools_core import Registry; r = Registry(); print(len(r.discover()))"
METADATA = "from importlib.metadata import entry_points; print(len(entry_points(group='ask_tools.tools')))"


def processes(folder: Path) -> list[tuple[str, str, list[str], list[str], Path | None]]:
    """Return rows of whole processes: title, target, ours, baseline, folder for PYTHONPATH."""
    python = [sys.executable, "-c"]
    command = str(Path(sys.executable).with_name("ask-tools"))
    rows: list[tuple[str, str, list[str], list[str], Path | None]] = [
        ("import tools_core / pass", "+15 ms", [*python, "import tools_core"], [*python, "pass"], None),
        (
            "from tools_core import Tool, Result, tool / pass",
            "+15 ms",
            [*python, "from tools_core import Tool, Result, tool"],
            [*python, "pass"],
            None,
        ),
        (
            "import tools_runtime, with Executor / import pluggy",
            "+15 ms",
            [*python, "from tools_runtime import Executor"],
            [*python, "import pluggy"],
            None,
        ),
        ("ask-tools --version / pass", "2.5", [command, "--version"], [*python, "pass"], None),
        (
            "mcp ask-tools serve, from start to end / import of the SDK",
            "+100 ms",
            [command, "serve"],
            [*python, "import mcp.server.lowlevel, mcp.server.stdio"],
            None,
        ),
        ("ask-tools list, 20 packages / pass", "3", [command, "list"], [*python, "pass"], install_packages(folder, 20)),
    ]
    rows += [
        (
            f"names of {count} packages / importlib.metadata",
            "1",
            [*python, DISCOVER],
            [*python, METADATA],
            install_packages(folder, count),
        )
        for count in (1, 100, 1000)
    ]
    return rows


def run_seconds(command: list[str], path: Path | None) -> float:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start


def per_process(ours: list[str], baseline: list[str], path: Path | None) -> tuple[float, float]:
    run_seconds(ours, path), run_seconds(baseline, path)  # byte code and file cache
    turns = [(run_seconds(ours, path), run_seconds(baseline, path)) for _ in range(2 * ROUNDS)]
    return statistics.median(a for a, _ in turns), statistics.median(b for _, b in turns)


def show(title: str, target: str, ours: float, baseline: float, unit: str, scale: float) -> None:
    print(
        f"{title:<62} {ours * scale:9.3f} {baseline * scale:9.3f} {unit} {ours / baseline:7.2f}x   target {target}",
        flush=True,
    )


def main(words: list[str]) -> None:
    print(f"{'ours / baseline':<62} {'ours':>9} {'baseline':>9}      ratio")
    rows = [*calls(), *executors(), *formats()]
    for more_rows, names in ((workers, "process call"), (commands, "repl bash")):  # these start processes
        if not words or any(word in names for word in words):
            rows += more_rows()
    for title, target, ours, baseline in rows:
        if not words or any(word in title for word in words):
            show(title, target, *per_call(ours, baseline), "us", 1e6)
    with TemporaryDirectory() as folder:
        for title, target, ours, baseline in chain(agents(Path(folder)), servers(words)):
            if not words or any(word in title for word in words):
                show(title, target, *per_call(ours, baseline), "us", 1e6)
        for title, target, ours_command, baseline_command, path in processes(Path(folder)):
            if not words or any(word in title for word in words):
                show(title, target, *per_process(ours_command, baseline_command, path), "ms", 1e3)


if __name__ == "__main__":
    main(sys.argv[1:])
