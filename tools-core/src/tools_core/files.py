"""Work with files: atomic writing, the user's own files, the workspace, and names that tools must not change.

Programs run or trust the files with protected names later, without asking: hooks, keys, configuration with commands.
Tools that change files for a model refuse these names in every folder. Otherwise the model could arrange for code to
run outside of its tools.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import site
import sys
import unicodedata
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from stat import S_IMODE
from typing import Any, BinaryIO, NamedTuple

from tools_core._values._errors import ToolError

PROTECTED_FOLDERS = frozenset((
    *(".git", ".githooks", ".hg", ".svn", ".husky"),  # hooks, and configuration that names programs
    *(".vscode", ".idea", ".zed", ".devcontainer", ".claude", ".codex", ".cursor", ".gemini"),  # tasks, hooks, servers
    *(".ssh", ".gnupg", ".config/git", ".config/autostart", ".config/systemd"),
))  # fmt: skip
PROTECTED = PROTECTED_FOLDERS | frozenset((
    *(".gitconfig", ".gitmodules", ".gitattributes", ".mcp.json", "mcp.json", ".envrc", ".npmrc", ".pypirc", ".netrc"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".login", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", "config.fish"),
    *(".bash_aliases", ".vimrc", ".exrc", ".pdbrc"),
    *(".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".cargo/config", ".cargo/config.toml"),
    *(".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml"),
    *("ask-tools.lock", "ask-tools.toml", "policy.toml", "approvals.json"),  # decide which tools may run
    "git~1",  # the short name of `.git` on FAT and NTFS
))  # fmt: skip

# The entries of these folders that decide which programs run; the others are data that commits change.
CONTROL_FILES = {".git": ("hooks", "config", "config.worktree", "commondir"), ".hg": ("hgrc",), ".svn": ()}
# A folder with all entries of one of these groups is a git directory, whatever its name.
GIT_MARKS = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))


def replace(path: str | os.PathLike[str], data: bytes, *, mode: int = 0o666) -> None:
    """Replace the content of a file atomically: other processes read the old content or the new, never a part.

    A symbolic link stays, and its target is replaced. Permissions are preserved; a new file has `mode`, reduced by the
    umask. At no time can more users read the new content. A device or a pipe is written to.
    """
    target = os.path.realpath(path)
    exists = os.path.exists(target)
    if exists and not os.path.isfile(target):
        with open(target, "wb") as file:
            file.write(data)
        return
    mode = S_IMODE(os.stat(target).st_mode) if exists else mode
    temporary = f"{target}.{os.urandom(4).hex()}.tmp"
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode & 0o777)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # raises if the disk is full, while the old file still exists
        if exists:
            os.chmod(temporary, mode)  # without the umask
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def new_file(
    path: str, workspace: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> Generator[BinaryIO]:
    """Give a file to write, which appears as `path` in the workspace when the block ends; after an error, nothing does.

    Folders above it are made. Raises ToolError for a place outside of the workspace, also by a link; for one that other
    programs run or trust; for a file that exists, unless `overwrite` is true; and if `$ASK_TOOLS_READ_ONLY` is set.
    """
    check_can_change()
    temporary = f".{os.urandom(8).hex()}.tmp"
    conflict = ToolError(f"{path[:200]} exists already; pass overwrite=true to replace it", "conflict")
    try:
        with _folder_of(path, workspace) as (folder, name):
            if not overwrite and name in os.listdir(folder):
                raise conflict
            try:
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
                with open(descriptor, "wb") as file:
                    yield file
                    file.flush()
                    os.fsync(descriptor)  # raises if the disk is full
                try:
                    if not overwrite:  # claim the name, also where there are no hard links
                        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder))
                except FileExistsError:
                    raise conflict from None
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ToolError(f"{path[:200]!r} cannot be written: {reason}") from error


@contextmanager
def _folder_of(path: str, workspace: str | os.PathLike[str] | None) -> Generator[tuple[int, str]]:
    """Open the folder of a file to write, which is made if it is missing, and removed again after an error."""
    if os.open not in os.supports_dir_fd:
        raise ToolError("this needs Linux or macOS: files cannot be opened relative to a folder here", "unavailable")
    root = os.path.realpath(workspace_path(workspace))
    folder, name = os.path.split(os.path.join(root, path))
    above = folder = os.path.realpath(folder)
    if name in ("", ".", "..") or not is_inside(folder, [root]):
        raise ToolError(f"{path} is not a file in the workspace", "denied")
    if reason := _refusal(root, folder, name):
        raise ToolError(f"{path} is protected: {reason}", "denied")
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    os.makedirs(folder, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if real_path(descriptor) != folder:
            raise OSError(errno.ELOOP, "a link has taken the place of its folder")  # noqa: TRY301  (closes the folder)
        yield descriptor, name
    except BaseException:
        with suppress(OSError):  # another process uses it
            while folder != above:
                os.rmdir(folder)
                folder = os.path.dirname(folder)
        raise
    finally:
        os.close(descriptor)


def _refusal(root: str, folder: str, name: str) -> str:
    """Return why no tool may write a file; empty if it may."""
    path = os.path.join(folder, name)
    if part := protected_part(os.path.relpath(path, root)):
        return f"programs run or trust {part}"
    if is_inside(path, [*user_folders(), *host_folders()]):
        return "this program runs from there, or has its settings there"
    while is_inside(folder, [root]) and folder != "/":
        if os.path.isdir(folder) and is_git_directory([*os.listdir(folder), name]):
            return f"{folder} is a git repository, whose hooks git runs"
        folder, name = os.path.split(folder)
    return ""


def config_path(name: str) -> str:
    """Return the path of the user's settings file: `~/.config/ask-tools/NAME`, or below `$XDG_CONFIG_HOME`."""
    return _user_path("XDG_CONFIG_HOME", ".config", name)


