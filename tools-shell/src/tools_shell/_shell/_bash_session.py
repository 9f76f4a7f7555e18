"""A bash that keeps its folder, variables and functions from one script to the next."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_shell._facts import ending
from tools_shell._nameless import nameless_file
from tools_shell._process._launch import start
from tools_shell._process._run import DRAIN, GRACE, KILL, SLICE, Ended, settle
from tools_shell._shell import _driver as driver
from tools_shell._shell._wire import Wire
from tools_shell._text import encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_shell._process._command import Command, Process

_GOODBYE = 0.5  # seconds for its trap on EXIT
_ROUNDS = 4  # of interrupts within the grace; a program may have handled the first
_NONCE = 16


class Outcome(NamedTuple):
    """How a script ended, and what there is to say of the session."""

    ended: Ended  # without a return code when there is none to be known
    left_over: int  # bytes of the output that had come before it: of what earlier scripts left in the background
    has_killed: bool  # all that the session had started had to be killed for the shell to come back


class BashSession:
    """One thread at a time. Once it is `lost`, which says why, it has been ended with all that it started."""

    def __init__(self, command: Command) -> None:
        """`command` is that of the shell alone; OSError when it cannot be started."""
        self.isolation = command.isolation
        self._program = command.arguments[0]
        self.lost: str | None = None
        self._has_begun = False
        self._is_astray = False  # it reads what is sent, and gives no answers
        self._is_robbed = False  # it gives answers, but never read the script
        self._has_read = False  # it has begun with the script
        self._has_killed = False
        self._before = driver.Answer(0, "")
        self._stdin = nameless_file("stdin")
        self._terminal, terminal = os.openpty()
        ours, answers = os.pipe()
        try:
            self.process = self._start(command, (self._stdin.fileno(), answers, terminal))
        except BaseException:  # nobody will close it
            os.close(ours)
            self._release()
            raise
        finally:
            os.close(answers)
            os.close(terminal)
        os.set_blocking(ours, False)
        self._wire = Wire(self.process, ours)
        self._wire.send(driver.begin(self._known))

    def _start(self, command: Command, extra: tuple[int, int, int]) -> Process:
        self._known = driver.descriptors(command.resources.open_files, set(extra))
        arguments = driver.start(command.arguments[0], self._known, *extra)
        return start(command._replace(arguments=arguments, has_stdin=True, extra=extra))

    def is_alive(self) -> bool:
        """Whether it can be given a script; asks the system, since anybody may have killed it meanwhile."""
        if self.lost is None:
            self._wire.step(0)
            if self.process.exit is not None:
                self._end(self._ending())
        return self.lost is None

    def run(self, script: str, *, stdin: bytes = b"", limit: float, cancelled: Callable[[], bool]) -> Outcome:
        """Run `script`, which has no NUL in it; at its limit it is interrupted, and the shell ended if that fails.

        The output has in it what processes that earlier scripts left in the background have written meanwhile. Raises
        ToolError for a program that does not behave like bash.
        """
        started = time.monotonic()
        left_over = self._wire.drain()
        self._has_killed = False
        try:
            answer, reason = self._carry_out(script, stdin, started + limit, cancelled)
            duration = time.monotonic() - started
            returncode = self.process.exit if answer is None else answer.exit_code
            if answer is None:
                self._lose(reason)
            else:
                self._has_begun = True
                self._wire.drain()
        except BaseException:  # the caller was interrupted: nobody knows how far the script is
            if self.lost is None:
                self._end("the call was broken off")
            raise
        reason = self.process.hit or reason
        is_gone = self.lost is None or self.process.is_gone
        streams = self._wire.take()
        return Outcome(Ended(returncode, reason, False, is_gone, duration, *streams), left_over, self._has_killed)

    def close(self) -> None:
        """End it, with all that it started; its trap on EXIT has a moment to run."""
        if self.lost is None:
            self.process.close_stdin()
            until = time.monotonic() + _GOODBYE
            while self.process.exit is None and (left := until - time.monotonic()) > 0:
                self._wire.step(left)
            self._end("it was closed")

    def _carry_out(
        self, script: str, stdin: bytes, until: float, cancelled: Callable[[], bool]
    ) -> tuple[driver.Answer | None, str | None]:
        """Have it run; returns the answer, and why it was interrupted."""
        if stdin:
            self._lay_out(stdin)
        nonce, self._has_read = self._nonce(), False
        code = encoded(script)
        lines = driver.run(code, self._known, self._before, has_stdin=bool(stdin))
        self._wire.send(lines + driver.ask(nonce, self._known))
        answer, reason = self._wait(nonce, until, cancelled), None
        if answer is not None and not self._has_read:
            self._is_robbed, answer = True, None
        elif answer is None and self.process.exit is None and not self._is_astray:
            reason = "cancelled" if cancelled() else "limit"
            answer = self._come_back(nonce)
        if answer is not None:
            self._before = answer
        return answer, reason

    def _lay_out(self, stdin: bytes) -> None:
        self._stdin.seek(0)  # the shell has it at the same position
        self._stdin.truncate()
        left = memoryview(stdin)
        while left:
            left = left[self._stdin.write(left) :]
        self._stdin.seek(0)

    def _nonce(self) -> bytes:
        self._has_begun |= driver.BEGUN in self._wire.heard
        self._wire.heard.clear()
        return os.urandom(_NONCE).hex().encode()

    def _heard(self, nonce: bytes) -> driver.Answer | None:
        self._has_read |= driver.BEGUN in self._wire.heard  # now: a flood may wash it away
        return driver.find(self._wire.heard, nonce)

    def _wait(self, nonce: bytes, until: float, cancelled: Callable[[], bool]) -> driver.Answer | None:
        """Read until the answer has come, the shell has ended or gone astray, or the time is up."""
        look = time.monotonic() + SLICE
        has_probed = False
        while (answer := self._heard(nonce)) is None and self.process.exit is None:
            now = time.monotonic()
            if now >= until or cancelled():
                return None
            if now >= look:
                look = now + SLICE
                if self._wire.has_all_been_read():
                    if has_probed:  # it came to the end of the script long ago
                        self._wire.listen()
                        answer = self._heard(nonce)
                        self._is_astray = answer is None
                        return answer
                    self._wire.send(driver.PROBE)
                    has_probed = True
            self._wire.step(min(until, look) - now)
        return answer

    def _come_back(self, nonce: bytes) -> driver.Answer | None:
        """Interrupt until the shell is at its prompt again; half-way all but the shell is killed, if need be."""
        for number in range(_ROUNDS):
            if number == _ROUNDS // 2:
                self.process.kill(spare_leader=True)
                self._has_killed = True
            self.process.interrupt(spare_leader=False)
            # An interrupt that comes at the prompt takes away the line that is being read.
            self._wire.send(b"\n" + driver.ask(nonce, self._known))
            answer = self._look_for(nonce, GRACE / _ROUNDS)
            if answer is not None and self._is_calm():
                return answer
            if self.process.exit is not None:
                break
        return None

    def _is_calm(self) -> bool:
        """Whether the shell answers after the last interrupt has arrived, which so hits nothing that comes later."""
        until = time.monotonic() + GRACE
        while self.process.is_busy and self.process.exit is None and (left := until - time.monotonic()) > 0:
            self._wire.step(left)
        nonce = self._nonce()
        while not self.process.is_busy and self.process.exit is None and time.monotonic() < until:
            self._wire.send(b"\n" + driver.ask(nonce, self._known))
            if self._look_for(nonce, SLICE) is not None:
                return True
        return False

    def _look_for(self, nonce: bytes, seconds: float) -> driver.Answer | None:
        """Wait for an answer to whatever was asked, whether the shell is still busy or not."""
        until = time.monotonic() + seconds
        while (answer := self._heard(nonce)) is None and self.process.exit is None:
            left = until - time.monotonic()
            if left <= 0:
                break
            self._wire.step(left)
        return answer

    def _lose(self, reason: str | None) -> None:
        """Give up what cannot be driven any more; where it ended by itself, its last words are taken first."""
        self._wire.listen()
        self._nonce()
        is_stubborn = reason is not None and self.process.exit is None
        why = "it could not be interrupted" if is_stubborn else self._ending()
        self._end(why, DRAIN if self.process.exit is not None else 0)
        if not self._has_begun:
            raise ToolError(f"{self._program} cannot be started: it does not behave like bash", "unavailable")

    def _ending(self) -> str:
        """How it came to its end, in words."""
        if self.process.hit is not None:
            return self.process.hit
        if self._is_robbed:
            return "something else, such as a command in PROMPT_COMMAND, has read the script in place of the shell"
        if self.process.exit is None:
            return (
                "the script has closed the descriptors of the shell, replaced `builtin`, `eval` or `printf`, "
                "or had a trap on DEBUG skip commands"
            )
        facts = ending(self.process.exit, self.isolation.rung)
        if "signal" in facts:
            return f"the shell was ended by {facts['signal']}"
        told = f"the shell ended with exit code {self.process.exit}"
        return f"{told}; `set -e` was on from an earlier script" if "e" in self._before.options else told

    def _end(self, why: str, patience: float = 0) -> None:
        """End all that there is of it, after so many seconds for its last words."""
        self.lost = why
        self._wire.close()
        self._release()
        try:
            settle(self.process, self._wire.pump, patience)
            self.process.kill()
            settle(self.process, self._wire.pump, KILL)
        finally:
            self.process.close()

    def _release(self) -> None:
        os.close(self._terminal)
        self._stdin.close()
