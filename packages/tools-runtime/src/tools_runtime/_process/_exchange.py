"""One call at a worker: the request goes out, and somebody waits for what comes of it."""

from __future__ import annotations

import select
import socket
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from tools_runtime._process._wire import CANCEL, CHUNK, OUTPUT, PROGRESS, REPLY, REQUEST, RESULT
from tools_runtime._remote._json import decode, is_number

if TYPE_CHECKING:
    from tools_core import Context
    from tools_runtime._process._worker import Worker

SLICE = 0.05  # seconds between two looks at whether the caller still waits
_GRACE = 0.15  # seconds for a tool that was told to stop
_AT_ONCE = 1 << 20  # bytes
_FINAL = frozenset({OUTPUT, RESULT})


class Refused(Exception):
    """The worker took nothing of the request: it had just ended."""


class Broken(Exception):
    """The worker is no use any more."""

    def __init__(self, text: str, *, has_ended: bool = False) -> None:
        super().__init__(text)
        self.has_ended = has_ended


class TooLarge(Exception):
    """What the worker begins to answer is beyond the limit."""


class Stopped(Exception):
    """The time is over, or the caller gave up, and the tool has not ended by itself."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Reply(NamedTuple):
    """What a worker answered, and why it had been told to stop, if it was: "timeout" or "cancelled"."""

    kind: int
    is_worn: bool
    body: bytes
    reason: str | None


def exchange(
    worker: Worker,
    number: int,
    frame: bytes,
    context: Context | None,
    limit: float | None,
    *,
    longest: int,
    can_stop: bool,
) -> Reply:
    """Send a request and wait for the reply; raises Refused, Broken, TooLarge or Stopped.

    After `limit` seconds, or when the context is cancelled, a tool that `can_stop` is told so and gets a moment.
    """
    deadline = None if limit is None else monotonic() + limit
    connection, data = worker.connection, None
    try:
        sent = connection.send(frame, socket.MSG_DONTWAIT)
    except BlockingIOError:
        sent = 0
    except OSError:
        raise Refused from None
    # Most answers are short and come soon: just to read, for a slice at most, takes half as long as all that may be.
    if sent == len(frame) and (limit is None or limit > SLICE):
        try:
            data = connection.recv(CHUNK)
        except BlockingIOError:
            pass
        except OSError:
            data = b""
        else:
            if len(data) >= REPLY.size:
                kind, is_worn, answered, size = REPLY.unpack_from(data)
                if len(data) == REPLY.size + size and answered == number and kind in _FINAL:
                    return Reply(kind, is_worn, data[REPLY.size :], None)
    return _Exchange(worker, number, context, deadline, longest, can_stop).finish(memoryview(frame)[sent:], data)


class _Exchange:
    """What is left to do of one that does not end at once."""

    __slots__ = ("_can_stop", "_context", "_longest", "_number", "_read", "_reason", "_until", "_worker")

    def __init__(
        self, worker: Worker, number: int, context: Context | None, deadline: float | None, longest: int, can_stop: bool
    ) -> None:
        self._worker = worker
        self._number = number
        self._context = context
        self._longest = longest
        self._can_stop = can_stop
        self._until = deadline
        self._reason: str | None = None
        self._read = bytearray()  # and was not yet taken

    def finish(self, rest: memoryview, data: bytes | None) -> Reply:
        """Send the rest of the request, and wait for the reply, of which `data` has been read."""
        if rest:
            self._send_rest(rest)
        while True:
            if data is not None:
                if not data:
                    raise Broken("ended", has_ended=True)
                reply = self._take(data)
                if reply is not None:
                    return reply
                self._look()  # who keeps us busy does not so keep us from looking at the clock
            data = None
            if self._wait():
                try:
                    data = self._worker.connection.recv(_AT_ONCE, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    pass
                except OSError:
                    data = b""

    def _send_rest(self, rest: memoryview) -> None:
        """Send a request that is larger than what the kernel keeps, to a worker that may not be reading."""
        worker = self._worker
        worker.poll.modify(worker.connection, select.POLLIN | select.POLLOUT)
        try:
            while rest:
                events = self._wait()
                if events & select.POLLOUT:
                    rest = rest[worker.connection.send(rest[:_AT_ONCE], socket.MSG_DONTWAIT) :]
                elif events:
                    raise Broken("answered before it was asked")
        except OSError as error:
            raise Broken("ended", has_ended=True) from error
        finally:
            worker.poll.modify(worker.connection, select.POLLIN)

    def _wait(self) -> int:
        """Wait for something to happen on the socket, but not for long; returns what. Raises Stopped and Broken."""
        worker = self._worker
        own, found, has_ended = worker.connection.fileno(), 0, False
        for descriptor, events in worker.poll.poll(self._patience()):
            if descriptor == own:
                found = events
            elif descriptor == worker.control:  # no new workers come from there; this call can end all the same
                worker.poll.unregister(descriptor)
                worker.control = -1
            else:
                has_ended = True
        if has_ended and not found:
            raise Broken("ended", has_ended=True)
        if not found:
            self._look()
        return found

    def _patience(self) -> float | None:
        """Milliseconds until somebody has to look."""
        if self._until is None:
            return None if self._context is None else SLICE * 1000
        left = self._until - monotonic()
        return max(0.0, left if self._context is None else min(left, SLICE)) * 1000

    def _look(self) -> None:
        """Whether the time is over, or nobody waits any more: then the tool is told, and after a moment it is over."""
        now = monotonic()
        is_over = self._until is not None and now >= self._until
        if self._reason is None:
            if is_over:
                self._reason = "timeout"
            elif self._context is not None and self._context.cancelled:
                self._reason = "cancelled"
            else:
                return
            if self._can_stop and self._is_told():
                self._until = now + _GRACE
                return
            raise Stopped(self._reason)
        if is_over:
            raise Stopped(self._reason)

    def _is_told(self) -> bool:
        request = REQUEST.pack(CANCEL, self._number, 0, 0, 0, 0.0)
        try:
            return self._worker.connection.send(request, socket.MSG_DONTWAIT) == len(request)
        except OSError:
            return False

    def _take(self, data: bytes) -> Reply | None:
        """The reply, once all of it is there; progress is reported on the way."""
        read = self._read
        read += data
        while len(read) >= REPLY.size:
            kind, is_worn, number, size = REPLY.unpack_from(read)
            if number != self._number or kind not in {*_FINAL, PROGRESS}:
                raise Broken("wrote what is no answer")
            if size > self._longest:
                raise TooLarge
            total = REPLY.size + size
            if len(read) < total:
                return None
            body = bytes(memoryview(read)[REPLY.size : total])
            del read[:total]
            if kind != PROGRESS:
                if read:
                    raise Broken("went on after its answer")
                return Reply(kind, is_worn, body, self._reason)
            self._report(body)
        return None

    def _report(self, body: bytes) -> None:
        try:
            done, total, message = decode(body)
        except (ValueError, TypeError, RecursionError):
            raise Broken("wrote what is no answer") from None
        if self._context is not None and is_number(done) and (total is None or is_number(total)):
            self._context.progress(done, total, str(message))
            self._look()  # it takes what time it likes
