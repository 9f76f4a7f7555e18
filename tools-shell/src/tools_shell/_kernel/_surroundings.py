"""What the code shares with the kernel, and may break: the lines of its tracebacks, and its standard streams."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing for it would cost more than all of this module
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType
    from typing import Any


class Cells:
    """The source of each piece of code by its name: tracebacks show its lines, whoever writes them."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}
        self._loader: Any = None
        linecache = sys.modules.get("linecache")
        if linecache is None:
            sys.meta_path.insert(0, self)
        else:  # Python 3.13 has put our program there, by the name of whatever `exec` will run
            linecache.cache.pop("<string>", None)

    def __contains__(self, name: str) -> bool:
        return name in self._sources

    def add(self, name: str, code: str) -> None:
        self._sources[name] = code
        self.publish([name])

    def publish(self, names: Iterable[str] | None = None) -> None:
        """Put the lines where tracebacks look for them, if anything has loaded that yet."""
        module = sys.modules.get("linecache")
        if module is not None:
            for name in self._sources if names is None else names:
                code = self._sources[name]
                module.cache[name] = (len(code), None, code.splitlines(True), name)

    # `linecache` takes 5 ms to load, so it is waited for: what follows is an importer for it alone.

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        """Where it is usually found, to be loaded by us."""
        if name != "linecache":
            return None
        sys.meta_path.remove(self)
        spec = next(filter(None, (finder.find_spec(name, None) for finder in sys.meta_path)), None)
        if spec is not None:
            self._loader, spec.loader = spec.loader, self  # type: ignore[assignment]  # all that is asked of a loader
        return spec

    def create_module(self, _spec: Any) -> None:
        """An ordinary one."""

    def exec_module(self, module: ModuleType) -> None:
        """Leave no trace of us in it."""
        module.__loader__ = vars(module.__spec__)["loader"] = self._loader
        self._loader.exec_module(module)
        self.publish()


class Stream:
    """`sys.stdout` or `sys.stderr`, which the code may close, replace and redirect; afterwards it is as it was."""

    def __init__(self, name: str, number: int) -> None:
        self._name = name
        self._number = number
        self._stream: Any = getattr(sys, name)
        self._stream.reconfigure(line_buffering=True)  # what was printed is not lost, however the process ends
        self._file = identity(number)
        self.spare = os.dup(number)

    def flush(self) -> None:
        """Send on what is held back, in the code's own stream, too."""
        theirs = getattr(sys, self._name, None)
        for stream in (self._stream,) if theirs is self._stream or theirs is None else (theirs, self._stream):
            try:
                stream.flush()
            except BaseException:  # noqa: BLE001, S112  (the code's own object: whatever it raises, there is no more to be had)
                continue

    def restore(self) -> list[str]:
        """Undo what the code did to it, which was flushed; returns what there is to say about that."""
        changes = []
        if getattr(sys, self._name, None) is not self._stream or self._is_closed():
            # First of all: when the code's own stream goes, it may close what ours writes to.
            setattr(sys, self._name, self._stream)
            changes.append(f"sys.{self._name} was replaced or closed")
        if identity(self._number) != self._file:
            os.dup2(self.spare, self._number)
            changes.append(f"descriptor {self._number} was closed or redirected")
        if self._is_closed():
            errors = self._stream.errors
            self._stream = open(  # noqa: SIM115  (for as long as the process lives)
                self._number, "w", 1, encoding="utf-8", errors=errors, closefd=False
            )
            setattr(sys, self._name, self._stream)
            setattr(sys, f"__{self._name}__", self._stream)
        return [f"{change} by the code; it is as it was before" for change in changes]

    def _is_closed(self) -> bool:
        try:
            return bool(self._stream.closed)
        except ValueError:  # its buffer was detached, for a stream of the code's own
            return True


def identity(descriptor: int) -> tuple[float, ...]:
    """What tells its file from all others, which is nothing once it is closed."""
    try:
        return os.fstat(descriptor)[1:3]
    except OSError:
        return ()
