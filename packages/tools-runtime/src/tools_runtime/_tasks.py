"""Calls beside each other in an event loop: `_batch` for coroutines."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING

from tools_runtime._job import LeftBehind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from tools_core import Result
    from tools_runtime._job import Job
    from tools_runtime._runtimes import Runtime

_CHECK = 0.1  # seconds between two looks at whether the caller has given up


class Tasks:
    """Jobs that have been started as tasks of the running loop."""

    def __init__(self, jobs: Iterable[Job], most: int | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._timers: dict[Job, asyncio.TimerHandle] = {}
        self._left: set[asyncio.Task[None]] = set()
        self._gates: dict[Runtime, asyncio.Semaphore] = {}
        self._most = most
        self.done: dict[Job, asyncio.Future[None]] = {}
        self._tasks = [self._start(job) for job in jobs]

    def _start(self, job: Job) -> asyncio.Task[None]:
        limits = [limit for limit in (job.runtime.max_concurrency, self._most) if limit is not None]
        gate = None
        if limits:
            gate = self._gates.get(job.runtime)
            if gate is None:
                gate = self._gates[job.runtime] = asyncio.Semaphore(min(limits))
        job.on_attempt = self._watch
        self.done[job] = self._loop.create_future()
        return self._loop.create_task(self._run(job, gate))

    async def _run(self, job: Job, gate: asyncio.Semaphore | None) -> None:
        async with gate or nullcontext():
            try:
                await job.arun()
            except LeftBehind:
                job.runtime.left_behind(-1)
                return
            except BaseException as error:
                self._settle(job, error)
                raise
            self._settle(job, None)

    def _settle(self, job: Job, error: BaseException | None) -> None:
        timer = self._timers.pop(job, None)
        if timer is not None:
            timer.cancel()
        future = self.done[job]
        if future.done():
            return
        if error is None:
            future.set_result(None)
        elif isinstance(error, asyncio.CancelledError):
            future.cancel()
        else:
            future.set_exception(error)

    def _watch(self, job: Job) -> None:
        attempt = job.attempt
        if attempt is not None:
            earlier = self._timers.pop(job, None)
            if earlier is not None:
                earlier.cancel()
            delay = attempt.deadline - asyncio.get_running_loop().time()
            self._timers[job] = self._loop.call_later(max(0.0, delay), self._time_out, job)

    def _time_out(self, job: Job) -> None:
        self._timers.pop(job, None)
        timed_out = None if job.attempt is None else job.attempt.time_out()
        if timed_out is not None:
            job.runtime.left_behind(1)
            task = self._loop.create_task(self._resume(job, timed_out))
            self._left.add(task)
            task.add_done_callback(self._left.discard)

    async def _resume(self, job: Job, value: Result) -> None:
        try:
            await job.aresume(value)
        except BaseException as error:
            self._settle(job, error)
            raise
        self._settle(job, None)

    async def give_up(self) -> None:
        """Cancel what is not done, and wait for it, but not for ever."""
        for job, future in self.done.items():
            if not future.done():
                job.context.cancel()
        unfinished = [task for task in (*self._tasks, *self._left) if not task.done()]
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished, timeout=max(job.runtime.grace for job in self.done) or None)
        for timer in self._timers.values():
            timer.cancel()
        for future in self.done.values():
            if future.done() and not future.cancelled():
                future.exception()  # looked at


async def results(jobs: Sequence[Job], concurrent: Callable[[Job], bool], most: int | None) -> AsyncIterator[Job]:
    """The jobs in their order, each with its result; those that are not concurrent run when it is their turn."""
    tasks = Tasks([job for job in jobs if concurrent(job)], most)
    try:
        for job in jobs:
            future = tasks.done.get(job)
            if future is None:
                if job.result is None:
                    await job.arun()
            else:
                await future
            yield job
    finally:
        await tasks.give_up()


async def run_all(
    jobs: Iterable[Job], most: int | None, on_done: Callable[[], None], is_given_up: Callable[[], bool]
) -> None:
    """Run jobs for a caller in another thread, who is told of each result, and who may give up."""
    tasks = Tasks(jobs, most)
    for future in tasks.done.values():
        future.add_done_callback(lambda _: on_done())
    try:
        waiting = set(tasks.done.values())
        while waiting and not is_given_up():
            _, waiting = await asyncio.wait(waiting, timeout=_CHECK)
    finally:
        await tasks.give_up()
    for future in tasks.done.values():
        if not future.cancelled() and (error := future.exception()) is not None:
            raise error
