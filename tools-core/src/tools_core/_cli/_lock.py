"""`ask-tools lock`: write the installed tools and their definitions to a lock file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools_core._cli._installed import prints_aside
from tools_core._cli._terminal import CommandError, counted, error, note, one_line, write
from tools_core._registry._lock_file import FILE, LockError, lock_of, read
from tools_core._registry._lock_file import write as write_lock
from tools_core._registry._registry import Registry

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tools_core._registry._lock_file import Lock

_EPILOG = """\
The lock has every installed tool with its distribution, version and definition. Review it, and keep it under version
control. With ASK_TOOLS_LOCK=ask-tools.lock, or discover(lock="ask-tools.lock") of a Registry, tools that it does not
name are never imported, and a tool whose definition has changed cannot be called. Tools that ASK_TOOLS_ALLOW and
ASK_TOOLS_DENY block are not locked.
Exit codes: 0 success, 1 a tool could not be locked, or the file not be written.

examples:
  ask-tools lock
  ask-tools lock --file trusted.lock
  ASK_TOOLS_DENY=tools-weather:flood ask-tools lock --file calm.lock
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `lock`."""
    parser.epilog = _EPILOG
    add_file(parser)
    parser.set_defaults(run=run)


def add_file(parser: ArgumentParser) -> None:
    """Add `--file`, which `verify` has as well."""
    default = os.environ.get("ASK_TOOLS_LOCK") or FILE
    text = f"the lock file; by default that of ASK_TOOLS_LOCK, or {FILE}"
    parser.add_argument("--file", metavar="FILE", default=default, help=text)


def run(options: Namespace) -> int:
    """Write the lock and print what has changed since the last one; 1 if a tool is missing in it."""
    old = read_lock(options.file, "remove it, or choose another with --file") if os.path.lexists(options.file) else None
    new, problems = installed()
    changes = [] if old is None else differences(old, new)
    try:
        write_lock(options.file, new)
    except OSError as failure:
        message = f"{options.file} cannot be written: {failure.strerror}"
        raise CommandError(message, "the existing file has not changed", status=1) from failure
    write("\n".join(map(one_line, [*changes, f"locked {extent(new)} in {options.file}"])))
    for name, problem in problems.items():
        error(f"{name} is not locked: {problem}")
    return 1 if problems else 0


def extent(lock: Lock) -> str:
    """Return the number of tools and packages, in words."""
    return f"{counted(len(lock.tools), 'tool')} of {counted(len(lock.distributions), 'package')}"


def installed() -> tuple[Lock, dict[str, str]]:
    """Return a lock of all installed tools, and why others cannot be locked; an existing lock does not apply."""
    registry = Registry()
    registry.discover(lock=None)
    with prints_aside():
        found = ((registry.origin(name), tool) for name, tool in registry.items())
        lock, problems = lock_of((point, tool) for point, tool in found if point is not None)
    for problem in registry.problems:
        name = f"{problem.distribution}:{problem.name}"
        if name not in lock.tools:
            problems[name] = f"{problem.error}; fix: {problem.fix}"
    if registry.blocked:
        note(f"{len(registry.blocked)} blocked by ASK_TOOLS_ALLOW or ASK_TOOLS_DENY")
    return lock, problems


def differences(old: Lock, new: Lock) -> list[str]:
    """Return a line for each tool that is new, missing or changed, and each other version of a distribution."""
    found = [
        f"{name}: version {version} -> {new.distributions[name]}"
        for name, version in old.distributions.items()
        if new.distributions.get(name, version) != version
    ]
    found += [f"{name} is new" for name in new.tools.keys() - old.tools.keys()]
    found += [f"{name} is missing" for name in old.tools.keys() - new.tools.keys()]
    for name in old.tools.keys() & new.tools.keys():
        before, after = old.tools[name], new.tools[name]
        if before.sha256 != after.sha256:
            parts = before.definition.keys() | after.definition.keys()
            changed = (part for part in parts if before.definition.get(part) != after.definition.get(part))
            found.append(f"{name} has changed: {', '.join(sorted(changed))}")
        elif before.entry_point != after.entry_point:
            found.append(f"{name} has changed: {before.entry_point} -> {after.entry_point}")
    return sorted(found)


def read_lock(path: str, fix: str) -> Lock:
    """Read a lock; CommandError with a fix if it is missing or damaged."""
    try:
        return read(path)
    except LockError as broken:
        raise CommandError(str(broken), fix) from broken
