"""Bash sessions: snapshots in files outside every workspace, which survive a restart of the host."""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.files import is_inside, state_path
from tools_shell._bash._snapshot import MAX_SIZE, Snapshot, parse, program, starting
from tools_shell._process._run import run
from tools_shell._sandbox._start import start

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from tools_shell._output import Output
    from tools_shell._process._run import Outcome
    from tools_shell._sandbox._command import Command
    from tools_shell._workspace import Owner

_MAX_SESSIONS = 64  # sessions of a run; the least recently used one is removed
_MAX_AGE = 30 * 24 * 3600  # seconds after which a session is removed
_MIN_DESCRIPTOR = 20  # the snapshot's descriptor is at least this; scripts use lower numbers
_PAUSE = 0.02  # seconds between attempts to lock a session


class BashSession:
    """A named session that one call has locked."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def run(
        self,
        script: str,
        command: Command,
        output: Output,
        *,
        stays: bool,
        stdin: bytes,
        limit: float,
        cancelled: Callable[[], bool],
    ) -> tuple[Outcome, bool]:
        """Run a script in the shell `command`, and save its state; return its end, and whether it was saved.

        It is not saved if the shell was killed, or its state is too large. With `stays` the script runs in the folder
        that the shell starts in.
        """
        import fcntl  # not on Windows
        import tempfile  # not on Windows

        before = self._load()
        with tempfile.TemporaryFile(buffering=0) as file:
            shared = fcntl.fcntl(file.fileno(), fcntl.F_DUPFD_CLOEXEC, _MIN_DESCRIPTOR)
            text = program(before._replace(folder="") if stays else before, script, shared)
            file.write(text)
            file.seek(0)
            arguments = [*command.arguments, "-c", starting(shared), "bash"]
            process = start(command._replace(arguments=arguments, extra=(shared,)))
            outcome = run(process, output, stdin=stdin, limit=limit, cancelled=cancelled)
            saved = os.pread(file.fileno(), MAX_SIZE + 1, len(text))
        after = parse(saved, command.environment) if len(saved) <= MAX_SIZE else None
        if after is not None and after != before:
            self._save(after)
        return outcome, after is not None

    def _load(self) -> Snapshot:
        try:
            return Snapshot(**json.loads(self._path.read_text("ascii")))
        except (OSError, ValueError, TypeError):  # a new session
            _make_room(self._path)
            return Snapshot()

    def _save(self, snapshot: Snapshot) -> None:
        new = self._path.with_suffix(".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
            json.dump(snapshot._asdict(), file)
        new.replace(self._path)


@contextmanager
def session(
    owner: Owner, name: str, settings: str, visible: Iterable[str], until: float, cancelled: Callable[[], bool]
) -> Generator[BashSession]:
    """Lock a session; ToolError if another call still has it at `until`.

    A session belongs to an owner and to sandbox settings: code from a strict sandbox never runs in a weaker one.
    """
    import fcntl  # POSIX only

    path = _state_folder(visible) / f"{_digest(owner.run_id)}-{_digest(f'{owner}:{settings}:{name}')}.json"
    try:
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = (
            f"sessions cannot be stored in {path.parent}: {error.strerror}; set XDG_STATE_HOME to a writable folder"
        )
        raise ToolError(message, "unavailable") from error
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if cancelled():
                message = f"cancelled while session {name!r} was busy; nothing was run"
                raise ToolError(message, "cancelled")
            if time.monotonic() >= until:
                message = f"session {name!r} is busy with another call; nothing was run. Use another session"
                raise ToolError(message, "conflict")
            time.sleep(_PAUSE)
        os.utime(lock)
        yield BashSession(path)
    finally:
        os.close(lock)


def end_sessions(run_id: str) -> None:
    """Remove the sessions of a run."""
    for folder in _folders():
        for lock in folder.glob(f"{_digest(run_id)}-*.lock"):
            _forget(lock)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _folders() -> tuple[Path, Path]:
    import tempfile  # not on Windows

    user = os.geteuid() if hasattr(os, "geteuid") else 0
    return Path(state_path("sessions")), Path(tempfile.gettempdir(), f"ask-tools-sessions-{user}")


def _state_folder(visible: Iterable[str]) -> Path:
    """Return the user's state folder, or a temporary folder if sandboxed commands can see it."""
    usual, other = _folders()
    chosen = other if is_inside(os.path.realpath(usual), tuple(visible)) else usual
    with suppress(OSError):
        chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = chosen.lstat()
        if stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o022:
            return chosen
    raise ToolError(
        f"sessions cannot be stored in {chosen}: it must be a folder that only this user can write to", "unavailable"
    )


def _make_room(path: Path) -> None:
    """Remove expired sessions, and the least recently used ones beyond the limit of a run."""
    used: dict[Path, float] = {}
    for lock in path.parent.glob("*.lock"):
        with suppress(OSError):  # another call removes it, too
            used[lock] = lock.stat().st_mtime
    run = path.name.partition("-")[0]
    mine = sorted((lock for lock in used if lock.name.startswith(run)), key=used.__getitem__, reverse=True)
    for lock in {*mine[_MAX_SESSIONS:], *(lock for lock in used if time.time() - used[lock] > _MAX_AGE)}:
        _forget(lock)


def _forget(lock: Path) -> None:
    for path in (lock.with_suffix(".json"), lock):
        path.unlink(missing_ok=True)
