"""Our side of the kernel: code goes in by a channel of its own, output and replies come out."""

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_shell._code._program import program, with_channel
from tools_shell._code._reply import find_reply, request
from tools_shell._facts import ending
from tools_shell._kernel._frames import NONCE
from tools_shell._nameless import nameless_file
from tools_shell._output import Kept
from tools_shell._process._launch import start
from tools_shell._process._pump import Pump
from tools_shell._process._run import GRACE, KILL, SLICE, Ended, run, settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_shell._code._reply import Reply
    from tools_shell._process._command import Command

_REPLY = 64 << 20  # bytes; what the kernel bounds is far below
_INTERRUPTS = 2
_LAST_WORDS = 0.3  # seconds for the news of an end whose channel has closed
_GOODBYE = 0.5  # seconds for what the code has registered with `atexit`
_CHUNK = 1 << 13  # bytes: replies are short, and more memory than that is not at hand
_MOST_CHUNKS = 17  # a pipe may hold a megabyte; a thread that goes on printing must not hold us


class Kernel:
    """A Python process that keeps its state from one piece of code to the next.

    One thread at a time. Once a reply stays away it is `lost`, and has been ended with all that it started.
    """

    def __init__(self, command: Command) -> None:
        self.isolation = command.isolation
        self.lost: str | None = None  # how it ended, in words
        self._is_silent = False  # nothing that it says is a reply any more
        self._number = 0
        self._interrupts = 0  # that were sent to the last piece of code
        self._outputs = stdout, stderr = Kept(), Kept()
        self._heard = bytearray()
        self._searched = 0  # so much of that has been looked through
        self._channel, theirs = socket.socketpair()
        try:
            with theirs:
                self.process = start(with_channel(command, theirs.fileno()))
        except BaseException:  # nobody will close it
            self._channel.close()
            raise
        self._channel.setblocking(False)
        self._unsent = memoryview(program())
        self._channel_number = self._channel.fileno()
        self._poll = select.poll()
        self._poll.register(self._channel, select.POLLIN)
        self._pump = Pump(self.process, stdout.add, stderr.add, poll=self._poll)

    def is_alive(self) -> bool:
        """Whether it can be given code; asks the system, since anybody may have killed it meanwhile."""
        if self.lost is None:
            self._step(0)
            if self._is_silent:
                self._end(_GOODBYE)
        return self.lost is None

    def run(self, code: str, *, limit: float, cancelled: Callable[[], bool]) -> tuple[Ended, Reply | None]:
        """Run `code`; at its limit it is interrupted, and the kernel ended when that does not help: it gives no reply.

        What threads and processes of earlier pieces of code have printed meanwhile is part of the output.
        """
        started = time.monotonic()
        self._heard.clear()
        self._searched = 0
        self._number += 1
        nonce = os.urandom(NONCE)
        self._send(request(nonce, code, f"<cell {self._number}>", interrupts=self._interrupts))
        self._interrupts = 0
        try:
            reply, reason = self._wait(nonce, started + limit, cancelled), None
            if reply is None and not self._is_silent:
                reason = "cancelled" if cancelled() else "limit"
                reply = self._interrupted(nonce)
        except BaseException:  # the caller was interrupted: nobody knows how far the code is
            if self.lost is None:
                self._end(0, "the call was broken off")
            raise
        duration = time.monotonic() - started
        if reply is None:
            self._end(_LAST_WORDS if self._is_silent else 0, reason and "it could not be interrupted")
            reason = self.process.hit or reason
        else:
            self._drain()
        is_gone = reply is not None or self.process.is_gone
        stdout, stderr = self._outputs
        return Ended(self.process.exit, reason, False, is_gone, duration, stdout.take(), stderr.take()), reply

    def _interrupted(self, nonce: bytes) -> Reply | None:
        """The reply, when one comes after all; a program that waits for another passes over the first interrupt."""
        reply = None
        for _ in range(_INTERRUPTS):
            if reply is None and not self._is_silent:
                self.process.interrupt(spare_leader=False)
                self._interrupts += 1
                reply = self._wait(nonce, time.monotonic() + GRACE / _INTERRUPTS, lambda: False)
        return reply

    def _send(self, frame: bytes) -> None:
        self._unsent = memoryview(bytes(self._unsent) + frame if self._unsent else frame)
        self._push()
        if self._unsent:
            self._poll.modify(self._channel, select.POLLIN | select.POLLOUT)

    def _push(self) -> None:
        try:
            self._unsent = self._unsent[self._channel.send(self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # it has ended: its news will say so
            self._unsent = self._unsent[:0]

    def _wait(self, nonce: bytes, until: float, cancelled: Callable[[], bool]) -> Reply | None:
        while not self._is_silent:
            left = until - time.monotonic()
            if left <= 0 or cancelled():
                return None
            if self._step(min(left, SLICE)):
                at = self._heard.find(nonce, self._searched)  # what a flood has brought is looked through once
                self._searched = at if at >= 0 else max(0, len(self._heard) - NONCE + 1)
                try:
                    reply = find_reply(self._heard, nonce, self._searched)
                except ValueError:  # the code has got at the channel: nothing of it can be believed
                    self._is_silent = True
                    return None
                if reply is not None:
                    return reply
        return None

    def _step(self, seconds: float) -> bool:
        """Wait so long at most, and do what there is to do; returns whether the kernel has said anything."""
        has_heard = False
        for descriptor, events in self._poll.poll(seconds * 1000):
            if descriptor == self._channel_number:
                has_heard = self._listen(events)
            else:
                self._pump.handle(descriptor, events)
        self._is_silent |= self.process.exit is not None and not has_heard
        return has_heard

    def _listen(self, events: int) -> bool:
        if events & select.POLLOUT:
            self._push()
            if not self._unsent:
                self._poll.modify(self._channel, select.POLLIN)
        if not events & ~select.POLLOUT:
            return False
        try:
            chunk = self._channel.recv(_CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        self._heard += chunk
        self._is_silent |= not chunk or len(self._heard) > _REPLY
        return True

    def _drain(self) -> None:
        """Take what was written before the reply came, and a bounded part of what threads go on writing."""
        for _ in range(_MOST_CHUNKS):
            events = self._poll.poll(0)
            if not events:
                return
            for descriptor, event in events:
                if descriptor != self._channel_number:
                    self._pump.handle(descriptor, event)

    def close(self) -> None:
        """End it, with all that it started; what the code has registered with `atexit` has a moment to run."""
        if self.lost is None:
            self._end(_GOODBYE)

    def _end(self, patience: float, why: str | None = None) -> None:
        """End what there is of it, after so many seconds at most to end by itself; without a `why` it tells its own."""
        self.lost = why or ""
        with suppress(KeyError):  # it is not polled any more
            self._poll.unregister(self._channel_number)
        self._channel.close()
        until = time.monotonic() + patience
        try:
            while self.process.exit is None and (left := until - time.monotonic()) > 0:
                self._pump.step(left)
            self.lost = why or self._told()
            self.process.kill()
            settle(self.process, self._pump, KILL)
        finally:
            self.process.close()

    def _told(self) -> str:
        if self.process.hit is not None:
            return self.process.hit
        if self.process.exit is None:
            return "it closed its descriptors, or became another program"
        facts = ending(self.process.exit, self.isolation.rung)
        return facts.get("signal") or f"exit code {self.process.exit}"


def _bound(file: int, size: int) -> None:
    """Let nobody make the file larger than `size`: it is memory of ours."""
    if hasattr(os, "memfd_create"):  # or else it is not memory
        import fcntl  # POSIX only

        os.ftruncate(file, size)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)


def run_once(
    command: Command, code: str, *, stdin: bytes, limit: float, cancelled: Callable[[], bool]
) -> tuple[Ended, Reply | None]:
    """Run one piece of code in a process of its own; there is no reply of one that never came to its end."""
    nonce = os.urandom(NONCE)
    given = program() + request(nonce, code, "<code>", once=True)
    with nameless_file("code") as file:
        channel = file.fileno()
        file.write(given)
        file.flush()
        _bound(channel, len(given) + _REPLY)
        os.lseek(channel, 0, os.SEEK_SET)
        ended = run(with_channel(command, channel), stdin=stdin, limit=limit, cancelled=cancelled)
        header = os.pread(channel, NONCE + 4, len(given))
        size = int.from_bytes(header[NONCE:], "big")
        answer = header + os.pread(channel, min(size, _REPLY), len(given) + len(header))
    try:
        return ended, find_reply(answer, nonce)
    except ValueError:  # the code has got at the channel
        return ended, None
