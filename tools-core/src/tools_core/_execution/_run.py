"""One call, from what the model sent to a `Result`: `begin`, run the body, then `succeed` or `fail`.

`Tool.call` and `Tool.acall` differ in how they run the body, and in nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import AsyncGeneratorType, CoroutineType, GeneratorType

from tools_core._values._context import Context
from tools_core._values._errors import Halt, InvalidArguments, ToolError, join_problems
from tools_core._values._json import parse, proven
from tools_core._values._problem import Problem, clip, show
from tools_core._values._result import Result, failure, success
from tools_core._values._tool_call import ToolCall

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from concurrent.futures import Future
    from typing import Any, TypeAlias

    from tools_core._definition._spec import Spec
    from tools_core._tools._tool import Tool

_GRACE = 0.35  # seconds for a coroutine to end when it was cancelled
_MARGIN = 5.0  # seconds for a tool that manages its time to end by itself, so that its own result arrives
_MESSAGE_LIMIT = 4_000  # characters of an unexpected exception that a model is shown


class Stopped(Exception):
    """The limit of a call has passed, or its caller has cancelled it; a tool's own TimeoutError is another thing."""

    def __init__(self, context: Context, limit: float | None, *, is_abandoned: bool) -> None:
        self.is_cancelled = context.cancelled
        self.is_abandoned = is_abandoned
        self.set_by = context.timeout_set_by
        self.seconds = context.timeout or 0.0
        if limit is not None and self.seconds - limit > 1:  # part of it had passed when the call began
            self.seconds = round(limit, 1)


# Valid arguments as the body wants them, the call's own context if it has one, and the repairs made.
Begun: TypeAlias = "tuple[dict[str, Any], Context | None, Sequence[str]]"


def begin(tool: Tool, given: Any, context: Context | None, keywords: dict[str, Any]) -> Begun | Result:
    """Validate, convert and inject; a Result where the call ends here."""
    spec = tool._spec
    repairs = _NONE
    try:
        if type(given) is dict and not keywords:  # at once, for the commonest form
            arguments, is_valid = given, spec.accepts(given)
        else:
            arguments, is_valid = receive(spec, given, keywords)
        if not is_valid:
            texts = spec.refusals(arguments)
            if texts:
                return failure(texts[0] if len(texts) == 1 else join_problems(texts), "validation_error")
            arguments, repairs = explain(spec, arguments, tool.strict)
        if spec.convert is not None:
            arguments = spec.convert(arguments)
        if spec.context is not None or tool.timeout is not None or context is not None:
            call_id = given.id if isinstance(given, ToolCall) else None
            context = (context or Context(run_id="")).for_call(tool.timeout, call_id)
            if context.cancelled or context.remaining == 0:
                return _too_late(context)
            if spec.context is not None:
                arguments = {**arguments, spec.context: context}
    except InvalidArguments as error:
        known = None if error.reason is None else {"reason": error.reason}
        return Result.error(error.message, type=error.type, metadata=known)
    # A conversion runs the author's own classes, which may raise anything.
    except BaseException as error:  # noqa: BLE001
        return fail(error, repairs)
    return arguments, context, repairs


_NONE: Sequence[str] = ()


def succeed(value: Any, repairs: Sequence[str]) -> Result:
    """Make a Result of what the body returned, whatever it is."""
    kind = type(value)  # isinstance would ask the value, which may be a proxy for something that is gone
    if kind in _PLAIN:
        result = success(value)
    elif issubclass(kind, Halt):  # returned, by who runs under a decorator that swallows exceptions
        result = Result.halt(value.output)
    else:
        result = value if issubclass(kind, Result) else success(value)
    return _noted(result, repairs) if repairs else result


_PLAIN = frozenset({str, int, float, bool, dict, list, tuple, type(None)})


def fail(error: BaseException, repairs: Sequence[str]) -> Result:
    """Make a Result of what the body raised; what ends the process, or cancels, is raised again."""
    cause = _cause(error)
    if isinstance(cause, Halt):
        result = Result.halt(cause.output)
    elif isinstance(cause, ToolError):
        result = Result.error(_text(cause) or type(cause).__name__, type=cause.type, exception=error)
    elif isinstance(cause, Stopped):
        result = _stopped(cause)
    elif isinstance(cause, Exception):
        name, text = type(cause).__name__, _text(cause)
        result = Result.error(clip(f"{name}: {text}" if text else name, _MESSAGE_LIMIT), exception=error)
    else:
        raise error
    return _noted(result, repairs)


