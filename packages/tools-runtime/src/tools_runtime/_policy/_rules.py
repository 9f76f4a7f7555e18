"""Rules of a policy. They are read strictly: an invalid rule is an error, since it may have been a prohibition."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import has_magic
from math import inf
from typing import TYPE_CHECKING, Any, cast

from tools_core.text import closest
from tools_runtime._events import PolicyError
from tools_runtime._policy._facts import STRICTNESS, UNKNOWN, Facts, Outcome, ServerTool
from tools_runtime._policy._patterns import (
    allows_commands,
    concerns_commands,
    matches_path,
    matches_tool,
    may_match_below,
)

if TYPE_CHECKING:
    from tools_runtime._policy._patterns import Match

# On an argument: one of some values; or { glob = "..." }, or { min = 1, max = 10 }.
Condition = Sequence[Any] | Mapping[str, Any]

_HINTS = ("read_only", "destructive", "idempotent", "open_world")
_KEYS = ("decision", "tool", *_HINTS, "paths", "commands", "arguments", "reason")
_TOOL = 'write plain names without a distribution, or those of a server: ["read_*", "grep", "mcp:github:search"]'
_PATH = "write src/** or ~/notes/*.md: without `..`, variables, {a,b}, ! in front, / at the end; `**` is a whole name"
_COMMAND = "write the words of one simple command, without quotes: git diff *"
_VALUE = 'write a value, a list of values, { glob = "..." } without {a,b}, or { min = 1, max = 10 }'
_BRACES = re.compile(r"\{[^{}/]*,[^{}/]*\}")  # alternatives in the globs of other programs


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a policy. All its conditions must hold; an empty condition always holds.

    To allow, a rule must cover every path and command of the call; to deny or ask, any one of them, and a folder
    covers its content. A condition on an argument that is a list or an object covers the values and names inside it, at
    any depth; to allow, the items of a list only.
    """

    decision: Outcome
    source: str
    number: int
    text: str
    tools: Sequence[str] = ()
    hints: Mapping[str, bool] = field(default_factory=dict)
    paths: Sequence[str] = ()
    commands: Sequence[str] = ()
    arguments: Mapping[str, Condition] = field(default_factory=dict)
    reason: str = ""

    def __str__(self) -> str:
        return f"rule {self.number} of {self.source}"

    def concerns_tool(self, name: str, of_server: ServerTool | None = None) -> bool:
        """Return whether the rule is for a tool of this name, or for the tool of a server.

        The server's own name of the tool is enough to deny or ask, and not to allow.
        """
        names = {name} if of_server is None or self.decision == "allow" else {name, of_server.name}
        return not self.tools or any(matches_tool(pattern, names, of_server) for pattern in self.tools)

    def match(self, facts: Facts) -> Match:
        """Return whether the rule matches a call; `perhaps` if a fact is unknown."""
        if not self.concerns_tool(facts.tool.name, facts.server_tool):
            return "no"
        if any(facts.hints[name] is not value for name, value in self.hints.items()):
            return "no"
        parts = [self._match_arguments(facts), self._match_paths(facts), self._match_commands(facts)]
        return "no" if "no" in parts else "perhaps" if "perhaps" in parts else "yes"

    def _match_arguments(self, facts: Facts) -> Match:
        some = all if self.decision == "allow" else any
        match: Match = "yes"
        for name, condition in self.arguments.items():
            value = facts.values.get(name, [])
            values = value if isinstance(value, list) else [value]
            if self.decision != "allow":
                values = [value, *_inside(value)]
            if value is UNKNOWN:
                match = "perhaps"
            elif not values or not some(_holds(condition, item) for item in values):
                return "no"
        return match

    def _match_paths(self, facts: Facts) -> Match:
        paths = facts.effects.paths
        if not self.paths:
            return "yes"
        if paths is None:
            return "perhaps"
        some = all if self.decision == "allow" else any
        covered = [any(matches_path(pattern, path, facts.workspace) for pattern in self.paths) for path in paths]
        if covered and some(covered):
            return "yes"
        return "perhaps" if self.decision != "allow" and self.folder_above(facts) else "no"

    def folder_above(self, facts: Facts) -> str:
        """Return a folder that the call names and that may contain files of this rule; empty without one."""
        pairs = ((path, pattern) for path in facts.effects.paths or () for pattern in self.paths)
        return next((path for path, pattern in pairs if may_match_below(pattern, path, facts.workspace)), "")

    def _match_commands(self, facts: Facts) -> Match:
        commands = facts.effects.commands
        if not self.commands:
            return "yes"
        if commands is None:
            return "perhaps"
        if self.decision != "allow":
            return concerns_commands(self.commands, commands)
        return "yes" if allows_commands(self.commands, commands) else "no"


