"""The paths that a sandboxed command can see: system, programs, workspace and settings."""

from __future__ import annotations

import glob
import os
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_core.files import host_folders, is_inside, user_folders
from tools_shell._sandbox._toolchains import passes_through, root_of_program, toolchains

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tools_shell._guard._repository import Layout
    from tools_shell._settings import Sandbox

_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"),
    "/sys/devices/system/cpu",  # the number of processors
    # What is installed, and what was prepared for installed programs.
    *("/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/texmf", "/var/lib/ghc", "/var/cache/fontconfig"),
)
# Files in /etc that programs look up; no passwords, keys or settings that may contain a token.
_ETC = """
alternatives ld.so.cache ld.so.conf ld-musl-*.path passwd group nsswitch.conf hosts services protocols localtime
timezone locale.alias locale.conf os-release ssl/certs ssl/cert.pem ssl/openssl.cnf pki/tls/certs pki/tls/cert.pem
pki/tls/openssl.cnf pki/ca-trust crypto-policies java* fonts mime.types magic magic.mime profile gitconfig perl python3*
texmf *-release *_version wgetrc bash.bashrc inputrc terminfo groff sgml xml maven/m2.conf maven/logging ImageMagick-*
R php ghc erlang lua* postgresql-common hostname host.conf manpath.config man_db.conf chromium chromium.d papersize
"""
# Commands of git that change files in the whole work tree.
_OF_THE_TREE = re.compile(
    r"\bgit\b[^\n;&|]*\b(?:am|apply|bisect|checkout|cherry-pick|merge|pull|rebase|reset|restore|revert|stash|switch)\b"
)
ENVIRONMENTS = (".venv", "venv", "env", ".env", ".pixi/envs/default")  # names of virtual environments in a project
_KERNEL = ("proc", "sys", "dev")  # if the workspace is `/`


class Visible(NamedTuple):
    """Paths that can be read and executed, and paths that can be written; none is inside another of its kind.

    `guarded` are folders inside writable ones that must not be written, `hidden` those that must not be read.
    """

    readable: tuple[str, ...]
    writable: tuple[str, ...]
    guarded: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Return all paths that can be read."""
        return (*self.readable, *self.writable)

    def can_be_guarded(self, path: str) -> bool:
        """Return whether a mount can protect a path: not if it is a link or has to be writable."""
        return os.path.realpath(path) == path and path not in self.writable and os.path.exists(path)


def visible(sandbox: Sandbox, root: str) -> Visible:
    """Return the visible paths for these settings; ToolError for a path that does not exist."""
    place, named_paths = os.path.realpath(root), _existing(sandbox.writable, "writable")
    named = list(_settled(named_paths, (place, *map(os.path.realpath, named_paths))))
    writable = _outermost([place, *named])
    etc = [*_ETC.split(), *(["resolv.conf"] if sandbox.network is True else [])]
    system = [*_SYSTEM, *(path for name in etc for path in glob.glob(f"/etc/{name}"))]
    readable = [
        *(path for path in system if os.path.exists(path)),
        *toolchains(writable, _SYSTEM),
        *_own_environment(place, writable),
        *_settled(_existing(sandbox.readable, "readable"), writable),
    ]
    outside = _outermost([path for path in readable if not is_inside(path, writable)])
    return Visible(outside, writable, _guarded(writable, [*named_paths, *named]), _hidden([*writable, *outside], place))


def _own_environment(place: str, writable: Sequence[str]) -> Iterator[str]:
    """Yield the installation behind the virtual environment of the workspace.

    A command may have written the link: only a folder with the standard library of a Python counts.
    """
    for name in ENVIRONMENTS:
        root = root_of_program(os.path.realpath(f"{place}/{name}/bin/python"))
        has_library = glob.glob(f"{glob.escape(root)}/lib*/python3*/os.py")
        if has_library and not is_inside(root, writable):
            yield root


def with_repository(sandbox: Sandbox, layout: Layout, root: str, script: str | None, *, is_alone: bool) -> Sandbox:
    """Return a sandbox with what git needs outside of the workspace.

    If the repository begins above the workspace, a switch of branches cannot write the files beside it, and would
    continue without them: only a script that `is_alone`, with git commands alone, can write the whole tree.
    """
    writable = [each for each in layout.directories if not is_inside(each, [root])]
    if layout.top and is_alone:
        writable.append(layout.top)
    elif layout.top and (script is None or _OF_THE_TREE.search(script)):
        writable = []
    readable = filter(None, [layout.top])
    return replace(sandbox, readable=(*sandbox.readable, *readable), writable=(*sandbox.writable, *writable))


def find_program(name: str, writable: Sequence[str]) -> str | None:
    """Return the path of an installed program; one in a folder that commands can write to does not count."""
    folders = filter(os.path.isabs, os.get_exec_path())
    programs = (os.path.abspath(os.path.join(folder, name)) for folder in folders)
    return next((path for path in programs if os.access(path, os.X_OK) and _is_safe(path, writable)), None)


def _is_safe(program: str, writable: Sequence[str]) -> bool:
    return "/" in writable or not passes_through(program, writable)


def escapes_through(path: str, target: str, sandbox: Sandbox) -> bool:
    """Return whether a path passes through a writable folder and ends outside."""
    named_paths = _existing(sandbox.writable, "writable")
    named = list(_settled(named_paths, list(map(os.path.realpath, named_paths))))
    return passes_through(os.path.dirname(os.path.abspath(path)), named) and not is_inside(target, named)


def top_entries() -> tuple[str, ...]:
    """Return the paths to make writable instead of `/`: all but devices and kernel settings."""
    return tuple(f"/{name}" for name in os.listdir("/") if name not in _KERNEL)


def _existing(paths: Iterable[str | os.PathLike[str]], name: str) -> list[str]:
    named_paths = [os.path.abspath(os.path.expanduser(os.fspath(path))) for path in paths]
    for path in named_paths:
        if not os.path.exists(path):
            raise ToolError(f"{name} {path!r} does not exist; name folders and files that do", "not_found")
    return named_paths


def _settled(paths: Iterable[str], writable: Sequence[str]) -> Iterator[str]:
    """Return paths in the settings and their link targets, except in writable folders, where commands make links."""
    return _with_targets(path for path in paths if not passes_through(os.path.dirname(path), writable))


def _guarded(writable: tuple[str, ...], named: list[str]) -> tuple[str, ...]:
    """Return the folders that this program runs from: a command's changes there would run at its next start."""
    prefixes = map(os.path.normpath, (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    mine = [path for path in {*prefixes, *host_folders()} if passes_through(path, writable)]
    opened = [path for path in mine if is_inside(path, named) or any(is_inside(inner, [path]) for inner in named)]
    return () if "/" in writable else _outermost({*mine} - {*opened})


def _hidden(visible: Sequence[str], place: str) -> tuple[str, ...]:
    """Return the folders of the user's own settings, approvals and sessions, unless the workspace is in one."""
    return _outermost(path for path in user_folders() if is_inside(path, visible) and not is_inside(place, [path]))


def _with_targets(paths: Iterable[str]) -> Iterator[str]:
    """Return each path and its real path, which programs may use as well."""
    for path in paths:
        yield path
        if (target := os.path.realpath(path)) != path:
            yield target


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    outermost: list[str] = []
    for path in sorted(set(paths), key=lambda path: path.split("/")):  # parents before children
        if not is_inside(path, outermost):
            outermost.append(path)
    return tuple(outermost)
