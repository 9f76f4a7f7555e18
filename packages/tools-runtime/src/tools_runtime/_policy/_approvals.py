"""Stores of answers to approval requests: in memory, and in one private file of the user."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import threading
import time
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import replace
from logging import getLogger
from typing import TYPE_CHECKING, Any

from tools_core import Approval, ApprovalRequest, Denial
from tools_core.files import replace as replace_file
from tools_core.files import state_path
from tools_runtime._events import PolicyError
from tools_runtime._policy._facts import SCOPES, Scope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence

    from tools_core import Context

_VERSION = 3
_MAX_ANSWERS = 10_000  # the oldest are dropped
_MAX_SHOWN = 200  # characters of each argument, for `ask-tools policy approvals`
_log = getLogger("tools_runtime")


class Approvals:
    """Remembers answers to requests in memory: an approval "run" holds for the same call in the rest of its run.

    Subclass it to keep answers elsewhere. `project` is part of the keys of requests.

    Args:
        user: Returns the person who makes a call, from its context. An answer then counts for this person alone, in the
            run alone; for servers, whose calls come from several people.
    """

    scopes: Sequence[Scope] = ("once", "run")
    project: str = ""

    def __init__(self, *, user: Callable[[Context], str] | None = None) -> None:
        self._user = user
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, Approval | Denial] = OrderedDict()  # by key

    def key_of(self, context: Context, digest: str) -> str:
        """Return the key of a request: the run, the user, and the hash of the call."""
        user = "" if self._user is None else f"/{self._user(context)}"
        return f"{context.run_id}{user}.{digest}"

    def take(self, request: ApprovalRequest) -> Approval | Denial | None:
        """Return the answer to a request, or None; an approval "once" is used up by this."""
        with self._lock:
            answer = self._answers.get(request.key)
            if isinstance(answer, Approval) and answer.scope == "once":
                del self._answers[request.key]
            return answer

    def remember(self, request: ApprovalRequest, approval: Approval) -> Awaitable[None] | None:
        """Remember an approval of a call that runs now, for its scope; a subclass may have a coroutine function."""
        if approval.scope == "run":
            self._store(request.key, approval)
        return None

    def inside(self, outer: Approvals) -> Approvals:  # noqa: ARG002  (for subclasses)
        """Return the store for calls that a call of an executor with the store `outer` makes; by default this one."""
        return self

    def approve(self, key: str, scope: Scope = "once", by: str = "") -> None:
        """Approve a pending request.

        "once" allows the next equal call of the run, "run" all of them. Raises PolicyError for an invalid key or scope.
        """
        self._check(key, scope)
        self._store(key, Approval(scope, by, key))

    def deny(self, key: str, reason: str = "", by: str = "") -> None:
        """Deny a pending request; the same call is denied for the rest of the run."""
        self._check(key)
        self._store(key, Denial(by, reason))

    def _check(self, key: str, scope: Scope = "once") -> None:
        hash_of(key)
        if scope not in self.scopes:
            raise PolicyError(f"scope is {scope!r}; it is one of {', '.join(self.scopes)}")

    def _store(self, key: str, answer: Approval | Denial) -> None:
        with self._lock:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            while len(self._answers) > _MAX_ANSWERS:
                self._answers.popitem(last=False)


class StoredApprovals(Approvals):
    """Remembers answers for a run in memory, and those for a project or another process in a file."""

    scopes = SCOPES

    def __init__(self, project: str) -> None:
        super().__init__()
        self.project = project
        self.file = ApprovalFile()

    def take(self, request: ApprovalRequest) -> Approval | Denial | None:
        answer = super().take(request)
        if answer is not None:
            return answer
        try:
            stored = self.file.take(request.key)
        except PolicyError as error:
            _log.warning("policy: stored approvals do not count: %s", error)
            return None
        if stored is None:
            return None
        if stored["scope"] == "deny":
            return Denial(stored["by"], stored["reason"])
        return Approval(stored["scope"], stored["by"], request.key)

    def remember(self, request: ApprovalRequest, approval: Approval) -> Awaitable[None] | None:
        if approval.scope == "project":
            arguments = {name: clip(json_text(value), _MAX_SHOWN) for name, value in request.arguments.items()}
            try:
                self.file.store(request.key, "project", approval.by, tool=request.tool.name, arguments=arguments)
            except PolicyError as error:
                _log.warning("policy: the approval holds for this run only: %s", error)
                approval = replace(approval, scope="run")
        return super().remember(request, approval)

    def approve(self, key: str, scope: Scope = "once", by: str = "") -> None:
        """Approve a pending request from any process of the same user; `by` defaults to the user's name.

        "project" allows equal calls of all runs in the project. Raises PolicyError if the approval cannot be stored.
        """
        self._check(key, scope)
        self.file.store(key, scope, by)

    def deny(self, key: str, reason: str = "", by: str = "") -> None:
        """Deny a pending request from any process; the same call is denied for the rest of the run."""
        self.file.store(key, "deny", by, reason=reason)


def json_text(value: Any) -> str:
    """Return a value as JSON for people."""
    return json.dumps(value, ensure_ascii=False, default=str)


def clip(text: str, longest: int) -> str:
    """Return a text; the middle of a longer one is replaced by the number of its characters."""
    hidden, tail = len(text) - longest, longest // 4
    return text if hidden <= 0 else f"{text[: 3 * tail]} <<< {hidden:,} characters are not shown >>> {text[-tail:]}"


class ApprovalFile:
    """Answers to requests by key, and the project policies that the user trusts.

    An answer for a project is stored under the hash alone, any other under the key with the run. PolicyError if
    another user may have written the file.
    """

    def __init__(self) -> None:
        self.path = state_path("approvals.json")

    def take(self, key: str) -> dict[str, Any] | None:
        """Return the answer, and remove it if it is for one call: of several processes, one receives it."""
        answer = self.find(key)
        if answer is None or answer["scope"] != "once":
            return answer
        with self._changing() as document:
            is_first = document["answers"].pop(key, None) is not None
        return answer if is_first else None

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the answer to the request with this key."""
        answers = self.all()
        return answers.get(key) or answers.get(hash_of(key))

    def all(self) -> dict[str, dict[str, Any]]:
        """Return all answers by key; each has `scope`, `by` and `at`, and `scope` is "deny" for a denial."""
        answers: dict[str, dict[str, Any]] = self._read()["answers"]
        return answers

    def store(self, key: str, scope: str, by: str, **details: Any) -> None:
        """Store an answer; it replaces an earlier one."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        answer = {"scope": scope, "by": by or user_name(), "tool": "", "arguments": None, "reason": "", "at": at}
        digest = hash_of(key)
        with self._changing() as document:
            answers = document["answers"]
            answers.pop(key, None)  # the newest is the last
            answers[digest if scope == "project" else key] = answer | details
            while len(answers) > _MAX_ANSWERS:
                del answers[next(iter(answers))]

    def forget(self, start: str) -> int:
        """Remove the answers whose keys begin with `start`, and return their number."""
        with self._changing() as document:
            keys = [key for key in document["answers"] if key.startswith(start)]
            for key in keys:
                del document["answers"][key]
        return len(keys)

    def trusts(self, project: str, data: bytes) -> bool:
        """Return whether the user trusts the policy file of a project with this content."""
        return bool(hashlib.sha256(data).hexdigest() == self._read()["trusted"].get(project))

    def trust(self, project: str, data: bytes) -> None:
        """Trust the policy file of a project as long as its content stays the same."""
        with self._changing() as document:
            document["trusted"][project] = hashlib.sha256(data).hexdigest()

    def _read(self) -> dict[str, Any]:
        data = read_guarded(self.path)
        try:
            document: dict[str, Any] = json.loads(data) if data else {"version": _VERSION, "answers": {}, "trusted": {}}
            is_current = document["version"] == _VERSION
        except (ValueError, KeyError, TypeError) as error:
            raise PolicyError(f"{self.path}: not valid JSON: {error}; remove it to start again") from error
        if not is_current:
            raise PolicyError(f"{self.path}: not of version {_VERSION}; remove it to start again")
        return document

    @contextmanager
    def _changing(self) -> Generator[dict[str, Any]]:
        """Read, let the caller change, and replace the file, under a lock."""
        folder = os.path.dirname(self.path)
        try:
            import fcntl  # not on Windows, where answers are not stored

            os.makedirs(folder, mode=0o700, exist_ok=True)
            check_owner(os.stat(folder), folder)
            with open(f"{self.path}.lock", "ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                document = self._read()
                yield document
                replace_file(self.path, json.dumps(document).encode(), mode=0o600)
        except (OSError, ImportError) as error:
            raise PolicyError(f"{self.path}: cannot be written: {error}") from error


def hash_of(key: str) -> str:
    """Return the hash in the key of a request, "RUN_ID.HASH"; PolicyError for another text."""
    match = re.fullmatch(r".+\.([0-9a-f]{64})", key, re.DOTALL)
    if match is None:
        raise PolicyError(f"{key!r:.100} is not the key of a request; it is the `key` in the result of a pending call")
    return match[1]


def user_name() -> str:
    """Return the name of the operating system's user."""
    import getpass  # only for calls that a person approved

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown user"


def read_guarded(path: str) -> bytes:
    """Read a file that no other user can have written; empty without a file. Raises PolicyError for any other file."""
    if not os.path.lexists(path):
        return b""
    try:
        # A pipe is refused without waiting for it.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            check_owner(os.fstat(file.fileno()), path)
            return file.read()
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}") from error


def check_owner(status: os.stat_result, path: str) -> None:
    """Raise PolicyError if another user may have written a file or folder, or for a special file."""
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise PolicyError(f"{path}: not a regular file")
    if status.st_uid not in (0, os.geteuid()):
        raise PolicyError(f"{path}: belongs to another user (uid {status.st_uid})")
    if status.st_mode & stat.S_IWOTH:
        raise PolicyError(f"{path}: other users can write to it; fix: chmod o-w {path}")
