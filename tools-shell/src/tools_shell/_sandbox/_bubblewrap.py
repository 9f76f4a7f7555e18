"""The arguments of bwrap: new namespaces, in which only visible paths are mounted."""

from __future__ import annotations

import errno
import functools
import os
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tools_core import ToolError
from tools_core.files import is_inside
from tools_shell._sandbox._run_folder import CACHES, GIT_FILES, SHM, TMP
from tools_shell._sandbox._visible import find_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_core.files import Copied
    from tools_shell._guard._guard import Mount
    from tools_shell._sandbox._run_folder import RunFolder
    from tools_shell._sandbox._visible import Visible

# "new" shows only the command's processes. Containers may forbid that; then the existing one is shared.
Proc: TypeAlias = Literal["new", "shared"]
WRAPPERS = 2  # processes before the command: bwrap outside the namespace, and the first process inside

# Errors of a machine that is busy or full. They say nothing about a sandbox, and must not lower the level.
PASSING = frozenset((errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EPIPE))
_HELP_TIMEOUT = 30.0  # seconds for `bwrap --help` on a busy machine
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
_OF_THE_KERNEL = ("/dev", "/proc")  # the home of some system users


class Bubblewrap(NamedTuple):
    """The bwrap program and its features on this machine."""

    program: str
    options: frozenset[str]  # options that older versions lack
    proc: Proc = "new"


def find_bubblewrap(writable: tuple[str, ...]) -> Bubblewrap | None:
    """Return the installed bwrap, or None."""
    program = find_program("bwrap", writable)
    return _examine(program) if program else None


