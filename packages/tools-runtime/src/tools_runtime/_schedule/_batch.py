"""`Batch`: the calls of one `execute`, from their start to the delivery of their results."""

from __future__ import annotations

from collections import deque
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar

from tools_runtime._place._gate import passed
from tools_runtime._schedule._home import CallingThread, EventLoop, Home
from tools_runtime._schedule._outcomes import limit_passed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from tools_core import Context
    from tools_runtime._place._gate import Gate
    from tools_runtime._schedule._job import Job

HomeT = TypeVar("HomeT", bound=Home)
_FAREWELL = 1.0  # seconds for the hooks of calls whose caller is gone


class Batch(Generic[HomeT]):
    """Starts jobs as their limits allow, and delivers each when it has its result.

    Jobs of a sequential runtime are lazy: each starts when its turn has come, and not at all if the caller stops.
    """

    def __init__(self, home: HomeT, context: Context, gate: Gate | None) -> None:
        self.home = home
        self._context = context
        self._gate = gate
        self.jobs: Sequence[Job] = ()
        self._ended: deque[Job] = deque()
        self._started: set[Job] = set()

    def note_end(self, job: Job) -> None:
        """Receive a job that has its result, from any thread."""
        gates, job.gates = job.gates, ()
        for gate in reversed(gates):
            gate.leave()
        self._ended.append(job)
        if not self.home.is_here:
            self.home.soon(_nothing)

    def deliver(self, *, as_completed: bool) -> Iterator[Job | None]:
        """Yield each job when it has its result, and None where the driver has to wait for something to happen."""
        for job in self.jobs:
            if not job.is_lazy:
                self._start(job)
        if as_completed:
            yield from self._as_completed()
            return
        for job in self.jobs:
            if job.is_lazy:
                self._start(job)
            while job.result is None:
                yield None
            yield job

    def _as_completed(self) -> Iterator[Job | None]:
        lazy = deque(job for job in self.jobs if job.is_lazy)
        current: Job | None = None
        for _ in self.jobs:
            while not self._ended:
                if lazy and (current is None or current.result is not None):
                    current = lazy.popleft()
                    self._start(current)
                else:
                    yield None
            yield self._ended.popleft()

    def _start(self, job: Job) -> None:
        """Start a job, as soon as it has passed its gates."""
        self._started.add(job)
        if job.is_lazy and self._gate is None:
            job.start()
            return
        runtime, tool = job.placement.runtime, job.placement.tool
        limits = (() if self._gate is None else (self._gate,)) + runtime.gates_for(tool)
        inside = passed.get()
        gates = [gate for gate in limits if gate not in inside]
        if not gates:
            job.start()
            return
        job.listen()
        if self._context.deadline is not None:
            self.home.at(self._context.deadline, partial(self._is_late, job))
        self._enter(job, gates)

    def _enter(self, job: Job, gates: Sequence[Gate]) -> None:
        """Pass the first gate, then the next ones, then start: at once, or at home where it had to wait."""
        if not gates:
            job.start()
            return
        first, following = gates[0], gates[1:]
        has_waited = False

        def go() -> None:
            if job.result is not None:  # it ended while it waited
                first.leave()
                return
            job.gates = (*job.gates, first)
            enter = partial(self._enter, job, following)
            self.home.soon(enter) if has_waited else enter()

        first.enter(go)
        has_waited = True

    def _is_late(self, job: Job) -> None:
        if not job.has_started:
            job.finish(limit_passed(self._context))

    def abandon(self) -> bool:
        """Cancel what has not been delivered; return whether hooks are still at it."""
        if not self._is_over():
            self._context.cancel()
        return not self._is_over()

    def _is_over(self) -> bool:
        return all(job.result is not None for job in self._started)


def drive(batch: Batch[CallingThread], *, as_completed: bool) -> Iterator[Job]:
    """Deliver the jobs of a batch in the calling thread."""
    home = batch.home
    try:
        for job in batch.deliver(as_completed=as_completed):
            if job is None:
                home.wait()
            else:
                yield job
    finally:
        until = monotonic() + _FAREWELL
        while batch.abandon() and home.wait(until):
            pass
        home.close()


async def adrive(batch: Batch[EventLoop], *, as_completed: bool) -> AsyncGenerator[Job]:
    """Deliver the jobs of a batch in the running event loop."""
    home = batch.home
    try:
        for job in batch.deliver(as_completed=as_completed):
            if job is None:
                await home.wait()
            else:
                yield job
    finally:
        until = monotonic() + _FAREWELL
        while batch.abandon() and await home.wait(until):
            pass
        home.close()


def _nothing() -> None:
    """Wake the driver."""
