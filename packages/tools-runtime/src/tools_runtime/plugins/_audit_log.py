"""`AuditLog`: a log of calls as lines of JSON."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_core import ToolError
from tools_runtime._events import describe_error, log
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._calls import arguments_of, content_size
from tools_runtime.plugins._redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from os import PathLike

    from tools_core import Context, Result
    from tools_runtime._events import Event

_MAX_LINE = 65_536  # bytes; a longer line has no arguments
_MAX_TEXT = 200  # characters of names and errors
# No symbolic link is followed: in a shared folder another user may have put one there.
_SOME = ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")  # which some systems lack
_FLAGS = reduce(or_, (getattr(os, name, 0) for name in _SOME), os.O_WRONLY | os.O_APPEND | os.O_CREAT)


class AuditLog:
    """Write a line of JSON when a call starts, when it is retried and when it ends.

    Each line has `time` (UTC), `event` (start, retry, end), `run` (its id), `id` (of the call), `attempt`, `tool`,
    `runtime`, `pid` and the values that `identify` returns. A start has `arguments`. A retry has `delay` and
    `error_type`. An end has `seconds`, `result` (ok, error, halted), `bytes` (the size of the content), `approval` (by,
    scope, key) if a user approved the call, and for an error `error_type` and the first line of the message as `error`.
    An end with attempt 0 belongs to a call that did not run: it was denied, or answered from a cache.

    Neither output nor metadata of tools is written. Secrets are hidden in arguments and errors: values of names that
    look secret, passwords in URLs and options, well-known tokens and private keys, and the values `redact`.

    Several threads and processes may share the file, forked ones included.

    Args:
        path: The file, created with mode 0600. Symbolic links are refused.
        redact: Values to hide.
        identify: Returns more members for the lines of a call, such as `{"user": context.state["user"]}`.
        max_bytes: The size at which the file is renamed to `path.1`, and `path.1` to `path.2`.
        backups: The number of renamed files to keep.
        required: Refuse a call whose first line cannot be written, such as on a full disk. Otherwise the failure is
            logged and the call runs.
    """

    blocks = False

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        redact: Iterable[str] = (),
        identify: Callable[[Context], Mapping[str, Any]] | None = None,
        max_bytes: int = 50_000_000,
        backups: int = 5,
        required: bool = False,
    ) -> None:
        self._file = _LogFile(path, max_bytes, backups)
        self._redactor = Redactor(redact)
        self._identify = identify
        self.required = required
        self._calls: dict[int, _Call] = {}  # by the id of the context, which lives until the end event

    @hookimpl
    def on_event(self, event: Event) -> None:
        """Write the line."""
        if event.kind == "start":
            arguments = arguments_of(event.call)
            call = self._calls[id(event.context)] = _Call(event.at, event.detail.get("runtime"))
            text = "<not a JSON object>" if arguments is None else self._redactor.copy(arguments)
            call.failure = self._write(event, call, {"arguments": text})
        elif event.kind == "retry":
            self._write(event, self._calls[id(event.context)], dict(event.detail))
        elif event.kind == "end" and event.result is not None:
            call = self._calls.pop(id(event.context))
            seconds = {"seconds": round(event.at - call.began, 6)}
            self._write(event, call, seconds | _facts_of(event.result, self._redactor))

    @hookimpl(tryfirst=True)
    def around_tool_call(self, context: Context) -> Generator[Any, Any, None]:
        """Refuse a call whose start could not be logged."""
        failure = self._calls[id(context)].failure
        if self.required and failure is not None:
            raise ToolError(f"the call was not run: the audit log cannot be written: {failure}", "unavailable")
        yield

    def _write(self, event: Event, call: _Call, facts: dict[str, Any]) -> str | None:
        """Write a line; return why that failed."""
        context = event.context
        head = {
            "time": datetime.now(UTC).isoformat(timespec="microseconds"),
            "event": event.kind,
            "run": event.run_id[:_MAX_TEXT],
            "id": str(event.call.id or context.call_id or "")[:_MAX_TEXT] or None,
            "attempt": event.attempt,
            "tool": event.call.name[:_MAX_TEXT],
            "runtime": call.runtime,
            "pid": os.getpid(),
        }
        try:
            identity = {} if self._identify is None else self._redactor.copy(self._identify(context))
            line = _encode({**identity, **head, **facts})
            if len(line) > _MAX_LINE:
                line = _encode({**identity, **head, "arguments": f"<{len(line)} bytes>"})
            self._file.write(line.encode("ascii") + b"\n")
        except Exception as error:  # noqa: BLE001  (OSError, or whatever identify raises)
            log.error("the audit log %s cannot be written: %s", self._file.path, describe_error(error))
            return describe_error(error)
        return None


@dataclass
class _Call:
    """A call between its start and its end."""

    began: float
    runtime: str | None
    failure: str | None = None


def _facts_of(result: Result, redactor: Redactor) -> dict[str, Any]:
    facts: dict[str, Any] = {"result": "halted" if result.halted else "ok" if result.ok else "error"}
    facts["bytes"] = content_size(result)
    if not result.ok:
        facts["error_type"] = redactor.text(result.error_type or "", _MAX_TEXT)
        if result.error_type != "validation_error":  # which shows parts of arguments
            facts["error"] = redactor.text((result.error or "").strip().partition("\n")[0], _MAX_TEXT)
    approval = result.metadata.get("approval")
    if isinstance(approval, Mapping):
        facts["approval"] = redactor.copy({name: approval.get(name) for name in ("by", "scope", "key")})
    return facts


_encode = json.JSONEncoder(separators=(",", ":")).encode


class _LogFile:
    """Appends each line by one write, so that lines of several writers never mix, without a lock.

    A file of `max_bytes` becomes `path.1`, that one `path.2`, and so on up to `backups`.
    """

    def __init__(self, path: str | PathLike[str], max_bytes: int, backups: int) -> None:
        if max_bytes < 1 or backups < 1:
            raise ValueError("max_bytes and backups must be at least 1")
        self.path = Path(path).expanduser().absolute()  # the current folder may change later
        self._max_bytes = max_bytes
        self._backups = backups
        self._is_torn = False

    def write(self, line: bytes) -> None:
        """Append a line; OSError if that fails."""
        file = os.open(self.path, _FLAGS, 0o600)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "is not a regular file", str(self.path))
            if os.name == "posix" and status.st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "belongs to another user", str(self.path))
            if os.name == "posix" and status.st_mode & 0o077:
                os.fchmod(file, 0o600)
            data = b"\n" + line if self._is_torn else line
            self._is_torn = os.write(file, data) < len(data)
            if self._is_torn:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            if status.st_size + len(data) >= self._max_bytes:
                self._rotate(file)
        finally:
            os.close(file)

    def _rotate(self, file: int) -> None:
        """Rename the files, unless another writer does it or has done it."""
        import fcntl  # not on Windows, where a log cannot be rotated

        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(file), self.path.lstat()):
                return
            for number in range(self._backups, 1, -1):
                with suppress(FileNotFoundError):
                    self._backup(number - 1).replace(self._backup(number))
            self.path.replace(self._backup(1))  # last: from now on another process may create and rotate a new file

    def _backup(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")
