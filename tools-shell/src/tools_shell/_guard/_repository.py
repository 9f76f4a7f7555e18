"""The git directories of a workspace, and the files in them that decide which programs git runs."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tools_core.files import is_git_directory, is_inside
from tools_shell._git._config import (
    Setting,
    format_settings,
    is_unsafe,
    read_config,
    read_settings,
    replace_config,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    Hooks: TypeAlias = dict[str, tuple[int, bytes]]  # mode and content by name

CONFIG = ("config", "config.worktree")
POINTERS = ("commondir", "gitdir")  # of the git directory of a linked worktree
_MAX_HOOKS = 200
_MAX_NAMES = 8  # in a message


class Layout(NamedTuple):
    """The repository of a workspace.

    `directories` are its git directory and the common one, `pointer` is the file `.git` that names them, and `top` is
    the top of the work tree if that is above the workspace.
    """

    directories: tuple[str, ...] = ()
    pointer: str = ""
    top: str = ""


def layout_of(root: str, home: str) -> Layout:
    """Return the repository that git finds from `root` up, unless its work tree contains the user's home."""
    folder = root
    while True:
        place = f"{folder.rstrip('/')}/.git"
        top = folder if folder != root else ""
        if os.path.islink(place):
            return Layout()
        if os.path.isdir(place):
            directories = list(dict.fromkeys((place, _common(place))))
            return Layout() if top and is_inside(home, [top]) else Layout(tuple(directories), "", top)
        if os.path.isfile(place):
            return _named_by(place, top, home)
        if folder == root and is_git_directory(_names(root)):
            return Layout((root,))
        if folder == os.path.dirname(folder) or not os.access(folder, os.R_OK):
            return Layout()
        folder = os.path.dirname(folder)


def repository_outside(original: str, home: str) -> list[str]:
    """Return the folders outside of a workspace that git reads there; a copy shares them, so it must not write them."""
    layout = layout_of(original, home)
    return [path for path in (*layout.directories, layout.top) if path and not is_inside(path, [original])]


def _named_by(pointer: str, top: str, home: str) -> Layout:
    """Return the repository that a file `.git` names, if that names it as well: a command may have written the file."""
    try:
        directory = target_of(pointer)
        if not is_git_directory(_names(directory)) or (top and is_inside(home, [top])):
            return Layout()
        if os.path.exists(f"{directory}/gitdir"):  # a linked worktree
            is_mutual = target_of(f"{directory}/gitdir") == os.path.realpath(pointer)
        else:
            tree = os.path.realpath(os.path.join(directory, _work_tree(directory)))
            is_mutual = tree == os.path.dirname(os.path.realpath(pointer))
    except OSError:
        return Layout()
    return Layout(tuple(dict.fromkeys((directory, _common(directory)))), pointer, top) if is_mutual else Layout()


def _work_tree(directory: str) -> str:
    with open(f"{directory}/config", encoding="utf-8", errors="surrogateescape") as file:
        lines = (line.partition("=") for line in file)
        return next((value.strip().strip('"') for name, _, value in lines if name.strip().lower() == "worktree"), "")


def _common(directory: str) -> str:
    with suppress(OSError):
        return target_of(f"{directory}/commondir")
    return directory


def _names(folder: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)
    return []