def _inside(value: Any) -> Iterator[Any]:
    """Yield the values inside a list or an object, at any depth, with the names; and lists of words as one text."""
    if isinstance(value, Mapping):
        yield from value
        value = list(value.values())
    if isinstance(value, list | tuple):
        if len(value) > 1 and all(isinstance(item, str) for item in value):
            yield " ".join(value)
        for item in value:
            yield item
            yield from _inside(item)


def _holds(condition: Condition, value: Any) -> bool:
    """Return whether a single value fits; as in JSON, true is not 1."""
    if not isinstance(condition, Mapping):
        return any(
            isinstance(value, bool) == isinstance(expected, bool) and value == expected for expected in condition
        )
    if "glob" in condition:
        text = json.dumps(value) if isinstance(value, int | float) else value
        return isinstance(text, str) and fnmatchcase(text, condition["glob"])
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and condition.get("min", -inf) <= value <= condition.get("max", inf)


def near(key: Any, candidates: Iterable[str]) -> str:
    """Return `did you mean` with a similar name, or an empty text."""
    similar = closest(str(key), candidates, 1)
    return f" (did you mean {similar[0]}?)" if similar else ""


def read_rules(value: Any, source: str) -> list[Rule]:
    """Read rules from TOML or Python. PolicyError names all that is wrong: the rule, the key, and a valid form."""
    rules, problems = examine_rules(value, source)
    if problems:
        raise PolicyError("\n".join(problems))
    return rules


def examine_rules(value: Any, source: str) -> tuple[list[Rule], list[str]]:
    """Return the valid rules, and all that is wrong with the others."""
    if not isinstance(value, list | tuple):
        return [], [f"{source}: rule is {value!r:.60}; write each rule as [[rule]], followed by its keys"]
    rules: list[Rule] = []
    problems: list[str] = []
    for number, item in enumerate(value, 1):
        wrong = list(_problems(item, f"{source}: rule {number}"))
        problems += wrong
        if not wrong:
            rules.append(_rule(item, source, number))
    return rules, problems


