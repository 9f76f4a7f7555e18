"""Checks that need another interpreter: what importing the tool does, and whether it is the same tool there."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tools_testing._contract._check import NotApplicable, contract_check
from tools_testing._contract._definition import difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_testing._contract._subject import Subject

_IMPORT_SECONDS = 60.0


@contract_check(
    "importing the tool does nothing else",
    "move it into a function that the call runs: no thread, no socket, no process, no file, no output at import",
)
def import_does_nothing(subject: Subject) -> Iterator[str]:
    seen = _imported_elsewhere(subject)
    yield from seen["events"]
    for stream in ("stdout", "stderr"):
        if seen[stream]:
            yield f"it wrote to {stream}: {seen[stream]!r:.200}"


@contract_check(
    "the definition is the same in every process",
    "use no set, hash, time, random number or environment variable where the definition is made",
)
def definition_is_deterministic(subject: Subject) -> Iterator[str]:
    seen = _imported_elsewhere(subject)
    there, here = seen["definitions"].get(subject.tool.name), subject.definition
    if there is None:
        raise NotApplicable(f"{subject.origin} is no tool called {subject.tool.name} in another process")
    first, second = json.dumps(here, default=repr), json.dumps(there, default=repr)
    if first != second:
        yield difference(first, second)


def _imported_elsewhere(subject: Subject) -> dict[str, Any]:
    if subject.origin is None:
        raise NotApplicable("it is defined where no other process can import it")
    return _probe(subject.origin, os.pathsep.join(sys.path))


@functools.cache
def _probe(origin: str, path: str) -> dict[str, Any]:
    """What an interpreter of its own, with another hash seed, has to say of the tool."""
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "12345", "PYTHONUTF8": "1"}
    command = [sys.executable, "-P", "-B", "-m", "tools_testing._contract._elsewhere", origin]
    ended = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
        errors="replace", timeout=_IMPORT_SECONDS, check=False,
    )  # fmt: skip
    output, mark, report = ended.stdout.rpartition(_MARK)
    if not mark:
        reason = ended.stderr.strip().splitlines()[-1:] or [f"exit code {ended.returncode}"]
        raise NotApplicable(f"{origin} cannot be imported in another process: {reason[0]:.300}")
    return {**json.loads(report), "stdout": output, "stderr": ended.stderr}


_MARK = "\x1e"  # begins the report; no module has reason to print it