def target_of(path: str) -> str:
    """Return the path that a file names: `.git`, or `commondir` or `gitdir` of a linked worktree."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "not a regular file", path)
        target = file.read(4096).removeprefix(b"gitdir:").strip()
    return os.path.realpath(os.path.join(os.path.dirname(path), os.fsdecode(target)))


class Repository(NamedTuple):
    """The hooks, the configuration and the pointers of a git directory, before a command."""

    identity: tuple[int, int]
    hooks: Hooks
    files: dict[str, bytes | None]

    @classmethod
    def read(cls, folder: str) -> Repository:
        """Read them; OSError if it is not a folder, and ValueError if they are too large or not regular files."""
        with _opened(folder) as pinned:
            status = os.fstat(pinned)
            files = {name: (read_config(pinned, name) or (None,))[0] for name in (*CONFIG, *POINTERS)}
            return cls((status.st_dev, status.st_ino), _read_hooks(pinned), files)


def neutralize(
    folder: str,
    before: Repository | None,
    checker: Checker,
    *,
    hooks: bool = True,
    config: bool = True,
    since: int = 0,
) -> Iterator[str]:
    """Take back what a command wrote to a git directory that makes git run programs; yield what was done.

    `before` is None if the command created the directory. Without `hooks` or `config`, these could not be written.
    Hooks that were changed before the time `since` stay: the directory may be older than the command.
    """
    with _opened(folder) as pinned:
        label = checker.label(folder)
        older = before.hooks if before else _older_hooks(pinned, since)
        if hooks and _restore_hooks(pinned, older):
            yield f"{'restored' if before and before.hooks else 'removed'} the hooks of {label}"
        files = before.files if before is not None else {}
        for name in POINTERS if files else ():
            if _restore_pointer(pinned, name, files[name]):
                yield f"{'removed' if files[name] is None else 'restored'} {label}/{name}"
        for name in CONFIG if config else ():
            if done := _restore_config(pinned, folder, name, files.get(name), checker):
                yield f"{done} {label}/{name}"


class Checker(NamedTuple):
    """The program that reads configuration, the folders that commands can write to, and names for messages."""

    git: str
    writable: tuple[str, ...]
    label: Callable[[str], str]


def _restore_pointer(folder: int, name: str, before: bytes | None) -> bool:
    try:
        now = (read_config(folder, name) or (None,))[0]
    except ValueError:
        now = b""
    if now != before:
        replace_config(folder, name, before)
    return now != before


def _restore_config(folder: int, path: str, name: str, before: bytes | None, checker: Checker) -> str:
    """Restore or clean a configuration file if necessary; return what was done."""
    try:
        now = (read_config(folder, name) or (None,))[0]
    except ValueError:  # a link, for example
        now = b"["
    if now == before or not checker.git:
        return ""
    if now is None:
        replace_config(folder, name, before)
        return "restored"
    settings = read_settings(now, checker.git)
    if settings is None:
        replace_config(folder, name, before or b"")
        return "restored the readable content of"
    allowed = {*(read_settings(before or b"", checker.git) or ())}
    unsafe = [setting for setting in settings if setting not in allowed and _is_unsafe(setting, path, checker.writable)]
    if not unsafe:
        return ""
    if before is not None and [setting for setting in settings if setting not in unsafe] == read_settings(
        before, checker.git
    ):
        replace_config(folder, name, before)  # with its comments
        return f"removed {_keys(unsafe)} from"
    remaining = [setting for setting in settings if setting not in unsafe]
    replace_config(folder, name, format_settings(remaining).encode("utf-8", "surrogateescape"))
    return f"removed {_keys(unsafe)} from"


def _keys(settings: list[Setting]) -> str:
    return ", ".join(dict.fromkeys(key if key.isprintable() else ascii(key) for key, _ in settings[:_MAX_NAMES]))


def _is_unsafe(setting: Setting, folder: str, writable: tuple[str, ...]) -> bool:
    if setting[0] == "core.worktree":  # in the git directory of a submodule
        return not is_inside(os.path.realpath(os.path.join(folder, setting[1] or "")), writable)
    return is_unsafe(setting)


def _restore_hooks(folder: int, before: Hooks) -> bool:
    """Restore the hooks of an open git directory; return whether that was necessary."""
    try:
        now = _read_hooks(folder)
    except (OSError, ValueError):  # a link, or a hook that is too large
        now = None
    if now == before:
        return False
    try:
        hooks = os.open("hooks", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink("hooks", dir_fd=folder)
        os.mkdir("hooks", dir_fd=folder)
        hooks = os.open("hooks", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        entries = {name: _entry(hooks, name) for name in {*os.listdir(hooks), *before} if not name.endswith(".sample")}
        for name, entry in entries.items():
            if entry != before.get(name):
                _replace_entry(hooks, name, before.get(name))
    finally:
        os.close(hooks)
    return True


def _older_hooks(folder: int, since: int) -> Hooks:
    """Return the hooks that were last changed before a time, which commands cannot set."""
    if not since:
        return {}
    with suppress(OSError, ValueError):
        path = f"/proc/self/fd/{folder}/hooks"
        return {
            name: entry for name, entry in _read_hooks(folder).items() if os.lstat(f"{path}/{name}").st_ctime_ns < since
        }
    return {}


def _read_hooks(folder: int) -> Hooks:
    try:
        hooks = os.open("hooks", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return {}
    try:
        names = [name for name in os.listdir(hooks) if not name.endswith(".sample")]
        if len(names) > _MAX_HOOKS:
            raise ValueError("too many hooks")
        entries = {name: _entry(hooks, name) for name in names}
        return {name: entry for name, entry in entries.items() if entry is not None}
    finally:
        os.close(hooks)


def _entry(hooks: int, name: str) -> tuple[int, bytes] | None:
    """Return the mode, and the content or the target of a link; None for a folder, which git does not run."""
    try:
        mode = os.stat(name, dir_fd=hooks, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        return mode, os.fsencode(os.readlink(name, dir_fd=hooks))
    read = read_config(hooks, name) if stat.S_ISREG(mode) else None
    return None if read is None else (mode, read[0])


def _replace_entry(hooks: int, name: str, before: tuple[int, bytes] | None) -> None:
    mode, data = before or (0, None)
    if data is None or stat.S_ISREG(mode):
        with suppress(FileNotFoundError):
            replace_config(hooks, name, data)
    if stat.S_ISREG(mode):
        os.chmod(name, stat.S_IMODE(mode), dir_fd=hooks)
    elif data is not None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=hooks)
        os.symlink(os.fsdecode(data), name, dir_fd=hooks)


@contextmanager
def _opened(folder: str) -> Generator[int]:
    """Open a folder, but not the target of a link."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