def user_settings(table: str) -> dict[str, Any]:
    """Return a table of the user's settings, `~/.config/ask-tools/settings.toml`; empty without the file or the table.

    Raises: ValueError for a file that is not valid TOML, or that others may write.
    """
    path = config_path("settings.toml")
    try:
        with open(path, "rb") as file:
            data, state = file.read(), os.fstat(file.fileno())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    if hasattr(os, "geteuid") and (state.st_uid not in (0, os.geteuid()) or state.st_mode & 0o022):
        raise ValueError(f"{path}: other users may write it; run chmod go-w on it")
    import tomllib  # 3 ms, only if there are settings

    try:
        value = tomllib.loads(data.decode("utf-8-sig")).get(table, {})  # editors of Windows write a mark first
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8; save it in that encoding") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: not valid TOML: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path}: [{table}] must be a table")  # noqa: TRY004  (of a file, not of an argument)
    return value


def data_path(name: str) -> str:
    """Return the path of the user's data file: `~/.local/share/ask-tools/NAME`, or below `$XDG_DATA_HOME`."""
    return _user_path("XDG_DATA_HOME", ".local/share", name)


def state_path(name: str) -> str:
    """Return the path of the user's state file: `~/.local/state/ask-tools/NAME`, or below `$XDG_STATE_HOME`."""
    return _user_path("XDG_STATE_HOME", ".local/state", name)


def cache_path(name: str) -> str:
    """Return the path of a file that may be deleted: `~/.cache/ask-tools/NAME`, or below `$XDG_CACHE_HOME`."""
    return _user_path("XDG_CACHE_HOME", ".cache", name)


def user_folders() -> list[str]:
    """Return the real paths of the folders with the user's settings, data and state, which no tool may touch."""
    return [os.path.realpath(path("")) for path in (config_path, data_path, state_path)]


def _user_path(variable: str, default: str, name: str) -> str:
    """Return an absolute path: a relative one could lead to a file that a repository contains.

    For a user without a home folder, the path starts at the root of the file system.
    """
    folders = (os.environ.get(variable, ""), os.path.expanduser(f"~/{default}"), f"/{default}")
    return os.path.join(next(filter(os.path.isabs, folders)), "ask-tools", name)


