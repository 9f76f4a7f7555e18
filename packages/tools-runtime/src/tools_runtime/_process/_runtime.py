"""`ProcessRuntime`: calls in worker processes, which can be killed."""

from __future__ import annotations

import os
import socket
import sys
import threading
import weakref
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from tools_core import Result
from tools_runtime._attempt import not_begun, too_late
from tools_runtime._log import said
from tools_runtime._process._context import pack
from tools_runtime._process._exchange import Broken, Refused, Reply, Stopped, TooLarge, exchange
from tools_runtime._process._main_module import find_main, is_loading
from tools_runtime._process._outcome import closed, crashed, result_of, stopped, too_large
from tools_runtime._process._pool import Closed, Pool, forget_all
from tools_runtime._process._template import Lost, Unavailable
from tools_runtime._process._wire import OBJECT, REQUEST, TEXT
from tools_runtime._remote._errors import Unsendable
from tools_runtime._remote._json import encode, inexact, is_exact
from tools_runtime._runtimes._runtime import Runtime, check_concurrency

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_core import Context, Tool, ToolCall
    from tools_runtime._process._tools import Sent
    from tools_runtime._process._worker import Worker

_runtimes: weakref.WeakSet[ProcessRuntime] = weakref.WeakSet()
_ATTEMPTS = 3  # to get a worker, when the process that forks them is killed again and again


class _Asked(NamedTuple):
    """A call on its way to a worker: its arguments as they are written, and its limit as it is and as it was set."""

    kind: int
    body: bytes
    call: ToolCall
    context: Context | None
    limit: float | None
    as_set: float | None


