"""`ask-tools lock` and `verify`: write the installed tools to a lock file, and compare them with it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Container

from tools_core._cli._output import CommandError, counted, error, note, one_line, write, write_json
from tools_core._cli._tools import stdout_to_stderr
from tools_core._registry import _lock_file
from tools_core._registry._admission import packages_of_extensions
from tools_core._registry._lock_file import Lock, LockError, hash_of, locked_tool
from tools_core._registry._registry import Registry

_LOCK = """\
The lock has every installed tool with its package, version and definition, and the packages with commands, plugins and
policies. Review it, and keep it under version control. With ASK_TOOLS_LOCK=ask-tools.lock, or
discover(lock="ask-tools.lock") of a Registry, other tools and packages are never imported, and a tool whose definition
has changed cannot be called. Tools that ASK_TOOLS_ALLOW and ASK_TOOLS_DENY block
are not locked.
Exit codes: 0 success, 1 a tool cannot be locked or the file cannot be written.

examples:
  ask-tools lock
  ASK_TOOLS_DENY=tools-weather:flood ask-tools lock --file calm.lock
"""
_VERIFY = """\
Differences are tools that are new, missing, broken or changed, and other versions of packages. To see how a definition
has changed, lock again and compare the files. Packages that ASK_TOOLS_ALLOW and ASK_TOOLS_DENY block are not imported.
Exit codes: 0 no differences, 1 differences, 2 the lock cannot be read.

examples:
  ask-tools verify --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `lock`."""
    parser.epilog = _LOCK
    _add_file(parser)
    parser.set_defaults(run=_lock)


def configure_verify(parser: ArgumentParser) -> None:
    """Add the arguments of `verify`."""
    parser.epilog = _VERIFY
    _add_file(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_verify)


def _add_file(parser: ArgumentParser) -> None:
    default = os.environ.get("ASK_TOOLS_LOCK") or "ask-tools.lock"
    text = "the lock file; by default that of ASK_TOOLS_LOCK, or ask-tools.lock"
    parser.add_argument("--file", metavar="FILE", default=default, help=text)


def _lock(options: Namespace) -> int:
    """Write the lock and print what has changed since the last one; 1 if it lacks a tool."""
    old = _read(options.file, "remove it, or choose another with --file") if os.path.lexists(options.file) else None
    new, problems = _installed()
    changes = [] if old is None else _differences(old, new)
    try:
        _lock_file.write(options.file, new)
    except OSError as failure:
        message = f"{options.file} cannot be written: {failure.strerror}"
        raise CommandError(message, "the existing file has not changed", status=1) from failure
    write("\n".join(map(one_line, [*changes, f"locked {_extent(new)} in {options.file}"])))
    for name, problem in problems.items():
        error(f"{name} is not locked: {problem}")
    return 1 if problems else 0


def _verify(options: Namespace) -> int:
    """Print the differences; 1 if there are any."""
    old = _read(options.file, f"write one: ask-tools lock --file {options.file}")
    # Reviewers read the definitions, and discovery compares the hashes.
    for name, tool in old.tools.items():
        if hash_of(tool.definition) != tool.sha256:
            message = f"{options.file}: the definition of {name} does not match its sha256; the file was edited"
            raise CommandError(message, "restore it, or review the tools and write a new one", status=1)
    new, problems = _installed()
    changes = _differences(old, new, broken=problems)
    if options.json:
        write_json({"file": options.file, "changes": changes, "problems": problems})
    else:
        lines = [*changes, *(f"{name} cannot be verified: {problem}" for name, problem in problems.items())]
        verdict = f"differs from {options.file}; to trust this: ask-tools lock --file {options.file}"
        write("\n".join(map(one_line, [*lines, verdict if lines else f"as locked in {options.file}: {_extent(old)}"])))
    return 1 if changes or problems else 0


def _extent(lock: Lock) -> str:
    packages = {name.rpartition(":")[0] for name in lock.tools}
    return f"{counted(len(lock.tools), 'tool')} of {counted(len(packages), 'package')}"


def _installed() -> tuple[Lock, dict[str, str]]:
    """Return a lock of all installed tools, and why others cannot be locked; an existing lock does not apply."""
    registry = Registry()
    registry.discover(lock=None)
    lock = Lock({}, {})
    problems: dict[str, str] = {}
    with stdout_to_stderr():
        tools = registry.items()
    for name, tool in tools:
        if (point := registry.origin(name)) is None:
            continue
        try:
            lock.tools[point.qualified] = locked_tool(point, tool)
            lock.distributions[point.distribution] = point.version
        except ValueError as failure:
            problems[point.qualified] = str(failure)
    lock.distributions.update(packages_of_extensions())
    for problem in registry.problems:
        name = f"{problem.distribution}:{problem.name}"
        if problem.distribution and name not in lock.tools:
            problems[name] = f"{problem.error}; fix: {problem.fix}"
    if registry.blocked:
        note(f"{len(registry.blocked)} blocked by ASK_TOOLS_ALLOW or ASK_TOOLS_DENY")
    return lock, problems


def _differences(old: Lock, new: Lock, broken: Container[str] = ()) -> list[str]:
    """Return a line for each tool that is new, missing or changed, and each package with another version."""
    lines = [
        f"{name}: version {version} -> {new.distributions[name]}"
        for name, version in old.distributions.items()
        if new.distributions.get(name, version) != version
    ]
    extensions = new.distributions.keys() - {name.rpartition(":")[0] for name in new.tools}
    lines += [f"{name} is new" for name in extensions - old.distributions.keys()]
    lines += [f"{name} is missing" for name in old.distributions.keys() - new.distributions.keys()]
    lines += [f"{name} is new" for name in new.tools.keys() - old.tools.keys()]
    lines += [f"{name} is missing" for name in old.tools.keys() - new.tools.keys() if name not in broken]
    for name in old.tools.keys() & new.tools.keys():
        before, after = old.tools[name], new.tools[name]
        if before.sha256 != after.sha256:
            parts = before.definition.keys() | after.definition.keys()
            changed = (part for part in parts if before.definition.get(part) != after.definition.get(part))
            lines.append(f"{name} has changed: {', '.join(sorted(changed))}")
        elif before.entry_point != after.entry_point:
            lines.append(f"{name} has changed: {before.entry_point} -> {after.entry_point}")
    return sorted(lines)


def _read(path: str, fix: str) -> Lock:
    try:
        return _lock_file.read(path)
    except LockError as broken:
        raise CommandError(str(broken), fix) from broken
