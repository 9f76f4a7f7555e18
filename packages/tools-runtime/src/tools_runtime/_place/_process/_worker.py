"""The host's side of one worker process: a thread that receives what the worker sends."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_runtime._errors import describe_error, log
from tools_runtime._place._process._errors import unpack_error
from tools_runtime._place._process._system import name_exit

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from tools_core import Context
    from tools_runtime._place._process._errors import RemoteError
    from tools_runtime._place._process._messages import PackedTool
    from tools_runtime._place._process._pool import Pool

_DEATH = 1.0  # seconds for a supervisor to report the end of a worker whose connection has ended
_KILL = 5.0  # seconds for a supervisor to kill everything


class Attempt:
    """One call on its way to a worker."""

    def __init__(self, tool: PackedTool, request: bytes, context: Context) -> None:
        self.tool = tool
        self.request = request
        self.context = context
        self.future: Future[Result] = Future()
        self.future.set_running_or_notify_cancel()
        self.worker: Worker | None = None
        self.is_sent = False
        self.is_cancelled = False
        self._unregister = context.on_cancel(self._cancel)

    def finish(self, result: Result) -> None:
        """End with a result."""
        self._unregister()
        self.future.set_result(result)

    def _cancel(self) -> None:
        self.is_cancelled = True
        if self.worker is not None:
            self.worker.kill(self)


class Worker:
    """A worker process. It makes one call at a time."""

    def __init__(self, pool: Pool) -> None:
        self.thread = threading.Thread(target=self._run, name="tools-runtime worker", daemon=True)
        self._pool = pool
        self._lock = threading.RLock()  # a garbage collection inside it may close the pool
        self._attempt: Attempt | None = None
        self._sending = threading.Lock()  # held while the connection may not be closed
        self._known: set[int] = set()  # numbers of the tools that the worker has
        self._requests: Connection | None = None
        self._control: Connection | None = None
        self._is_killed = False

    def start(self, attempt: Attempt) -> None:
        """Start the process, which then makes a first call; without waiting for it."""
        self._attempt, attempt.worker = attempt, self
        self.thread.start()

    def send(self, attempt: Attempt) -> None:
        """Send a call to this worker; if the worker has ended, another one gets the call."""
        with self._lock:
            requests = None if self._is_killed else self._requests
            if requests is not None:
                self._attempt, attempt.worker = attempt, self
        if requests is None:
            self._pool.submit(attempt)
            return
        if attempt.is_cancelled:
            self.kill(attempt)
        attempt.is_sent = True
        try:
            with self._sending:
                if attempt.tool.number not in self._known:
                    self._known.add(attempt.tool.number)
                    requests.send_bytes(attempt.tool.message)
                requests.send_bytes(attempt.request)
        except OSError:
            attempt.is_sent = False
            if self._take_attempt() is not None:  # else the thread of this worker has taken it
                self._pool.submit(attempt)

    def kill(self, attempt: Attempt | None = None) -> None:
        """Have the supervisor kill the worker and its descendants; with an attempt only if the worker makes that."""
        with self._lock:
            if attempt is None or self._attempt is attempt:
                self._is_killed = True
                if self._control is not None:
                    with suppress(OSError):  # the supervisor has ended
                        self._control.send_bytes(b"kill")

    def abandon(self) -> None:
        """Close the connections in a fork of the host: they are the parent's."""
        for connection in (self._requests, self._control):
            if connection is not None:
                connection.close()

    def _take_attempt(self) -> Attempt | None:
        with self._lock:
            attempt, self._attempt = self._attempt, None
        return attempt

    def _run(self) -> None:
        code = None
        try:
            requests, control = self._pool.fork_server.start_worker()
        except Exception as error:  # noqa: BLE001  (no process or descriptor is left, or the program is being imported)
            problem: str | None = describe_error(error)
        else:
            with self._lock:
                self._requests, self._control = requests, control
                if self._is_killed:  # the call was cancelled, or the pool closed, meanwhile
                    self.kill()
            problem = self._receive(requests)
            code = self._wait_for_end(control)
        with self._lock:
            self._is_killed = True
        with self._sending, self._lock:
            self.abandon()
        self._pool.discard(self)
        attempt = self._take_attempt()
        if attempt is not None:
            self._finish_lost(attempt, problem, code)

    def _receive(self, requests: Connection) -> str | None:
        """Take messages until the worker ends; returns the problem that kept it from beginning, if there was one."""
        while True:
            try:
                data = requests.recv_bytes()
            except (EOFError, OSError):
                return None
            kind, content = _load(data)
            if kind == "result":
                self._handle_result(*content)
            elif kind == "progress":
                self._handle_progress(*content)
            elif content is not None:  # of "ready": the problem
                self.kill()
                return str(content)
            elif (attempt := self._take_attempt()) is not None:
                self.send(attempt)

    def _handle_progress(self, done: float, total: float | None, message: str) -> None:
        attempt = self._attempt
        if attempt is not None:
            try:
                attempt.context.progress(done, total, message)
            except Exception:  # noqa: BLE001  (a mistake of a listener must not end this thread)
                log.exception("A listener to the progress of a call raised an exception")

    def _handle_result(self, result: Result, error: tuple[RemoteError, bytes | None] | None, is_last: bool) -> None:
        attempt = self._take_attempt()
        if is_last:
            self.kill()
        else:
            self._pool.give_back(self)
        if error is not None:
            result = Result.error(
                result.error or "",
                type=result.error_type or "execution_error",
                metadata=result.metadata,
                exception=unpack_error(*error),
            )
        if attempt is not None:
            attempt.finish(result)

    def _wait_for_end(self, control: Connection) -> int | None:
        """Wait until the supervisor has killed everything; returns the exit code of a worker that ended by itself."""
        with suppress(EOFError, OSError):  # the supervisor has ended
            if not control.poll(_DEATH):  # the worker has closed its connection, and lives
                self.kill()
            if control.poll(_KILL):
                code: int | None = control.recv()
                control.poll(_DEATH)  # the end of the supervisor itself
                return code
        return None

    def _finish_lost(self, attempt: Attempt, problem: str | None, code: int | None) -> None:
        """End the attempt of a worker that has ended."""
        if self._pool.is_closed:
            result = Result.error("The runtime was closed before the call ended.", type="interrupted")
        elif attempt.is_cancelled:
            text = "The call was cancelled and its worker process killed. The call may have had effects."
            result = Result.error(text, type="cancelled", metadata={"killed": True})
        elif attempt.is_sent:
            result = _crashed(code)
        else:
            problem = problem or "it ended" + ("" if code is None else f" with {name_exit(code)}")
            result = Result.error(f"No worker process can be started: {problem}", type="unavailable")
        attempt.finish(result)


def _crashed(code: int | None) -> Result:
    name = "unknown" if code is None else name_exit(code)
    text = "The worker process ended" + ("" if code is None else f" with {name}")
    if name == "SIGKILL":
        text += ", which happens when the machine has no memory left"
    return Result.error(f"{text}. The call may have had effects.", metadata={"crash": name})


def _load(data: bytes) -> tuple[str, Any]:
    try:
        kind, content = pickle.loads(data)  # noqa: S301  (a worker has the rights of its host)
    except Exception as error:  # noqa: BLE001  (a class that this process lacks, or that fails in any way)
        text = f"The result of the tool cannot be read from its worker process ({describe_error(error)}). "
        return "result", (Result.error(f'{text}Return plain data, or run the tool with runtime="thread".'), None, False)
    return kind, content
