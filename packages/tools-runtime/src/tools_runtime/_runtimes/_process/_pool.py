"""The host's side of workers: pickle a call, and run it in an idle worker or a new one."""

from __future__ import annotations

import os
import pickle
import threading
from contextlib import suppress
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from tools_core import Result, ToolError
from tools_runtime._events import describe_error, log
from tools_runtime._runtimes._process._fork_server import ForkServer
from tools_runtime._runtimes._process._worker import dump, name_exit
from tools_runtime.remote import pack_context, unpack_result

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from tools_core import Context, Tool, ToolCall
    from tools_runtime._runtimes._process._worker import Settings

_MAX_TOOLS = 1_000
_DEATH = 1.0  # seconds for a supervisor to report the end of a worker whose connection has ended
_KILL = 5.0  # seconds for a supervisor to kill everything
_END = 8.0  # seconds for all workers to end
_pools: WeakSet[Pool] = WeakSet()


class PackedTool(NamedTuple):
    """A tool that was pickled once, and has a number from then on."""

    tool: Tool  # held, so that no other tool gets its id
    number: int
    message: bytes


class Messages:
    """Pickles tools and calls. A tool is sent to a worker once; changes made to it later do not reach the worker."""

    def __init__(self) -> None:
        self._packed: dict[int, PackedTool] = {}
        self._numbers = count(1)

    def pack_tool(self, tool: Tool) -> PackedTool:
        """Return the message that brings a tool to a worker; raises ToolError for one that cannot be pickled."""
        packed = self._packed.get(id(tool))
        if packed is not None and packed.tool is tool:
            return packed
        try:
            data = dump(tool)
        except Exception as error:
            raise ToolError(
                f"The tool {tool.name!r} cannot be sent to a worker process ({describe_error(error)}). "
                "Define it at the top level of a module, without attributes that cannot be pickled, "
                'or run it with runtime="thread".',
                "unavailable",
            ) from error
        if len(self._packed) >= _MAX_TOOLS:
            self._packed.clear()  # a tool that is used again gets another number
        number = next(self._numbers)
        packed = self._packed[id(tool)] = PackedTool(tool, number, dump(("tool", (number, data))))
        return packed

    def pack_call(self, packed: PackedTool, call: ToolCall, context: Context) -> bytes:
        """Return the message with a call; raises ToolError for arguments that cannot be pickled."""
        try:
            arguments = dump(call.raw_arguments)
        except Exception as error:
            text = f"The arguments cannot be sent to a worker process ({describe_error(error)}). Give plain data."
            raise ToolError(text, "validation_error") from error
        needs_context = packed.tool.takes_context or packed.tool.timeout is not None
        surroundings = pack_context(call, context, dump) if needs_context else None
        try:
            folder = os.getcwd()
        except OSError:  # it was deleted
            folder = None
        return dump(("call", (packed.number, arguments, folder, surroundings)))


class Worker:
    """A worker process and its supervisor. It belongs to the pool while it is idle, else to the thread of its call."""

    def __init__(self, requests: Connection, control: Connection) -> None:
        self._requests = requests
        self._control = control
        self._known: set[int] = set()  # numbers of the tools that the worker has
        self._lock = threading.RLock()  # a garbage collection inside it may close the pool
        self.context: Context | None = None  # of the current call
        self.has_answered = False
        self.is_killed = False
        self.has_ended = threading.Event()

    def send(self, packed: PackedTool, request: bytes) -> None:
        """Send a call; OSError if the worker has ended."""
        if packed.number not in self._known:
            self._requests.send_bytes(packed.message)
            self._known.add(packed.number)
        self._requests.send_bytes(request)

    def receive(self, context: Context) -> tuple[Result, bool]:
        """Wait for the result of the call, and return it and whether it is the last; EOFError if the worker ends."""
        while True:
            kind, content = pickle.loads(self._requests.recv_bytes())  # noqa: S301  (it has the rights of its host)
            if kind == "result":
                packed, is_last = content
                with self._lock:
                    self.context = None
                self.has_answered = True
                return unpack_result(packed), is_last
            try:
                context.progress(*content)
            except Exception:  # noqa: BLE001  (a listener's mistake must not end the call)
                log.exception("A listener to the progress of a call raised an exception")

    def kill(self, context: Context | None = None) -> None:
        """Have the supervisor kill the worker and its descendants; with a context only if it runs that call."""
        with self._lock:
            if context in (None, self.context):
                self.is_killed = True
                with suppress(OSError):  # the supervisor has ended
                    self._control.send_bytes(b"kill")

    def end(self) -> int | None:
        """Wait until the supervisor has killed everything; return the exit code, or None if the worker was killed."""
        code = None
        with suppress(EOFError, OSError):  # the supervisor has ended
            if not self._control.poll(_DEATH):  # the worker has closed its connection, and lives
                self.kill()
            if self._control.poll(_KILL):
                code = self._control.recv()
                self._control.poll(_DEATH)  # the end of the supervisor itself
        self.abandon()
        self.has_ended.set()
        return code

    def abandon(self) -> None:
        """Close the connections: the worker has ended, or belongs to the process that this one was forked from."""
        with self._lock:
            self._requests.close()
            self._control.close()


