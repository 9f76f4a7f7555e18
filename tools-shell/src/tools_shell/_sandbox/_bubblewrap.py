"""The arguments of bwrap: separate namespaces for a command, with nothing mounted but what it may see."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tools_shell._sandbox._visible import is_inside, leads_through

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_shell._sandbox._guard import Mount
    from tools_shell._sandbox._visible import Visible

# "new" is of the command's own processes; inside containers it may be refused, and the one that is there has to do.
Proc: TypeAlias = Literal["new", "shared"]
WRAPPERS = 2  # processes between us and the command: one outside its namespace, and the first one inside

_SIZE = 1 << 30  # bytes of memory at most that files in /tmp take, and as many in each of the other temporary folders
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
_TMP, _SHM = "/tmp", "/dev/shm"  # noqa: S108  (those of the sandbox)
_OF_THE_KERNEL = ("/dev", "/proc")  # some users have one of these as their home


class Bubblewrap(NamedTuple):
    """The program, and what it is able to do here."""

    program: str
    known: frozenset[str]  # options that not all versions have
    proc: Proc = "new"


def find_bubblewrap(writable: tuple[str, ...]) -> Bubblewrap | None:
    """The bwrap that is installed; None when there is none. It runs outside: one that commands made is none."""
    import shutil  # once

    found = (shutil.which("bwrap", path=folder) for folder in os.get_exec_path() if os.path.isabs(folder))
    program = next((one for one in found if one and ("/" in writable or not leads_through(one, writable))), None)
    return _examine(os.path.abspath(program)) if program else None


@functools.cache
def _examine(program: str) -> Bubblewrap | None:
    import re  # once
    import subprocess

    try:
        usage = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    known = frozenset(re.findall("--(?:size|disable-userns|ro-bind-fd)", usage))
    return Bubblewrap(program, known) if "--unshare-all" in usage else None


def options(  # noqa: PLR0913  (each is a fact of the command)
    bubblewrap: Bubblewrap,
    seen: Visible,
    environment: Mapping[str, str],
    workdir: str,
    *,
    network: bool,
    terminal: bool,
    memory: float | None = None,
    guarded: Sequence[tuple[int, Mount]] = (),
    ignore: int | None = None,
) -> list[str]:
    """Return the options of bwrap. The environment is among them, since it is not for bwrap itself.

    All temporary folders together take at most `memory` bytes. `guarded` are more mounts, each with the number of its
    descriptor. `ignore` is the number of a descriptor with names for git to ignore.
    """
    shared = (*seen.readable, *seen.writable)
    # New ones; so is /dev, even where everything is shown.
    wanted = ((_TMP, shared), (_SHM, {*shared} - {"/"}))
    temporary = [path for path, named in wanted if not is_inside(path, named)]
    variables = {
        name: value for name, value in environment.items() if name not in _TEMPORARY or is_inside(value, seen.writable)
    }
    room = _TMP if is_inside(_TMP, (*temporary, *seen.writable)) else _SHM
    if room != _TMP:
        variables.setdefault("TMPDIR", room)
    home = variables.get("HOME", "")
    if not is_inside(home, seen.writable):
        folder = os.path.normpath(home)
        if os.path.isabs(home) and folder != "/" and not is_inside(folder, (*shared, *_OF_THE_KERNEL)):
            temporary.append(folder)
        elif home:
            variables["HOME"] = room
    size = _SIZE if memory is None else max(min(_SIZE, int(memory) // (len(temporary) or 1)), 1)
    mounts, last = _mounts(bubblewrap, seen, tuple(temporary), size)
    at = {
        mount.path: ["--bind-fd" if mount.writable else "--ro-bind-fd", str(number), mount.path]
        for number, mount in guarded
    }
    ordered = sorted({**mounts, **at}.items(), key=lambda item: item[0].rstrip("/").split("/"))
    home = variables.get("HOME", "")
    is_new = "XDG_CONFIG_HOME" not in variables and is_inside(home, temporary) and not is_inside(home, shared)
    return [
        *_namespaces(bubblewrap, network=network),
        *([] if terminal else ["--new-session"]),
        *(word for _, words in ordered for word in words),  # a folder comes before what is in it
        *(["--file", str(ignore), f"{home}/.config/git/ignore"] if ignore and is_new else []),
        *last,
        *("--chdir", workdir),
        *(word for name, value in variables.items() for word in ("--setenv", name, value)),
    ]


def _namespaces(bubblewrap: Bubblewrap, *, network: bool) -> list[str]:
    # Without --die-with-parent: bwrap itself ends with the command, while what that has started may still be writing.
    # Its first process inside stays for that, as a child of the supervisor, which ends it, and with it all.
    return [
        "--unshare-all",
        *(["--share-net"] if network else []),
        "--unshare-user",  # even for root: what --unshare-all does is to try
        *({"--disable-userns"} & bubblewrap.known),
        *("--cap-drop", "ALL"),  # for root bwrap keeps all of them, and a remount would open everything
    ]


@functools.lru_cache(64)
def _mounts(
    bubblewrap: Bubblewrap, seen: Visible, temporary: tuple[str, ...], size: int
) -> tuple[dict[str, list[str]], list[str]]:
    """Return options by path, and those that come after all of them."""
    sized = ["--size", str(size)] if "--size" in bubblewrap.known else []
    at: dict[str, list[str]] = {path: [*sized, "--tmpfs", path] for path in temporary}
    at["/dev"] = ["--dev", "/dev"]
    at["/proc"] = ["--proc", "/proc"] if bubblewrap.proc == "new" else ["--ro-bind", "/proc", "/proc"]
    is_everything = "/" in seen.writable
    if is_everything:
        at["/sys"] = ["--ro-bind", "/sys", "/sys"]
    for path in seen.readable:
        is_link = os.path.islink(path) and is_inside(os.path.realpath(path), seen.readable)
        at[path] = ["--symlink", os.readlink(path), path] if is_link else ["--ro-bind-try", path, path]
    for path in seen.writable:
        at[path] = ["--bind-try", path, path]
    for path in filter(seen.can_be_guarded, seen.guarded):
        at[path] = ["--ro-bind-try", path, path]
        # The folders above it become mounts, since a mount cannot be moved away.
        way = (path.rsplit("/", count)[0] for count in range(1, path.count("/")))
        at |= {each: ["--bind-try", each, each] for each in way if is_inside(each, seen.writable)}
    # The folders of mount points are memory without a limit, and root owns some switches in /proc.
    closed = ["/dev", *(["/proc"] if bubblewrap.proc == "new" else []), *([] if is_everything else ["/"])]
    return at, [word for path in closed for word in ("--remount-ro", path)]
