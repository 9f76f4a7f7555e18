"""The workers of one runtime, and the process that makes them."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from tools_runtime._process._exchange import SLICE
from tools_runtime._process._template import Lost, Template, Unavailable
from tools_runtime._process._tools import Tools
from tools_runtime._process._worker import Worker

if TYPE_CHECKING:
    from tools_core import Context

_pools: WeakSet[Pool] = WeakSet()


class Closed(Exception):
    """The pool was closed."""


class Pool:
    """Raises Unavailable where there is nothing to make workers with."""

    def __init__(self, most: int, settings: dict[str, Any], environment: dict[str, str]) -> None:
        self.tools = Tools(settings["main"])
        self.is_closed = False
        self.is_abandoned = False
        self._most = most
        self._owner = os.getpid()
        self._idle: list[Worker] = []
        self._workers: WeakSet[Worker] = WeakSet()  # with those that have a call, which hold themselves
        self._changed = threading.Condition()
        self._waiting = 0
        self._template = Template(settings, environment)
        _pools.add(self)

    @property
    def is_lost(self) -> bool:
        """Whether no new workers can be had."""
        return self._template.is_lost

    def take(self, context: Context | None) -> Worker | None:
        """A worker that waits for a call; None when nobody waits for that call any more.

        Raises Lost, Unavailable and Closed.
        """
        while True:
            try:
                worker = None if self._waiting else self._idle.pop()
            except IndexError:
                worker = None
            if worker is None:
                worker = self._obtain(context)
                if worker is None:
                    return None
            try:
                if worker.is_ready():
                    if not _is_over(context):  # it may have taken long
                        return worker
                    self.give(worker)
                    return None
            except BaseException:
                self.drop(worker)
                raise
            self.drop(worker)
            if self.is_lost:
                raise Lost

    def _obtain(self, context: Context | None) -> Worker | None:
        with self._changed:
            self._waiting += 1
            try:
                while True:
                    if self.is_closed:
                        raise Lost if self.is_abandoned else Closed
                    if self._idle:
                        return self._idle.pop()
                    if len(self._workers) < self._most:
                        return self._new()
                    if _is_over(context):
                        return None
                    self._changed.wait(SLICE)
            finally:
                self._waiting -= 1

    def _new(self) -> Worker:
        try:
            worker = Worker(self._template)
        except OSError as error:
            raise Unavailable(f"no worker process can be started: {error}") from error
        self._workers.add(worker)
        return worker

    def give(self, worker: Worker) -> None:
        """Take a worker back that has answered."""
        if self.is_closed or worker.control < 0:
            self._workers.discard(worker)
            worker.kill()
            return
        self._idle.append(worker)
        if self._waiting:
            with self._changed:
                self._changed.notify()

    def drop(self, worker: Worker) -> None:
        """Let a worker end that is not to be used any more."""
        self._workers.discard(worker)
        worker.retire()

    def replace(self, worker: Worker) -> None:
        """See to it that there soon is another worker instead of this one, which has ended or is going to."""
        self.drop(worker)
        with self._changed, suppress(Lost, OSError):  # then the next call asks for one, or says why not
            if not self.is_closed and len(self._workers) < self._most:
                new = Worker(self._template)
                self._workers.add(new)
                self._idle.insert(0, new)  # taken last: it is only just beginning
            self._changed.notify()

    def close(self) -> None:
        """End everything, and wait until it has ended."""
        if self._owner != os.getpid():
            return
        with self._changed:
            if self.is_closed:
                return
            self.is_closed = True
            self._changed.notify_all()
        self._end_idle()
        for worker in list(self._workers):
            worker.interrupt()
        self._template.close()

    def abandon(self) -> None:
        """End what nobody uses, when no new workers can be had; who has a call may end it."""
        with self._changed:
            if self.is_closed:
                return
            self.is_closed = self.is_abandoned = True
            self._changed.notify_all()
        self._end_idle()
        self._template.close()

    def _end_idle(self) -> None:
        with suppress(IndexError):  # there are no more
            while True:
                worker = self._idle.pop()
                self._workers.discard(worker)
                if self.is_lost:
                    worker.kill()
                else:
                    worker.retire()

    def forget(self) -> None:
        """In a fork of the host: all of this is the parent's."""
        for worker in list(self._workers):
            worker.forget()
        self._idle.clear()
        self._template.forget()


def _is_over(context: Context | None) -> bool:
    """Whether the caller gave up, or his time has passed."""
    if context is None:
        return False
    until = context.outer_deadline
    return context.cancelled or (until is not None and monotonic() >= until)


def forget_all() -> None:
    """In a fork of the host: no descriptor must keep alive what is the parent's."""
    for pool in list(_pools):
        pool.forget()
    _pools.clear()
