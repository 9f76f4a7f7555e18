"""The prestarted process that forks a supervisor for each job: what it has imported costs no job anything."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
from contextlib import suppress

from tools_shell._supervisor._descendants import descendants, send
from tools_shell._supervisor._job import supervise
from tools_shell._supervisor._limits import go_first, open_many
from tools_shell._supervisor._system import adopt_orphans, set_visible, wakeup_pipe

_MOST_DESCRIPTORS = 253  # that come with one job; the kernel passes on no more


def main() -> None:
    """Serve the socket at descriptor 0 until its other end is closed and the last job has ended."""
    open_many()
    # The host's libraries may have left some open, also beyond a limit that was lowered since.
    os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
    os.chdir("/")  # no file system is kept busy
    go_first()
    set_visible(visible=False)
    adopt_orphans()  # those of a supervisor that was killed
    gc.disable()  # there is no garbage, and looking for it writes to pages that are shared with the forks
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
        """Take one job; False when there will be no more."""
        message, descriptors, _, _ = socket.recv_fds(self._requests, 1, _MOST_DESCRIPTORS)
        if not message:
            return False
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # not all of them are the command's
        with suppress(OSError):  # there is no room for one more process, of which the end of its socket tells the host
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
            os._exit(code)  # whatever happened: this is no second server

    def _reap(self) -> None:
        """Forget supervisors that have ended, and end the jobs of those that were killed."""
        with suppress(ChildProcessError):  # there are none left
            while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
                self._supervisors.discard(ended[0])
        family = descendants(os.getpid())
        doomed = {pid for pid, parent in family.items() if parent == os.getpid()} - self._supervisors
        for pid, parent in family.items():  # parents come first
            if parent in doomed:
                doomed.add(pid)
        send(signal.SIGKILL, doomed, {os.getpid(), *doomed})
