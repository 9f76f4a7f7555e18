"""Promises about importing a tool, checked in a separate interpreter."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_testing._contract._definition import as_text, difference
from tools_testing._contract._promise import NotApplicable, promise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_testing._contract._subject import Subject

_IMPORT_SECONDS = 60.0
_REPORT = "\x1e"  # precedes the report of the other interpreter; modules do not print it


@promise(
    "importing the tool has no side effects",
    "do it inside a function: start no thread, socket or process, write no file and print nothing at import",
)
def import_has_no_side_effects(subject: Subject) -> Iterator[str]:
    report = _imported(subject)
    yield from report["events"]
    for stream in ("stdout", "stderr"):
        if report[stream]:
            yield f"it wrote to {stream}: {report[stream]!r:.200}"


@promise(
    "the definition is the same in every process",
    "derive it from no set, hash, time, random number or environment variable",
)
def definition_is_deterministic(subject: Subject) -> Iterator[str]:
    definition = _imported(subject)["definitions"].get(subject.tool.name)
    if definition is None:
        raise NotApplicable(f"{subject.origin} has no tool called {subject.tool.name} in another process")
    here, there = as_text(subject.definition), as_text(definition)
    if here != there:
        yield difference(here, there)


def _imported(subject: Subject) -> dict[str, Any]:
    if subject.origin is None:
        raise NotApplicable("no other process can import it")
    return _import_elsewhere(subject.origin, os.pathsep.join(sys.path))


@functools.cache
def _import_elsewhere(origin: str, path: str) -> dict[str, Any]:
    """Import a tool in a separate interpreter with another hash seed, and return its report."""
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "12345", "PYTHONUTF8": "1"}
    command = [sys.executable, "-P", "-B", str(Path(__file__).with_name("_import_probe.py")), origin]
    process = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
        errors="replace", timeout=_IMPORT_SECONDS, check=False,
    )  # fmt: skip
    output, mark, report = process.stdout.rpartition(_REPORT)
    if not mark:
        reason = process.stderr.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise NotApplicable(f"{origin} cannot be imported in another process: {reason[0]:.300}")
    return {**json.loads(report), "stdout": output, "stderr": process.stderr}