@functools.cache
def _examine(program: str) -> Bubblewrap | None:
    """Return the features of bwrap; None if it is too old. A failure raises, so that it is not cached."""
    import re  # runs once
    import subprocess

    try:
        usage = subprocess.run(
            [program, "--help"], capture_output=True, text=True, timeout=_HELP_TIMEOUT, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        if isinstance(error, OSError) and error.errno not in PASSING:
            return None
        raise ToolError(f"{program} cannot be run now: {error}; try again", "unavailable") from error
    options = frozenset(re.findall("--(?:disable-userns|ro-bind-fd)", usage))
    return Bubblewrap(program, options) if "--unshare-all" in usage else None


def options(  # noqa: PLR0913  (properties of one command)
    bubblewrap: Bubblewrap,
    view: Visible,
    environment: Mapping[str, str],
    workdir: str,
    *,
    network: bool,
    terminal: bool,
    folder: RunFolder | None = None,
    guarded: Sequence[tuple[int, Mount]] = (),
    copy: tuple[str, Copied] | None = None,
) -> list[str]:
    """Return the options of bwrap, which include the command's environment.

    `folder` has the temporary files of the run. `guarded` are further mounts with the numbers of their descriptors.
    `copy` is the path of a copied workspace, which is mounted at the path of its original, too.
    """
    hidden = tuple(filter(os.path.isdir, view.hidden))  # they may be created later than the first command runs
    mounts, last = _mounts(bubblewrap, view, hidden)
    writable = (*view.writable, *([copy[1].original] if copy is not None else []))
    temporary, closed, variables = _temporary_folders(view._replace(writable=writable), environment, folder)
    at = {
        mount.path: ["--bind-fd" if mount.writable else "--ro-bind-fd", str(number), mount.path]
        for number, mount in guarded
    }
    at = {**temporary, **mounts, **at}
    if copy is not None:
        at = _at_original(at, *copy)
        workdir = os.path.normpath(os.path.join(copy[1].original, os.path.relpath(workdir, copy[0])))
    ordered = sorted(at.items(), key=lambda item: item[0].rstrip("/").split("/"))
    return [
        *_namespaces(bubblewrap, network=network),
        *([] if terminal else ["--new-session"]),
        *(word for _, words in ordered for word in words),  # parents before children
        *last,
        *(word for path in closed for word in ("--remount-ro", path)),
        *("--chdir", workdir),
        *(word for name, value in variables.items() for word in ("--setenv", name, value)),
    ]


def _at_original(mounts: Mapping[str, list[str]], copy: str, copied: Copied) -> dict[str, list[str]]:
    """Add mounts of a copy at the path of the original, so that absolute paths and links lead into the copy.

    The folders that they share are read-only. Mounts of entries that the copy has are left out.
    """
    original = copied.original

    def is_copied(path: str) -> bool:
        return is_inside(path, [original]) and os.path.lexists(os.path.join(copy, os.path.relpath(path, original)))

    at = {path: words for path, words in mounts.items() if not is_copied(path)}
    at[original] = ["--bind", copy, original]
    for name in copied.shared:
        at |= {f"{top}/{name}": ["--ro-bind-try", f"{original}/{name}", f"{top}/{name}"] for top in (copy, original)}
    return at


def _temporary_folders(
    view: Visible, environment: Mapping[str, str], folder: RunFolder | None
) -> tuple[dict[str, list[str]], list[str], dict[str, str]]:
    """Return the mounts of temporary folders, those among them to close, and variables that name a home and others.

    The home is read-only, except for caches, and so are folders in /tmp that lead to the workspace: a file that is
    moved there would be lost.
    """
    shared = (*view.readable, *view.writable)
    mounts: dict[str, list[str]] = {}
    # /dev is fresh even if everything is visible.
    for path, source, named in ((TMP, folder and folder.tmp, shared), (SHM, folder and folder.shm, {*shared} - {"/"})):
        if not is_inside(path, named):
            mounts[path] = ["--bind", source, path] if source else ["--tmpfs", path]
    variables = {
        name: value for name, value in environment.items() if name not in _TEMPORARY or is_inside(value, view.writable)
    }
    room = TMP if is_inside(TMP, (*mounts, *view.writable)) else SHM
    if room != TMP:
        variables.setdefault("TMPDIR", room)
    home, closed = os.path.normpath(variables.get("HOME", "") or "."), []
    if not is_inside(variables.get("HOME", ""), view.writable):
        if os.path.isabs(home) and home != "/" and not is_inside(home, (*shared, *_OF_THE_KERNEL)):
            closed.append(home)
            if folder is not None:
                mounts |= {f"{home}/{name}": ["--bind", f"{folder.home}/{name}", f"{home}/{name}"] for name in CACHES}
                names = [name for name in GIT_FILES if not is_inside(f"{home}/{name}", shared)]
                mounts |= {f"{home}/{name}": ["--ro-bind", f"{folder.home}/{name}", f"{home}/{name}"] for name in names}
            variables["HOME"] = home
        elif "HOME" in variables:
            variables["HOME"] = room
    if TMP in mounts:
        tops = {"/".join(path.split("/")[:3]) for path in (*shared, *closed) if path.startswith(f"{TMP}/")}
        closed += sorted(top for top in tops if top not in (*shared, *closed))
    mounts |= {path: ["--tmpfs", path] for path in closed}
    return mounts, closed, variables


def _namespaces(bubblewrap: Bubblewrap, *, network: bool) -> list[str]:
    # Without --die-with-parent: bwrap exits with the command, whose descendants may still be writing. The first process
    # inside stays as a child of the supervisor, which kills it and so all of them.
    return [
        "--unshare-all",
        *(["--share-net"] if network else []),
        "--unshare-user",  # --unshare-all only tries this
        *({"--disable-userns"} & bubblewrap.options),
        *("--cap-drop", "ALL"),  # bwrap keeps root's capabilities, and a remount would open everything
    ]


@functools.lru_cache(64)
def _mounts(bubblewrap: Bubblewrap, view: Visible, hidden: tuple[str, ...]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the mount options by path, and the options that follow them; `hidden` folders are covered."""
    at: dict[str, list[str]] = {"/dev": ["--dev", "/dev"]}
    at["/proc"] = ["--proc", "/proc"] if bubblewrap.proc == "new" else ["--ro-bind", "/proc", "/proc"]
    is_everything = "/" in view.writable
    if is_everything:
        at["/sys"] = ["--ro-bind", "/sys", "/sys"]
    for path in view.readable:
        is_link = os.path.islink(path) and is_inside(os.path.realpath(path), view.readable)
        at[path] = ["--symlink", os.path.realpath(path), path] if is_link else ["--ro-bind-try", path, path]
    for path in view.writable:
        at[path] = ["--bind-try", path, path]
    read_only = filter(view.can_be_guarded, view.guarded)
    covers = ((path, ["--tmpfs", path]) for path in hidden)
    for path, words in (*((path, ["--ro-bind-try", path, path]) for path in read_only), *covers):
        at[path] = words
        # Its parent folders become mounts, which cannot be moved away.
        above = (path.rsplit("/", count)[0] for count in range(1, path.count("/")))
        at |= {folder: ["--bind-try", folder, folder] for folder in above if is_inside(folder, view.writable)}
    # Folders of mount points are memory without a limit, and root can write to kernel settings in /proc.
    closed = [
        "/dev",
        *hidden,
        *(["/proc"] if bubblewrap.proc == "new" else []),
        *([] if is_everything else ["/"]),
    ]
    return at, [word for path in closed for word in ("--remount-ro", path)]
