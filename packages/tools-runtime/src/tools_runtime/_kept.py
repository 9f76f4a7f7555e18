"""What calls came to whose callers gave up, until the same calls come again."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from tools_core import Result
from tools_runtime._job import Job

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from tools_core import ToolCall

    Key = tuple[str, str, str]  # the id of a call, its name and its arguments: what makes it the same call again

_MOST = 1_000  # of each kind
_T = TypeVar("_T")


class Kept:
    """Results that were not delivered, and calls that still run though nobody waits for them any more."""

    def __init__(self) -> None:
        self.results: dict[Key, list[Result]] = {}  # of equal calls in one batch each has its own
        self.made: dict[Key, tuple[ToolCall, Result]] = {}  # what was made, of calls whose hooks did not end
        self.running: dict[Key, Future[Job]] = {}
        self._keeping = Lock()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that any call could be given."""
        return not (self.results or self.made or self.running)

    def give(self, jobs: Iterable[Job]) -> None:
        """Give jobs what the same calls came to before."""
        if not self.is_empty:
            for job in jobs:
                key = _key(job.call)
                if key is not None:
                    job.earlier = self.running.get(key)
                    job.kept = self.made.pop(key, None)
                    self._give_result(key, job)

    def _give_result(self, key: Key, job: Job) -> None:
        with self._keeping:
            results = self.results.get(key)
            if results:
                job.result = results.pop(0)
            if not results:
                self.results.pop(key, None)

    def forget(self, job: Job) -> None:
        """Keep nothing of a job that has its result from the same call of before, of which it was kept as well."""
        key = _key(job.call)
        if key is not None:
            self.results.pop(key, None)
            self.made.pop(key, None)

    def keep(self, jobs: Iterable[Job]) -> None:
        """Keep the results that nobody asked for in the end, also those of calls which still run."""
        for job in jobs:
            job.is_given_up = True
            key, running = _key(job.call), None
            if key is not None and job.runs_on:
                from concurrent.futures import Future  # loaded already: it runs in a thread

                running = Future[Job]()
            job.on_late = partial(self._keep_late, key, running)
            if key is not None and running is not None:  # only now: who is interrupted leaves none that nobody settles
                self.running[key] = running
            if job.kept is not None:
                self._add(self.made, key, job.kept)
            self._keep_late(key, running, job)

    def _keep_late(self, key: Key | None, running: Future[Job] | None, job: Job) -> None:
        if job.result is not None:
            if job.was_begun:
                self._add_result(key, job.result)
        elif job.asked is not None and isinstance(job.made, Result):
            self._add(self.made, key, (job.asked, job.made))
        if key is not None and running is not None and not job.runs_on:
            with self._keeping:
                was_running = self.running.get(key) is running
                if was_running:
                    del self.running[key]
            if was_running:
                running.set_result(job)

    def take_back(self, pairs: Iterable[tuple[ToolCall, Result]], error: BaseException) -> None:
        """Keep what was to be returned together, and now is not; but for the result that `error` tells."""
        for call, result in pairs:
            if result.exception is not error:
                self._add_result(_key(call), result)

    def _add_result(self, key: Key | None, result: Result) -> None:
        if key is not None:
            with self._keeping:
                results = self.results.setdefault(key, [])
                if all(each is not result for each in results):  # it may come by two ways
                    results.append(result)
                del results[:-_MOST]
                _cut(self.results)

    def _add(self, kept: dict[Key, _T], key: Key | None, value: _T) -> None:
        if key is not None:
            with self._keeping:
                kept[key] = value
                _cut(kept)


def _cut(kept: dict[Key, Any]) -> None:
    while len(kept) > _MOST:
        kept.pop(next(iter(kept)), None)


def _key(call: ToolCall) -> Key | None:
    """None for a call that cannot be known when it comes again; some providers send an empty id."""
    if call.id is None or call.id == "":
        return None
    try:
        given = str(call.given)
    except Exception:  # noqa: BLE001  (too deep, a number of too many digits, or anybody's class)
        given = f"{type(call.given).__name__} {id(call.given)}"
    return str(call.id), call.name, given
