"""The installed tools, and tools in a file, for all sub-commands."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from shlex import quote

from tools_core._cli._terminal import CommandError, counted, location, note
from tools_core._registry._registry import Registry
from tools_core._values._errors import ToolError, UnknownToolError

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from typing import Any

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._tools._tool import Tool


def discovered(paths: Iterable[str] | None = None) -> Registry:
    """Return a registry of the installed tools, of which none is imported yet; CommandError for an unreadable lock."""
    registry = Registry()
    try:
        registry.discover(paths=paths)
    except ValueError as broken:
        raise CommandError(str(broken), "without a valid lock, no tool is used; write one: ask-tools lock") from broken
    return registry


def load(name: str, registry: Registry | None = None) -> Tool:
    """Load one tool, named as NAME, DISTRIBUTION:NAME or FILE.py:NAME; CommandError for an unknown or broken one."""
    if name.endswith(".py") or ".py:" in name:
        from tools_core._cli._tool_file import load_from_file  # only for tools in files

        with prints_aside():
            return load_from_file(name)
    registry = discovered() if registry is None else registry
    try:
        with prints_aside():
            return registry[name]
    except UnknownToolError as unknown:
        hint = "list of tools: ask-tools list" if registry else "make your own: ask-tools new NAME"
        raise CommandError(str(unknown), hint, type="unknown_tool") from unknown
    except ToolError as broken:
        cause = broken.__cause__
        point = registry.origin(name)
        where = location(cause, point.module.partition(".")[0]) if point else ""
        hints = (f"at {where}" if where else "", "details: ask-tools doctor")
        raise CommandError(broken.message, *hints, status=1, type=broken.type) from cause or broken


def load_all(registry: Registry) -> dict[str, Tool]:
    """Load every tool; those that fail are among the registry's problems."""
    with prints_aside():
        return dict(registry.items())


def origin(name: str, tool: Tool) -> dict[str, Any]:
    """Return distribution and version of a tool, and file and line of its code, as far as they are known."""
    facts: dict[str, Any] = {}
    point = None if ".py" in name else discovered().origin(name)
    if point is not None:
        facts = {"distribution": point.distribution, "version": point.version, "entry_point": point.value}
        if not point.module:  # of a source: its code is elsewhere
            return facts
    function = getattr(tool, "__wrapped__", None) or type(tool).execute
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None:
        facts |= {"file": code.co_filename, "line": code.co_firstlineno}
    return facts


def note_problems(registry: Registry) -> None:
    """Print the number of problems and of blocked tools, if there are any."""
    if problems := len(registry.problems):
        note(f"{counted(problems, 'problem')} found; details: ask-tools doctor")
    if blocked := len(registry.blocked):
        note(f"{blocked} blocked by ASK_TOOLS_ALLOW, ASK_TOOLS_DENY or ASK_TOOLS_LOCK; details: ask-tools doctor")


def pip(*words: str) -> str:
    """Return a command of pip for the environment of this interpreter."""
    return " ".join([quote(sys.executable), "-m", "pip", *words])


def reinstall(package: str) -> str:
    """Return the commands that upgrade or remove a broken package."""
    return f"{pip('install', '-U', package)}, or {pip('uninstall', package)}"


@contextmanager
def extension(entry: EntryPoint, purpose: str) -> Generator[None]:
    """Turn any failure of another package's code into a CommandError that names the package."""
    try:
        yield
    except (Exception, SystemExit) as broken:
        message = f"{entry} {purpose} and cannot be loaded: {type(broken).__name__}: {broken}"
        raise CommandError(message, f"fix: {reinstall(entry.distribution)}", status=1) from broken


@contextmanager
def prints_aside() -> Generator[None]:
    """Redirect what tools and their child processes print to standard error; standard output is for results."""
    sys.stdout.flush()
    kept, sys.stdout = sys.stdout, sys.stderr
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout = kept
        os.dup2(saved, 1)
        os.close(saved)
