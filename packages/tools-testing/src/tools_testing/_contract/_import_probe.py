"""A program that imports one tool and reports the side effects of that, by the audit events of Python."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading

TYPE_CHECKING = False  # importing typing would hide that the tool imports it
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_EVENTS = {
    **dict.fromkeys(("os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"), "ran a program"),
    **dict.fromkeys(("os.fork", "os.forkpty"), "forked"),
    **dict.fromkeys(("os.rmdir", "shutil.rmtree"), "removed a folder"),
    "os.mkdir": "created a folder",
    "os.remove": "removed a file",
    "os.rename": "renamed a file",
    "socket.connect": "connected a socket",
    "socket.getaddrinfo": "looked up an address",
    "socket.__new__": "opened a socket",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class _Audit:
    """An audit hook, which cannot be removed but switched off."""

    def __init__(self) -> None:
        self.is_on = False
        self.effects: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        effect = _EVENTS.get(event)
        if event == "open" and _is_writing(*arguments):
            effect = f"opened {arguments[0]!r} for writing"
        if effect is not None:
            self.add(effect)

    def add(self, effect: str) -> None:
        if not self.is_on:
            return
        self.is_on = False  # describing an event may cause another one
        text = f"it {effect}, in {_line()}"
        if text not in self.effects:
            self.effects.append(text)
        self.is_on = True

    def watch_threads(self) -> None:
        """Report the start of threads, for which not every Python has an audit event."""
        start = threading.Thread.start

        def reported(thread: threading.Thread) -> None:
            self.add("started a thread")
            start(thread)

        threading.Thread.start = reported  # type: ignore[method-assign,assignment]  # in the process of the probe


def _is_writing(path: Any, mode: Any = None, flags: Any = None) -> bool:
    if path is None or isinstance(path, int) or os.fspath(path) == os.devnull:
        return False
    return (isinstance(mode, str) and bool({*mode} & {*"wax+"})) or (isinstance(flags, int) and bool(flags & _WRITING))


def _line() -> str:
    """Return the innermost line outside the standard library, or else the innermost one."""
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


def _import(origin: str) -> tuple[Any, Any]:
    """Return the object, after the class or module that has it as an attribute."""
    module, _, path = origin.partition(":")
    owner, value = None, importlib.import_module(module)
    for name in path.split("."):
        owner, value = value, getattr(value, name)
    return owner, value


def main() -> None:
    """Print the report, after whatever the import prints."""
    import tools_core

    for name in tools_core.__all__:
        getattr(tools_core, name)  # what the core itself imports is not the tool's doing

    audit = _Audit()
    sys.addaudithook(audit)
    audit.watch_threads()
    audit.is_on = True
    try:
        owner, value = _import(sys.argv[1])
    finally:
        audit.is_on = False
    sys.stdout.flush()
    registry = tools_core.Registry()
    is_method = isinstance(owner, type) and issubclass(owner, tools_core.Toolset)
    registry.register(owner if is_method else value)
    definitions = {tool.name: tool.definition for tool in registry.values()}
    report = json.dumps({"events": audit.effects, "definitions": definitions}, default=repr)
    os.write(1, f"\x1e{report}".encode())


if __name__ == "__main__":
    main()