def _cause(error: BaseException) -> BaseException:
    """The one exception that matters in a group: of a task group whose child halts, or fails alone."""
    while isinstance(error, BaseExceptionGroup):
        group: BaseExceptionGroup[BaseException] = error.subgroup(Halt) or error
        first, *others = group.exceptions
        if others and not isinstance(first, Halt):
            break
        error = first
    return error


def receive(spec: Spec, given: Any, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The arguments as one dict, and whether they are valid as they stand; InvalidArguments if they are no object."""
    text, arguments = _object(given, keywords)
    if text is None:
        return arguments, spec.accepts(arguments)
    members = spec.count(arguments)
    if members is not None and proven(text, members):
        return arguments, True
    arguments = parse(text, exactly=True)[1]
    return arguments, spec.accepts(arguments)


def read_arguments(tool: Tool, given: Any) -> dict[str, Any]:
    """Return valid, repaired arguments that are not converted yet; InvalidArguments where that is not possible."""
    ready, is_valid = receive(tool._spec, given, {})
    return ready if is_valid else explain(tool._spec, ready, tool.strict)[0]


def explain(spec: Spec, arguments: dict[str, Any], strict: bool) -> tuple[dict[str, Any], Sequence[str]]:
    """The arguments repaired, and the repairs made; InvalidArguments with every problem where that is not possible."""
    checked = spec.check(arguments, repair=not strict)
    if checked.problems:
        raise InvalidArguments(checked.problems)
    return checked.value, checked.repairs


def _object(given: Any, keywords: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """One dict of whatever form the arguments came in, and the text that it was read from, if it came as text."""
    if isinstance(given, ToolCall):
        given = given.given
        if type(given) is dict and not keywords:  # a copy already
            return None, given
    if given is None:
        return None, dict(keywords)
    if keywords:
        return None, _merged(given, keywords)
    if isinstance(given, str | bytes):
        return parse(given)
    if isinstance(given, Mapping):
        return None, dict(given)
    text = f'the arguments must be an object, got {show(given)}; send {{"name": value, ...}}'
    raise InvalidArguments([Problem(None, text)], "not_an_object")


def _merged(given: Any, keywords: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(given, str | bytes):
        given = parse(given, exactly=True)[1]
    if isinstance(given, Mapping) and not given.keys() & keywords.keys():
        return {**given, **keywords}
    raise InvalidArguments(
        [Problem(None, "give the arguments once: as an object, as JSON text, or as keywords")], "twice"
    )


def _noted(result: Result, repairs: Sequence[str]) -> Result:
    return result.with_metadata({"repaired": list(repairs)}) if repairs else result


def _too_late(context: Context) -> Result:
    if context.cancelled:
        return failure("Cancelled by the caller before the call began.", "cancelled")
    return failure(f"Timed out before the call began (limit set by {context.timeout_set_by}).", "timeout_error")


def _stopped(stopped: Stopped) -> Result:
    known: dict[str, Any] = {} if stopped.is_cancelled else {"timeout": stopped.seconds}
    message = f"Timed out after {stopped.seconds:g} s (limit set by {stopped.set_by})."
    if stopped.is_cancelled:
        message = "Cancelled by the caller."
    if stopped.is_abandoned:
        known["abandoned"] = True
        message += " It may still be running and have effects."
    return Result.error(message, type="cancelled" if stopped.is_cancelled else "timeout_error", metadata=known)


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  (its own __str__ fails: the class is all that can be said)
        return ""


def run_body(tool: Tool, arguments: dict[str, Any], context: Context | None) -> Any:
    """Run the body from synchronous code: here when there is no limit, else in a thread that can be abandoned."""
    limit, grace = _limit_of(context), _MARGIN if tool.manages_timeout else 0.0
    if tool._spec.is_async:
        return _run_coroutine(tool.execute(**arguments), context, limit, grace)
    if context is None or limit is None:
        return finish(tool.execute(**arguments), context)
    from tools_core.threads import in_thread, unwrap  # only for limits

    future = in_thread(lambda: finish(tool.execute(**arguments), context), is_waited_for=True)
    try:
        is_done = _wait(future, context, limit, grace)
    except BaseException:  # the caller was interrupted while it waited
        context.cancel()
        raise
    if not is_done:
        stopped = Stopped(context, limit, is_abandoned=True)
        context.cancel()
        raise stopped
    return unwrap(future.result())


def _run_coroutine(coroutine: Any, context: Context | None, limit: float | None = None, grace: float = 0.0) -> Any:
    """Run a coroutine that is cancelled at its limit, and abandon it if it does not end for that."""
    from tools_core.threads import leave_blocked_loop, start_coroutine  # only for coroutines

    future = start_coroutine(_limited(coroutine, context, limit, grace))
    try:
        if context is None or _wait(future, context, limit, grace + _GRACE):
            return future.result()
    except BaseException:
        future.cancel()  # where the wait was interrupted; else it has ended
        raise
    stopped = Stopped(context, limit, is_abandoned=True)
    if not future.cancel():  # it has ended this moment
        return future.result()
    context.cancel()
    leave_blocked_loop()
    raise stopped


def _wait(future: Future[Any], context: Context, limit: float | None, grace: float) -> bool:
    """Wait for a future until the limit or a cancellation, then for the grace; return whether it is done."""
    from concurrent.futures import wait  # loaded already: it made the future
    from threading import Event

    is_over = Event()
    future.add_done_callback(lambda _: is_over.set())
    unregister = context.on_cancel(is_over.set)
    try:
        is_over.wait(limit)
    finally:
        unregister()
    if not future.done() and grace:
        wait((future,), grace)
    return future.done()


async def arun_body(tool: Tool, arguments: dict[str, Any], context: Context | None) -> Any:
    """Run the body from a coroutine: an `async def` here, anything else in a worker thread."""
    import asyncio  # loaded already: a coroutine awaits us

    from tools_core.threads import in_thread, unwrap  # threads only where a tool is synchronous

    limit, grace = _limit_of(context), _MARGIN if tool.manages_timeout else 0.0
    if tool._spec.is_async:
        return await _limited(tool.execute(**arguments), context, limit, grace)
    future = asyncio.wrap_future(in_thread(lambda: _listed(tool.execute(**arguments))))
    # The thread goes on when the wait ends.
    value = unwrap(await _limited(asyncio.shield(future), context, limit, grace, is_abandoned=True))
    return await _limited(value, context, _limit_of(context), grace) if type(value) in _AWAITED else value


def _limit_of(context: Context | None) -> float | None:
    return None if context is None or not context.enforced else context.remaining


def finish(value: Any, context: Context | None = None) -> Any:
    """Return the outcome of an `UNFINISHED` value: the items of a generator, the value of a coroutine.

    A body may return a coroutine without being an `async def`: a lambda, or a wrapper around one.
    """
    if type(value) in _AWAITED:
        return _run_coroutine(value, context)
    return _listed(value)


_AWAITED = frozenset({CoroutineType, AsyncGeneratorType})
UNFINISHED = _AWAITED | {GeneratorType}


def own_cancellation(error: BaseException) -> BaseException:
    """A cancellation that nobody asked of this task comes from inside the tool: an error like any other.

    Of synchronous code without a task, nobody can ask it.
    """
    homes = map(sys.modules.get, ("asyncio.exceptions", "concurrent.futures._base"))
    if not isinstance(error, tuple(home.CancelledError for home in homes if home is not None)):
        return error
    import asyncio  # loaded already, or nearly: who cancels futures has threads

    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        task = None
    if task is not None and task.cancelling():
        return error
    return ToolError("the tool was cancelled from inside, by itself or by what it waited for", "cancelled")


def _listed(value: Any) -> Any:
    return list(value) if type(value) is GeneratorType else value


async def _limited(
    value: Any, context: Context | None, limit: float | None, grace: float = 0.0, *, is_abandoned: bool = False
) -> Any:
    """Await a body; cancel it when the limit has passed, or its caller has cancelled, and then the grace."""
    import asyncio  # loaded already: this runs in its loop

    awaited = awaitable(value)
    if context is None:
        return await awaited
    loop, watch = asyncio.get_running_loop(), asyncio.timeout(None if limit is None else limit + grace)

    def cancelled() -> None:
        until = loop.time() + grace
        with suppress(RuntimeError):  # the body has ended this moment
            watch.reschedule(min(until, watch.when() or until))

    try:
        async with watch:
            unregister = context.on_cancel(lambda: loop.call_soon_threadsafe(cancelled))
            try:
                return await awaited
            finally:
                unregister()
    except TimeoutError:
        if not watch.expired():  # the tool's own
            raise
        stopped = Stopped(context, limit, is_abandoned=is_abandoned)
        context.cancel()
        raise stopped from None
    except asyncio.CancelledError:
        context.cancel()
        raise


def awaitable(value: Any) -> Any:
    """What an asynchronous body returned, as something to await: an asynchronous generator gives its items."""
    return _collected(value) if type(value) is AsyncGeneratorType else value


async def _collected(values: AsyncGeneratorType[Any, Any]) -> list[Any]:
    return [value async for value in values]
