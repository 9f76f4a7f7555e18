"""Tools for worker processes: plain ones, and ones that misbehave."""

import contextvars
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tools_core import Context, Image, Result, Tool, Toolset, tool


@tool
def echo(value: Any) -> Any:
    """Return the value."""
    return value


@tool
def whoami() -> dict[str, int]:
    """Return numbers of this process."""
    return {"pid": os.getpid(), "session": os.getsid(0), "files": len(os.listdir("/proc/self/fd"))}


@tool
def make(code: str) -> Any:
    """Return the value of an expression, which JSON need not be able to carry."""
    return eval(code)  # noqa: S307


@tool
def album() -> Result:
    """Return a result with all its parts."""
    return Result.ok({"count": 1}, content=["first", Image(b"\x89PNG\r\n\x1a\n123")], metadata={"by": "ada"})


@tool
def streams() -> dict[str, Any]:
    """Print, and return what the standard streams are."""
    print("printed")
    return {"stdin": sys.stdin.read(), "stdout_is_stderr": os.path.sameopenfile(1, 2)}


@tool
def run_program() -> str:
    """Run a program."""
    return subprocess.run(["cat"], capture_output=True, text=True, check=True).stdout + "done"


@tool
def imported(name: str) -> bool:
    """Return whether a module is imported already."""
    return name in sys.modules


# Changes that a call may make to its process

tenant = contextvars.ContextVar("tenant", default="nobody")


@tool
def leave_traces(folder: str) -> int:
    """Change what the next call must not see."""
    tenant.set("ada")
    os.environ["TENANT"] = "ada"
    os.environ.pop("PATH", None)
    os.chdir(folder)
    return os.getpid()


@tool
def traces() -> dict[str, Any]:
    """Return what this call sees."""
    report = {"tenant": tenant.get(), "TENANT": os.environ.get("TENANT"), "PATH": "PATH" in os.environ}
    return {**report, "folder": os.getcwd(), "pid": os.getpid()}


# The context


@tool
def look(key: str, context: Context) -> dict[str, Any]:
    """Look into the state."""
    return {"value": context.state.get(key), "there": key in context.state, "keys": sorted(context.state)}


@tool
def take(key: str, context: Context) -> Any:
    """Take an item from the state."""
    return context.state[key]


@tool
def surroundings(context: Context) -> dict[str, Any]:
    """Return the parts of the context."""
    parts = {"workspace": str(context.workspace), "call_id": context.call_id, "run_id": context.run_id}
    return {**parts, "remaining": context.remaining, "cancelled": context.cancelled}


@tool
def steps(count: int, context: Context) -> int:
    """Report each step."""
    for number in range(count):
        context.progress(number, count, f"step {number}")
    return count


@tool
def report_late(context: Context) -> str:
    """Leave a thread that reports when the call has ended."""

    def report() -> None:
        while True:
            context.progress(1, None, "late")
            time.sleep(0.001)

    threading.Thread(target=report, daemon=True).start()
    return "done"


# Errors


@tool
def fail(name: str) -> None:
    """Raise a builtin exception."""
    raise getattr(__import__("builtins"), name)("a mistake")


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this works")


class Unpicklable(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


@tool
def fail_oddly(unshowable: bool) -> None:
    """Raise an exception that cannot be shown, or not be pickled."""
    raise Unshowable if unshowable else Unpicklable("one", "two")


# Crashes


@tool
def segfault() -> None:
    """Read what is not there."""
    ctypes.string_at(0)


@tool
def exit_now(status: int) -> None:
    """End the process without a word."""
    os._exit(status)


@tool
def exit_politely(status: int) -> None:
    """End the process as programs do."""
    sys.exit(status)


@tool
def kill_oneself(number: int) -> None:
    """End by a signal."""
    os.kill(os.getpid(), number)
    time.sleep(600)


@tool
def close_all(stay: bool) -> None:
    """Close all descriptors."""
    os.closerange(0, 4096)
    while stay:
        time.sleep(600)


@tool
def crash_with_child() -> None:
    """Crash while a child still has all descriptors."""
    if os.fork() == 0:
        time.sleep(600)
    os._exit(7)


@tool
def come_back_twice() -> int:
    """Fork, and return in both processes."""
    os.fork()
    return os.getpid()


@tool
def hog(size: int) -> int:
    """Take memory."""
    return len(bytearray(size))


# What does not end


@tool
def spin(note: str = "") -> None:
    """Compute without end."""
    if note:
        Path(note).write_text(str(os.getpid()))
    while True:
        pass


@tool
def swallow(note: str) -> None:
    """Catch every exception, without end."""
    Path(note).write_text(str(os.getpid()))
    while True:
        try:
            time.sleep(600)
        except BaseException:  # noqa: BLE001, S112  (the mistake of this tool)
            continue


@tool
def be_deaf(note: str) -> None:
    """Ignore every signal that can be ignored, stop, and so ignore all others but SIGKILL."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    Path(note).write_text(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGSTOP)


@tool
def start_many(count: int, note: str) -> None:
    """Fork children that fork a child each, and sleep."""
    read, write = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            os.fork()
            os.write(write, b"%d\n" % os.getpid())
            time.sleep(600)
    pids = b""
    while pids.count(b"\n") < 2 * count:
        pids += os.read(read, 4096)
    Path(note).write_bytes(pids)
    time.sleep(600)


@tool
def start_daemon(note: str, status: int | None = None, stay: bool = False) -> str:
    """Start a process in a separate session; then return, stay or crash."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, str(os.getpid()).encode())
            time.sleep(600)
        os._exit(0)
    Path(note).write_bytes(os.read(read, 100))
    if status is not None:
        os._exit(status)
    while stay:
        time.sleep(600)
    return "started"


# Tools with an inner life


class Locked(Tool):
    """A tool that holds what cannot be pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def execute(self) -> None:
        return None


class Counter(Toolset):
    """Count."""

    def __init__(self, start: int) -> None:
        self.value = start

    def up(self) -> int:
        """Count up."""
        self.value += 1
        return self.value
