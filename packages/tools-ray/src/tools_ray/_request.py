"""`Request`: a call as it goes to a worker, and what the worker does with it."""

from __future__ import annotations

import contextvars
import copyreg
import io
import pickle
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Result, Tool, ToolError
from tools_core.threads import in_thread
from tools_runtime.remote import describe_error, pack_context, pack_result, unpack_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools_core import Context, ToolCall
    from tools_runtime.remote import PackedContext

_loaded: dict[bytes, Tool] = {}  # in a worker


class Request(NamedTuple):
    """A call, its tool, and what its Context holds."""

    name: str
    tool: bytes  # pickled, with its definition
    arguments: bytes
    context: PackedContext | None
    wants_progress: bool


def dump(value: Any) -> bytes:
    """Pickle a value, and by value what is defined in the program itself, which workers cannot import."""
    cloudpickle: Any = import_module("ray.cloudpickle")  # takes 0.5 s, and is needed for calls alone

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # cloudpickle has no types
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, Tool) and hasattr(value, "__wrapped__") and _is_local(value):
                return copyreg.__newobj__, (type(value),), dict(vars(value))  # type: ignore[attr-defined]
            return super().reducer_override(value)

    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getvalue()


def _is_local(tool: Tool) -> bool:
    """Return whether the function of a tool cannot be imported by its name."""
    return tool.__module__ == "__main__" or "<locals>" in getattr(tool, "__qualname__", "")


def pack_tool(tool: Tool) -> bytes:
    """Return a tool and its definition, pickled; raises ToolError."""
    try:
        return dump((tool, tool.definition))
    except Exception as error:
        text = f"The tool {tool.name!r} cannot be sent to the cluster ({describe_error(error)}). "
        hint = 'Keep what cannot be pickled out of its attributes, or run it with runtime="thread".'
        raise ToolError(text + hint, "unavailable") from error


def pack_call(tool: Tool, packed: bytes, call: ToolCall, context: Context) -> Request:
    """Return what a worker needs for a call; raises ToolError."""
    try:
        arguments = dump(call.raw_arguments)
    except Exception as error:
        text = f"The arguments cannot be sent to the cluster ({describe_error(error)}). Give plain data."
        raise ToolError(text, "validation_error") from error
    needs_context = tool.takes_context or tool.timeout is not None
    surroundings = pack_context(call, context, dump) if needs_context else None
    wants_progress = tool.takes_context and context.on_progress is not None
    return Request(tool.name, packed, arguments, surroundings, wants_progress)


def answer(request: Request, report: Callable[..., None] = lambda *_: None) -> bytes:
    """Make a call, in a worker; returns its pickled result."""
    return contextvars.Context().run(_answer, request, report)


def stream(request: Request) -> Iterator[bytes | tuple[float, float | None, str]]:
    """Make a call, in a worker; yields its reports of progress, and in the end what `answer` returns."""
    items: SimpleQueue[Any] = SimpleQueue()
    in_thread(lambda: items.put(answer(request, lambda *report: items.put(report))))
    while not isinstance(item := items.get(), bytes):
        yield item
    yield item


def _answer(request: Request, report: Callable[..., None]) -> bytes:
    try:
        tool = _load(request)
        arguments = pickle.loads(request.arguments)  # noqa: S301  (of the driver)
    except Exception as error:  # noqa: BLE001  (a user's module may raise anything)
        text = f"A worker of the cluster cannot load the tool {request.name!r}: {describe_error(error)}"
        return pack_result(Result.error(text, type="unavailable", exception=error), dump)
    context = None if request.context is None else unpack_context(request.context, pickle.loads, report)
    try:
        return pack_result(tool.call(arguments, context=context), dump)
    except SystemExit as error:
        text = f"The tool ended its process with {error.code!r}. The call may have had effects."
        return pack_result(Result.error(text, metadata={"crash": f"exit {error.code}"}), dump)


def _load(request: Request) -> Tool:
    if request.tool not in _loaded:
        tool, definition = pickle.loads(request.tool)  # noqa: S301  (of the driver)
        if tool.definition != definition:
            raise ValueError("its definition differs here; install the same version on all nodes")
        _loaded[request.tool] = tool
    return _loaded[request.tool]
