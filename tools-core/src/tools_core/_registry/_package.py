"""One discovered entry point: what it turned out to hold, or why it did not load."""

from __future__ import annotations

import os
import sys
import threading
from time import monotonic

from tools_core._values._errors import ToolError
from tools_core._values._problem import clip

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._tools._tool import Tool

_ERROR_LIMIT = 300
_starting = threading.Lock()  # held for the decision which thread loads, never while it does


class LoadProblem:
    """Why a plugin, or a part of one, is not as it should be, and what to do about it."""

    __slots__ = ("distribution", "error", "fix", "name", "version")

    def __init__(self, name: str, distribution: str, version: str, error: str, fix: str) -> None:
        self.name = name
        self.distribution = distribution
        self.version = version
        self.error = error
        self.fix = fix

    @classmethod
    def of(cls, point: EntryPoint, error: str, fix: str, name: str | None = None) -> Self:
        """The problem of an entry point, or of the tool called `name` in it."""
        return cls(name or point.name, point.distribution, point.version, error, fix)

    def __str__(self) -> str:
        origin = f" ({self.distribution} {self.version})" if self.distribution else ""
        return one_line(f"{self.name}{origin}: {self.error}; fix: {self.fix}", 2 * _ERROR_LIMIT)

    def __repr__(self) -> str:
        return f"LoadProblem({str(self)!r})"


