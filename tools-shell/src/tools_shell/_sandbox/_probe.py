"""Which sandbox works here, found out by running a command in each, which tries what it must not be able to do."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from typing import TYPE_CHECKING

from tools_shell._process._command import Command
from tools_shell._process._supervised import import_folder, interpreter
from tools_shell._sandbox._visible import is_inside
from tools_shell._settings import Resources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_shell._sandbox._isolation import Isolation

_CONFINED = """
import json, os, sys
sys.path.append(sys.argv[1])
from tools_shell._supervisor._confine import confine
arguments, environment, policy, _ = json.loads(sys.argv[2])
confine(policy)
os.execve(arguments[0], arguments, environment)
"""
# The workspace can be written, another file be neither read nor written, and system calls are filtered.
_TEST = """
test -w . || test "$2" = no || exit 10
if test -n "$1"; then
    (read -r line < "$1") 2> /dev/null && exit 11
    (: >> "$1") 2> /dev/null && exit 12
fi
while read -r name value; do test "$name" = Seccomp: && filtered=$value; done < /proc/self/status
test "$filtered" = 2 || exit 13
exit 42
"""
_WORKS = 42
_FAILURES = {
    10: "the workspace cannot be written in it (does it belong to another user?)",
    11: "files outside can be read in it",
    12: "files outside can be written in it",
    13: "system calls are not filtered in it",
}
_PATIENCE = 30.0

# What was found for each setting: a host may go through many workspaces.
_MOST = 256
_known: dict[tuple[object, ...], Isolation | str] = {}
_lock = threading.Lock()


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603  # a fork may have copied it locked, and the thread that would unlock it is not there
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def first_that_works(
    setting: tuple[object, ...], root: str, candidates: Callable[[], Sequence[Isolation]]
) -> Isolation | str:
    """The first candidate that keeps what it promises, or what would make one do so; found out once for a setting."""
    with _lock:
        if setting not in _known:
            if len(_known) == _MOST:
                del _known[next(iter(_known))]
            _known[setting] = _first(candidates(), root)
        return _known[setting]


def _first(candidates: Sequence[Isolation], root: str) -> Isolation | str:
    problems: dict[str, str] = {}
    for candidate in candidates:
        problem = _try(candidate, root)
        if problem is None:
            return candidate
        problems.setdefault(candidate.rung, problem)
    problems.setdefault("bubblewrap", "it is not installed; install it")
    problems.setdefault("landlock", "it needs Linux 5.13 or newer with landlock among the security modules (lsm=)")
    return "; ".join(f"{rung}: {problem}" for rung, problem in problems.items())


def _try(candidate: Isolation, root: str) -> str | None:
    """Run the test in a candidate; returns what is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="ask-tools-") as folder:
        outside, temporary = os.path.join(folder, "outside"), os.path.join(folder, "temporary")
        with open(outside, "w") as file:
            file.write("a line\n")
        os.mkdir(temporary)
        hidden = "" if is_inside(outside, (*candidate.seen.readable, *candidate.seen.writable)) else outside
        return _run(candidate, root, hidden, temporary)


def _run(candidate: Isolation, root: str, hidden: str, temporary: str) -> str | None:
    command = Command(
        arguments=["/bin/sh", "-c", _TEST, "sh", hidden, "yes" if os.access(root, os.W_OK) else "no"],
        environment={"PATH": os.defpath},
        directory=-1,
        workdir=root,
        isolation=candidate,
        resources=Resources(),
    )
    try:
        done = subprocess.run(
            [
                interpreter(),
                "-I",
                "-S",
                "-c",
                _CONFINED,
                import_folder(),
                json.dumps(candidate.wrap(command, temporary)),
            ],
            cwd=root,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == _WORKS:
        return None
    return _FAILURES.get(done.returncode) or (done.stderr.strip().splitlines() or ["it does not start"])[-1]
