"""`Kernel`: the host's side of a Python process that runs pieces of code."""

from __future__ import annotations

import base64
import functools
import glob
import json
import os
import re
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tools_core import ToolError
from tools_shell._output import Output
from tools_shell._process._pump import Pump
from tools_shell._process._run import DRAIN, GRACE, KILL, SLICE, Outcome, conclude, settle, wait_for_end
from tools_shell._report import exit_of, exit_text
from tools_shell._sandbox._start import start
from tools_shell._sandbox._visible import ENVIRONMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_shell._sandbox._command import Command

    # `value`; `type`, `message` and `traceback` of an exception; `exit_code` of a SystemExit; `images`; `note`.
    Reply: TypeAlias = dict[str, str]

_OLDEST = (3, 11)  # the first version that the kernel supports
_LARGEST = 64 << 20  # bytes of a reply
_FENCED = re.compile(
    r"\s*(```+|~~~+)[ \t]*(?:python3?|py)?[ \t]*\r?\n(.*?)(?:\n[ \t]*\1\s*)?", re.DOTALL | re.IGNORECASE
)
# Import nothing from the workspace before the code runs; -P covers what Python 3.13 imports itself.
_BOOT = "import sys; sys.path[:] = filter(None, sys.path); exec(compile(sys.argv.pop(), 'kernel', 'exec'))"


class Kernel:
    """Not thread-safe. A kernel that does not reply is ended, and `lost` has the reason.

    `has_started` is False if the program is no Python that the kernel supports.
    """

    def __init__(self, command: Command, stdin: bytes = b"") -> None:
        self.isolation = command.isolation
        self.program = command.arguments[0]
        self.lost: str | None = None
        self.has_started = False
        self._output = Output()  # of the running code
        self._heard = bytearray()
        self._channel, theirs = socket.socketpair()
        number = theirs.detach()  # `start` closes it, like the other descriptors
        options = ["-s", "-P", "-X", "utf8", "-X", "faulthandler", "-c", _BOOT, str(number), _program()]
        try:
            self.process = start(
                command._replace(arguments=[*command.arguments, *options], extra=[*command.extra, number])
            )
        except BaseException:
            self._channel.close()
            raise
        self._channel.setblocking(False)
        channel = {self._channel.fileno(): self._hear}
        self._pump = Pump(self.process, self._add, stdin, more=channel)

    def is_alive(self, output: Output) -> bool:
        """Return whether it can run code; what threads have written since the last call is added to `output`."""
        self._output = output
        if self.lost is None:
            self._pump.step(0)
            if self.process.exit is not None:
                self.end(self._how_it_ended())
        return self.lost is None

    def run(
        self, code: str, output: Output, limit: float, cancelled: Callable[[], bool]
    ) -> tuple[Outcome, Reply | None]:
        """Run `code` in this session; interrupt it at the limit, and end the kernel if it does not reply."""
        started = time.monotonic()
        reply, reason = self._ask(code, output, started + limit, cancelled)
        duration = time.monotonic() - started
        if reply is None:
            self.end("it could not be interrupted" if reason else self._how_it_ended())
        else:
            for _ in range(17):  # a pipe may hold a megabyte of output from before the reply; threads may continue
                if not self._pump.step(0):
                    break
        output.finish()
        reason = self.process.exceeded or reason
        is_gone = reply is not None or self.process.is_gone
        return Outcome(None if reply is not None else self.process.exit, reason, False, is_gone, duration), reply

    def run_once(
        self, code: str, output: Output, limit: float, cancelled: Callable[[], bool]
    ) -> tuple[Outcome, Reply | None]:
        """Run `code`, and wait for the end of the process, its threads and `atexit` callbacks included."""
        started = time.monotonic()
        until = started + limit
        reply, reason = self._ask(code, output, until, cancelled, is_last=True)
        until = time.monotonic() + GRACE if reason else until
        try:
            stopped = wait_for_end(
                self.process, self._pump, until, min(GRACE, limit / 2), None if reason else cancelled
            )
            duration = time.monotonic() - started
            return conclude(self.process, self._pump, reason or stopped, duration), reply
        finally:
            output.finish()
            self.lost = "it has ended"
            self._close()

    def _ask(
        self, code: str, output: Output, until: float, cancelled: Callable[[], bool], *, is_last: bool = False
    ) -> tuple[Reply | None, str | None]:
        """Run the code; return the reply, and why it was interrupted, if it was."""
        self._output = output
        self._heard.clear()
        request = is_last, _without_fence(code.removeprefix("\ufeff"))
        try:
            with suppress(OSError):  # it has ended
                self._channel.settimeout(max(until - time.monotonic(), 0.01))
                self._channel.sendall(f"{request!a}\n".encode())
            self._channel.setblocking(False)
            reply = self._wait(until, cancelled)
            if reply is not None or self.process.exit is not None:
                return reply, None
            reason = "cancelled" if cancelled() else "limit"
            self.process.interrupt()
            reply = self._wait(time.monotonic() + GRACE, bool)
            patience = time.monotonic() + GRACE
            while self.process.is_busy and time.monotonic() < patience:
                self._pump.step(SLICE)  # wait for the interrupt to arrive: it must not affect the next piece of code
        except BaseException as error:  # also a KeyboardInterrupt in the host
            self.end(str(error) or "the call was interrupted")
            raise
        return reply, reason

    def _wait(self, until: float, cancelled: Callable[[], bool]) -> Reply | None:
        while (reply := _parsed(self._heard)) is None and self.process.exit is None:
            left = until - time.monotonic()
            if left <= 0 or cancelled() or len(self._heard) > _LARGEST:
                return None
            self._pump.step(min(left, SLICE))
        if reply is None:
            settle(self.process, self._pump, DRAIN)  # remaining output
            reply = _parsed(self._heard)
        return reply

    def end(self, why: str) -> None:
        """End the kernel and all its descendants."""
        if self.lost is not None:
            return
        self.lost = why
        self.process.kill()
        settle(self.process, self._pump, KILL)
        self._close()

    def _close(self) -> None:
        self.process.close()
        self._channel.close()
        self.isolation.settle()

    def _how_it_ended(self) -> str:
        if self.process.exceeded is not None:
            return self.process.exceeded
        facts = exit_of(self.process.exit)
        return facts.get("signal") or exit_text(facts)

    def _add(self, chunk: bytes) -> None:
        self._output.add(chunk)

    def _hear(self, chunk: bytes) -> None:
        self.has_started = True
        self._heard += chunk


