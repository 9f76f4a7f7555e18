"""One job: its leader is started, and whatever comes of it ends when the host says so, or is no more."""

from __future__ import annotations

import json
import os
import select
import signal
from contextlib import suppress
from typing import Any

from tools_shell._supervisor._descendants import descendants, is_zombie, kill, line_of, send
from tools_shell._supervisor._leader import start_leader
from tools_shell._supervisor._limits import Watch, hit_of
from tools_shell._supervisor._placeholders import Placeholder, remove_placeholders
from tools_shell._supervisor._system import adopt_orphans, come_first, come_last, wakeup_pipe

_ROUND = 2  # milliseconds between two rounds of killing, in which the killed may disappear
_STUCK = 200  # the same for what will not go, say a process that hangs inside the kernel
# A command may have left folders that not even their owner can empty, as Go does.
_REMOVE = ("/bin/sh", "-c", 'chmod -R u+rwx "$0"; rm -rf "$0"')


def supervise(control: int, descriptors: list[int]) -> None:
    """Run the job that is described on the socket `control`, whose end of file ends it.

    `descriptors` are those of the command, in the order of the request, and last that of the folder to start in.
    Whatever is raised, the server will clean up.
    """
    _say(control, taken=True)
    os.setsid()  # which also gives it a separate share of the processor, however many processes the job has (sched(7))
    come_first()
    adopt_orphans()
    request = _read_request(control)
    try:
        job = _Job(control, wakeup_pipe(), request)
    except OSError as error:  # too many descriptors are open on this machine; silence would mean that we were killed
        _say(control, failed=(error.errno, str(error)))
        raise
    if job.start(descriptors):
        job.run()
    come_last()  # the rest has time
    if request["temporary"]:
        _remove(request["temporary"])


def _remove(folder: str) -> None:
    try:
        os.rmdir(folder)  # as most commands leave it, and without a process
    except OSError:
        os.waitpid(os.posix_spawn(_REMOVE[0], [*_REMOVE, folder], {"PATH": os.defpath}), 0)


def _read_request(control: int) -> dict[str, Any]:
    size, data = int.from_bytes(os.read(control, 4), "big"), b""
    while len(data) < size:
        chunk = os.read(control, size - len(data))
        if not chunk:
            raise EOFError("the host is gone before anything has begun")
        data += chunk
    request: dict[str, Any] = json.loads(data)
    return request


def _say(control: int, **news: object) -> None:
    with suppress(OSError):  # the host is gone: the end of file says what that means
        os.write(control, json.dumps(news).encode() + b"\n")


class _Job:
    def __init__(self, control: int, wakeup: int, request: dict[str, Any]) -> None:
        self._control = control
        self._wakeup = wakeup
        self._request = request
        self._placeholders: list[Placeholder] = []
        self._host = os.pidfd_open(request["host"])
        self._leader = 0
        # The number of processes from the leader on that wrap the command, as bwrap does.
        self._wrappers: int = request["wrappers"]
        self._is_killing = False
        self._doomed: set[int] = set()  # at the last round of killing
        self._round = _ROUND
        self._watch = Watch(request["resources"], request["wrappers"])
        self._rest = b""  # of what the host says: the beginning of a line

    def start(self, descriptors: list[int]) -> bool:
        """Start the leader; when that is not possible, report it to the host and return False."""
        descriptors = self._without_placeholders(descriptors)
        self._leader, problem = start_leader(self._request, descriptors)
        # A terminal that no process has open says that its output has ended; the job may come back to it (/dev/tty).
        kept = descriptors[0] if self._request["terminal"] else None
        for descriptor in descriptors:
            if descriptor != kept:
                os.close(descriptor)
        if problem is not None:
            remove_placeholders(self._placeholders)
            _say(self._control, failed=problem)
            return False
        _say(self._control, started=True)
        return True

    def _without_placeholders(self, descriptors: list[int]) -> list[int]:
        """Take the descriptors of placeholders, which come last but for the folder to start in, from the others."""
        names: list[str] = self._request["placeholders"]
        first = len(descriptors) - 1 - 2 * len(names)
        pairs = zip(names, descriptors[first:-1:2], descriptors[first + 1 : -1 : 2], strict=True)
        self._placeholders = [Placeholder(folder, name, descriptor) for name, folder, descriptor in pairs]
        return [*descriptors[:first], descriptors[-1]]

    def run(self) -> None:
        """Until no process of the job is left."""
        poll = select.poll()
        for descriptor in (self._control, self._wakeup, self._host):
            poll.register(descriptor, select.POLLIN)
        wait: float | None = self._watch.interval
        while True:
            for descriptor, _ in poll.poll(wait):
                if descriptor == self._wakeup:
                    os.read(self._wakeup, 512)
                elif descriptor == self._host or not self._obey():
                    poll.unregister(descriptor)
                    self._is_killing = True
            news = self._reap()
            left = descendants(os.getpid())
            if not left:  # said with the end of the leader: after a while it would look as if something had been left
                remove_placeholders(self._placeholders)
                news["gone"] = True
            if news:
                _say(self._control, **news)
            if not left:
                return
            wait = self._step(left)

    def _step(self, left: dict[int, int]) -> float | None:
        """Go on with what is under way; returns the milliseconds until the next look."""
        hit = None if self._is_killing else self._watch.look(left)
        if hit is not None:
            _say(self._control, hit=hit)
            self._is_killing = True
        if not self._is_killing:
            return self._watch.interval
        doomed = set(left)
        kill(doomed, left, os.getpid())
        if all(is_zombie(pid) for pid in doomed):
            return _STUCK
        self._round = min(2 * self._round, _STUCK) if doomed == self._doomed else _ROUND
        self._doomed = doomed
        return self._round

    def _obey(self) -> bool:
        """Read the orders of the host; False when it has closed the connection."""
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
            not_meant = line_of(self._leader, self._wrappers, left)
            # Parents first: a shell whose command is interrupted before it is itself would go on with the next one.
            meant = [pid for pid in left if pid not in not_meant]
            send(number, meant, {os.getpid(), *left})
            send(signal.SIGCONT, meant, {os.getpid(), *left})  # a stopped process cannot handle it
            _say(self._control, told=True)
        return bool(chunk)

    def _reap(self) -> dict[str, object]:
        """Take what has ended; returns the news, if the leader is among it."""
        news: dict[str, object] = {}
        with suppress(ChildProcessError):  # there are none left
            while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
                if ended[0] == self._leader:
                    news["exit"] = code = os.waitstatus_to_exitcode(ended[1])
                    if hit := hit_of(code, self._request["resources"]):
                        news["hit"] = hit
        return news
