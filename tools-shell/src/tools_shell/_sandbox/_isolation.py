"""How far a command is kept from the rest of the machine: tried out on the machine, never assumed."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from tools_core import ToolError
from tools_shell._sandbox._bubblewrap import WRAPPERS, find_bubblewrap, options
from tools_shell._sandbox._visible import Visible, is_inside, top_entries, visible

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tools_shell._process._command import Command
    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._sandbox._guard import Guard
    from tools_shell._settings import Sandbox

Rung: TypeAlias = Literal["bubblewrap", "landlock", "contained", "none"]

_EVERYTHING = Visible((), ("/",))
PROTECTED_FILES = "protected files"
_MOST_DESCRIPTORS = 64  # of a leader; those above are the supervisor's, and for mounts
_TEMPORARY = ("HOME", "TMPDIR", "TEMP", "TMP")


class Wrapped(NamedTuple):
    """What to execute, with which environment, and what `confine` is to do before it.

    `takes_terminal` is whether what is executed first is to have the terminal, and is interrupted by it.
    """

    arguments: list[str]
    environment: dict[str, str]
    policy: dict[str, Any] | None
    takes_terminal: bool = True
    numbers: range = range(0)  # of the descriptors of the guard's mounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What a command gets: the rung of the ladder, and words for each guarantee that this one does not give.

    "files" (any can be read and written that the user can), "own environment" (what this program runs from lies in the
    workspace and can be changed), "file metadata" (of files outside, names, sizes, modes and times can be read, and
    modes and times of the user's own be changed), "network", "abstract sockets", "signals" (to any process of the
    user), "processes" (of the same user: their memory, environment and limits), "process list" (with its command
    lines), "privileges" (those of root), "detached processes" (may outlive the command),
    "limits" (on resources; there are none but that on time), "protected files" (hooks, keys and configuration that
    runs commands can be changed or created; see `tools_core.protected`).
    """

    rung: Rung
    missing: tuple[str, ...]
    wrappers: int = 0  # processes from the leader on that are not yet the command
    network: bool = True
    seen: Visible = _EVERYTHING
    bubblewrap: Bubblewrap | None = None
    has_scopes: bool = False
    watched: tuple[str, ...] = ()  # protected files that did not exist

    @property
    def left_open(self) -> list[str]:
        """The guarantees that do not hold by now."""
        is_broken = PROTECTED_FILES not in self.missing and any(map(os.path.lexists, self.watched))
        return [*self.missing, *([PROTECTED_FILES] if is_broken else [])]

    @property
    def is_sandbox(self) -> bool:
        """Return whether files outside of the workspace are kept from a command."""
        return self.rung in {"bubblewrap", "landlock"}

    @property
    def needs_temporary(self) -> bool:
        """Whether a command needs a private folder to have any for its temporary files."""
        return self.rung == "landlock"

    def wrap(self, command: Command, temporary: str = "") -> Wrapped:
        """Put the command into its sandbox; `temporary` is a folder of its own, where it needs one."""
        if self.bubblewrap is not None:
            return self._in_bubblewrap(self.bubblewrap, command)
        arguments, environment = list(command.arguments), dict(command.environment)
        if self.rung != "landlock":
            return Wrapped(arguments, environment, None)
        # Programs find a home and a place for temporary files that they can write to.
        mine = [name for name in _TEMPORARY if not is_inside(environment.get(name, ""), self.seen.writable)]
        return Wrapped(arguments, environment | dict.fromkeys(mine, temporary), self._policy(temporary))

    def _in_bubblewrap(self, bubblewrap: Bubblewrap, command: Command) -> Wrapped:
        first = max((2, *command.extra)) + 1  # for the filter; then the arguments, names for git to ignore, and copies
        # bwrap needs some descriptors of its own.
        most = min(_MOST_DESCRIPTORS, command.resources.open_files or _MOST_DESCRIPTORS) - 16
        if command.resources.file_size is not None:  # the kernel would keep that limit for what bwrap copies, too
            most = 0
        mounts = command.guard.mounts if command.guard is not None else []
        lowest = max(_MOST_DESCRIPTORS, first + 3)
        numbers = range(lowest, lowest + len(mounts))
        # git would fail to remove the placeholders in `git clean` and `git stash -u`.
        ignore = command.guard.ignore if command.guard is not None and most else ""
        told = options(
            bubblewrap,
            self.seen,
            command.environment,
            os.path.realpath(command.workdir),
            network=self.network,
            terminal=command.terminal,
            memory=command.resources.memory,
            numbers=range(first + 3, most),
            guarded=list(zip(numbers, mounts, strict=True)),
            ignore=first + 2 if ignore else None,
        )
        policy = {
            "rung": self.rung,
            "network": self.network,
            "scopes": self.has_scopes,
            "filter": first,
            "arguments": first + 1,
            "options": [*told.options, "--seccomp", str(first)],
            "copies": list(told.copies.items()),
            "texts": {first + 2: ignore} if ignore else {},
        }
        # bwrap itself must see nothing of the command's environment: LD_PRELOAD would run code outside of the sandbox.
        arguments = [bubblewrap.program, "--args", str(first + 1), "--"]
        # A Ctrl-C is for the command: it would end bwrap, and everything with it.
        opener = _terminal_opener() if command.terminal else []
        return Wrapped([*arguments, *opener, *command.arguments], {}, policy, not opener, numbers)

    def _policy(self, temporary: str) -> dict[str, Any]:
        writable = top_entries() if "/" in self.seen.writable else self.seen.writable
        return {
            "rung": self.rung,
            "network": self.network,
            "readable": self.seen.readable,
            "writable": [*writable, temporary],
        }


