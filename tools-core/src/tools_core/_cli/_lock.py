"""`ask-tools lock`: write down which tools are trusted, and as what."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools_core._cli._drift import facts, lines
from tools_core._cli._installed import prints_aside
from tools_core._cli._terminal import CommandError, counted, error, note, one_line, write, write_json
from tools_core._registry._lock_file import FILE, PLUGINS, Lock, LockError, compare, lock_of, read
from tools_core._registry._lock_file import write as write_lock
from tools_core._registry._registry import Registry

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
The lock has every installed tool with its distribution, version and definition, and the SHA-256 of that, and every
installed plugin of tools-runtime with the place of its code. Review it, and keep it under version control. With
ASK_TOOLS_LOCK=ask-tools.lock, or discover(lock="ask-tools.lock") of a Registry, what it does not name is never
imported, and a tool whose definition has changed cannot be called. ASK_TOOLS_ALLOW and ASK_TOOLS_DENY hold here: what
they bar is not locked.
Exit codes: 0 ok, 1 a tool could not be locked, or the file not be written.

examples:
  ask-tools lock
  ask-tools lock --file trusted.lock --json
  ASK_TOOLS_DENY=tools-weather:flood ask-tools lock --file calm.lock
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `lock`."""
    parser.epilog = _EPILOG
    add_file(parser)
    parser.add_argument("--json", action="store_true", help="print the hashes and what has changed as JSON")
    parser.set_defaults(run=run)


def add_file(parser: ArgumentParser) -> None:
    """Add `--file`, which is for `verify` what it is for `lock`."""
    default = os.environ.get("ASK_TOOLS_LOCK") or FILE
    text = f"the lock; by default that of ASK_TOOLS_LOCK, or {FILE}"
    parser.add_argument("--file", metavar="FILE", default=default, help=text)


def run(options: Namespace) -> int:
    """Write the lock, and say what is not as it was; 1 if a tool had to be left out."""
    old = _old(options.file)
    new, problems = installed()
    drift = [] if old is None else compare(old, new)
    if old is None or drift:
        try:
            write_lock(options.file, new)
        except OSError as failure:
            message = f"{options.file} cannot be written: {failure.strerror}"
            raise CommandError(message, "the file that was there is as it was", status=1) from failure
    if options.json:
        hashes = {name: tool.sha256 for name, tool in new.tools.items()}
        done = {"file": options.file, "written": old is None or bool(drift), "tools": hashes, "plugins": new.plugins}
        write_json({**done, "drift": facts(drift), "problems": problems})
    else:
        same = ", as they were" if old is not None and not drift else ""
        write("\n".join([*map(one_line, lines(drift)), one_line(f"locked {extent(new)} in {options.file}{same}")]))
    for name, problem in problems.items():
        error(f"{name} is not locked: {problem}")
    return 1 if problems else 0


def extent(lock: Lock) -> str:
    """How much is locked, in words."""
    plugins = f" and {counted(len(lock.plugins), 'plugin')}" if lock.plugins else ""
    return f"{counted(len(lock.tools), 'tool')}{plugins} of {counted(len(lock.distributions), 'package')}"


def installed() -> tuple[Lock, dict[str, str]]:
    """The lock of all that is installed, whatever lock there is, and why some tools cannot be in it."""
    registry, plugins = Registry(), Registry()
    registry.discover(lock=None)
    plugins.discover(PLUGINS, lock=None)
    points = [point for point in map(plugins.origin, plugins) if point is not None]
    with prints_aside():
        lock, problems = lock_of(registry, points)
    # What is odd about a plugin that did load keeps none of its tools out.
    entries = {f"{name.rpartition(':')[0]}:{tool.entry_point.partition(' = ')[0]}" for name, tool in lock.tools.items()}
    for problem in registry.problems:
        name = f"{problem.distribution}:{problem.name}"
        if name not in lock.tools and name not in entries:
            problems[name] = f"{problem.error}; fix: {problem.fix}"
    if barred := [*registry.blocked, *plugins.blocked]:
        note(f"{len(barred)} barred by ASK_TOOLS_ALLOW or ASK_TOOLS_DENY")
    return lock, problems


def _old(path: str) -> Lock | None:
    """The lock that is there; CommandError if it is something else, which nobody wants to be overwritten."""
    if not os.path.lexists(path):
        return None
    try:
        return read(path)
    except LockError as broken:
        raise CommandError(str(broken), "remove it, or choose another with --file", status=1) from broken