def workspace_path(workspace: str | os.PathLike[str] | None = None) -> str:
    """Return the folder that tools work in: `workspace`, else `$ASK_TOOLS_WORKSPACE`, else the current folder."""
    return os.path.expanduser(workspace or os.environ.get("ASK_TOOLS_WORKSPACE") or ".")


class Copied(NamedTuple):
    """The original of a copied workspace, and the folders of the original that the copy shares, by relative path."""

    original: str
    shared: tuple[str, ...]


def copied_from(folder: str) -> Copied | None:
    """Return the original of a folder that tools-workspace copied; None for any other folder.

    The record is beside the copy in the user's cache, where tools that work in the copy cannot write.
    """
    parent = os.path.dirname(folder)
    if os.path.dirname(parent) != os.path.realpath(cache_path("copies")):
        return None
    try:
        with open(os.path.join(parent, "copy.json"), encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return None
    return Copied(record["workspace"], tuple(record["shared"])) if record["path"] == folder else None


def is_read_only() -> bool:
    """Return whether `$ASK_TOOLS_READ_ONLY` forbids tools to change anything."""
    return os.environ.get("ASK_TOOLS_READ_ONLY", "") not in ("", "0")


def check_can_change() -> None:
    """Raise ToolError if `$ASK_TOOLS_READ_ONLY` forbids tools to change anything."""
    if is_read_only():
        raise ToolError("ASK_TOOLS_READ_ONLY is set: tools can only read", "denied")


def real_path(descriptor: int) -> str:
    """Return the current path of an open file or folder (Linux and macOS)."""
    if sys.platform == "darwin":
        from fcntl import F_GETPATH, fcntl  # not on Windows

        return os.fsdecode(fcntl(descriptor, F_GETPATH, bytes(1024)).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of the folders or below one; only the text is compared."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def is_protected(name: str, names: frozenset[str] = PROTECTED) -> bool:
    """Return whether a file name is one of `names` in any spelling that a file system may accept.

    The name may include that of the folder above it, such as `.config/git`.
    """
    return _fold_path(name) in _folded(names)


def protected_part(path: str, names: frozenset[str] = PROTECTED) -> str | None:
    """Return the beginning of a relative path up to the first protected file or folder; None if there is none."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        if is_protected(parts[end - 1], names) or is_protected("/".join(parts[max(0, end - 2) : end]), names):
            return "/".join(parts[:end])
    return None


def fold_name(name: str) -> str:
    """Return the canonical form of a name: equal for all spellings that some file system treats as one name."""
    if name.isascii():
        return name.casefold().rstrip(". ")
    # macOS and Windows ignore differences of case and composition, and HFS+ also ignores some format characters.
    composed = unicodedata.normalize("NFKC", name)
    significant = "".join(char for char in composed if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", significant.casefold()).rstrip(". ")


@functools.cache
def _folded(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(_fold_path, names))


def _fold_path(path: str) -> str:
    return "/".join(map(fold_name, path.split("/")))


def is_git_directory(names: Iterable[str]) -> bool:
    """Return whether a folder with these entries is a git directory, whose hooks git runs."""
    folded = set(map(fold_name, names))
    return any(folded.issuperset(map(fold_name, marks)) for marks in GIT_MARKS)


def host_folders() -> list[str]:
    """Return the real paths of the folders that this process imports from: its environment, and tool packages.

    The user's site-packages folder is one of them even before it exists.
    """
    folders = {os.path.dirname(os.__file__), *site.getsitepackages()}
    if sys.prefix != sys.base_prefix:
        folders.add(sys.prefix)
    if site.ENABLE_USER_SITE:
        folders.add(site.getusersitepackages())
    for name, module in sys.modules.copy().items():
        if name.startswith("tools_") and "." not in name and (file := getattr(module, "__file__", None)):
            folders.add(os.path.dirname(file))
    return [os.path.realpath(folder) for folder in sorted(folders)]
