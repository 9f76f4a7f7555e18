"""Tools that do what tools should not, in processes of their own."""

import ctypes
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tools_core import Context, Image, Result, Tool, ToolError, Toolset, tool


@tool
def echo(value: Any) -> Any:
    """Give it back."""
    return value


@tool
def whoami() -> dict[str, Any]:
    """Tell where this runs."""
    return {"pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "descriptors": descriptors()}


def descriptors() -> list[int]:
    """What is open; some builds of libffi, which ctypes needs, keep their own file open."""
    places = {name: os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")}
    return [
        int(name) for name, place in places.items() if os.path.exists(f"/proc/self/fd/{name}") and ".so" not in place
    ]


@tool
def streams() -> dict[str, Any]:
    """Tell where the standard streams lead."""
    print("printed")
    same = os.fstat(1).st_ino == os.fstat(2).st_ino
    return {"stdin": sys.stdin.read(), "stdout_is_stderr": same}


@tool
def environment(name: str) -> str | None:
    """Look up a variable."""
    return os.environ.get(name)


@tool
def imported(name: str) -> bool:
    """Whether a module is there before anybody asked for it."""
    return name in sys.modules


@tool
def nap(seconds: float) -> str:
    """Sleep."""
    time.sleep(seconds)
    return "slept"


@tool
async def anap(seconds: float, note: str) -> str:
    """Sleep in a coroutine, and note when that is cancelled."""
    import asyncio

    try:
        await asyncio.sleep(seconds)
    finally:
        Path(note).write_text("finally")  # noqa: ASYNC240  (a line in a test)
    return "slept"


@tool
def spin() -> None:
    """Compute for ever."""
    while True:
        pass


@tool
def backtrack() -> None:
    """Compute for ever in C, holding the interpreter."""
    re.match(r"(a+)+$", "a" * 60 + "b")


@tool
def swallow() -> None:
    """Refuse every exception for ever."""
    while True:
        try:
            while True:
                time.sleep(0.01)
        except BaseException:  # noqa: BLE001, S112  (that is what is wrong with it)
            continue


@tool
def stop_oneself() -> None:
    """Stop, so that nothing but SIGKILL is heard."""
    os.kill(os.getpid(), signal.SIGSTOP)


@tool
def deaf() -> None:
    """Ignore every signal that can be ignored, and sleep."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


@tool
def bomb(count: int, note: str) -> None:
    """Fork children that fork a child each, and sleep."""
    for _ in range(count):
        if os.fork() == 0:
            os.fork()
            with open(note, "a") as file:
                file.write(f"{os.getpid()}\n")
            time.sleep(600)
    time.sleep(600)


@tool
def close_all(stay: float = 0.0) -> str:
    """Close all descriptors."""
    os.closerange(0, 4096)
    time.sleep(stay)
    return "closed"


@tool
def exit_now(status: int) -> None:
    """End the process without a word."""
    os._exit(status)


@tool
def exit_politely(status: int) -> None:
    """End the process as programs do."""
    sys.exit(status)


@tool
def segfault() -> None:
    """Read what is not there."""
    ctypes.string_at(0)


@tool
def hog(size: int) -> int:
    """Take memory."""
    return len(bytearray(size))


@tool
def grow(size: int) -> int:
    """Take memory, and keep it."""
    kept.append(bytearray(os.urandom(1)) * size)
    return os.getpid()


kept: list[bytearray] = []


@tool
def compute(seconds: float) -> float:
    """Use processor time."""
    while time.process_time() < seconds:
        pass
    return time.process_time()


@tool
def shout(size: int) -> int:
    """Print much."""
    line = "x" * 9_999
    for _ in range(size // 10_000):
        print(line)
    return size


@tool
def enormous(size: int) -> str:
    """Return much."""
    return "x" * size


@tool
def scribble() -> str:
    """Write garbage to every descriptor."""
    for number in descriptors():
        if number != 2:
            try:
                os.set_blocking(number, False)
                os.write(number, b"garbage " * 100)
                os.set_blocking(number, True)
            except OSError:
                pass
    return "scribbled"


def connection() -> int:
    return next(number for number in descriptors() if stat.S_ISSOCK(os.fstat(number).st_mode))


@tool
def forge_ahead(frame: str) -> str:
    """Leave a thread that answers whatever is asked next, beforehand."""
    number = connection()

    def answer() -> None:
        time.sleep(0.2)
        os.write(number, bytes.fromhex(frame))

    threading.Thread(target=answer, daemon=True).start()
    return "done"


@tool
def forge(frame: str) -> None:
    """Write an answer of one's own, and wait."""
    os.write(connection(), bytes.fromhex(frame))
    time.sleep(600)


@tool
def signal_parent(number: int, then: float = 0.0) -> str:
    """Send a signal to the process that forked this one."""
    os.kill(os.getppid(), number)
    time.sleep(then)
    return "sent"


@tool
def signal_group(number: int) -> str:
    """Send a signal to one's own group."""
    os.kill(0, number)
    time.sleep(600)
    return "sent"


@tool
def escape(note: str, then: float = 600.0) -> str:
    """Leave a daemon behind: two forks and a session of its own."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path(note).write_text(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
    while not os.path.exists(note) or not Path(note).read_text():
        time.sleep(0.01)
    time.sleep(then)
    return "left"


@tool
def escape_and_die(note: str) -> None:
    """Leave a daemon behind, and crash."""
    escape(note, 0)
    os._exit(9)


@tool
def come_back_twice() -> int:
    """Fork, and return in both processes."""
    os.fork()
    return os.getpid()


@tool
def hold_open() -> None:
    """Crash while a child still has all descriptors."""
    if os.fork() == 0:
        time.sleep(600)
    os._exit(7)


@tool
def child_process() -> str:
    """Run a program."""
    return subprocess.run(["echo", "hello"], capture_output=True, text=True, check=True).stdout


@tool
def local_port() -> int:
    """Open a socket of one's own."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


@tool
def picture() -> Image:
    """Draw."""
    return Image(b"\x89PNG\r\n\x1a\n123")


@tool
def album() -> Result:
    """Draw, with words."""
    blocks = ["first", Image(b"\x89PNG\r\n\x1a\n123")]
    return Result.ok({"count": 1}, content=blocks, metadata={"by": "ada"})


@tool
def bug(name: str) -> None:
    """Raise a builtin exception by its name."""
    raise getattr(__import__("builtins"), name)("a mistake")


@tool
def bugs() -> None:
    """Raise more than one exception."""
    raise ExceptionGroup("two", [OSError("down"), NameError("a mistake")])


class OwnError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this works")


@tool
def odd_error() -> None:
    """Raise what cannot be shown."""
    raise OwnError


@tool
def refuse(reason: str) -> None:
    """Fail as expected."""
    raise ToolError(reason, "not_found")


@tool
def look(key: str, context: Context) -> Any:
    """Look into the state."""
    state = context.state
    return {"value": state.get(key), "there": key in state, "keys": sorted(state)}


@tool
def take(key: str, context: Context) -> Any:
    """Take from the state."""
    return context.state[key]


@tool
def left(context: Context) -> float | None:
    """Tell the time that is left."""
    return context.remaining


@tool
def until_told(context: Context, note: str = "") -> str:
    """Go on until nobody waits any more."""
    if note:
        Path(note).write_text("begun")
    while not context.cancelled:
        time.sleep(0.005)
    if note:
        Path(note).write_text("told")
    return "told"


@tool
def unmoved(context: Context, note: str) -> None:
    """Know that nobody waits, and go on."""
    Path(note).write_text("begun")
    while True:
        time.sleep(0.01)


@tool
def steps(count: int, context: Context) -> int:
    """Report each step."""
    for number in range(count):
        context.progress(number, count, f"step {number}")
    return count


@tool
def says(length: int, context: Context) -> str:
    """Report with a long message."""
    context.progress(1, 2, "x" * length)
    return "said"


@tool(timeout=0.3)
def limited() -> None:
    """Sleep longer than it may by itself."""
    time.sleep(600)


@tool(timeout=30)
def thread_name() -> str:
    """Tell in which thread a tool with a limit runs."""
    return threading.current_thread().name


class Unpicklable(Tool):
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


@tool
def context_free(number: int) -> int:
    """Add one."""
    return number + 1


@tool
def interrupt(host: int, note: str) -> str:
    """Interrupt whoever waits for the answer, which comes late."""
    with Path(note).open("a") as file:
        file.write("made\n")
    os.kill(host, signal.SIGINT)
    time.sleep(600)
    return "done"
