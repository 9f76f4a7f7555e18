"""Calls beside each other for synchronous code; their results are waited for in the order of the calls."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING

from tools_core.threads import in_thread
from tools_runtime._attempt import GivenUp, LeftBehind
from tools_runtime._job import cancelled_inside, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from tools_core import Result
    from tools_runtime._attempt import Attempt
    from tools_runtime._job import Job
    from tools_runtime._runtimes import Runtime


class Batch:
    """Jobs that are started; those of runtimes that make one call at a time wait for their turn."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._news: SimpleQueue[BaseException | None] = SimpleQueue()
        self._attempts: dict[Attempt, Job] = {}
        self._wake = float("inf")  # when the limit of some attempt is over
        self._in_loop: list[Future[None]] = []
        self._waiting: dict[Runtime, deque[Job]] = {}
        self._started: set[Job] = set()
        self._is_given_up = False

    def start(self, is_concurrent: Callable[[Job], bool], most: int | None) -> None:
        """Start what may run beside each other."""
        for job in self._jobs:
            if is_concurrent(job):
                self._waiting.setdefault(job.runtime, deque()).append(job)
                self._started.add(job)
        if most is not None and len(self._waiting) > 1:  # who counts them all has to start them all
            self._start_in_loop([job for job in self._jobs if job in self._started], most)
            return
        for runtime, waiting in self._waiting.items():
            self._start(runtime, waiting, most)

    def wait_for(self, job: Job) -> None:
        """Wait for the result of a job, if it was started here, or is one that has to be watched."""
        if job.result is None and job not in self._started and job.runtime.limits == "watched":
            self._started.add(job)
            self._waiting[job.runtime] = deque([job])
            self._start(job.runtime, self._waiting[job.runtime], 1)
        while job.result is None and job in self._started:
            self._wait()

    def _start_in_loop(self, jobs: Sequence[Job], most: int | None) -> None:
        from tools_core.threads import start_coroutine  # brings asyncio
        from tools_runtime._tasks import run_all  # as above

        self._in_loop.append(start_coroutine(run_all(jobs, most, partial(self._news.put, None))))
        self._in_loop[-1].add_done_callback(partial(self._loop_ended, jobs))

    def _start(self, runtime: Runtime, waiting: deque[Job], most: int | None) -> None:
        if runtime.runs_in_loop:
            self._start_in_loop(list(waiting), most)
            return
        for job in waiting:
            job.on_attempt = self._watch
        limits = [limit for limit in (runtime.max_concurrency, most, len(waiting)) if limit is not None]
        for _ in range(min(limits)):
            in_thread(partial(self._work, waiting), is_waited_for=True)

    def _work(self, waiting: deque[Job]) -> None:
        """Make one call after the other, until there are no more."""
        while True:
            try:
                job = waiting.popleft()
            except IndexError:
                return
            if not self._end(job, job.run):
                return

    def _end(self, job: Job, run: Callable[[], Result]) -> bool:
        """Bring a call to its end; whether this thread has a place to make another one in."""
        try:
            run()
        except LeftBehind:
            job.runtime.left_behind(-1)  # another thread took this one's place
            return False
        except GivenUp:
            return False
        except BaseException as error:  # noqa: BLE001  (of a hook: it ends neither this thread nor the caller)
            job.end(failure(error))
        if job.attempt is not None:
            self._attempts.pop(job.attempt, None)
        self._news.put(None)
        return True

    def _watch(self, job: Job) -> None:
        attempt = job.attempt
        if attempt is not None:
            self._attempts[attempt] = job
            if attempt.deadline < self._wake:
                self._news.put(None)  # whoever waits has a nearer limit to wait for

    def _wait(self) -> None:
        """Wait until something has happened: a result, or a limit that is over."""
        self._wake = float("inf")  # whoever starts an attempt from here on says so
        wake = self._wake = min((attempt.deadline for attempt in self._attempts.copy()), default=float("inf"))
        error = None
        with suppress(Empty):  # a limit came first
            error = self._news.get(timeout=None if wake == float("inf") else max(0.0, wake - monotonic()))
        if error is not None:
            raise error
        if wake <= monotonic():
            self._leave_overdue_behind()

    def _leave_overdue_behind(self) -> None:
        now = monotonic()
        for attempt, job in self._attempts.copy().items():
            if attempt.deadline <= now:
                self._attempts.pop(attempt, None)
                in_thread(partial(self._leave_behind, attempt, job, self._waiting[job.runtime]), is_waited_for=True)

    def _leave_behind(self, attempt: Attempt, job: Job, waiting: deque[Job]) -> None:
        """Go on without an attempt; in a thread, which nothing interrupts between the claim and the result."""
        timed_out = attempt.time_out()
        if timed_out is not None:
            job.runtime.left_behind(1)
            if self._end(job, partial(job.resume, timed_out)):
                self._work(waiting)

    def _loop_ended(self, jobs: Sequence[Job], running: Future[None]) -> None:
        if running.cancelled() and not self._is_given_up:  # a tool has cancelled every task of the loop
            for job in jobs:
                if job.result is None:
                    job.end(cancelled_inside())
        self._news.put(None if running.cancelled() else running.exception())

    def give_up(self) -> None:
        """Nobody asks for more: what has not begun never begins, and what runs is told."""
        self._is_given_up = True
        for running in self._in_loop:
            running.cancel()
        for waiting in self._waiting.values():
            waiting.clear()
        for job in self._jobs:
            if job.result is None:
                job.context.cancel()
