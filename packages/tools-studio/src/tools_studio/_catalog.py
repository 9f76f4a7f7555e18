"""`Catalog`: the tools of the bench, their effects and their problems."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import LoadProblem, Registry, Tool
from tools_core.command import CommandError, find_tools, stdout_to_stderr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DOCTOR_LIMIT = 60.0  # seconds
_MAX_REASON = 500  # characters


class Badge(NamedTuple):
    """A property of a tool that a person should see before they call it."""

    kind: str  # of the style
    text: str
    meaning: str


_READ_ONLY = Badge("read", "read-only", "Changes nothing.")
_DESTRUCTIVE = Badge("destructive", "destructive", "May delete or overwrite.")
_WRITES = Badge("write", "writes", "Changes things, and deletes or overwrites nothing.")
_UNKNOWN = Badge("unknown", "effects unknown", "States no effects: expect any.")
_ASKS = Badge("asks", "asks first", "A person has to approve each call of a model.")
_OPEN = Badge("open", "open world", "Reaches services outside of this machine.")


@dataclass(frozen=True, kw_only=True)
class Item:
    """A tool of the catalog, or the reason why it cannot be loaded."""

    name: str  # selects the tool, also if two packages have one of that name
    package: str
    version: str = ""
    tool: Tool | None = None
    error: str = ""
    fix: str = ""

    @property
    def label(self) -> str:
        """The name for people."""
        return self.tool.name if self.tool else self.name.rpartition(":")[2]

    @cached_property
    def summary(self) -> str:
        """The first sentence of the description."""
        text = " ".join(self.tool.description.split()) if self.tool else self.error
        end = text.find(". ")
        return text if end < 0 else text[: end + 1]

    @cached_property
    def badges(self) -> list[Badge]:
        """The effects that the tool states."""
        if self.tool is None:
            return []
        hints = self.tool.annotations
        if hints.get("read_only"):
            badges = [_READ_ONLY]
        elif "destructive" in hints:
            badges = [_DESTRUCTIVE if hints["destructive"] else _WRITES]
        else:
            badges = [_UNKNOWN]
        return badges + [_OPEN] * bool(hints.get("open_world")) + [_ASKS] * self.tool.requires_approval

    @cached_property
    def words(self) -> str:
        """The text that the search looks in."""
        tags = self.tool.tags if self.tool else ()
        badges = [badge.text for badge in self.badges]
        return " ".join([self.name, self.package, self.summary, *tags, *badges]).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The tools of one package or file, with facts and problems from `ask-tools doctor`."""

    package: str
    version: str
    items: Sequence[Item]
    facts: dict[str, Any] = field(default_factory=dict[str, Any])


class Catalog:
    """The installed tools, or the tools that patterns select, loaded at the first use."""

    def __init__(self, patterns: Sequence[str] | None = None) -> None:
        self._patterns = patterns
        self._lock = Lock()
        self._registry = Registry()
        self._registry.discover()
        self.report: dict[str, Any] | None = None  # of `ask-tools doctor`, once it has ended

    @cached_property
    def _matches(self) -> dict[str, Any]:
        return {match.name: match for match in find_tools(self._patterns, self._registry)}

    @property
    def names(self) -> list[str]:
        """The names of the tools; installed ones are not imported for this."""
        return [*self._matches]

    @property
    def is_loaded(self) -> bool:
        """Return whether the tools were imported."""
        return "items" in vars(self)

    @cached_property
    def items(self) -> dict[str, Item]:
        """The tools by name."""
        with self._lock, stdout_to_stderr():
            return {name: self._load(name) for name in self.names}

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools that can be called, by name."""
        return {name: item.tool for name, item in self.items.items() if item.tool is not None}

    @property
    def groups(self) -> list[Group]:
        """The tools by package."""
        packages: dict[str, list[Item]] = {}
        for item in self.items.values():
            packages.setdefault(item.package, []).append(item)
        facts = {row["distribution"]: row["facts"] for row in (self.report or {}).get("distributions", ())}
        return [
            Group(package=package, version=items[0].version, items=items, facts=facts.get(package, {}))
            for package, items in packages.items()
        ]

    @property
    def problems(self) -> list[dict[str, str]]:
        """The problems of the installation, each with a fix; empty while `ask-tools doctor` looks for them."""
        return [*self.report["problems"]] if self.report else []

    def examine(self) -> None:
        """Run `ask-tools doctor`, which imports the packages in another process; its failure is a problem, too."""
        command = [sys.executable, "-P", "-m", "tools_core", "doctor", "--json"]
        output = b""
        try:
            child = subprocess.run(command, capture_output=True, timeout=_DOCTOR_LIMIT, check=False)
            output = child.stderr or child.stdout
            report = json.loads(child.stdout)
            self.report = {key: report[key] for key in ("problems", "distributions")}
        except (OSError, ValueError, TypeError, LookupError, subprocess.TimeoutExpired) as error:
            reason = output.decode(errors="replace").strip()[-_MAX_REASON:] or str(error)
            silence = {"name": "ask-tools doctor", "error": f"it gives no report: {reason}", "fix": "run it yourself"}
            self.report = {"problems": [*self._own_problems(), silence], "distributions": []}

    def score(self, name: str) -> Any:
        """Return the score of a definition beside all others, with findings; None without tools-eval."""
        tool = self.items[name].tool
        try:
            from tools_eval import score  # optional
        except ImportError:
            return None
        return score([tool], self.tools.values())[0] if tool is not None else None

    def _load(self, name: str) -> Item:
        if name not in self._registry:  # it is in a file
            package, _, attribute = name.rpartition(":")
            try:
                return Item(name=name, package=package, tool=self._matches[name].load())
            except CommandError as error:
                return Item(name=name, package=package, error=str(error), fix=f"repair {attribute} in {package}")
        point = self._registry.origin(name)
        package, version = (point.distribution, point.version) if point else ("", "")
        if (loaded := self._registry.get(name)) is not None:
            return Item(name=name, package=package, version=version, tool=loaded)
        problem = next((row for row in self._registry.problems if _is_of(row, package, name)), None)
        reason, fix = (problem.error, problem.fix) if problem else ("cannot be loaded", "ask-tools doctor")
        return Item(name=name, package=package, version=version, error=reason, fix=fix)

    def _own_problems(self) -> Iterator[dict[str, str]]:
        for problem in self._registry.problems:
            fields = ("name", "distribution", "version", "error", "fix")
            yield {name: getattr(problem, name) for name in fields}


def _is_of(problem: LoadProblem, package: str, name: str) -> bool:
    return problem.distribution == package and problem.name == name.rpartition(":")[2]