@contextmanager
def guarded(isolation: Isolation, root: str, names: frozenset[str]) -> Generator[tuple[Isolation, Guard | None]]:
    """Guard the protected names for one command that is started in the block; yields what it gets then."""
    if isolation.bubblewrap is None or PROTECTED_FILES in isolation.missing or not names:
        yield isolation, None
        return
    from tools_shell._sandbox._guard import Guard  # needs what only POSIX has

    guard = Guard(root, isolation.seen.writable, names)
    try:
        more = () if guard.is_complete else (PROTECTED_FILES,)
        yield replace(isolation, missing=(*isolation.missing, *more), watched=tuple(guard.watched)), guard
    finally:
        guard.close()


@functools.cache
def _terminal_opener() -> list[str]:
    """What begins a session on the terminal that is its standard input (setsid of util-linux); empty without it."""
    import shutil  # once

    program = shutil.which("setsid", path="/usr/bin:/bin")
    return [program, "-c"] if program else []  # as that of busybox has it, too


def isolation_for(sandbox: Sandbox, root: str) -> Isolation:
    """The best rung there is for these settings and this workspace; ToolError when a required one is not to be had."""
    if sandbox.level == "none":
        return _alone(sandbox)
    if sandbox.level == "contained":
        return _contained(sandbox)
    found: Isolation | str = "sandboxes need Linux"
    if sys.platform == "linux":
        from tools_shell._sandbox._probe import first_that_works  # elsewhere there is nothing to probe

        place = os.path.realpath(root)
        setting = (sandbox, place, os.geteuid(), os.environ.get("PATH"))
        found = first_that_works(setting, place, _rungs(sandbox.level), lambda: candidates(sandbox, place))
    if isinstance(found, Isolation):
        return found
    if sandbox.level != "sandboxed":
        message = f"a sandbox is required and there is none: {found}; or ask for the level 'sandboxed' to go without"
        raise ToolError(message, "unavailable")
    return _contained(sandbox)


def candidates(sandbox: Sandbox, root: str) -> list[Isolation]:
    """The rungs that may work on this Linux, best first, as they are for these settings and this workspace."""
    from tools_shell._supervisor._landlock import SCOPES, abi  # Linux only

    seen, version = visible(sandbox, root), abi()
    everything = ("files",) if "/" in seen.writable or not all(map(seen.can_be_guarded, seen.settings)) else ()
    own = ("own environment",) if seen.guarded else ()
    unguarded = () if all(map(seen.can_be_guarded, seen.guarded)) else own
    unprotected = _unprotected(sandbox)
    # Without a network of its own a command shares the abstract sockets of all.
    has_scopes = sandbox.network and version >= SCOPES
    abstract = ("abstract sockets",) if sandbox.network and not has_scopes else ()
    found = [
        Isolation(
            rung="bubblewrap",
            missing=(
                *everything,
                *(unprotected if "/" in seen.writable or not variant.binds_descriptors else ()),
                *unguarded,
                *abstract,
                *(("process list",) if variant.proc == "shared" else ()),
            ),
            wrappers=WRAPPERS,
            network=sandbox.network,
            seen=seen,
            bubblewrap=variant,
            has_scopes=has_scopes,
        )
        for variant in _variants(seen.writable)
    ]
    if version:
        everything = ("files",) if seen.settings else everything  # a rule holds for all below a folder
        missing = (
            *everything,
            *unprotected,
            *own,
            "file metadata",
            *(("signals",) if version < SCOPES else ()),
            "process list",
        )
        found.append(Isolation(rung="landlock", missing=missing, network=sandbox.network, seen=seen))
    return [one for one in found if one.rung in _rungs(sandbox.level)]


def _rungs(level: str) -> tuple[str, ...]:
    return ("bubblewrap", "landlock") if level in {"sandboxed", "required"} else (level,)


def _variants(writable: tuple[str, ...]) -> Iterator[Bubblewrap]:
    if (found := find_bubblewrap(writable)) is not None:
        yield found
        yield found._replace(disables_userns=False)  # the filter forbids new ones, too
        yield found._replace(disables_userns=False, proc="shared")


def _contained(sandbox: Sandbox) -> Isolation:
    if sys.platform != "linux":  # the supervisor needs what only Linux has
        return _alone(sandbox)
    return Isolation(rung="contained", missing=_outside(sandbox))


def _alone(sandbox: Sandbox) -> Isolation:
    return Isolation(rung="none", missing=(*_outside(sandbox), "detached processes", "limits"))


def _outside(sandbox: Sandbox) -> tuple[str, ...]:
    privileged = os.name == "posix" and os.geteuid() == 0
    more = ("privileges",) if privileged else ()
    return ("files", *_unprotected(sandbox), "network", "signals", "processes", *more)


def _unprotected(sandbox: Sandbox) -> tuple[str, ...]:
    return (PROTECTED_FILES,) if sandbox.protected else ()
