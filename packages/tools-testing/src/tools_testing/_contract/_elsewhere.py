"""The program of the other interpreter: import one tool under watch, and tell what happened.

The audit events of Python say what an import does besides defining things.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_WATCHED = {
    "os.exec": "ran a program",
    "os.fork": "forked",
    "os.forkpty": "forked",
    "os.mkdir": "made a folder",
    "os.posix_spawn": "ran a program",
    "os.remove": "removed a file",
    "os.rename": "renamed a file",
    "os.rmdir": "removed a folder",
    "os.spawn": "ran a program",
    "os.startfile": "opened a file with its program",
    "os.system": "ran a program",
    "shutil.rmtree": "removed a folder",
    "socket.bind": "bound a socket",
    "socket.connect": "connected a socket",
    "socket.getaddrinfo": "looked up an address",
    "socket.__new__": "opened a socket",
    "subprocess.Popen": "ran a program",
    "urllib.Request": "asked a server",
    "webbrowser.open": "opened a browser",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class _Watch:
    """Notes what happens while it is on; the hook itself cannot be taken off again."""

    def __init__(self) -> None:
        self.is_on = False
        self.events: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        done = _WATCHED.get(event)
        if event == "open" and _writes(arguments):
            done = f"opened {arguments[0]!r} for writing"
        if done is not None:
            self.note(done)

    def note(self, done: str) -> None:
        """Put what was done on the list, with the line to blame."""
        if not self.is_on:
            return
        self.is_on = False  # what describes an event may cause one
        text = f"it {done}, in {_place()}"
        if text not in self.events:
            self.events.append(text)
        self.is_on = True

    def threads(self) -> None:
        """Watch the start of threads, of which not every Python tells its audit hooks."""
        start = threading.Thread.start

        def noted(thread: threading.Thread) -> None:
            self.note("started a thread")
            start(thread)

        threading.Thread.start = noted  # type: ignore[method-assign,assignment]


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, mode, flags = (*arguments, None, None, None)[:3]
    is_named = not isinstance(path, int) and os.fspath(path) != os.devnull if path is not None else False
    by_mode = isinstance(mode, str) and bool(set(mode) & set("wax+"))
    by_flags = isinstance(flags, int) and bool(flags & _WRITING)
    return is_named and (by_mode or by_flags)


def _place() -> str:
    """The line outside the standard library that is to blame, or else the innermost one."""
    library = os.__file__.removesuffix("os.py")
    innermost = sys._getframe(2)
    frame: FrameType | None = innermost
    while frame is not None:
        name = frame.f_code.co_filename
        foreign = "site-packages" in name or not name.startswith((library, "<frozen"))
        if foreign and name != __file__:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return f"{innermost.f_code.co_filename}:{innermost.f_lineno}"


def _import(origin: str) -> Any:
    module, _, path = origin.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def main() -> None:
    """Print the report, as the last thing of all."""
    import tools_core

    for name in tools_core.__all__:
        getattr(tools_core, name)  # what the core loads is none of the tool's doing

    watch = _Watch()
    sys.addaudithook(watch)
    watch.threads()
    watch.is_on = True
    try:
        found = _import(sys.argv[1])
    finally:
        watch.is_on = False
    sys.stdout.flush()
    registry = tools_core.Registry()
    registry.register(found)
    definitions = {each.name: each.definition for each in registry.values()}
    report = json.dumps({"events": watch.events, "definitions": definitions}, default=repr)
    os.write(1, f"\x1e{report}".encode())


if __name__ == "__main__":
    main()
