"""Choosing the strongest isolation that works on this machine, by trying it."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.files import host_folders, is_inside, user_folders
from tools_core.linux import LANDLOCK_SCOPES, landlock_abi
from tools_shell._git._user import UserGit, user_git
from tools_shell._sandbox._bubblewrap import find_bubblewrap
from tools_shell._sandbox._isolation import PROTECTED_FILES, Isolation
from tools_shell._sandbox._visible import Visible, find_program, visible

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from tools_shell._process._network import Network
    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._settings import Sandbox


_OWN_FILES = "the workspace contains settings and approvals of ask-tools, which only bubblewrap can hide"


@contextmanager
def guarded(
    isolation: Isolation, root: str, names: frozenset[str], *, is_lasting: bool, configures: bool
) -> Generator[Isolation]:
    """Guard the protected names while a command starts in the `with` block; yield the isolation with its guard.

    See `Guard` for the options.
    """
    if isolation.level == "none" or not names:
        yield isolation
        return
    from tools_shell._guard._guard import Guard  # POSIX only

    # Without a sandbox commands can write everywhere, so that only the workspace is compared.
    view = isolation.view if isolation.is_sandbox else Visible((), (root,))
    covered = (*view.hidden, *filter(view.can_be_guarded, view.guarded))
    options = {"mounts": isolation.can_mount, "is_lasting": is_lasting, "configures": configures}
    guard = Guard(root, view.writable, names, find_git(isolation), covered=covered, **options)
    try:
        yield replace(isolation, guard=guard)
    finally:
        guard.close()


def network_for(
    isolation: Isolation, root: str, run_id: str, hosts: tuple[str, ...], *, is_lasting: bool
) -> Network | None:
    """Return the private network that the commands of a run share, with a way to some hosts.

    The first lasting command creates it, or the first one at all if there are hosts. There is none if commands use the
    network of the host, or if the sandbox cannot enter one.
    """
    if isolation.level not in {"bubblewrap", "landlock"} or isolation.network:
        return None
    from tools_shell._process._network import networks  # Linux only
    from tools_shell._sandbox._probe import works_in_network

    key = isolation.level, isolation.bubblewrap
    # In bubblewrap each command has a network; in Landlock it has none otherwise.
    if not (is_lasting or hosts or isolation.level == "landlock") or not _in_network.get(key, True):
        return networks.get(run_id)
    with suppress(OSError):
        network = networks.add(run_id, hosts)
        if key not in _in_network:
            _in_network[key] = works_in_network(isolation, root, network)
        return network if _in_network[key] else None
    return None


_in_network: dict[tuple[str, Bubblewrap | None], bool] = {}  # whether a sandbox starts in a private network


def git_settings(isolation: Isolation, root: str) -> UserGit:
    """Return the user's git settings for commands in a sandbox, which hides them."""
    return user_git(find_git(isolation), root) if isolation.is_sandbox else UserGit()


def find_git(isolation: Isolation) -> str:
    """Return the program that checks configuration, which commands cannot replace; "" if there is none."""
    return find_program("git", isolation.view.writable if isolation.is_sandbox else ()) or ""


def isolation_for(sandbox: Sandbox, root: str) -> Isolation:
    """Return the strongest level for these settings and this workspace; ToolError without a required level."""
    if sandbox.level in {"none", "contained"}:
        return _without(sandbox)
    chosen: Isolation | str = "sandboxes need Linux"
    if sys.platform == "linux":
        folders = (*host_folders(), *user_folders())
        chosen = _best(sandbox, os.path.realpath(root), os.geteuid(), os.environ.get("PATH"), *folders)
    if isinstance(chosen, Isolation):
        for folder in chosen.view.hidden:
            if is_inside(folder, chosen.view.writable):
                os.makedirs(folder, mode=0o700, exist_ok=True)  # to cover it, or commands could create it
        return chosen
    if _OWN_FILES in chosen:
        raise ToolError(f"{chosen}; use a folder below it as the workspace", "unavailable")
    if sandbox.level != "sandboxed":
        message = f"a sandbox is required and there is none: {chosen}; or ask for the level 'sandboxed' to go without"
        raise ToolError(message, "unavailable")
    return _without(sandbox)


@functools.lru_cache(256)  # a host may use many workspaces
def _best(sandbox: Sandbox, place: str, *_: object) -> Isolation | str:
    """Probe once for each combination of arguments."""
    from tools_shell._sandbox._probe import first_that_works  # Linux only

    problem = first_that_works(candidates(sandbox, place), place, _levels(sandbox.level))
    if isinstance(problem, str) and landlock_abi() and any(is_inside(path, [place]) for path in user_folders()):
        return f"{problem}; {_OWN_FILES}"
    return problem


def candidates(sandbox: Sandbox, root: str) -> list[Isolation]:
    """Return the levels that may work on this Linux for these settings and this workspace, strongest first."""
    view, version = visible(sandbox, root), landlock_abi()
    is_everything = "/" in view.writable
    chosen = [
        Isolation(
            level="bubblewrap",
            missing=_true(
                {
                    "files": is_everything,
                    PROTECTED_FILES: bool(sandbox.protected)
                    and (is_everything or "--ro-bind-fd" not in variant.options),
                    "own environment": not all(map(view.can_be_guarded, view.guarded)),
                    "abstract sockets": sandbox.network is True and version < LANDLOCK_SCOPES,
                    "process list": variant.proc == "shared",
                }
            ),
            network=sandbox.network is True,
            view=view,
            bubblewrap=variant,
        )
        for variant in _variants(view.writable)
    ]
    if version and (is_everything or not any(is_inside(path, view.writable) for path in view.hidden)):
        missing = _true(
            {
                "files": is_everything,
                PROTECTED_FILES: bool(sandbox.protected),
                "own environment": bool(view.guarded),
                "own settings": bool(view.hidden),
                "file metadata": True,
                "signals": version < LANDLOCK_SCOPES,
                "process list": True,
            }
        )
        chosen.append(Isolation(level="landlock", missing=missing, network=sandbox.network is True, view=view))
    return [level for level in chosen if level.level in _levels(sandbox.level)]


def _levels(level: str) -> tuple[str, ...]:
    return ("bubblewrap", "landlock") if level in {"sandboxed", "required"} else (level,)


def _variants(writable: tuple[str, ...]) -> Iterator[Bubblewrap]:
    if (chosen := find_bubblewrap(writable)) is not None:
        yield chosen
        without = chosen._replace(options=chosen.options - {"--disable-userns"})  # the filter refuses them, too
        yield from (without, without._replace(proc="shared"))


def _without(sandbox: Sandbox) -> Isolation:
    """Return "contained" or, outside Linux or by the settings, "none"."""
    is_contained = sandbox.level != "none" and sys.platform == "linux"
    missing = _true(
        {
            "files": True,
            PROTECTED_FILES: bool(sandbox.protected),
            "network": True,
            "signals": True,
            "processes": True,
            "privileges": os.name == "posix" and os.geteuid() == 0,
            "detached processes": not is_contained,
            "limits": not is_contained,
        }
    )
    return Isolation(level="contained" if is_contained else "none", missing=missing)


def _true(facts: Mapping[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, is_true in facts.items() if is_true)