class Plugin:
    """An entry point and the state of its loading, which is its own: a plugin that hangs holds up no other.

    After `load`, `tools` are its tools by name, or None with the reason in `problems()`. With a lock, `locked` are the
    hashes that they must have: what differs is `refused`, what the lock does not name is left out as `unlocked`.
    """

    def __init__(self, point: EntryPoint, locked: Mapping[str, str] | None = None) -> None:
        self.point = point
        self.locked = locked
        self.refused: dict[str, LoadProblem] = {}
        self.unlocked: list[str] = []
        self.tools: dict[str, Tool] | None = None
        self.is_toolset = False
        self.is_indexed = False  # the registry knows the toolset's tools by name
        self.cause: BaseException | None = None
        self._failure: LoadProblem | None = None
        self._notes: list[LoadProblem] = []
        self._started: float | None = None
        self._limit: float | None = None
        self._loader = 0  # the thread that imports
        self._done: threading.Event | None = None

    def load(self, limit: float | None) -> None:
        """Import the plugin, once, and wait for it at most `limit` seconds; a failure is kept, never raised.

        With a limit the import runs in a thread of its own: nothing else isolates us from one that never
        ends. The price: a module that insists on the main thread when imported (signal handlers, event loops,
        GUI toolkits) fails with a limit, and so does one that imports the very module which is waiting here.
        Such programs set no limit. A thread that hangs is abandoned with the locks of the modules it was
        importing; a daemon, it lets the process end, and should it finish after all, its tools are there.
        """
        with _starting:
            first = self._done is None
            if self._done is None:
                self._done = threading.Event()
                self._started, self._limit, self._loader = monotonic(), limit, threading.get_ident()
            done = self._done
        if not first:
            # A module that looks its own tools up while it is imported would wait for itself.
            if not done.is_set() and self._loader != threading.get_ident():
                done.wait(self._remaining())
            return
        if limit is None:
            self._load(done)
        else:
            name = f"load {self.point.qualified}"
            threading.Thread(target=self._load, args=(done,), name=name, daemon=True).start()
            done.wait(limit)

    def problems(self) -> list[LoadProblem]:
        """What is wrong as far as is known now; the first one says why there are no tools."""
        failure = self._failure
        if failure is None and self.tools is None and self._remaining() == 0:
            error = f"did not load within {self._limit:g} s"
            failure = LoadProblem.of(self.point, error, self._update_or_remove())
        return [*([failure] if failure else ()), *self.refused.values(), *self._notes]

    def unavailable(self) -> ToolError:
        """The error for whoever wanted a tool of a plugin that did not load."""
        origin = f"`{self.point.name}` of {self.point.distribution} {self.point.version}"
        problems = self.problems()
        if not problems:
            return ToolError(f"{origin} is unavailable: it is still being loaded", "unavailable")
        error = f"{origin} is unavailable: {problems[0].error}; fix: {problems[0].fix}"
        return ToolError(one_line(error, 2 * _ERROR_LIMIT), "unavailable")

    def holds(self, name: str, source: object) -> bool:
        """Return whether a tool that somebody has is this plugin's own."""
        return self.point.refers_to(source) or (self.tools is not None and self.tools.get(name) is source)

    def names(self) -> list[str]:
        """The names of its tools; the entry's own name stands in until they are known."""
        return list(self.tools or ()) if self.is_indexed else [self.point.name]

    @property
    def is_known(self) -> bool:
        """Return whether the registry knows its tools; another thread may just have loaded a toolset."""
        return self.tools is not None and (self.is_indexed or not self.is_toolset)

    @property
    def is_broken(self) -> bool:
        """Return whether it failed, or takes longer than it may."""
        return self.tools is None and bool(self.problems())

    def _load(self, done: threading.Event) -> None:
        self._loader = threading.get_ident()
        try:
            self.tools = self._read_tools()
        # A plugin may raise anything, SystemExit included, and must not take its host along.
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                self._done = None  # the user stopped us, which says nothing about the plugin
                raise
            self.cause = error
            self._failure = LoadProblem.of(self.point, _describe(error), self._fix(error))
        finally:
            self._loader = 0
            done.set()

    def _read_tools(self) -> dict[str, Tool] | None:
        from tools_core._tools._as_tools import as_tools  # a name can be listed without the contract being loaded
        from tools_core._tools._toolset import Toolset

        point = self.point
        value = point.load()
        owner = point.owner()
        if isinstance(owner, type) and issubclass(owner, Toolset):  # one line for a method: "package:Notes.add"
            tools: list[Tool] = [owner().tool(point.value.rpartition(".")[2].strip())]
        else:
            tools = as_tools(value)
        if not tools:
            raise ValueError(f"`{point.value}` holds no tools")
        self.is_toolset = issubclass(value if isinstance(value, type) else type(value), Toolset)
        if self.is_toolset:
            self._check_prefix([tool.name for tool in tools])
            return self._as_locked({tool.name: tool for tool in tools})
        (tool,) = tools
        if tool.name != point.name:
            error = f"the entry point is named `{point.name}` but its tool `{tool.name}`; the former is used"
            self._note(error, "give both one name in")
            tool = tool.renamed(point.name)
        kept = self._as_locked({point.name: tool})
        if kept:
            return kept
        self._failure = self.refused.pop(point.name, None) or self._drifted(point.name)
        return None

    def _as_locked(self, tools: dict[str, Tool]) -> dict[str, Tool]:
        """Those that are what the lock says they are."""
        if self.locked is None:
            return tools
        from tools_core._registry._lock_file import hash_of, locked_definition  # only with a lock

        self.unlocked = [name for name in tools if name not in self.locked]
        for name, digest in self.locked.items():
            if name in tools and hash_of(locked_definition(tools[name], name)) != digest:
                self.refused[name] = self._drifted(name)
        return {name: tool for name, tool in tools.items() if name in self.locked and name not in self.refused}

    def _drifted(self, name: str) -> LoadProblem:
        error = "its definition is not the one that was locked"
        fix = "see what has changed: ask-tools verify; if you trust it: ask-tools lock"
        return LoadProblem.of(self.point, error, fix, name)

    def _check_prefix(self, names: list[str]) -> None:
        """A name leads to a toolset that is not loaded by its beginning alone."""
        start = f"{self.point.name}_"
        hidden = next((name for name in names if not name.startswith(start)), None)
        if hidden:
            error = f"`{hidden}` does not begin with `{start}`: it is found only once the toolset is loaded"
            self._note(error, "name the entry point like the toolset in")

    def _remaining(self) -> float | None:
        if self._started is None or self._limit is None:
            return None
        return max(0.0, self._started + self._limit - monotonic())

    def _note(self, error: str, fix: str) -> None:
        self._notes.append(LoadProblem.of(self.point, error, f"{fix} {self.point.distribution}"))

    def _update_or_remove(self) -> str:
        return f"pip install -U {self.point.distribution} or pip uninstall {self.point.distribution}"

    def _fix(self, error: BaseException) -> str:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if not isinstance(missing, str) or not missing.isidentifier():
            return self._update_or_remove()
        if missing != self.point.module.partition(".")[0]:
            return f"pip install {missing}"
        parent = os.path.dirname(self.point.folder)
        if parent not in sys.path:
            return f"add {parent} to sys.path"
        return f"pip install --force-reinstall {self.point.distribution}"


def one_line(text: str, limit: int) -> str:
    """Fold white space and control characters, since what a plugin says is shown on terminals."""
    return clip("".join(c if c.isprintable() else "?" for c in " ".join(text.split())), limit)


def _describe(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # the error's class is the plugin's, too
        text = ""
    if isinstance(error, SystemExit):
        return f"called sys.exit({one_line(text, 60)}) while it was imported"
    return one_line(f"{type(error).__name__}: {text}" if text else type(error).__name__, _ERROR_LIMIT)
