"""The host's side of the process that forks workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from time import monotonic
from typing import Any

from tools_runtime._process._fork_server import BURY, FORK, REQUEST, SIZE, STATUS, STATUS_CODE
from tools_runtime._process._system import end_of, is_readable, name_of, wait_for_child

_MAIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tools_runtime._process._fork_server import main; main()"
)
_START = 120.0  # seconds for it to be ready: what is to be preloaded may be large
_ANSWER = 2.0  # seconds for an answer that takes milliseconds
_END = 8.0  # seconds for it to end all workers and itself, of which it takes 5 where something hangs


class Unavailable(Exception):
    """There are no workers to be had; the message says why."""


class Lost(Exception):
    """The process that forks workers is gone."""


class Template:
    """The process that forks workers; made ready when this is made. Raises Unavailable."""

    def __init__(self, settings: dict[str, Any], environment: dict[str, str]) -> None:
        if not sys.executable:
            raise Unavailable("no Python executable is known to run workers with, as in an embedded interpreter")
        self.owner = os.getpid()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.control = ours
        with theirs:
            try:
                self._pid = _spawn(theirs.fileno(), environment)
            except OSError as error:
                ours.close()
                raise Unavailable(f"no worker process can be started: {error}") from error
        self._end: int | None = None
        try:
            self._end = end_of(self._pid)
            data = json.dumps(settings).encode()
            ours.settimeout(_START)
            ours.sendall(SIZE.pack(len(data)) + data)
            problem = self._receive(SIZE.unpack(self._receive(SIZE.size))[0])
            ours.settimeout(None)
        except (OSError, EOFError) as error:
            raise Unavailable(self._failure(error)) from error
        except BaseException:  # a Ctrl-C, say
            self.close()
            raise
        if problem:
            self.close()
            raise Unavailable(problem.decode())

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self.control.recv(size - len(data))
            if not chunk:
                raise EOFError("it ended before it was ready")
            data += chunk
        return data

    def _failure(self, error: Exception) -> str:
        self.control.close()
        code = wait_for_child(self._pid, self._end, 1.0)
        self._pid = self._pid if code is None else 0
        how = f"ended with {name_of(code)}" if code is not None else f"was not ready within {_START:g} s ({error})"
        self.close()
        return f"the process that starts workers {how}; its standard error may say more"

    def fork(self) -> socket.socket:
        """Ask for a worker; its socket can be used at once. Raises Lost, and OSError when no socket can be had."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with theirs:
                self._send(FORK, 0, [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        return ours

    def bury(self, pid: int) -> None:
        """Let a worker end that is not wanted any more, and see to it that it does; without waiting."""
        with suppress(Lost, OSError):  # the worker ends by itself, since its socket is closed
            self._send(BURY, pid, [])

    def status(self, pid: int) -> int | None:
        """End a worker, and return its exit code as `subprocess` has it; None if that cannot be known."""
        ours, theirs = os.pipe()
        try:
            try:
                self._send(STATUS, pid, [theirs])
            except (Lost, OSError):
                return None
            finally:
                os.close(theirs)
            data = os.read(ours, STATUS_CODE.size) if is_readable(ours, _ANSWER) else b""
        finally:
            os.close(ours)
        code: int | None = STATUS_CODE.unpack(data)[0] if len(data) == STATUS_CODE.size else None
        return code

    def _send(self, what: bytes, pid: int, descriptors: list[int]) -> None:
        self.wake()
        until = monotonic() + _ANSWER
        while True:
            try:
                socket.send_fds(self.control, [REQUEST.pack(what, pid)], descriptors, socket.MSG_DONTWAIT)
            except BlockingIOError:  # it has been stopped, or is very busy
                if monotonic() > until:
                    raise Lost from None
                is_readable(self.control.fileno(), 0.01)
            except OSError as error:
                raise Lost from error
            else:
                return

    def wake(self) -> None:
        """Let it go on if it was stopped, which a tool may do."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        pid, end = self._pid, self._end  # another thread may forget them meanwhile, and 0 would be our own group
        with suppress(OSError):  # it has ended
            if end is not None:
                signal.pidfd_send_signal(end, number)
            elif pid:
                os.kill(pid, number)

    @property
    def is_lost(self) -> bool:
        """Whether it is gone, though nobody closed it."""
        return self.control.fileno() < 0 or is_readable(self.control.fileno(), 0)

    def close(self) -> None:
        """Have it end all workers and itself, and wait until it has."""
        self.control.close()
        self.wake()
        if self._pid and wait_for_child(self._pid, self._end, _END) is None:
            self._signal(signal.SIGKILL)
            wait_for_child(self._pid, self._end, _ANSWER)
        self._forget()

    def forget(self) -> None:
        """In a fork of the host: this is the parent's."""
        self.control.close()
        self._forget()

    def _forget(self) -> None:
        self._pid = 0
        if self._end is not None:
            os.close(self._end)
            self._end = None


def _spawn(control: int, environment: dict[str, str]) -> int:
    paths = json.dumps([os.fspath(path) for path in sys.path])
    actions: list[Any] = [(os.POSIX_SPAWN_DUP2, control, 0)]
    try:
        os.fstat(2)
    except OSError:  # this process has closed its own
        actions.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
    actions.append((os.POSIX_SPAWN_DUP2, 2, 1))
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", *_flags(), "-c", _MAIN, paths],
        {**os.environ, **environment},
        file_actions=actions,
        setsid=True,  # a Ctrl-C is for the host alone
        setsigmask=(),  # what the host ignores or blocks would be so in all tools
        setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
    )


def _flags() -> list[str]:
    """Those of this interpreter that change how programs run."""
    flags = sys.flags
    letters = {"-B": flags.dont_write_bytecode, "-E": flags.ignore_environment, "-s": flags.no_user_site}
    found = [letter for letter, is_set in letters.items() if is_set]
    if flags.optimize:
        found.append("-" + "O" * flags.optimize)
    if flags.utf8_mode:
        found += ["-X", "utf8"]
    return found + [f"-W{option}" for option in sys.warnoptions]
