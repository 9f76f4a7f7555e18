"""The processes of a worker: a supervisor, which the fork server starts, and the worker, which it forks.

The supervisor runs no tool, so nothing can keep it from killing: it adopts the orphans of its worker, and kills all of
them when the host asks for that, when the host has ended, or when the worker has ended. Then it reports the exit code.
The worker runs the calls from its connection one after another.
"""

from __future__ import annotations

import ast
import contextvars
import os
import pickle
import resource
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import open_code
from multiprocessing import forkserver, process, spawn
from multiprocessing.connection import Connection, wait
from traceback import print_exc
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from tools_core import Result, Tool
from tools_core.linux import adopt_orphans, prefer_for_oom_killer, process_fields, signal_at_parent_exit
from tools_runtime.remote import describe_error, pack_result, unpack_context


class Settings(NamedTuple):
    """The options of a worker."""

    environment: dict[str, str]
    main: dict[str, str]  # where the program is, for `multiprocessing.spawn.prepare`
    preload: tuple[str, ...]
    memory: int | None
    max_result_bytes: int


class WorkerProcess:
    """The object that a new process of the fork server unpickles and runs.

    It takes the place of a `multiprocessing.Process`, which would import the program in every worker: a script without
    an `if __name__ == "__main__"` guard would run again. Here only a tool that is defined in the program imports it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def _bootstrap(self, parent_sentinel: int) -> int:
        """Fork the worker and supervise it; returns the exit code in the worker."""
        os.close(parent_sentinel)
        requests, control = (Connection(descriptor) for descriptor in forkserver.get_inherited_fds() or ())
        _redirect_streams()
        os.setsid()  # an interrupt from the terminal is for the host
        with suppress(OSError):  # only Linux has this
            adopt_orphans()
        worker = os.fork()
        if worker == 0:
            control.close()
            os.setsid()
            with suppress(OSError):  # as above
                signal_at_parent_exit(signal.SIGKILL)
            _limit_memory(self._settings.memory)
            return serve(requests, self._settings)
        requests.close()
        _supervise(worker, control)
        os._exit(0)  # at once: the end of `control` is the end of this process


def name_exit(code: int) -> str:
    """Return the name of the signal for a negative exit code, `exit N` for others."""
    if code >= 0:
        return f"exit {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _redirect_streams() -> None:
    """Give tools an empty standard input, and print to standard error: a host may use its own streams for messages."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    with suppress(OSError):  # the host has closed its standard error
        os.dup2(2, 1)


def _limit_memory(size: int | None) -> None:
    """Limit this process, and each one that it starts, to `size` bytes beyond what it has now."""
    prefer_for_oom_killer()  # before the host
    if size is None:
        return
    with suppress(OSError), open("/proc/self/statm", "rb") as file:  # only Linux has it
        size += int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    with suppress(ValueError, OSError):  # macOS refuses some values
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _supervise(worker: int, control: Connection) -> None:
    """Wait for the end of the worker, or a message or the end of the host; then kill all children."""
    wakeup, alarm = os.pipe()
    os.set_blocking(alarm, False)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    code = _reap(worker)
    while code is None and control not in wait([control, wakeup]):
        os.read(wakeup, 4096)
        code = _reap(worker)
    with suppress(OSError):  # the group has ended
        os.killpg(worker, signal.SIGKILL)
    _kill_children()
    with suppress(OSError):  # the host has ended
        control.send(code)


def _reap(worker: int) -> int | None:
    """Collect all children that have ended; returns the exit code of the worker if it is among them."""
    code = None
    with suppress(ChildProcessError):
        while (child := os.waitpid(-1, os.WNOHANG))[0]:
            if child[0] == worker:
                code = os.waitstatus_to_exitcode(child[1])
    return code


def _kill_children() -> None:
    """Kill in rounds until there are no children: this process adopts the children of killed processes."""
    pid = b"%d" % os.getpid()
    with suppress(ChildProcessError, FileNotFoundError):  # no more children; or no /proc
        while True:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
            for name in filter(str.isdigit, os.listdir("/proc")):
                if process_fields(name)[1:2] == [pid]:
                    with suppress(OSError):  # it has ended, or belongs to another user
                        os.kill(int(name), signal.SIGKILL)
            os.waitpid(-1, 0)


def serve(connection: Connection, settings: Settings) -> int:
    """Run calls until the connection ends; return the exit code of this process."""
    os.environ.clear()
    os.environ.update(settings.environment)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = ModuleType("__main__")  # without names of the fork server
    try:
        _Server(connection, settings).run()
    except (EOFError, BrokenPipeError):  # the host has ended
        return 0
    except BaseException as error:  # noqa: BLE001  (an exception that ends a process ends this one)
        if isinstance(error, SystemExit) and isinstance(error.code, int | None):
            return (error.code or 0) & 0xFF
        print_exc()
        return 1
    finally:
        _flush()


