"""The arguments of bwrap: namespaces of its own for a command, in which nothing is mounted but what it may see."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tools_shell._sandbox._visible import is_inside, leads_through

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_shell._sandbox._visible import Visible

# "new" is of the command's own processes; inside containers it may be refused, and the one that is there has to do.
Proc: TypeAlias = Literal["new", "shared"]
WRAPPERS = 2  # processes between us and the command: one outside its namespace, and the first one inside

_SIZE = 1 << 30  # bytes of memory that files in /tmp may take, and as many in each of the other temporary folders
_HAS_SIZE, _HAS_DISABLE = (0, 7), (0, 8)  # the versions that brought --size and --disable-userns
_SMALL = 64 * 1024  # bytes of a file that is rather copied than mounted
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
_OF_THE_KERNEL = ("/dev", "/proc")  # who has no home may be said to live there


class Bubblewrap(NamedTuple):
    """The program, and what it is able to do here."""

    program: str
    version: tuple[int, ...]
    proc: Proc = "new"
    disables_userns: bool = True


def find_bubblewrap(writable: tuple[str, ...]) -> Bubblewrap | None:
    """The bwrap that is installed; None when there is none. It runs outside: one that commands made is none."""
    import shutil  # once

    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]
    if "/" not in writable:
        folders = [folder for folder in folders if not leads_through(folder, writable)]
    program = shutil.which("bwrap", path=os.pathsep.join(folders))
    return _examine(os.path.abspath(program)) if program else None


@functools.cache
def _examine(program: str) -> Bubblewrap | None:
    import re
    import subprocess

    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    numbers = re.findall(r"\d+", told)
    return Bubblewrap(program, tuple(int(number) for number in numbers)) if numbers else None


class Told(NamedTuple):
    """The options for bwrap, and the files that it copies, each from the descriptor of that number."""

    options: list[str]
    copies: dict[int, str]


def options(
    bubblewrap: Bubblewrap,
    seen: Visible,
    environment: Mapping[str, str],
    workdir: str,
    *,
    network: bool,
    terminal: bool,
    numbers: range = range(0),
) -> Told:
    """What bwrap is to be told before the command; the environment is in it, since that is not for bwrap itself.

    `numbers` are those of the descriptors that it may be given to copy files from.
    """
    shared = (*seen.readable, *seen.writable)
    temporary = [path for path in ("/tmp", "/dev/shm") if not is_inside(path, shared)]  # noqa: S108  (they are new ones)
    variables = {
        name: value for name, value in environment.items() if name not in _TEMPORARY or is_inside(value, seen.writable)
    }
    home = variables.get("HOME", "")
    if not is_inside(home, seen.writable):
        folder = os.path.normpath(home)
        if os.path.isabs(home) and folder != "/" and not is_inside(folder, (*shared, *_OF_THE_KERNEL)):
            temporary.append(folder)
        elif home:
            variables["HOME"] = "/tmp"  # noqa: S108  (its own)
    mounts = _mounts(bubblewrap, seen, tuple(temporary), numbers)
    told = [
        *_namespaces(bubblewrap, network=network),
        *([] if terminal else ["--new-session"]),
        *mounts.options,
        *("--chdir", workdir),
        *(word for name, value in variables.items() for word in ("--setenv", name, value)),
    ]
    return Told(told, mounts.copies)


def _namespaces(bubblewrap: Bubblewrap, *, network: bool) -> list[str]:
    # Without --die-with-parent: bwrap itself ends with the command, while what that has started may still be writing.
    # Its first process inside stays for that, as a child of the supervisor, which ends it, and with it all.
    disable = bubblewrap.disables_userns and bubblewrap.version >= _HAS_DISABLE
    return [
        "--unshare-all",
        *(["--share-net"] if network else []),
        "--unshare-user",  # even for root: what --unshare-all does is to try
        *(["--disable-userns"] if disable else []),
        *("--cap-drop", "ALL"),  # for root bwrap keeps all of them, and a remount would open everything
    ]


@functools.lru_cache(64)
def _mounts(bubblewrap: Bubblewrap, seen: Visible, temporary: tuple[str, ...], numbers: range) -> Told:
    size = ["--size", str(_SIZE)] if bubblewrap.version >= _HAS_SIZE else []
    at: dict[str, list[str]] = {path: [*size, "--tmpfs", path] for path in temporary}
    at["/dev"] = ["--dev", "/dev"]
    at["/proc"] = ["--proc", "/proc"] if bubblewrap.proc == "new" else ["--ro-bind", "/proc", "/proc"]
    is_everything = "/" in seen.writable
    if is_everything:
        at["/sys"] = ["--ro-bind", "/sys", "/sys"]
    # Each mount makes all others slower; the small files of /etc are copied instead.
    small = [path for path in seen.readable if path.startswith("/etc/") and _is_small(path)]
    copies = dict(zip(numbers, small, strict=False))
    for path in seen.readable:
        is_link = os.path.islink(path) and is_inside(os.path.realpath(path), seen.readable)
        at[path] = ["--symlink", os.readlink(path), path] if is_link else ["--ro-bind-try", path, path]
    for path in seen.writable:
        at[path] = ["--bind-try", path, path]
    for path in filter(seen.can_be_guarded, seen.guarded):
        at[path] = ["--ro-bind-try", path, path]
        # What holds it must not be moved away, which what is mounted cannot be.
        way = (path.rsplit("/", count)[0] for count in range(1, path.count("/")))
        at |= {each: ["--bind-try", each, each] for each in way if is_inside(each, seen.writable)}
    for number, path in copies.items():
        at[path] = ["--file", str(number), path]
    ordered = sorted(at.items(), key=lambda item: item[0].rstrip("/").split("/"))  # a folder comes before what is in it
    # What holds the mount points is memory of ours, without a limit; and root owns some switches in /proc.
    closed = ["/dev", *(["/proc"] if bubblewrap.proc == "new" else []), *([] if is_everything else ["/"])]
    at_last = [("--remount-ro", path) for path in closed]
    return Told([word for words in (*(words for _, words in ordered), *at_last) for word in words], copies)


def _is_small(path: str) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) <= _SMALL
