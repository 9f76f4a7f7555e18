"""The process that forks workers: what it has imported costs none of them anything, and it outlives no host.

One thread, no tool. On its socket come requests of five bytes: what to do, and a process number.
"""

from __future__ import annotations

import gc
import io
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from struct import Struct
from time import monotonic

from tools_runtime._log import said
from tools_runtime._process._descendants import children, end_orphans
from tools_runtime._process._system import adopt_orphans

REQUEST = Struct("<cI")
FORK = b"f"  # with a descriptor: the worker's socket
BURY = b"b"  # let a worker end, and see to it that it does
STATUS = b"s"  # kill a worker; with a descriptor, where its exit code (STATUS_CODE) goes
STATUS_CODE = Struct("<i")
SIZE = Struct("<I")  # before the settings, and before what is said when all is ready

_GRACE = 0.5  # seconds for a worker to end by itself when nobody wants it any more
_ROUND = 0.003  # seconds between two looks at what should go
_PATIENCE = 5.0  # seconds: what hangs inside the kernel must not keep us for ever
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # the end of the socket is what ends us


def main() -> None:
    """Serve the socket at descriptor 0; returns in each worker, when that should end, and when the host is gone."""
    limit = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, limit if limit > 0 else 1 << 16)  # the host's libraries may have left some open
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)  # nothing that tools print can be taken for anything else
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    settings = json.loads(_read(control, SIZE.unpack(_read(control, SIZE.size))[0]))
    sys.argv[:] = settings["argv"]
    problem = _prepare(settings["preload"])
    control.sendall(SIZE.pack(len(problem)) + problem)
    if problem:
        return
    adopt_orphans()
    gc.collect()
    gc.freeze()  # looking for garbage among it would write to pages that are shared with the workers
    worker = _ForkServer(control).run()
    control.close()  # else Python warns of it at the end, where it was asked to
    if worker is not None:
        from tools_runtime._process._serve import serve  # loaded already

        with worker:
            serve(worker, settings)


def _prepare(names: list[str]) -> bytes:
    """Import what workers need; the problem, if there is one."""
    import tools_core  # what every call needs

    for name in ("Context", "Result", "Tool", "tool", "ToolError"):
        getattr(tools_core, name)
    import_module("tools_runtime._process._serve")
    for name in names:
        try:
            import_module(name)
        except Exception as error:  # noqa: BLE001  (anybody's module)
            return f"cannot preload the module {name}: {said(error)}".encode("utf-8", "replace")
    return b""


def _read(control: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = control.recv(size - len(data))
        if not chunk:
            raise EOFError("the host is gone")
        data += chunk
    return data


class _ForkServer:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._workers: dict[int, float | None] = {}  # with the time by which they have to be gone
        self._asked: dict[int, int] = {}  # where the exit code of a worker goes
        self._known = {signum: signal.getsignal(signum) for signum in (*_IGNORED, signal.SIGCHLD)}
        for signum in _IGNORED:
            signal.signal(signum, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._wakeup, self._alarm = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(self._alarm, False)
        signal.set_wakeup_fd(self._alarm, warn_on_full_buffer=False)

    def run(self) -> socket.socket | None:
        """Until the host is gone, and all that it had started; in a worker its socket, at once."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        until = float("inf")
        is_busy = False
        while monotonic() < until:
            for descriptor, _ in poll.poll(_ROUND * 1000 if is_busy else None):
                if descriptor == self._wakeup:
                    with suppress(BlockingIOError):  # it was read already
                        os.read(self._wakeup, 512)
                    continue
                worker = self._obey()
                if isinstance(worker, socket.socket):
                    return worker
                if worker is False:
                    poll.unregister(self._control)
                    until = monotonic() + _PATIENCE
                    self._workers = dict.fromkeys(self._workers, monotonic() + _GRACE)
            is_busy = self._tidy()
            if until != float("inf") and not is_busy and not self._workers:
                return None
        return None

    def _obey(self) -> socket.socket | bool:
        """Take one request; False when there will be no more, and in a worker its socket."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, REQUEST.size, 1)
        except OSError:
            return False
        if len(message) < REQUEST.size:
            return False
        what, pid = REQUEST.unpack(message)
        if what == FORK:
            return self._fork(descriptors[0])
        if what == STATUS:
            if pid in self._workers:
                self._asked[pid] = descriptors[0]
            else:
                os.close(descriptors[0])
        if pid in self._workers:
            self._workers[pid] = monotonic() + (_GRACE if what == BURY else 0)
        return True

    def _fork(self, descriptor: int) -> socket.socket | bool:
        try:
            pid = os.fork()
        except OSError:  # there is no room for one more: the end of its socket tells the host
            os.close(descriptor)
            return True
        if pid:
            os.close(descriptor)
            self._workers[pid] = None
            return True
        os.setsid()
        signal.set_wakeup_fd(-1)
        for signum, handler in self._known.items():
            signal.signal(signum, handler)
        self._control.close()
        for other in (self._wakeup, self._alarm, *self._asked.values()):
            os.close(other)
        return socket.socket(fileno=descriptor)

    def _tidy(self) -> bool:
        """Kill what should be gone; whether anything of it is still there."""
        now = monotonic()
        is_busy = False
        for pid, until in list(self._workers.items()):
            if until is None:
                continue
            if now >= until:
                with suppress(OSError):  # it has ended
                    os.killpg(pid, signal.SIGKILL)
            is_busy |= not self._reap(pid)
        orphans = set(children(os.getpid())) - self._workers.keys()
        if orphans:
            end_orphans(orphans, os.getpid())
            for pid in orphans:
                with suppress(ChildProcessError):  # it is gone already
                    is_busy |= os.waitpid(pid, os.WNOHANG)[0] == 0
            is_busy = True  # what they have left behind comes to us only now
        return is_busy

    def _reap(self, pid: int) -> bool:
        """Forget a worker that has ended; what it has left of its group ends as well."""
        if not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return False
        with suppress(OSError):  # nothing of the group is left
            os.killpg(pid, signal.SIGKILL)  # its number is nobody else's before it is waited for
        status = os.waitpid(pid, 0)[1]
        del self._workers[pid]
        asked = self._asked.pop(pid, None)
        if asked is not None:
            with suppress(OSError):  # the host does not wait for it any more
                os.write(asked, STATUS_CODE.pack(os.waitstatus_to_exitcode(status)))
            os.close(asked)
        return True
