"""Run the child process of a search, confined where the system supports it, and killed at its limits."""

from __future__ import annotations

import os
import select
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from tempfile import TemporaryFile
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tools_core import ToolError
from tools_core.linux import Access, Landlock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_core import Context

SECONDS = 30.0
_MAX_OUTPUT = 32 << 20
_MAX_COMPLAINTS = 4096
_MAX_MEMORY = 1 << 30  # rg holds a whole line
_TICK = 0.2  # seconds between checks of cancellation
_LAST_WAIT = 0.5  # seconds for a killed process, which may hang in an unresponsive file system


class Command(NamedTuple):
    """A program with its arguments, which runs in `folder` and can read only `readable` files, if there are any.

    `files` are descriptors that it inherits.
    """

    arguments: Sequence[str]
    folder: str = "/"
    readable: Sequence[str] = ()
    files: Sequence[int] = ()
    stdin: bytes = b""


class SearchOutput(NamedTuple):
    """The output of a process and its exit code; `stopped` is the reason if it was killed.

    `top` is the path of the folder that was searched, as it precedes the paths in the output.
    """

    output: bytes
    complaints: str
    code: int
    stopped: str
    top: str = "./"

    def paths(self) -> list[str]:
        """Return the NUL-terminated paths relative to the folder."""
        text = "\0" + os.fsdecode(self.output)
        return text[: text.rfind("\0")].replace(f"\0{self.top}", "\0").replace("\0./", "\0").split("\0")[1:]

    def inner(self, path: str) -> str:
        """Return a path of the output relative to the folder."""
        return path.removeprefix(self.top).removeprefix("./")

    def page(self, offset: int, reached: int, total: int, unit: str, notes: list[str]) -> dict[str, object]:
        """Return whether the output is complete; otherwise add notes that say how to continue."""
        if self.stopped:
            notes.append(f"stopped early ({self.stopped}): there may be more; search a smaller folder")
        if self.code == 2:
            notes.append("some files could not be read")
        if not offset < reached < total:
            return {"truncated": bool(self.stopped)}
        least = "at least " if self.stopped else ""
        notes.append(f"{offset + 1} to {reached} of {least}{total} {unit}; continue with offset={reached}")
        return {"truncated": True, "next_offset": reached}


def run(command: Command, context: Context) -> SearchOutput:
    """Run a command until it ends, times out, exceeds the output limit, or is cancelled."""
    left = context.remaining
    # Leave time to return the result before the caller's limit abandons the call.
    ends = monotonic() + (SECONDS if left is None else min(SECONDS, 0.9 * left))
    try:
        process = _start(command)
    except OSError as error:
        raise ToolError(f"the search cannot start: {error.strerror}; try again", "unavailable") from error
    try:
        output, complaints, stopped = _read(process, context, ends)
    finally:
        code = _end(process)
    return SearchOutput(output, complaints.decode(errors="replace"), code, stopped)


def _start(command: Command) -> subprocess.Popen[bytes]:
    import resource  # POSIX alone

    arguments = [argument.encode("utf-8", "surrogateescape") for argument in command.arguments]
    with _input(command.stdin) as stdin:  # opened here: the confined thread cannot

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                arguments, cwd=command.folder, env={}, stdin=stdin, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, pass_fds=command.files, bufsize=0, process_group=0,
            )  # fmt: skip

        process = _start_confined(start, command.readable) if command.readable else start()
    with suppress(OSError, AttributeError, ValueError):  # macOS has no prlimit
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MAX_MEMORY, _MAX_MEMORY))
    return process


def _input(data: bytes) -> BinaryIO:
    if not data:
        return open(os.devnull, "rb")
    # Landlock does not restrict an anonymous file, which is also reopened by its path, /dev/stdin.
    file = open(os.memfd_create("stdin"), "w+b") if hasattr(os, "memfd_create") else TemporaryFile()  # noqa: SIM115  (the caller closes it)
    file.write(data)
    file.seek(0)
    return file


def _start_confined(start: Callable[[], subprocess.Popen[bytes]], readable: Sequence[str]) -> subprocess.Popen[bytes]:
    """Call `start` where files can be opened for reading only at or below `readable`, even if paths are swapped.

    Without Landlock it is called unconfined. The rules apply to one thread and its child processes, so a new thread
    starts the program. Only reading is confined, so that a finalizer that happens to run in the thread can clean up.
    """
    try:
        rules = Landlock(Access.READ)
    except OSError:
        return start()
    with rules:
        for path in readable:
            rules.allow(path, Access.READ)

        def run() -> subprocess.Popen[bytes]:
            rules.enforce()
            return start()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(run).result()


def _read(process: subprocess.Popen[bytes], context: Context, ends: float) -> tuple[bytes, bytes, str]:
    assert process.stdout is not None  # noqa: S101  (said to the type checker)
    assert process.stderr is not None  # noqa: S101  (it is a pipe; for type checkers)
    output, complaints = bytearray(), bytearray()
    streams = {process.stdout.fileno(): (output, _MAX_OUTPUT), process.stderr.fileno(): (complaints, _MAX_COMPLAINTS)}
    ready = select.poll()
    for descriptor in streams:
        ready.register(descriptor, select.POLLIN)
    stopped = ""
    while streams and not stopped:
        for descriptor, _ in ready.poll(1000 * max(0.001, min(_TICK, ends - monotonic()))):
            data = os.read(descriptor, 1 << 18)
            buffer, limit = streams[descriptor]
            buffer += data[: limit - len(buffer)]
            if not data:
                ready.unregister(descriptor)
                del streams[descriptor]
        if len(output) >= _MAX_OUTPUT:
            stopped = "too many matches"
        elif monotonic() >= ends:
            stopped = "out of time"
        elif context.cancelled:
            raise ToolError("the search was cancelled", "cancelled")
    return bytes(output), bytes(complaints), stopped


def _end(process: subprocess.Popen[bytes]) -> int:
    with suppress(subprocess.TimeoutExpired):  # it closed its pipes but still runs, or was not killed yet
        process.wait(0.05)
    process.kill()
    for pipe in filter(None, (process.stdout, process.stderr)):
        pipe.close()
    with suppress(subprocess.TimeoutExpired):  # it ends once its file system responds
        return process.wait(_LAST_WAIT)
    return -9