class _Server:
    def __init__(self, connection: Connection, settings: Settings) -> None:
        self._connection = connection
        self._settings = settings
        self._variables: dict[bytes, bytes] = vars(os.environ)["_data"]  # comparing os.environ itself takes 40 us
        self._unchanged = dict(self._variables)
        self._pid = os.getpid()
        self._tools: dict[int, bytes | Tool] = {}
        self._number = 0  # of the current call
        self._sending = threading.Lock()

    def run(self) -> NoReturn:
        """Take messages until the connection ends."""
        while True:
            kind, content = pickle.loads(self._connection.recv_bytes())  # noqa: S301  (of the host)
            if kind == "tool":
                self._tools[content[0]] = content[1]
                continue
            answer = contextvars.Context().run(self._answer, *content)
            if os.getpid() != self._pid:  # the tool forked, and the child has returned as well
                os._exit(0)
            with self._sending:
                self._number += 1
                self._connection.send_bytes(answer)
            if self._variables != self._unchanged:  # the next call may be of another user
                os.environ.clear()
                os.environ.update(self._settings.environment)
            _flush()

    def _answer(self, number: int, packed: bytes, folder: str | None, surroundings: Any) -> bytes:
        try:
            for name in self._settings.preload:
                import_module(name)
            tool = self._tools[number]
            if isinstance(tool, bytes):
                tool = self._tools[number] = self._load(tool)
            arguments = self._load(packed)
            if folder is not None:
                os.chdir(folder)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (a user's module, or a program without a guard)
            text = f"A worker process cannot prepare the call: {describe_error(error)}"
            return self._pack(Result.error(text, type="unavailable", exception=error))
        report = partial(self._report, self._number)
        context = None if surroundings is None else unpack_context(surroundings, self._load, report)
        return self._pack(tool.call(arguments, context=context))

    def _report(self, number: int, done: float, total: float | None, message: str) -> None:
        """Send progress, unless the call has ended and only a thread of the tool continues."""
        content = dump(("progress", (done, total, message)))
        with self._sending:
            if number == self._number and os.getpid() == self._pid:
                self._connection.send_bytes(content)

    def _pack(self, result: Result) -> bytes:
        """Return the answer; without memory it is the last one of this worker."""
        memory, limit = self._settings.memory, self._settings.max_result_bytes
        try:
            is_last, packed = isinstance(result.exception, MemoryError), pack_result(result, dump)
        except MemoryError:
            is_last, packed = True, b""
        if is_last:
            text = "MemoryError: the machine has no memory left"
            if memory is not None:
                text = f"The call needed more memory than its limit of {memory:,} bytes."
            result = Result.error(text, type="limit_exceeded", metadata={"memory": memory})
        elif len(packed) > limit:
            text = f"The result has {len(packed):,} bytes, more than the limit of {limit:,}. "
            result = Result.error(f"{text}Return less, or write it to a file.", type="limit_exceeded")
        else:
            return dump(("result", (packed, False)))
        return dump(("result", (pack_result(result, dump), is_last)))

    def _load(self, data: bytes) -> Any:
        """Unpickle an object; if its class or function is defined in the program, import that first."""
        try:
            return pickle.loads(data)  # noqa: S301  (of the host)
        except AttributeError:
            if b"__main__" not in data and b"__mp_main__" not in data:
                raise
        if not self._settings.main:
            raise ImportError(
                "it is defined in a program without a file, such as a notebook; "
                'move it to a module, or run it with runtime="thread"'
            )
        if not _has_guard(self._settings.main):
            raise ImportError(
                'its program has no `if __name__ == "__main__":` and would run again in the worker; '
                "put what the program does below that line, or move the tool to a module"
            )
        current: Any = process.current_process()
        current._inheriting = True  # multiprocessing refuses to start processes while this is set
        try:
            spawn.prepare(self._settings.main)
        finally:
            del current._inheriting
        return pickle.loads(data)  # noqa: S301  (as above)


def _has_guard(main: dict[str, str]) -> bool:
    """Return whether an import of the program skips the part below `if __name__ ...`."""
    path = main.get("init_main_from_path")
    if path is None:
        spec = find_spec(main["init_main_from_name"])
        path = "" if spec is None or spec.origin is None else spec.origin
    try:
        with open_code(path) as file:
            program = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):  # no source, as in a compiled program
        return True
    tests = [statement.test for statement in program.body if isinstance(statement, ast.If)]
    return any(isinstance(part, ast.Name) and part.id == "__name__" for test in tests for part in ast.walk(test))


def _flush() -> None:
    with suppress(Exception):  # a tool may have closed or replaced it
        sys.stdout.flush()


def dump(value: Any) -> bytes:
    """Pickle a value."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