class Pool:
    """The workers of one runtime: started when needed, and reused."""

    def __init__(self, settings: Settings) -> None:
        self._messages = Messages()
        self._fork_server = ForkServer(settings)
        self._owner = os.getpid()
        self._is_closed = False
        self._idle: list[Worker] = []
        self._workers: set[Worker] = set()
        self._lock = threading.RLock()  # a garbage collection inside it may close the pool
        _pools.add(self)

    def call(self, tool: Tool, call: ToolCall, context: Context) -> Result:
        """Run a call; cancelling its context kills the worker."""
        try:
            packed = self._messages.pack_tool(tool)
            request = self._messages.pack_call(packed, call, context)
        except ToolError as error:
            return Result.error(error.message, type=error.type, exception=error)
        while True:
            if context.cancelled:
                return Result.error("The call was cancelled before it began.", type="cancelled")
            try:
                worker = self._take()
            except Exception as error:  # noqa: BLE001  (no more processes or descriptors, or the fork server ended)
                return Result.error(f"No worker process can be started: {describe_error(error)}", type="unavailable")
            worker.context, is_last = context, True
            unregister = context.on_cancel(partial(worker.kill, context))
            try:
                worker.send(packed, request)
                result, is_last = worker.receive(context)
            except (EOFError, OSError) as error:
                code = worker.end()
                if isinstance(error, BrokenPipeError) and worker.has_answered:
                    continue  # it had ended while it was idle: the call has not begun
                return self._lost(context, code)
            finally:
                unregister()
                self._give_back(worker, is_last=is_last)
            return result

    def close(self) -> None:
        """Kill all workers, and wait until they have ended."""
        if self._owner != os.getpid():
            return
        with self._lock:
            self._is_closed = True
            idle, workers = self._idle.copy(), list(self._workers)
            self._idle.clear()
        for worker in workers:
            worker.kill()
        for worker in idle:
            worker.end()
        until = monotonic() + _END
        for worker in workers:
            worker.has_ended.wait(max(0.0, until - monotonic()))
        self._fork_server.stop()

    def abandon(self) -> None:
        """In a fork of the host: close what belongs to the parent."""
        for worker in self._workers:
            worker.abandon()
        self._fork_server.abandon()

    def _take(self) -> Worker:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        worker = Worker(*self._fork_server.start_worker())
        with self._lock:
            self._workers.add(worker)
            if self._is_closed:  # meanwhile
                worker.kill()
        return worker

    def _give_back(self, worker: Worker, *, is_last: bool) -> None:
        """Keep a worker for the next call, unless it has ended or must end."""
        with self._lock:
            if not (is_last or worker.is_killed or self._is_closed):
                self._idle.append(worker)
                return
        if not worker.has_ended.is_set():
            worker.kill()
            worker.end()
        with self._lock:
            self._workers.discard(worker)
        if self._is_closed:
            self._fork_server.stop()

    def _lost(self, context: Context, code: int | None) -> Result:
        """Return the result of a call whose worker has ended."""
        if self._is_closed:
            return Result.error("The runtime was closed before the call ended.", type="interrupted")
        if context.cancelled:
            text = "The call was cancelled and its worker process killed. The call may have had effects."
            return Result.error(text, type="cancelled", metadata={"killed": True})
        name = "unknown" if code is None else name_exit(code)
        text = "The worker process ended" + ("" if code is None else f" with {name}")
        if name == "SIGKILL":
            text += ", which happens when the machine has no memory left"
        return Result.error(f"{text}. The call may have had effects.", metadata={"crash": name})


def _after_fork() -> None:
    for pool in list(_pools):
        pool.abandon()
    _pools.clear()


os.register_at_fork(after_in_child=_after_fork)
