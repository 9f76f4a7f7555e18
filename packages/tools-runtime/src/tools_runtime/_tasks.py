"""Calls beside each other in an event loop: `_batch` for coroutines."""

from __future__ import annotations

import asyncio
from functools import partial
from heapq import heappop, heappush
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_runtime._attempt import GivenUp, LeftBehind

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

    from tools_core import Result
    from tools_runtime._attempt import Attempt
    from tools_runtime._job import Job
    from tools_runtime._runtimes import Runtime


class Tasks:
    """Jobs that have been started as tasks of the running loop."""

    def __init__(self, jobs: Iterable[Job], most: int | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._gates: dict[Runtime, asyncio.Semaphore] = {}
        self._gate = None if most is None else asyncio.Semaphore(most)  # of them all
        # When something is to be done about an attempt: one timer for all of them, most of which never need it.
        self._limits: list[tuple[float, int, Job, Attempt]] = []
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._tasks: dict[Job, asyncio.Task[Result]] = {}
        for job in jobs:
            self.start(job)

    def start(self, job: Job) -> None:
        """Start a job."""
        job.on_attempt = self._watch
        self._tasks[job] = self._loop.create_task(self._run(job))

    async def _run(self, job: Job, timed_out: Result | None = None) -> Result:
        """Make a call in one of the places that there are, or go on with it in the place of a task that is stuck."""
        gates = self._gates_of(job)
        held = [] if timed_out is None else gates
        try:
            if timed_out is not None:
                return await job.aresume(timed_out)
            for gate in gates:
                await gate.acquire()
                held.append(gate)
            return await job.arun()
        except LeftBehind:
            held = []  # another task has this one's place
            raise asyncio.CancelledError from None
        except GivenUp:
            raise asyncio.CancelledError from None
        finally:
            for gate in held:
                gate.release()

    def _gates_of(self, job: Job) -> list[asyncio.Semaphore]:
        gates = [] if self._gate is None else [self._gate]
        most = job.runtime.max_concurrency
        if most is not None:
            gate = self._gates.get(job.runtime)
            if gate is None:
                gate = self._gates[job.runtime] = asyncio.Semaphore(most)
            gates.insert(0, gate)
        return gates

    def _watch(self, job: Job) -> None:
        attempt = job.attempt
        if attempt is not None:
            attempt.task = asyncio.current_task()
            self._remind(attempt.deadline, job, attempt)

    def _remind(self, when: float, job: Job, attempt: Attempt) -> None:
        self._count += 1
        heappush(self._limits, (when, self._count, job, attempt))
        if self._limits[0][1] == self._count:  # it comes first
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(max(0.0, when - monotonic()), self._look)

    def _look(self) -> None:
        """Cancel what is past its limit, and leave behind what does not end for that."""
        self._timer = None
        now = monotonic()
        while self._limits and self._limits[0][0] <= now:
            _, _, job, attempt = heappop(self._limits)
            if attempt.has_ended or attempt.task is None:  # its hooks may still have something to do
                continue
            if not attempt.is_over:
                attempt.is_over = True
                attempt.task.cancel()
                self._remind(now + job.runtime.grace, job, attempt)
            elif (timed_out := attempt.time_out()) is not None:
                self._go_on(job, attempt.task, timed_out)
        if self._limits and self._timer is None:
            self._timer = self._loop.call_later(max(0.0, self._limits[0][0] - now), self._look)

    def _go_on(self, job: Job, stuck: asyncio.Task[Any], timed_out: Result) -> None:
        """Another task takes the place of one that does not end."""
        job.runtime.left_behind(1)
        stuck.add_done_callback(partial(_ended, job.runtime))
        self._tasks[job] = self._loop.create_task(self._run(job, timed_out))
        self._wake()

    def _wake(self, _: object = None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def result(self, job: Job) -> Result:
        """The result of a job, whichever task has come to work on it."""
        while job.result is None:
            task = self._tasks[job]
            if task.done():
                return task.result()  # which raises what ended it
            self._waiter = self._loop.create_future()
            task.add_done_callback(self._wake)
            await self._waiter
        return job.result

    def has(self, job: Job) -> bool:
        """Whether a job was started here."""
        return job in self._tasks

    async def give_up(self) -> None:
        """Cancel what is not done, and wait for it, but not for ever."""
        if self._timer is not None:
            self._timer.cancel()
        unfinished = {job: task for job, task in self._tasks.items() if not task.done()}
        for job in unfinished:
            job.is_given_up = True
            job.context.cancel()
        if self._loop.is_closed():  # nothing in it runs any more, or can be waited for
            return
        for task in unfinished.values():
            task.cancel()
        for task in self._tasks.values():
            if task.done():
                _look_at(task)
            else:
                task.add_done_callback(_look_at)
        if unfinished:
            await asyncio.wait(unfinished.values(), timeout=max(job.runtime.grace for job in unfinished))


def _look_at(task: asyncio.Task[Any]) -> None:
    """What it raised was raised where somebody waited, or nobody does."""
    if not task.cancelled():
        task.exception()


def _ended(runtime: Runtime, task: asyncio.Task[Any]) -> None:
    """One that was left behind has ended after all."""
    runtime.left_behind(-1)
    _look_at(task)


async def results(
    jobs: Sequence[Job], concurrent: Callable[[Job], bool], most: int | None
) -> AsyncGenerator[tuple[Job, Result]]:
    """The jobs in their order, each with its result; those that are not concurrent run when it is their turn."""
    tasks = Tasks([job for job in jobs if concurrent(job)], most)
    try:
        for job in jobs:
            if job.result is None and not tasks.has(job):
                if job.runtime.limits != "watched":
                    yield job, await job.arun()
                    continue
                tasks.start(job)
            yield job, await tasks.result(job) if job.result is None else job.result
    finally:
        await tasks.give_up()


async def run_all(jobs: Sequence[Job], most: int | None, on_result: Callable[[], None]) -> None:
    """Run jobs for a caller in another thread, who waits for them in their order, and is told of each result."""
    tasks = Tasks(jobs, most)
    try:
        for job in jobs:
            await tasks.result(job)
            on_result()
    finally:
        await tasks.give_up()
