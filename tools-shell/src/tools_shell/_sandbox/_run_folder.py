"""`RunFolder`: the `/tmp` and the caches that the commands of one run in one workspace share."""

from __future__ import annotations

import atexit
import os
import re
import stat
import time
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.files import is_inside, replace, state_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._git._user import UserGit

# Folders of the home that programs fill by themselves; the rest of the home is read-only.
CACHES = (".cache", ".npm", ".gradle", ".m2", ".ivy2", ".nuget", ".dotnet", ".gem", ".bundle", ".yarn", ".ipython")
GIT_FILES = (".gitconfig", ".config/git/ignore")
TMP, SHM = "/tmp", "/dev/shm"  # noqa: S108  (inside the sandbox)
_MAX_AGE = 7 * 24 * 3600  # seconds after which the folder of a run without an end is removed
_MAX_FOLDERS, _DAY = 200, 24 * 3600
_MAX_NAMES = 5  # in a message
_UNNAMED = re.compile(r"[0-9a-f]{16}-.*")  # of runs that no other process can continue
_FORCE = 'chmod -R u+rwx "$0"; rm -rf "$0"'  # commands leave folders without write permission, as Go does

_created: set[str] = set()


class RunFolder:
    """A folder on disk with the folders `tmp`, `shm` and `home`, which sandboxes show under other paths."""

    def __init__(self, path: str, visible: Sequence[str]) -> None:
        """`visible` are the other paths that a sandbox shows."""
        self.tmp, self.shm, self.home = f"{path}/tmp", f"{path}/shm", f"{path}/home"  # noqa: S108  (below a private folder)
        for folder in (self.tmp, self.shm):
            if not os.path.isdir(folder):
                os.makedirs(folder, mode=0o700, exist_ok=True)
                os.chmod(folder, 0o1777)  # noqa: S103  (as programs expect it; only this user can reach it)
        for name in CACHES:
            os.makedirs(f"{self.home}/{name}", mode=0o700, exist_ok=True)
        os.utime(path)
        home = os.path.realpath(os.path.expanduser("~"))
        inner = [f"~{path.removeprefix(home)}" for path in visible if path.startswith(f"{home}/")]  # mounts in caches
        tops = (TMP, SHM, *(f"~/{name}" for name in CACHES))
        mounted = {name for top in tops for path in (*visible, *inner) for name in _first_name(path, top)}
        self._known = {*mounted, *self._entries()}

    @property
    def writable(self) -> list[str]:
        """Return the folders that commands can write to."""
        return [self.tmp, *(f"{self.home}/{name}" for name in CACHES)]

    def news(self) -> list[str]:
        """Return a sentence about what has appeared in `/tmp` and the caches since the last call."""
        new = [path for path in self._entries() if path not in self._known]
        self._known.update(new)
        if not new:
            return []
        names = ", ".join(path if path.isprintable() else ascii(path) for path in new[:_MAX_NAMES])
        more = f" and {len(new) - _MAX_NAMES} more" if len(new) > _MAX_NAMES else ""
        return [f"new outside the workspace, and removed with this run: {names}{more}"]

    def write_git_settings(self, git: UserGit) -> None:
        """Write the user's settings of git into the home."""
        for name, text in zip(GIT_FILES, git, strict=True):
            path = f"{self.home}/{name}"
            with suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
                if file.read() == text:
                    continue
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            replace(path, text.encode(errors="surrogateescape"))

    def _entries(self) -> list[str]:
        folders = [(TMP, self.tmp), (SHM, self.shm), *((f"~/{name}", f"{self.home}/{name}") for name in CACHES)]
        return [f"{top}/{name}" for top, folder in folders for name in _names(folder)]


def _first_name(path: str, top: str) -> list[str]:
    return [f"{top}/{path[len(top) + 1 :].split('/', maxsplit=1)[0]}"] if path.startswith(f"{top}/") else []


def run_folder(run_id: str, owner: str, visible: Sequence[str]) -> RunFolder:
    """Return the folder of an owner in a run, created on first use, outside of the paths that a sandbox shows."""
    base = next((path for path in _bases() if not is_inside(os.path.realpath(path), visible)), _bases()[-1])
    try:
        os.makedirs(base, mode=0o700, exist_ok=True)
        status = os.lstat(base)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(0, "it must be a folder that only this user can access")
        path = f"{base}/{_digest(run_id)}-{_digest(owner)[:16]}"
        if not os.path.isdir(path):
            _make_room(base)
            os.makedirs(path, mode=0o700, exist_ok=True)
            _created.add(path)
        return RunFolder(path, visible)
    except OSError as error:
        message = f"temporary files cannot be stored in {base}: {error.strerror}; set TMPDIR to a folder that can be"
        raise ToolError(f"{message} written", "unavailable") from error


def remove_run_folders(run_id: str) -> None:
    """Remove the folders of a run."""
    for base in _bases():
        for name in _names(base):
            if name.startswith(f"{_digest(run_id)}-"):
                _remove(f"{base}/{name}")


def remove_unnamed() -> None:
    """Remove the folders of this process that no other can use; the folders of named runs remain for a week."""
    for path in {*_created}:
        if _UNNAMED.fullmatch(os.path.basename(path)):
            _remove(path)


def forget_after_fork() -> None:
    """Leave the folders to the parent process."""
    _created.clear()


def _digest(run_id: str) -> str:
    """Return a random run id unchanged, which differs in length from the digest of a name."""
    if _UNNAMED.fullmatch(f"{run_id}-"):
        return run_id
    return sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _bases() -> tuple[str, str]:
    import tempfile  # not on Windows

    return os.path.join(
        tempfile.gettempdir(), f"ask-tools-runs-{os.geteuid() if hasattr(os, 'geteuid') else 0}"
    ), state_path("runs")


def _names(base: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(base)
    return []


def _make_room(base: str) -> None:
    """Remove the folders of runs that were not used for a week, or for a day if there are many."""
    used: dict[str, float] = {}
    for name in _names(base):
        with suppress(OSError):  # another process removes it
            used[f"{base}/{name}"] = time.time() - os.stat(f"{base}/{name}").st_mtime
    oldest = sorted(used, key=used.__getitem__)[_MAX_FOLDERS:]
    for path in {*(path for path in oldest if used[path] > _DAY), *(path for path in used if used[path] > _MAX_AGE)}:
        _remove(path)


def _remove(path: str) -> None:
    import shutil  # not on Windows
    import subprocess

    _created.discard(path)
    try:
        shutil.rmtree(path)
    except (OSError, RecursionError):
        subprocess.run(["/bin/sh", "-c", _FORCE, path], check=False, capture_output=True)


atexit.register(remove_unnamed)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=forget_after_fork)
