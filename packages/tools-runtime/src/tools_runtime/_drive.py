"""Drive a call through its hooks, in a thread or in an event loop: the steps are the same, the waiting differs."""

from __future__ import annotations

import time
from contextlib import suppress
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from tools_core import ToolCall
from tools_runtime._chain import ACCIDENTS, accidents
from tools_runtime._effects import Blocking, Pause, Until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tools_core import Result
    from tools_runtime._chain import Steps


def drive(steps: Steps, make: Callable[[ToolCall], Result], value: Any = None) -> Result:
    """Go on with `steps`, which were given `value` last, until there is a result; `make` makes the call."""
    try:
        step = steps.send(value)
        while True:
            if isinstance(step, ToolCall):
                step = steps.send(make(step))
                continue
            try:
                value = _wait(step)
            except accidents() as error:  # of what a hook waited for: handed to the hook
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        result: Result = end.value
        return result


async def adrive(steps: Steps, make: Callable[[ToolCall], Awaitable[Result]], value: Any = None) -> Result:
    """`drive` for coroutines."""
    try:
        step = steps.send(value)
        while True:
            if isinstance(step, ToolCall):
                step = steps.send(await make(step))
                continue
            try:
                value = await _await(step)
            except ACCIDENTS as error:  # see drive
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        result: Result = end.value
        return result


def _wait(step: Any) -> Any:
    if type(step) is Pause:
        return time.sleep(max(0.0, step.seconds))
    if type(step) is Blocking:
        return step.function()
    if type(step) is Until:
        from concurrent.futures import wait  # loaded already: somebody made the future

        return any(wait([step.future], seconds).done for seconds in step.parts()) or step.future.done()
    if isawaitable(step):
        from tools_core.threads import run_coroutine  # brings asyncio, only for who waits so

        return run_coroutine(_awaited(step))
    raise _unknown(step)


async def _await(step: Any) -> Any:
    if type(step) is Pause:
        import asyncio  # loaded already: somebody awaits us

        return await asyncio.sleep(max(0.0, step.seconds))
    if type(step) is Until:
        return await _until(step)
    waited = elsewhere(step.function) if type(step) is Blocking else step
    if isawaitable(waited):
        import asyncio  # loaded already: somebody awaits us

        try:
            return await waited
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise RuntimeError("what the hook waited for was cancelled") from error
    raise _unknown(step)


async def elsewhere(function: Callable[[], Any]) -> Any:
    """Run what blocks in a thread."""
    import asyncio  # loaded already: somebody awaits us

    from tools_core.threads import in_thread, unwrap  # only for what blocks

    return unwrap(await asyncio.wrap_future(in_thread(function)))


async def _until(step: Until) -> bool:
    import asyncio  # loaded already: somebody awaits us

    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def tell(_: object) -> None:
        with suppress(RuntimeError):  # the loop has closed since: nobody waits
            loop.call_soon_threadsafe(done.set)

    # Not asyncio.wrap_future: to cancel one of those who wait would cancel the future of all.
    step.future.add_done_callback(tell)
    for seconds in step.parts():
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await done.wait()
    return step.future.done()


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _unknown(step: object) -> TypeError:
    return TypeError(
        f"a hook yielded {type(step).__name__}; it may yield nothing or a ToolCall to make the call, "
        "a Pause, a Blocking, an Until, an Event, or an awaitable"
    )
