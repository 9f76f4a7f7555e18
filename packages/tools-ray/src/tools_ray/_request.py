"""`Request`: a call as it goes to a worker, and what the worker does with it."""

from __future__ import annotations

import contextvars
import pickle
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Context, Result, Tool, ToolError
from tools_core.threads import in_thread
from tools_ray._pickles import describe, dump, dump_result

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from tools_core import ToolCall

_loaded: dict[bytes, Tool] = {}  # in a worker


class Request(NamedTuple):
    """A call, its tool, and what its Context holds."""

    name: str
    tool: bytes  # pickled, with its definition
    arguments: bytes
    workspace: str | os.PathLike[str] | None
    state: Mapping[str, bytes]
    refused: Mapping[str, str]  # items of the state that cannot be pickled, with the reason
    remaining: float | None
    call_id: str | None
    run_id: str
    wants_progress: bool


def pack_tool(tool: Tool) -> bytes:
    """Return a tool and its definition, pickled; raises ToolError."""
    try:
        return dump((tool, tool.definition))
    except Exception as error:
        text = f"The tool {tool.name!r} cannot be sent to the cluster ({describe(error)}). "
        hint = 'Keep what cannot be pickled out of its attributes, or run it with runtime="thread".'
        raise ToolError(text + hint, "unavailable") from error


def pack_call(tool: Tool, packed: bytes, call: ToolCall, context: Context) -> Request:
    """Return what a worker needs for a call; raises ToolError."""
    items, refused = {}, {}
    for key, value in context.state.items() if tool.takes_context else ():
        try:
            items[key] = dump(value)
        except Exception as error:  # noqa: BLE001  (a user's class may fail in any way)
            refused[key] = describe(error)
    try:
        arguments = dump(call.given)
    except Exception as error:
        text = f"The arguments cannot be sent to the cluster ({describe(error)}). Give plain data."
        raise ToolError(text, "validation_error") from error
    remaining = None if context.remaining is None else max(context.remaining, 1e-3)
    wants_progress = tool.takes_context and context.on_progress is not None
    return Request(
        tool.name, packed, arguments, context.workspace, items, refused, remaining,
        context.call_id or call.id, context.run_id, wants_progress,
    )  # fmt: skip


def answer(request: Request) -> bytes:
    """Make a call, in a worker; returns its pickled result."""
    return contextvars.Context().run(_answer, request, None)


def stream(request: Request) -> Iterator[bytes | tuple[float, float | None, str]]:
    """Make a call, in a worker; gives its reports of progress, and in the end what `answer` returns."""
    items: SimpleQueue[Any] = SimpleQueue()
    in_thread(lambda: items.put(contextvars.Context().run(_answer, request, lambda *report: items.put(report))))
    while not isinstance(item := items.get(), bytes):
        yield item
    yield item


def _answer(request: Request, report: Callable[..., object] | None) -> bytes:
    try:
        tool = _load(request)
        arguments = pickle.loads(request.arguments)  # noqa: S301  (of the driver)
    except Exception as error:  # noqa: BLE001  (a user's module may raise anything)
        text = f"A worker of the cluster cannot load the tool {request.name!r}: {describe(error)}"
        return dump_result(Result.error(text, type="unavailable", exception=error))
    context = Context(
        workspace=request.workspace,
        state=State(request),
        timeout=request.remaining,
        call_id=request.call_id,
        run_id=request.run_id,
        on_progress=report,
        enforced=False,  # the driver watches the time, and kills
    )
    try:
        return dump_result(tool.call(arguments, context=context if tool.takes_context or tool.timeout else None))
    except SystemExit as error:
        text = f"The tool ended its process with {error.code!r}. The call may have had effects."
        return dump_result(Result.error(text, metadata={"crash": f"exit {error.code}"}))


def _load(request: Request) -> Tool:
    if request.tool not in _loaded:
        tool, definition = pickle.loads(request.tool)  # noqa: S301  (of the driver)
        if tool.definition != definition:
            raise ValueError("its definition differs here; install the same version on all nodes")
        _loaded[request.tool] = tool
    return _loaded[request.tool]


class State(dict[str, Any]):
    """The items of a caller's state; one that could not be sent raises a KeyError with the reason."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self._refused = dict(request.refused)
        for key, data in request.state.items():
            try:
                self[key] = pickle.loads(data)  # noqa: S301  (of the driver)
            except Exception as error:  # noqa: BLE001  (a user's class may fail in any way)
                self._refused[key] = describe(error)

    def __missing__(self, key: str) -> Any:
        reason = self._refused.get(key)
        raise KeyError(key if reason is None else f"{key!r} cannot be sent to the cluster ({reason})")
