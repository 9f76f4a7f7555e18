"""One job: start its leader, and end all its processes on request, or when the host exits."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
from contextlib import suppress

from tools_core.linux import adopt_orphans
from tools_shell._supervisor._descendants import chain_of, descendants, is_zombie, kill, send, wakeup_pipe
from tools_shell._supervisor._leader import start_leader
from tools_shell._supervisor._limits import ResourceWatch, limit_for_exit, raise_priority
from tools_shell._supervisor._network import create_network
from tools_shell._supervisor._request import Descriptors, Request

_ROUND = 2  # milliseconds between two rounds of killing
_STUCK = 200  # the same for processes that do not end, such as one that hangs in the kernel


def supervise(control: int, descriptors: list[int]) -> None:
    """Run the job that is described on the socket `control`, or create a network; end of file ends the job.

    If this raises, the server cleans up.
    """
    _report(control, accepted=True)
    os.setsid()  # also gives the supervisor its own autogroup of CPU time (sched(7))
    raise_priority()
    adopt_orphans()
    request = Request.read(control)
    if not request.arguments:
        create_network(socket.socket(fileno=control))
        return
    try:
        job = _Job(control, wakeup_pipe(), request, request.split(descriptors))
    except OSError as error:  # too many open descriptors; without a message the host would assume a kill
        _report(control, failed=(error.errno, str(error)))
        raise
    if job.start():
        job.run()


def _report(control: int, **event: object) -> None:
    with suppress(OSError):  # the host has exited: end of file handles that
        os.write(control, json.dumps(event).encode() + b"\n")


class _Job:
    def __init__(self, control: int, wakeup: int, request: Request, descriptors: Descriptors) -> None:
        self._control = control
        self._wakeup = wakeup
        self._request = request
        self._descriptors = descriptors
        self._host = os.pidfd_open(request.host)
        self._leader = 0
        self._is_killing = False
        self._killed_before: set[int] = set()  # in the last round of killing
        self._round = _ROUND
        self._limits = ResourceWatch(request.resources, request.wrappers)
        self._rest = b""  # an incomplete line from the host

    def start(self) -> bool:
        """Start the leader; on failure, report it to the host and return False."""
        command, network, folder = self._descriptors
        self._leader, problem = start_leader(self._request, self._descriptors)
        # Keep a terminal open: it would report the end of its output, and the job may reopen it (/dev/tty).
        terminal = command[0] if self._request.terminal else None
        for descriptor in (*command, *network, folder):
            if descriptor != terminal:
                os.close(descriptor)
        if problem is not None:
            _report(self._control, failed=problem)
            return False
        _report(self._control, started=True)
        return True

    def run(self) -> None:
        """Run until the last process of the job has exited."""
        poll = select.poll()
        for descriptor in (self._control, self._wakeup, self._host):
            poll.register(descriptor, select.POLLIN)
        wait = self._limits.interval
        while True:
            for descriptor, _ in poll.poll(wait):
                if not self._handle(descriptor):
                    poll.unregister(descriptor)
                    self._is_killing = True
            event = self._reap()
            left = descendants(os.getpid())
            if not left:  # in the same message as the exit, so that the host does not report background processes
                event["gone"] = True
            if event:
                _report(self._control, **event)
            if not left:
                return
            wait = self._step(left)

    def _handle(self, descriptor: int) -> bool:
        """Handle what a descriptor reports; False if the host has exited."""
        if descriptor == self._wakeup:
            os.read(self._wakeup, 512)
        else:
            return descriptor != self._host and self._read_signals()
        return True

    def _step(self, left: dict[int, int]) -> float | None:
        """Check limits or continue killing; return the milliseconds until the next step."""
        exceeded = None if self._is_killing else self._limits.check(left)
        if exceeded is not None:
            _report(self._control, exceeded=exceeded)
            self._is_killing = True
        if not self._is_killing:
            return self._limits.interval
        doomed = set(left)
        kill(doomed)
        if all(is_zombie(pid) for pid in doomed):
            return _STUCK
        self._round = min(2 * self._round, _STUCK) if doomed == self._killed_before else _ROUND
        self._killed_before = doomed
        return self._round

    def _read_signals(self) -> bool:
        """Read signals to send from the host; False once it has closed the connection."""
        try:
            chunk = os.read(self._control, 4096)
        except OSError:
            return False
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if (number := int(line)) == signal.SIGKILL:
                self._is_killing = True
                continue
            left = descendants(os.getpid())
            wrappers = chain_of(self._leader, self._request.wrappers, left)
            # Parents first: a shell that is interrupted after its command would continue with the next command.
            targets = [pid for pid in left if pid not in wrappers]
            send(number, targets)
            send(signal.SIGCONT, targets)  # a stopped process could not handle it
            _report(self._control, signalled=True)
        return bool(chunk)

    def _reap(self) -> dict[str, object]:
        """Reap exited processes; return the event to report if the leader is one of them."""
        event: dict[str, object] = {}
        with suppress(ChildProcessError):  # it has no children
            while (child := os.waitpid(-1, os.WNOHANG))[0] != 0:
                if child[0] == self._leader:
                    event["exit"] = code = os.waitstatus_to_exitcode(child[1])
                    if exceeded := limit_for_exit(code, self._request.resources):
                        event["exceeded"] = exceeded
        return event