class ProcessRuntime(Runtime):
    """Makes each call in a worker process, which is killed with all that it started when its time is over.

    Whatever a tool does, computing in C, crashing, exhausting memory, its call has a result by its limit, and no other
    call is harmed. Workers have the environment, `sys.path` and the working directory that this process had at the
    first call, and no context variables of it. Arguments and results pass as JSON. The tool is pickled, once: it is
    defined at the top of a module, and what is changed in it later does not reach the workers. Of a context's `state`
    each item is pickled that can be. A call's limit begins when it gets a worker, within the time that its caller's
    `Context` has. Nothing is ever called twice: a call whose worker ended before it answered is an `execution_error`
    with `metadata["crash"]`, the name of the signal or `exit N`. What the tool raised is told by a `RemoteError`, as
    `result.exception` or its cause.

    Args:
        max_concurrency: How many workers there may be; by default one for each processor, and at least 2.
        memory: Bytes that a worker may take beyond what it begins with. A call that needs more is a `limit_exceeded`.
        cpu: Seconds of processor time that one call may take; it may get up to one more.
        max_calls: How many calls a worker makes before another takes its place.
        max_rss: Bytes of resident memory with which a worker is replaced after its call.
        idle: Seconds without a call after which a worker ends; None keeps it.
        preload: Modules that are imported before workers are forked, so that they find them in memory. They must not
            start threads.
        max_result_bytes: How large a result may be as JSON. A larger one is a `limit_exceeded`.
        environment: Variables for the workers, besides those of this process.

    Raises: OSError on a system that cannot fork, such as Windows; ValueError for an option that is out of range.
    """

    name = "process"
    limits = "kept"

    def __init__(  # noqa: PLR0913  (independent options, by keyword)
        self,
        max_concurrency: int | None = None,
        *,
        memory: int | None = None,
        cpu: int | None = None,
        max_calls: int = 1_000,
        max_rss: int | None = None,
        idle: float | None = 60.0,
        preload: Sequence[str] = (),
        max_result_bytes: int = 64 << 20,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if not hasattr(os, "fork") or not hasattr(socket, "AF_UNIX"):
            raise OSError("ProcessRuntime needs a system that can fork; use ThreadRuntime on this one")
        check_concurrency(max_concurrency)
        if isinstance(preload, str):
            raise TypeError(f"preload is a list of modules' names; write preload=[{preload!r}]")
        most: int = max_concurrency or max(2, getattr(os, "process_cpu_count", os.cpu_count)() or 0)
        positive: dict[str, float | None] = {"memory": memory, "cpu": cpu, "max_calls": max_calls}
        positive |= {"max_rss": max_rss, "idle": idle, "max_result_bytes": max_result_bytes}
        for option, value in positive.items():
            if value is not None and not value > 0:
                raise ValueError(f"{option} must be above 0, got {value!r}")
        self.max_concurrency = self._most = most
        self._max_calls = max_calls
        self._cpu = cpu
        self._longest = max_result_bytes
        self._environment = dict(environment or {})
        self._main = find_main()  # which is not to be found any more once the program has run to its end
        self._settings = {
            "memory": memory, "cpu": cpu, "max_rss": max_rss, "idle": idle,
            "preload": list(preload), "max_result_bytes": max_result_bytes,
        }  # fmt: skip
        self._pool: Pool | None = None
        self._lock = threading.Lock()
        _runtimes.add(self)

    def run_tool(self, tool: Tool, call: ToolCall, context: Context | None) -> Result:
        """Call a tool in a worker."""
        written = _written(call.given)
        if isinstance(written, Result):
            return written
        kind, body = written
        limit = as_set = tool.timeout
        if context is not None:
            if context.cancelled:
                return not_begun()
            remaining = context.remaining
            if remaining is not None and (limit is None or remaining < limit):
                limit, as_set = remaining, context.as_set(remaining)
            if limit == 0:
                return too_late()
        try:
            for _ in range(_ATTEMPTS):
                pool = self._pool or self._open()
                try:
                    return self._run(pool, pool.tools.get(tool), _Asked(kind, body, call, context, limit, as_set))
                except Lost:
                    self._abandon(pool)
        except (Unavailable, Unsendable) as error:
            return Result.error(str(error), type="unavailable", exception=error)
        except Closed:
            return closed()
        return Result.error("the process that starts workers was killed again and again", type="unavailable")

    def _run(self, pool: Pool, sent: Sent, asked: _Asked) -> Result:
        kind, body, call, context, limit, as_set = asked
        packed = pack(context, call.id) if sent.wants_context else b""
        while True:
            worker = pool.take(context)
            if worker is None:
                return not_begun() if context is None or context.cancelled else too_late()
            until = None if context is None else context.outer_deadline
            if context is not None and until is not None:  # the caller's time has run on while the call waited
                left = max(0.001, until - monotonic())
                if limit is None or left < limit:
                    limit, as_set = left, context.as_set(left)
            told = limit if limit is not None and (packed or sent.wants_limit) else -1.0
            try:
                number = worker.number()
                frame = REQUEST.pack(kind, number, len(body), len(packed), sent.number, told) + packed + body
                if sent.number not in worker.known:
                    frame = sent.load + frame
                    worker.known.add(sent.number)
                reply = exchange(worker, number, frame, context, limit, longest=self._longest, can_stop=sent.can_stop)
            except Refused:
                pool.drop(worker)
            except BaseException as error:  # noqa: BLE001  (`_failed` raises again what is no outcome)
                return self._failed(pool, worker, error, as_set)
            else:
                return self._answered(pool, worker, reply, as_set)

    def _answered(self, pool: Pool, worker: Worker, reply: Reply, as_set: float | None) -> Result:
        result = result_of(reply, as_set)
        if result is None:
            return self._failed(pool, worker, Broken("wrote what is no answer"), as_set)
        worker.calls += 1
        if reply.is_worn or worker.calls >= self._max_calls:
            pool.replace(worker)
        else:
            pool.give(worker)
        return result

    def _failed(self, pool: Pool, worker: Worker, error: BaseException, as_set: float | None) -> Result:
        """What a call came to that was not answered; its worker ends."""
        code = None
        if isinstance(error, Broken) and error.has_ended:
            code = worker.status()
        else:
            worker.kill()
        pool.replace(worker)
        if isinstance(error, Stopped):
            return stopped(error.reason, as_set)
        if isinstance(error, TooLarge):
            return too_large(self._longest)
        if isinstance(error, Broken):
            return closed() if pool.is_closed and not pool.is_abandoned else crashed(str(error), code, self._cpu)
        if isinstance(error, Exception):  # of who is told of progress
            return Result.error(said(error), exception=error)
        raise error

    def _open(self) -> Pool:
        with self._lock:
            if self._pool is None:
                if is_loading():
                    raise Unavailable(
                        "the program is being read for its tools just now and must not call any; "
                        'put what it does under `if __name__ == "__main__":`'
                    )
                settings = {**self._settings, "main": find_main() or self._main, "argv": list(sys.argv)}
                pool = self._pool = Pool(self._most, settings, self._environment)
                weakref.finalize(self, pool.close)
            return self._pool

    def _abandon(self, pool: Pool) -> None:
        """Make place for a pool with workers."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
        pool.abandon()

    def close(self) -> None:
        """End all workers, and what they run; the runtime can be used again."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._pool = None


def _written(given: Mapping[str, object] | str | None) -> tuple[int, bytes] | Result:
    """The arguments for a worker, or why it cannot have them."""
    if given is None:
        return TEXT, b""
    if isinstance(given, str):
        return TEXT, given.encode("utf-8", "surrogatepass")
    arguments = given if type(given) is dict else dict(given)
    try:
        return (OBJECT, encode(arguments)) if is_exact(arguments) else _unfit(inexact(arguments, ""))
    except RecursionError:
        return _unfit("they are nested too deeply")


def _unfit(problem: str) -> Result:
    return Result.error(
        f"the arguments must be plain JSON data to reach a worker process: {problem}", type="validation_error"
    )


def _after_fork() -> None:
    forget_all()
    for runtime in list(_runtimes):
        runtime._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
