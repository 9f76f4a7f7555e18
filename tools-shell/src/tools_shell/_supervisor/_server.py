"""The prestarted server process that forks a supervisor for each job, so that jobs do not pay for imports."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
from contextlib import suppress

from tools_core.linux import adopt_orphans, prefer_for_oom_killer, set_dumpable
from tools_shell._supervisor._descendants import descendants, send, wakeup_pipe
from tools_shell._supervisor._job import supervise
from tools_shell._supervisor._limits import raise_open_files_limit

_MAX_DESCRIPTORS = 253  # the most that the kernel passes in one message


def main() -> None:
    """Serve the socket at descriptor 0 until its other end is closed and the last job has ended."""
    raise_open_files_limit()
    # The host may have leaked some, even above a limit that was lowered later.
    os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
    os.chdir("/")  # keep no file system busy
    prefer_for_oom_killer()
    set_dumpable(dumpable=False)
    adopt_orphans()  # the orphans of a killed supervisor
    gc.disable()  # collections would write to pages that forks share
    gc.freeze()
    _Server(socket.socket(fileno=0)).run()


class _Server:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._supervisors: set[int] = set()
        self._wakeup = wakeup_pipe()

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._requests, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        is_wanted = True
        while is_wanted or self._supervisors:
            for descriptor, _ in poll.poll():
                if descriptor == self._wakeup:
                    os.read(self._wakeup, 512)
                    self._reap()
                elif not self._accept():
                    poll.unregister(self._requests)
                    is_wanted = False

    def _accept(self) -> bool:
        """Accept one job; False at the end of the requests."""
        message, descriptors, _, _ = socket.recv_fds(self._requests, 1, _MAX_DESCRIPTORS)
        if not message:
            return False
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # some are not for the command
        with suppress(OSError):  # too many processes: the host sees its socket close
            self._fork(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return True

    def _fork(self, descriptors: list[int]) -> None:
        pid = os.fork()
        if pid != 0:
            self._supervisors.add(pid)
            return
        code = 1
        try:
            self._requests.close()
            os.close(self._wakeup)
            supervise(descriptors[0], descriptors[1:])
            code = 0
        finally:
            os._exit(code)  # never return into the server's loop

    def _reap(self) -> None:
        """Reap supervisors, and kill the jobs of supervisors that were killed."""
        with suppress(ChildProcessError):  # it has no children
            while (child := os.waitpid(-1, os.WNOHANG))[0] != 0:
                self._supervisors.discard(child[0])
        family = descendants(os.getpid())
        doomed = {pid for pid, parent in family.items() if parent == os.getpid()} - self._supervisors
        for pid, parent in family.items():  # parents come first
            if parent in doomed:
                doomed.add(pid)
        send(signal.SIGKILL, doomed)
