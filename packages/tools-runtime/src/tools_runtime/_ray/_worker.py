"""What runs in a Ray worker: a call comes as one pickled tuple, and its result goes back as JSON."""

from __future__ import annotations

import pickle
import threading
from queue import Empty, SimpleQueue
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Context, Result, Tool
from tools_runtime._log import said
from tools_runtime._ray._announce import Announcer
from tools_runtime._remote._json import decode, encode, is_exact
from tools_runtime._remote._results import write
from tools_runtime._state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OUTPUT = b"="  # before an output that is a whole result; no JSON begins so

_AT_ONCE = 1_000  # reports of progress that go in one item

_tools: dict[bytes, Tool | Exception] = {}
_announcer: Announcer | None = None
_loading = threading.Lock()


class Known(NamedTuple):
    """What the caller's context says to a tool that takes it."""

    workspace: str | None
    items: dict[Any, bytes]  # of its state
    refused: dict[Any, str]  # those that could not be sent, and why


class Request(NamedTuple):
    """One call; `arguments` are JSON of an object where `is_object`, else the text that a model sent."""

    arguments: bytes
    is_object: bool
    limit: float | None
    key: bytes
    sent: float  # by the clock of the driver's machine
    wait: float  # seconds after `sent` when the driver gives up a call of which nobody has told that it has begun
    call_id: str | None
    context: Known | None  # None for a tool that takes no Context


def plain(pickled: bytes) -> Callable[[bytes], bytes]:
    """The function that Ray runs for a tool: Ray sends it to a worker once, and the tool with it."""

    def call(request: bytes) -> bytes:
        return serve(pickled, request)

    return call


def streaming(pickled: bytes) -> Callable[[bytes], Iterator[bytes]]:
    """The same for calls whose progress somebody wants to hear."""

    def call(request: bytes) -> Iterator[bytes]:
        yield from serve_stream(pickled, request)

    return call


def serve(pickled: bytes, packed: bytes) -> bytes:
    """Make a call; returns its result."""
    global _announcer  # noqa: PLW0603  (one for the process)
    request = Request(*pickle.loads(packed))  # noqa: S301  (the driver's own)
    if _announcer is None:
        _announcer = Announcer()
    tool = _tools.get(pickled) or _load(pickled)
    _announcer.begin(request.key, max(0.0, time() - request.sent), request.limit, request.wait)
    try:
        return _make(tool, request, None)
    finally:
        _announcer.end()


def serve_stream(pickled: bytes, packed: bytes) -> Iterator[bytes]:
    """Make a call: gives an empty item when it begins, then its progress, and in the end its result."""
    request = Request(*pickle.loads(packed))  # noqa: S301  (as above)
    yield b""
    items: SimpleQueue[list[Any] | bytes] = SimpleQueue()

    def run() -> None:
        items.put(_make(_load(pickled), request, lambda *report: items.put(list(report))))

    threading.Thread(target=run, name="tools-runtime call", daemon=True).start()
    while True:
        reports, end = _next(items)
        if reports:
            yield encode(reports if is_exact(reports) else Result.ok(reports).to_dict()["output"])
        if end is not None:
            yield end
            return


def _next(items: SimpleQueue[list[Any] | bytes]) -> tuple[list[Any], bytes | None]:
    """The reports that are there, at least one, and the result if it is."""
    reports: list[Any] = []
    item = items.get()
    while isinstance(item, list):
        reports.append(item)
        if len(reports) >= _AT_ONCE:
            return reports, None
        try:
            item = items.get_nowait()
        except Empty:
            return reports, None
    return reports, item


def _make(tool: Tool | Exception, request: Request, report: Callable[..., object] | None) -> bytes:
    if isinstance(tool, Exception):
        text = f"a worker of the cluster cannot load the tool: {said(tool)}"
        return _written(
            Result.error(f"{text}; install it there, or send it by runtime_env", type="unavailable", exception=tool)
        )
    try:
        result = _result(tool, request, report)
    except BaseException as error:  # noqa: BLE001  (what ends the process inline: Ray would pickle it)
        text = f"the tool ended its process ({said(error)}); the call may have had effects"
        result = Result.error(text, metadata={"crash": type(error).__name__}, exception=error)
    return _written(result)


def _result(tool: Tool, request: Request, report: Callable[..., object] | None) -> Result:
    arguments = decode(request.arguments) if request.is_object else request.arguments.decode("utf-8", "surrogatepass")
    known = request.context
    if known is None and not tool.is_async and tool.timeout is None:
        return tool.call(arguments)
    context = Context(
        workspace=None if known is None else known.workspace,
        state=None if known is None else State(known.items, known.refused, pickle.loads),
        timeout=request.limit,
        call_id=request.call_id,
        on_progress=report,
        enforced=tool.is_async,  # a coroutine ends cleanly at its limit; of anything else the driver watches it
    )
    return tool.call(arguments, context=context)


def _load(pickled: bytes) -> Tool | Exception:
    known = _tools.get(pickled)
    if known is None:
        with _loading:
            try:
                known = pickle.loads(pickled)  # noqa: S301  (the driver's own)
                if not isinstance(known, Tool):
                    raise TypeError(f"what came is a {type(known).__name__}, not a tool")  # noqa: TRY301  (as what its module raises)
            except Exception as error:  # noqa: BLE001  (anybody's module)
                known = error
        _tools[pickled] = known
    return known


def _written(result: Result) -> bytes:
    told, is_plain = write(result)
    return OUTPUT + told if is_plain else told