@functools.cache
def _program() -> str:
    return Path(__file__).with_name("_inside.py").read_text("utf-8")


def _without_fence(code: str) -> str:
    """Return the code in a fence of Markdown, which models often send and which is no Python."""
    match = _FENCED.fullmatch(code)
    return match[2] if match else code


def _parsed(data: bytearray) -> Reply | None:
    """Return the reply once it is complete; ToolError if the code has written to its descriptor."""
    if not data.endswith(b"\n"):
        return None
    try:
        reply: Reply = {name: str(text) for name, text in json.loads(data).items()}
        int(reply.get("exit_code", 0))
        for image in reply.get("images", "").split():
            base64.b64decode(image, validate=True)
    except (ValueError, AttributeError) as error:
        raise ToolError("the code wrote to the descriptor that returns its result; use print or files") from error
    return reply


def executable(path: str | os.PathLike[str] | None) -> str | None:
    """Return the interpreter for a program or virtual environment, by default that of this process, if there is one."""
    if not (path or sys.executable):
        return None
    program = os.path.abspath(os.path.expanduser(path or sys.executable))
    if os.path.isdir(program):
        program = os.path.join(program, "bin", "python")
    return program if os.path.isfile(program) and os.access(program, os.X_OK) else None


def project_python(folders: Sequence[str]) -> str | None:
    """Return the interpreter of the environment in a folder, or else of the active one, if the kernel supports it."""
    active = [os.environ.get(name, "") for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    for environment in (*(os.path.join(folder, name) for folder in folders for name in ENVIRONMENTS), *active):
        program = os.path.join(environment, "bin", "python")
        if os.path.isabs(environment) and _version(environment) >= _OLDEST and os.access(program, os.X_OK):
            return program
    return None


def _version(environment: str) -> tuple[int, ...]:
    """Return the version of Python in an environment of `venv`, or of conda, which has no `pyvenv.cfg`."""
    with suppress(OSError):
        lines = Path(environment, "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
        versions = [line.partition("=")[2] for line in lines if line.startswith("version")]
        return tuple(map(int, re.findall(r"\d+", versions[0] if versions else "")[:2]))
    records = glob.glob(os.path.join(glob.escape(environment), "conda-meta", "python-[0-9]*.json"))
    return tuple(map(int, re.findall(r"\d+", os.path.basename(records[0]))[:2])) if records else ()


def folders_of(python: str) -> list[str]:
    """Return the folders that an interpreter reads in a sandbox: its virtual environment and its installation.

    Commands may have changed the link to the installation, so only a folder with a standard library counts.
    """
    environment, installation = (os.path.dirname(os.path.dirname(path)) for path in (python, os.path.realpath(python)))
    is_virtual = os.path.exists(os.path.join(environment, "pyvenv.cfg"))
    has_library = glob.glob(os.path.join(glob.escape(installation), "lib*", "python3*", "os.py"))
    return [python, *([environment] if is_virtual else []), *([installation] if has_library else [])]
