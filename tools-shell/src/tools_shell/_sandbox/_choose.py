"""The best isolation for some settings: tried out on the machine, never assumed."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.protected import host_folders
from tools_shell._sandbox._bubblewrap import WRAPPERS, find_bubblewrap
from tools_shell._sandbox._isolation import PROTECTED_FILES, Isolation
from tools_shell._sandbox._visible import visible

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._sandbox._guard import Guard
    from tools_shell._settings import Sandbox


@contextmanager
def guarded(isolation: Isolation, root: str, names: frozenset[str]) -> Generator[tuple[Isolation, Guard | None]]:
    """Guard the protected names for one command that is started in the block; yields what it gets then."""
    if isolation.bubblewrap is None or PROTECTED_FILES in isolation.missing or not names:
        yield isolation, None
        return
    from tools_shell._sandbox._guard import Guard  # needs what only POSIX has

    guard = Guard(root, isolation.seen, names)
    try:
        more = () if guard.is_complete else (PROTECTED_FILES,)
        yield replace(isolation, missing=(*isolation.missing, *more), watched=tuple(guard.watched)), guard
    finally:
        guard.close()


def isolation_for(sandbox: Sandbox, root: str) -> Isolation:
    """The best level there is for these settings and this workspace; ToolError when a required one is not to be had."""
    if sandbox.level == "none":
        return _alone(sandbox)
    if sandbox.level == "contained":
        return _contained(sandbox)
    found: Isolation | str = "sandboxes need Linux"
    if sys.platform == "linux":
        found = _best(sandbox, os.path.realpath(root), os.geteuid(), os.environ.get("PATH"), *host_folders())
    if isinstance(found, Isolation):
        return found
    if sandbox.level != "sandboxed":
        message = f"a sandbox is required and there is none: {found}; or ask for the level 'sandboxed' to go without"
        raise ToolError(message, "unavailable")
    return _contained(sandbox)


@functools.lru_cache(256)  # a host may go through many workspaces
def _best(sandbox: Sandbox, place: str, *_: object) -> Isolation | str:
    """Try once for all that it depends on."""
    from tools_shell._sandbox._probe import first_that_works  # elsewhere there is nothing to probe

    return first_that_works(candidates(sandbox, place), place, _levels(sandbox.level))


def candidates(sandbox: Sandbox, root: str) -> list[Isolation]:
    """The levels that may work on this Linux, best first, as they are for these settings and this workspace."""
    from tools_shell._supervisor._landlock import SCOPES, abi  # Linux only

    seen, version = visible(sandbox, root), abi()
    everything = ("files",) if "/" in seen.writable else ()
    own = ("own environment",) if seen.guarded else ()
    unguarded = () if all(map(seen.can_be_guarded, seen.guarded)) else own
    unprotected = _unprotected(sandbox)
    # Without a separate network a command shares the abstract sockets of all processes.
    has_scopes = sandbox.network and version >= SCOPES
    abstract = ("abstract sockets",) if sandbox.network and not has_scopes else ()
    found = [
        Isolation(
            level="bubblewrap",
            missing=(
                *everything,
                *(unprotected if "/" in seen.writable or "--ro-bind-fd" not in variant.known else ()),
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
        missing = (
            *everything,
            *unprotected,
            *own,
            "file metadata",
            *(("signals",) if version < SCOPES else ()),
            "process list",
        )
        found.append(Isolation(level="landlock", missing=missing, network=sandbox.network, seen=seen))
    return [one for one in found if one.level in _levels(sandbox.level)]


def _levels(level: str) -> tuple[str, ...]:
    return ("bubblewrap", "landlock") if level in {"sandboxed", "required"} else (level,)


def _variants(writable: tuple[str, ...]) -> Iterator[Bubblewrap]:
    if (found := find_bubblewrap(writable)) is not None:
        yield found
        without = found._replace(known=found.known - {"--disable-userns"})  # the filter forbids new ones, too
        yield from (without, without._replace(proc="shared"))


def _contained(sandbox: Sandbox) -> Isolation:
    if sys.platform != "linux":  # the supervisor needs what only Linux has
        return _alone(sandbox)
    return Isolation(level="contained", missing=_outside(sandbox))


def _alone(sandbox: Sandbox) -> Isolation:
    return Isolation(level="none", missing=(*_outside(sandbox), "detached processes", "limits"))


def _outside(sandbox: Sandbox) -> tuple[str, ...]:
    privileged = os.name == "posix" and os.geteuid() == 0
    more = ("privileges",) if privileged else ()
    return ("files", *_unprotected(sandbox), "network", "signals", "processes", *more)


def _unprotected(sandbox: Sandbox) -> tuple[str, ...]:
    return (PROTECTED_FILES,) if sandbox.protected else ()
