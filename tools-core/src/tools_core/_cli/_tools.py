"""The tools that a command line names: installed tools, and tools in files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any, NamedTuple

from tools_core._cli._commands import invalid_list
from tools_core._cli._output import CommandError, did_you_mean, location, note
from tools_core._registry._entry_points import EntryPoint
from tools_core._registry._patterns import split_patterns
from tools_core._registry._registry import Registry
from tools_core._tools._tool import Tool
from tools_core._tools._toolset import Toolset, as_tools, instance_of
from tools_core._tools._wrapped import tool_below
from tools_core._values._errors import DefinitionError, ToolError, UnknownToolError

PATTERN_HELP = "NAME, 'x_*', PACKAGE, PACKAGE:NAME, FILE.py or FILE.py:NAME"


class Match(NamedTuple):
    """A tool that a pattern selects."""

    name: str  # selects this tool alone
    source: Registry | Tool

    @property
    def origin(self) -> EntryPoint | None:
        """The entry point of an installed tool; None for a tool in a file."""
        return self.source.origin(self.name) if isinstance(self.source, Registry) else None

    def load(self) -> Tool:
        """Import the tool; CommandError if that fails."""
        if isinstance(self.source, Tool):
            return self.source
        try:
            with stdout_to_stderr():
                return self.source[self.name]
        except KeyboardInterrupt:  # the package may hang
            note(f"interrupted while {self.name} was loaded from {self.origin}")
            raise
        except ToolError as broken:
            cause, point = broken.__cause__, self.origin
            place = location(cause, point.module.partition(".")[0]) if point else ""
            hints = (f"at {place}" if place else "", "details: ask-tools doctor")
            raise CommandError(broken.message, *hints, status=1, type=broken.type) from cause or broken


def load_tools(patterns: Iterable[str] | str | None = None) -> dict[str, Tool]:
    """Load the tools that patterns select, by name; without patterns all installed tools.

    A tool that cannot be loaded is an error if its pattern selects no other tool; else it is skipped, with a note on
    standard error.

    Raises: CommandError for a pattern that is empty or matches nothing.
    """
    registry = discovered()
    tools: dict[str, Tool] = {}
    for selection in [None] if patterns is None else [[pattern] for pattern in _split(patterns)]:
        matches = find_tools(selection, registry)
        for match, tool in load_matches(matches, optional=selection is None):
            name = tool.name if match.source is tool else match.name
            if tools.setdefault(name, tool) is not tool:
                raise CommandError(f"two tools have the name {name}", "select one of them")
    return tools


def load_matches(matches: Iterable[Match], *, optional: bool = False) -> list[tuple[Match, Tool]]:
    """Load tools and skip broken ones with a note; CommandError if none can be loaded, unless this is `optional`."""
    tools: list[tuple[Match, Tool]] = []
    errors: list[CommandError] = []
    for match in matches:
        try:
            tools.append((match, match.load()))
        except CommandError as failure:
            errors.append(failure)
    if errors and not (tools or optional):
        raise errors[0]
    for error in errors:
        note(f"skipped: {error}")
    return tools


def load_tool(pattern: str) -> Tool:
    """Load the one tool that a pattern selects; CommandError for no match, several matches, or a broken tool."""
    return find_tool(pattern).load()


def find_tool(pattern: str) -> Match:
    """Return the one tool that a pattern selects, without importing an installed one."""
    matches = find_tools([pattern])
    if len(matches) > 1:
        names = [match.name for match in matches]
        raise CommandError(f"{pattern} matches {len(matches)} tools; name one of them", *names, type="unknown_tool")
    return matches[0]


def select_tools(patterns: Iterable[str] | str) -> list[str]:
    """Return the names of the tools that patterns select; installed tools are not imported, files are run."""
    return [match.name for match in find_tools(_split(patterns))]


def find_tools(patterns: Iterable[str] | None, registry: Registry | None = None) -> list[Match]:
    """Return the tools that patterns select, in the order of the patterns; without patterns all installed tools."""
    registry = discovered() if registry is None else registry
    if patterns is None:
        return [Match(name, registry) for name in registry]
    matches: dict[str, Match] = {}
    for pattern in _split(patterns):
        is_file = pattern.endswith(".py") or ".py:" in pattern
        for match in _in_file(pattern) if is_file else _select(pattern, registry):
            matches.setdefault(match.name, match)
    return list(matches.values())


def discovered() -> Registry:
    """Return a registry of the installed tools, none of which is imported; CommandError for a bad list or lock."""
    registry = Registry()
    try:
        registry.discover()
    except ValueError as broken:
        raise invalid_list(broken) from broken
    return registry


def note_unmatched() -> None:
    """Print a note for each pattern of ASK_TOOLS_ALLOW and ASK_TOOLS_DENY that matches nothing."""
    for problem in discovered().problems:
        if problem.name.startswith("ASK_TOOLS_"):
            note(f"warning: {problem}")


@contextmanager
def stdout_to_stderr() -> Generator[None]:
    """Redirect what tools and their child processes print to standard error; standard output is for results."""
    sys.stdout.flush()
    stdout, sys.stdout = sys.stdout, sys.stderr
    descriptor = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout = stdout
        os.dup2(descriptor, 1)
        os.close(descriptor)


def _split(patterns: Iterable[str] | str) -> list[str]:
    try:
        return split_patterns(patterns)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _select(pattern: str, registry: Registry) -> list[Match]:
    try:
        names = registry.select(pattern)
    except UnknownToolError as unknown:
        hint = "list of tools: ask-tools list" if registry else "make your own: ask-tools new NAME"
        raise CommandError(str(unknown), hint, type="unknown_tool") from unknown
    return [Match(name, registry) for name in names]


def _in_file(pattern: str) -> list[Match]:
    """Return the tools of a file, or of an object in it: `FILE.py:NAME`, `FILE.py:Notes.add`."""
    path, _, attribute = (pattern, "", "") if pattern.endswith(".py") else pattern.rpartition(":")
    with stdout_to_stderr():
        module = _run(path)
        names = [name for name, value in vars(module).items() if _is_tool(value, module)]
        if not (attribute or names):
            hint = f"for a function without @tool: {path}:NAME"
            raise CommandError(f"{path} has no tools", hint, type="unknown_tool")
        try:
            return [match for name in ([attribute] if attribute else names) for match in _matches(path, name, module)]
        except (AttributeError, DefinitionError) as error:
            hints = [did_you_mean(attribute, names), f"tools in {path}: {', '.join(names) or 'none'}"]
            raise CommandError(f"{pattern} is not a tool: {error}", *hints, type="unknown_tool") from error


def _matches(path: str, name: str, module: ModuleType) -> Iterator[Match]:
    value: Any = module
    for attribute in name.split("."):
        value = getattr(value, attribute)
        if isinstance(value, type) and issubclass(value, Toolset):
            value = _toolset(value)  # its bound methods are tools
    for tool in as_tools(value):
        method = f".{getattr(tool, '__name__', tool.name)}" if isinstance(value, Toolset) else ""
        yield Match(f"{path}:{name}{method}", tool)


_toolset: Callable[[Any], Any] = cache(instance_of)  # methods share one object


def _is_tool(value: Any, module: ModuleType) -> bool:
    if isinstance(value, type):  # a class of the file, not one that it has imported
        return value.__module__ == module.__name__ and issubclass(value, Tool | Toolset)
    return isinstance(value, Tool | Toolset) or (callable(value) and isinstance(tool_below(value), Tool))


@cache
def _run(path: str) -> ModuleType:
    """Import a file under its own name; its folder comes first on `sys.path`, as for `python FILE`."""
    if not os.path.isfile(path):
        raise CommandError(f"the file {path} does not exist", type="unknown_tool")
    name = os.path.basename(path).removesuffix(".py")
    name = f"{name}_file" if name in sys.modules else name
    loader = SourceFileLoader(name, os.path.abspath(path))
    module = module_from_spec(ModuleSpec(name, loader, origin=loader.path))
    module.__file__ = loader.path
    sys.modules[name] = module  # type hints are looked up there
    sys.path.insert(0, os.path.dirname(loader.path))
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as broken:  # the user's code may raise anything
        place = location(broken, name)
        message = f"{path} cannot be loaded: {type(broken).__name__}: {broken}"
        raise CommandError(message, f"at {place}" if place else "", status=1, type="unavailable") from broken
    return module
