"""`Attempt`: one call on its way to the cluster and back."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_core.threads import in_thread
from tools_runtime.remote import describe_error, unpack_result

if TYPE_CHECKING:
    from tools_core import Context
    from tools_ray._request import Request

_TURN = 0.5  # seconds; a call that was ended from elsewhere is noticed then
_EFFECTS = "The call may have had effects."
_LOSSES = {  # by the names of Ray's exceptions
    "WorkerCrashedError": ("worker lost", "The worker process ended before it answered."),
    "NodeDiedError": ("node lost", "The node of the cluster was lost."),
    "LocalRayletDiedError": ("node lost", "The Ray process of this machine was lost."),
    "ObjectLostError": ("node lost", "The result was lost with its node."),
    "OutOfMemoryError": ("out of memory", "The node had no memory left, and Ray killed the worker."),
}


class Attempt:
    """One task, and the thread that waits for it."""

    def __init__(self, user: object, context: Context) -> None:
        self.user = user
        self.context = context
        self.future: Future[Result] = Future()
        self.future.set_running_or_notify_cancel()
        self.has_left = threading.Event()  # the thread no longer uses Ray
        self._ray: Any = None
        self._task: Any = None
        self._cancelled = threading.Event()
        self._has_ended = False
        self._ending = threading.Lock()
        self._unregister = context.on_cancel(self.cancel)

    def run(self, ray: Any, function: Any, request: Request) -> None:
        """Make the task and wait for its end."""
        self._ray = ray
        try:
            if not self._cancelled.is_set():
                self._task = function.options(name=request.name).remote(request)
                if self._cancelled.is_set():
                    self.cancel()  # the first time there was no task
                self._wait(is_stream=request.wants_progress)
        except Exception as error:  # noqa: BLE001  (Ray raises many)
            self.finish(_failed(error) if not self._cancelled.is_set() else _CANCELLED)
        self.finish(_CANCELLED)

    def _wait(self, *, is_stream: bool) -> None:
        while not self._has_ended:
            if self._ray.wait([self._task], timeout=_TURN)[0]:
                item = self._ray.get(next(self._task) if is_stream else self._task)
                if isinstance(item, bytes):
                    self.finish(unpack_result(item))
                else:
                    self._report(*item)

    def cancel(self) -> None:
        """Kill the worker, in another thread: Ray may block if the head of the cluster has disconnected."""
        self._cancelled.set()
        if self._task is not None:
            in_thread(lambda: self._ray.cancel(self._task, force=True))

    def finish(self, result: Result) -> None:
        """Set the result, unless there is one."""
        with self._ending:
            if self._has_ended:
                return
            self._has_ended = True
        self._unregister()
        self.future.set_result(result)

    def _report(self, done: float, total: float | None, message: str) -> None:
        try:
            self.context.progress(done, total, message)
        except Exception:
            logging.getLogger("tools_ray").exception("A listener to the progress of a call raised an exception")


_CANCELLED = Result.error(
    f"The call was cancelled and its worker killed. {_EFFECTS}", type="cancelled", metadata={"killed": True}
)


def _failed(error: Exception) -> Result:
    """Return the result of a task for which Ray raised an exception."""
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _LOSSES), None)
    if name is None:
        return Result.error(f"Ray could not run the call: {describe_error(error)}", type="unavailable", exception=error)
    crash, text = _LOSSES[name]
    kind = "limit_exceeded" if crash == "out of memory" else "execution_error"
    return Result.error(f"{text} {_EFFECTS}", type=kind, metadata={"crash": crash}, exception=error)
