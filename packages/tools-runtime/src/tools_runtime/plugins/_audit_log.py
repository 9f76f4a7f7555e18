"""What was called, by JSON Lines."""

from __future__ import annotations

import json
import os
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

from tools_core import ToolError
from tools_runtime._effects import Blocking
from tools_runtime._log import log
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._facts import arguments_of
from tools_runtime.plugins._log_file import LogFile
from tools_runtime.plugins._redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from os import PathLike

    from tools_core import Context, Result, ToolCall

_LINE = 65_536  # bytes of a line; of a longer one those parts are left out that can be large
_LARGE = ("arguments", "metadata")


class AuditLog:
    """Writes a line when a call starts and a line when it ends, as JSON, into a file that several processes may share.

    A line has `time` (UTC), `event`, `run` (the same in both lines of a call), `pid`, `id` (the provider's), `tool` and
    `runtime` (its name); the first one `arguments`, the second one `seconds`, `result` (ok, halt, error, or none where
    the caller gave up), `metadata`, where an approval stands, and for errors `error_type` and `error`. What a tool
    returned is not written.

    Values are hidden whose names look secret (password, token, api_key, authorization ...), also inside of scripts,
    settings and addresses, and these same values in other texts of the call; so are the values `redact`, anywhere.
    Long strings end with their length and SHA-256.

    Args:
        path: The file, made for its owner alone (0600). No symbolic link is followed.
        redact: Values to hide.
        max_bytes: The size from which on the file becomes `path.1`, and that one `path.2`.
        backups: How many of these are kept, 1 or more.
        required: Whether a call is refused when its first line cannot be written, as on a full disk. Otherwise, and
            for the second line always, this is logged and the call goes on.
        fsync: Whether each line is on the disk before the call goes on; that takes a moment, and a thread for each
            call that waits in an event loop.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        redact: Iterable[str] = (),
        max_bytes: int = 50_000_000,
        backups: int = 5,
        required: bool = False,
        fsync: bool = False,
    ) -> None:
        if max_bytes < 1 or backups < 1:
            raise ValueError("max_bytes and backups are 1 or more")
        self._file = LogFile(path, max_bytes, backups)
        self._redactor = Redactor(redact)
        self.required = required
        self.fsync = fsync

    @hookimpl
    def around_tool_call(self, call: ToolCall, context: Context) -> Generator[Any, Any, None]:
        """Write the two lines."""
        arguments = arguments_of(call)
        redactor = self._redactor.knowing(arguments)
        told = {"id": call.id or context.call_id, "tool": call.name, "runtime": context.runtime}
        head = {"run": os.urandom(8).hex(), "pid": os.getpid(), **redactor.copy(told)}
        began = perf_counter()
        result: Result | None = None
        try:
            self._write("start", head, {"arguments": _said(arguments, call)}, redactor)
            if self.fsync:
                yield Blocking(self._file.sync)
        except OSError as error:
            self._failed(error)
            if self.required:
                text = f"the call was not made, because the audit log cannot be written: {error.strerror or error}"
                raise ToolError(text, "unavailable") from error
        try:
            result = yield
        finally:  # also when the caller gives up, and this generator is closed
            try:
                self._write("end", head, _ended(result, perf_counter() - began, redactor), redactor)
            except OSError as error:
                self._failed(error)
        if self.fsync:
            try:
                yield Blocking(self._file.sync)
            except OSError as error:
                self._failed(error)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._file.close()

    def _write(self, event: str, head: dict[str, Any], more: dict[str, Any], redactor: Redactor) -> None:
        said = {"time": _now(), "event": event, **head}
        line = _encode(said | {name: redactor.copy(value) for name, value in more.items()})
        if len(line) > _LINE:
            kept = {name: redactor.copy(value) for name, value in more.items() if name not in _LARGE}
            line = _encode(said | kept | {"cut": len(line)})
        self._file.write(line.encode("ascii") + b"\n")

    def _failed(self, error: OSError) -> None:
        log().error("the audit log %s cannot be written: %s", self._file.path, error)


def _said(arguments: dict[str, Any] | None, call: ToolCall) -> Any:
    """The arguments; of text that cannot be parsed, and so not redacted, no more than that there was some."""
    return arguments if arguments is not None else f"<no JSON object: {len(call.raw or '')} characters>"


def _ended(result: Result | None, seconds: float, redactor: Redactor) -> dict[str, Any]:
    facts: dict[str, Any] = {"seconds": round(seconds, 6)}
    if result is None:
        return {**facts, "result": "none"}
    if result.is_error:
        facts |= {"error_type": result.error_type, "error": redactor.error(result)}
    kind = "halt" if result.is_halted else "ok" if result.is_ok else "error"
    return {**facts, "result": kind, "metadata": result.metadata}


def _now() -> str:
    from datetime import UTC, datetime  # loaded by who formats dates, and by nobody else here

    return datetime.fromtimestamp(time(), UTC).isoformat(timespec="microseconds")


_encode = json.JSONEncoder(separators=(",", ":")).encode