def rule_as_toml(rule: Mapping[str, Any]) -> str:
    """Return a rule of texts, booleans and lists of texts as a table of a policy file."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in rule.items()]
    return "\n".join(("[[rule]]", *lines, "")).replace("\x7f", "\\u007f")  # which TOML has to escape


def _rule(value: Mapping[str, Any], source: str, number: int) -> Rule:
    paths = _listed(value.get("paths", ()))
    if value["decision"] != "allow":  # also what is below a folder
        paths = [path if has_magic(path.rpartition("/")[2]) else f"{path}/**" for path in paths]
    return Rule(
        decision=cast("Outcome", value["decision"]),
        source=source,
        number=number,
        text=", ".join(f"{key} = {json.dumps(item, ensure_ascii=False, default=str)}" for key, item in value.items()),
        tools=_listed(value.get("tool", ())),
        hints={name: value[name] for name in _HINTS if name in value},
        paths=paths,
        commands=_listed(value.get("commands", ())),
        arguments={name: _condition(item) for name, item in value.get("arguments", {}).items()},
        reason=value.get("reason", ""),
    )


def _listed(value: Any) -> Sequence[Any]:
    return (value,) if isinstance(value, str) else tuple(value)


def _condition(value: Any) -> Condition:
    return value if isinstance(value, list | tuple | Mapping) else (value,)


def _problems(value: Any, place: str) -> Iterator[str]:
    """Yield all that is wrong with a rule."""
    if not isinstance(value, Mapping):
        yield f"{place}: {value!r:.60} is not a table of keys"
        return
    for key in value:
        if key not in _KEYS:
            yield f"{place}: unknown key {key!r}{near(key, _KEYS)}; the keys are {', '.join(_KEYS)}"
    decision = value.get("decision")
    if not isinstance(decision, str) or decision not in STRICTNESS:
        yield f'{place}: decision is {decision!r}; write decision = "allow", "ask" or "deny"'
    for name in _HINTS:
        if not isinstance(value.get(name, True), bool):
            yield f"{place}: {name} is {value[name]!r}; write true or false"
    if not isinstance(value.get("reason", ""), str):
        yield f"{place}: reason is {value['reason']!r}; write text"
    for key, is_good, advice in _LISTS:
        if key in value:
            yield from _problems_of_texts(value[key], is_good, f"{place}: {key}", advice)
    yield from _problems_of_arguments(value.get("arguments", {}), place)


def _problems_of_arguments(value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{place}: arguments is {value!r:.60}; write a table: {{ limit = {{ max = 10 }} }}"
        return
    for name, item in value.items():
        yield from _problems_of_condition(item, f"{place}: arguments.{name}")


def _problems_of_texts(value: Any, is_good: Callable[[str], bool], place: str, advice: str) -> Iterator[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not values:
        yield f"{place} is {values!r}; write text, or a list with at least one: {advice}"
        return
    for item in values:
        if not isinstance(item, str) or not is_good(item):
            yield f"{place} has {item!a}; {advice}"


def _is_tool(text: str) -> bool:
    if text.startswith("mcp:"):  # the names of servers may have any characters
        return all(text.split(":", 2)) and text.isprintable()
    return bool(text) and text.isascii() and text.isprintable() and not set(" :,;|&(){}\"'`") & set(text)


def _is_path(text: str) -> bool:
    parts = text.split("/")
    is_plain = all(part != ".." and ("**" not in part or part == "**") for part in parts)
    is_home = not parts[0].startswith("~") or parts[0] == "~"
    is_glob = not text.startswith("!") and not _BRACES.search(text) and text == text.strip()
    return is_plain and is_home and is_glob and parts[-1] != "" and not text.startswith("$") and "://" not in text


def _is_command(text: str) -> bool:
    return bool(text.split()) and not any(sign in text for sign in (";", "|", "&", "\n", "$(", "`", "'", '"'))


def _problems_of_condition(value: Any, place: str) -> Iterator[str]:
    values = value if isinstance(value, list | tuple) else [value]
    texts = [text for text in values if isinstance(text, str) and "*" in text]
    for text in texts:
        glob = f"{{ glob = {json.dumps(text)} }}"
        yield f"{place} is {text!r}, and a text is compared as it is; write {glob}, with [*] for a star itself"
    condition = _condition(value)
    if not isinstance(condition, Mapping):
        is_good = all(map(_is_value, condition))
    elif "glob" in condition:
        is_good = len(condition) == 1 and isinstance(condition["glob"], str) and not _BRACES.search(condition["glob"])
    else:
        is_good = condition.keys() <= {"min", "max"} and all(map(_is_number, condition.values()))
        is_good = is_good and condition.get("min", -inf) <= condition.get("max", inf)
    if not texts and (not condition or not is_good):
        yield f"{place} is {value!r}; {_VALUE}"


_LISTS = (("tool", _is_tool, _TOOL), ("paths", _is_path, _PATH), ("commands", _is_command, _COMMAND))


def _is_value(value: Any) -> bool:
    return isinstance(value, str | bool) or _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124  (not nan)
