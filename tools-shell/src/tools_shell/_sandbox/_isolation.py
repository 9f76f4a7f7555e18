"""How far a command is kept from the rest of the machine: tried out on the machine, never assumed."""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from tools_core import ToolError
from tools_shell._sandbox._bubblewrap import WRAPPERS, find_bubblewrap, options
from tools_shell._sandbox._visible import Visible, is_inside, top_entries, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools_shell._process._command import Command
    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._settings import Sandbox

Rung: TypeAlias = Literal["bubblewrap", "landlock", "contained", "none"]

_EVERYTHING = Visible((), ("/",))
_MOST_DESCRIPTORS = 64  # of a leader; those above are the supervisor's
_TEMPORARY = ("HOME", "TMPDIR", "TEMP", "TMP")


class Wrapped(NamedTuple):
    """What to execute, with which environment, and what `confine` is to do before it.

    `takes_terminal` is whether what is executed first is to have the terminal, and is interrupted by it.
    """

    arguments: list[str]
    environment: dict[str, str]
    policy: dict[str, Any] | None
    takes_terminal: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What a command gets: the rung of the ladder, and words for each guarantee that this one does not give.

    "files" (any can be read and written that the user can), "own environment" (what this program runs from lies in the
    workspace and can be changed), "file metadata" (of files outside, names, sizes, modes and times can be read, and
    modes and times of the user's own be changed), "network", "abstract sockets", "signals" (to any process of the
    user), "processes" (of the same user: their memory, environment and limits), "process list" (with its command
    lines), "privileges" (those of root), "detached processes" (may outlive the command).
    """

    rung: Rung
    missing: tuple[str, ...]
    wrappers: int = 0  # processes from the leader on that are not yet the command
    network: bool = True
    seen: Visible = _EVERYTHING
    bubblewrap: Bubblewrap | None = None
    has_scopes: bool = False

    @property
    def needs_temporary(self) -> bool:
        """Whether a command needs a private folder to have any for its temporary files."""
        return self.rung == "landlock"

    def wrap(self, command: Command, temporary: str | None = None) -> Wrapped:
        """Put the command into its sandbox; `temporary` is a folder of its own."""
        arguments, environment = list(command.arguments), dict(command.environment)
        if self.bubblewrap is not None:
            return self._in_bubblewrap(self.bubblewrap, command)
        if self.rung == "landlock":
            return Wrapped(arguments, self._at_home(environment, temporary), self._policy(temporary))
        return Wrapped(arguments, environment, None)

    def _in_bubblewrap(self, bubblewrap: Bubblewrap, command: Command) -> Wrapped:
        first = max((2, *command.extra)) + 1
        # bwrap needs some descriptors of its own.
        most = min(_MOST_DESCRIPTORS, command.resources.open_files or _MOST_DESCRIPTORS) - 16
        if command.resources.file_size is not None:  # the kernel would keep that limit for what bwrap copies, too
            most = 0
        told = options(
            bubblewrap,
            self.seen,
            command.environment,
            os.path.realpath(command.workdir),
            network=self.network,
            terminal=command.terminal,
            numbers=range(first + 2, most),
        )
        policy = {
            "rung": self.rung,
            "network": self.network,
            "scopes": self.has_scopes,
            "filter": first,
            "arguments": first + 1,
            "options": [*told.options, "--seccomp", str(first)],
            "copies": list(told.copies.items()),
        }
        # bwrap itself must see nothing of the command's environment: LD_PRELOAD would run code outside of the sandbox.
        arguments = [bubblewrap.program, "--args", str(first + 1), "--"]
        # A Ctrl-C is for the command: it would end bwrap, and everything with it.
        opener = _terminal_opener() if command.terminal else []
        return Wrapped([*arguments, *opener, *command.arguments], {}, policy, takes_terminal=not opener)

    def _policy(self, temporary: str | None) -> dict[str, Any]:
        writable = list(self.seen.writable)
        if "/" in writable:
            writable = list(top_entries())
        if temporary is not None:
            writable.append(temporary)
        readable = list(self.seen.readable)
        return {"rung": self.rung, "network": self.network, "readable": readable, "writable": writable}

    def _at_home(self, environment: Mapping[str, str], temporary: str | None) -> dict[str, str]:
        """Let programs find a home and a place for temporary files that they can write to."""
        if temporary is None:
            return dict(environment)
        mine = {name for name in _TEMPORARY if not is_inside(environment.get(name, ""), self.seen.writable)}
        return {**environment, **dict.fromkeys(mine, temporary)}


@functools.cache
def _terminal_opener() -> list[str]:
    """What begins a session on the terminal that is its standard input (setsid of util-linux); empty without it."""
    import shutil  # once

    program = shutil.which("setsid", path="/usr/bin:/bin")
    return [program, "--ctty"] if program else []


def isolation_for(sandbox: Sandbox, root: str) -> Isolation:
    """The best rung there is for these settings and this workspace; ToolError when a required one is not to be had."""
    if sandbox.level == "none":
        return _alone()
    if sandbox.level == "contained":
        return _contained()
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
    return _contained()


def candidates(sandbox: Sandbox, root: str) -> list[Isolation]:
    """The rungs that may work on this Linux, best first, as they are for these settings and this workspace."""
    from tools_shell._supervisor._landlock import SCOPES, abi  # Linux only

    seen, version = visible(sandbox, root), abi()
    everything = ("files",) if "/" in seen.writable else ()
    own = ("own environment",) if seen.guarded else ()
    unguarded = () if all(map(seen.can_be_guarded, seen.guarded)) else own
    # Without a network of its own a command shares the abstract sockets of all.
    has_scopes = sandbox.network and version >= SCOPES
    abstract = ("abstract sockets",) if sandbox.network and not has_scopes else ()
    found = [
        Isolation(
            rung="bubblewrap",
            missing=(*everything, *unguarded, *abstract, *(("process list",) if variant.proc == "shared" else ())),
            wrappers=WRAPPERS,
            network=sandbox.network,
            seen=seen,
            bubblewrap=variant,
            has_scopes=has_scopes,
        )
        for variant in _variants(seen.writable)
    ]
    if version:
        missing = (*everything, *own, "file metadata", *(("signals",) if version < SCOPES else ()), "process list")
        found.append(Isolation(rung="landlock", missing=missing, network=sandbox.network, seen=seen))
    return [one for one in found if one.rung in _rungs(sandbox.level)]


def _rungs(level: str) -> tuple[str, ...]:
    return ("bubblewrap", "landlock") if level in {"sandboxed", "required"} else (level,)


def _variants(writable: tuple[str, ...]) -> Iterator[Bubblewrap]:
    if (found := find_bubblewrap(writable)) is not None:
        yield found
        yield found._replace(disables_userns=False)  # the filter forbids new ones, too
        yield found._replace(disables_userns=False, proc="shared")


def _contained() -> Isolation:
    if sys.platform != "linux":  # the supervisor needs what only Linux has
        return _alone()
    return Isolation(rung="contained", missing=_outside())


def _alone() -> Isolation:
    return Isolation(rung="none", missing=(*_outside(), "detached processes"))


def _outside() -> tuple[str, ...]:
    privileged = os.name == "posix" and os.geteuid() == 0
    return ("files", "network", "signals", "processes", *(("privileges",) if privileged else ()))
