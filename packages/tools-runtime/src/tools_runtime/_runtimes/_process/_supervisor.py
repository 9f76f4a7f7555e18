"""The process that a fork server starts: it forks one worker, and ends everything that the worker started.

The supervisor runs no tool, so nothing can keep it from killing: it adopts the orphans of its worker, and kills all of
them when the host asks for that, when the host has ended, or when the worker has ended. Then it reports the exit code.
"""

from __future__ import annotations

import os
import resource
import signal
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait

from tools_core.linux import adopt_orphans, prefer_for_oom_killer, process_fields, signal_at_parent_exit
from tools_runtime._runtimes._process._serve import Settings, serve


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
