"""What people have approved: bound to the exact call, and kept where no repository and no other user can write."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from tools_runtime._policy._errors import PolicyError
from tools_runtime._policy._files import user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from tools_core import Tool
    from tools_runtime._policy._facts import Facts

Scope = Literal["once", "session", "project"]

_VERSION = 1
_LARGEST = 16_000_000  # bytes
_SHOWN = 200  # characters of the arguments, for `ask-tools policy approvals`


def key_of(tool: Tool, facts: Facts) -> str:
    """A hash of all that a call is: tool, definition and settings, arguments, what it would touch, and where."""
    whole = {
        "tool": tool.name,
        "definition": tool.definition,
        "settings": dict(tool.approval_settings()),
        "arguments": facts.arguments,
        "paths": facts.paths,
        "commands": facts.commands,
        "workspace": facts.workspace,
    }
    return hashlib.sha256(canonical(whole).encode()).hexdigest()


def canonical(value: Any) -> str:
    """One text for one JSON value; ValueError or TypeError for what is none."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def default_file() -> str:
    """Where approvals are kept: below $XDG_STATE_HOME, or ~/.local/state."""
    return user_path("XDG_STATE_HOME", "~/.local/state", "approvals.json")


class Approvals:
    """The calls that were approved for a project, and the policy files that its user trusts, in one file for all.

    PolicyError where the file is not to be trusted: then nothing in it counts.
    """

    def __init__(self, project: str, file: str | None = None) -> None:
        self.project = project
        self.file = file or default_file()

    def holds(self, key: str) -> bool:
        """Whether this very call was approved."""
        return key in self._of(self._read(), "approvals")

    def all(self) -> Mapping[str, Any]:
        """What was approved in this project, by hash."""
        return dict(self._of(self._read(), "approvals"))

    def add(self, key: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """Remember a call."""
        text = canonical(arguments)
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
        entry = {"tool": tool, "arguments": shown, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}

        def change(document: dict[str, Any]) -> None:
            self._of(document, "approvals")[key] = entry

        self._change(change)

    def forget(self, start: str) -> int:
        """Forget the calls whose hashes begin with `start`; how many there were."""
        gone: list[str] = []

        def change(document: dict[str, Any]) -> None:
            known = self._of(document, "approvals")
            gone.extend(key for key in known if key.startswith(start))
            for key in gone:
                del known[key]

        self._change(change)
        return len(gone)

    def trusts(self, data: bytes) -> bool:
        """Whether the user trusts a policy file of the project, as it is now."""
        return bool(self._read().get("trusted", {}).get(self.project) == hashlib.sha256(data).hexdigest())

    def trust(self, data: bytes) -> None:
        """Trust a policy file as long as it stays as it is."""

        def change(document: dict[str, Any]) -> None:
            document.setdefault("trusted", {})[self.project] = hashlib.sha256(data).hexdigest()

        self._change(change)

    def _of(self, document: dict[str, Any], part: str) -> dict[str, Any]:
        found: dict[str, Any] = document.setdefault(part, {}).setdefault(self.project, {})
        return found

    def _read(self) -> dict[str, Any]:
        try:
            with open(self.file, "rb", opener=_open) as file:
                _check(os.fstat(file.fileno()), self.file, stat.S_ISREG)
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return {"version": _VERSION}
        except OSError as error:
            raise PolicyError(f"{self.file}: approvals cannot be read: {error.strerror}") from error
        if len(data) > _LARGEST:
            raise PolicyError(f"{self.file}: is longer than {_LARGEST:,} bytes; remove it to begin anew")
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise PolicyError(f"{self.file}: is no JSON: {error}; remove it to begin anew") from error
        if not _is_of_form(document):
            raise PolicyError(f"{self.file}: is not of the form of version {_VERSION}; remove it to begin anew")
        whole: dict[str, Any] = document
        return whole

    def _change(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Read, change and write back, while nobody else does."""
        try:
            with self._locked():
                document = self._read()
                change(document)
                self._write(canonical(document).encode())
        except OSError as error:
            raise PolicyError(f"{self.file}: cannot be written: {error.strerror}") from error

    @contextmanager
    def _locked(self) -> Generator[None]:
        import fcntl  # not on Windows, where nothing is remembered for a project

        folder = os.path.dirname(self.file)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _check(os.stat(folder), folder, stat.S_ISDIR)
        descriptor = os.open(f"{self.file}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _write(self, data: bytes) -> None:
        descriptor, name = tempfile.mkstemp(dir=os.path.dirname(self.file), prefix=".approvals-")  # mode 0600
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.file)
        except BaseException:
            with suppress(OSError):  # the first error says more
                os.unlink(name)
            raise


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _check(found: os.stat_result, path: str, is_kind: Callable[[int], bool]) -> None:
    """Refuse what somebody else may have written."""
    if not is_kind(found.st_mode):
        raise PolicyError(f"{path}: is not what approvals are kept in; remove it")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise PolicyError(f"{path}: belongs to another user (uid {found.st_uid}); approvals in it do not count")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PolicyError(f"{path}: others can write to it; approvals in it do not count; fix: chmod go-w {path}")


def _is_of_form(document: Any) -> bool:
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        return False
    approvals, trusted = document.get("approvals", {}), document.get("trusted", {})
    if not isinstance(approvals, dict) or not isinstance(trusted, dict):
        return False
    return all(
        isinstance(each, dict) and all(isinstance(entry, dict) for entry in each.values())
        for each in approvals.values()
    )
