"""Read rules strictly: an invalid rule is an error, since it may have been a prohibition."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any, cast

from tools_core.text import closest
from tools_runtime._events import PolicyError
from tools_runtime._policy._decision import STRICTNESS
from tools_runtime._policy._rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tools_runtime._policy._decision import Outcome
    from tools_runtime._policy._rule import Condition

_HINTS = ("read_only", "destructive", "idempotent", "open_world")
_KEYS = ("decision", "tool", *_HINTS, "paths", "commands", "arguments", "reason")
_PATH = "write src/**, /srv/app/** or ~/notes/*.md: no `..`, no variables, no slash at the end, `**` for whole names"
_COMMAND = "write the words of one simple command, without quotes: git diff *"
_VALUE = 'write a value, a list of values, { glob = "..." } or { min = 1, max = 10 }'


def near(key: Any, known: Iterable[str]) -> str:
    """Return `did you mean` with a similar name, or an empty text."""
    similar = closest(str(key), known, 1)
    return f" (did you mean {similar[0]}?)" if similar else ""


def read_rules(given: Any, source: str) -> list[Rule]:
    """Read rules from TOML or Python. PolicyError names the rule, the key, and a valid form."""
    if not isinstance(given, list | tuple):
        raise PolicyError(f"{source}: rule is {given!r:.60}; write each rule as [[rule]], followed by its keys")
    return [_rule(each, source, number) for number, each in enumerate(given, 1)]


def _rule(given: Any, source: str, number: int) -> Rule:
    where = f"{source}: rule {number}"
    if not isinstance(given, Mapping):
        raise PolicyError(f"{where}: {given!r:.60} is not a table of keys")
    for key in given:
        if key not in _KEYS:
            raise PolicyError(f"{where}: unknown key {key!r}{near(key, _KEYS)}; the keys are {', '.join(_KEYS)}")
    decision = given.get("decision")
    if not isinstance(decision, str) or decision not in STRICTNESS:
        raise PolicyError(f'{where}: decision is {decision!r}; write decision = "allow", "ask" or "deny"')
    for name in _HINTS:
        if not isinstance(given.get(name, True), bool):
            raise PolicyError(f"{where}: {name} is {given[name]!r}; write true or false")
    if not isinstance(given.get("reason", ""), str):
        raise PolicyError(f"{where}: reason is {given['reason']!r}; write text")
    return Rule(
        decision=cast("Outcome", decision),
        source=source,
        number=number,
        text=", ".join(f"{key} = {json.dumps(each, ensure_ascii=False, default=str)}" for key, each in given.items()),
        tools=_texts(given, "tool", where, _is_tool, 'write plain names without a distribution: ["read_*", "grep"]'),
        hints={name: given[name] for name in _HINTS if name in given},
        paths=_texts(given, "paths", where, _is_path, _PATH),
        commands=_texts(given, "commands", where, _is_command, _COMMAND),
        arguments=_arguments(given.get("arguments", {}), where),
        reason=given.get("reason", ""),
    )


def _texts(
    given: Mapping[str, Any], key: str, where: str, is_good: Callable[[str], bool], advice: str
) -> Sequence[str]:
    if key not in given:
        return ()
    values = [given[key]] if isinstance(given[key], str) else given[key]
    if not isinstance(values, list | tuple) or not values:
        raise PolicyError(f"{where}: {key} is {values!r}; write text, or a list with at least one: {advice}")
    for each in values:
        if not isinstance(each, str) or not is_good(each):
            raise PolicyError(f"{where}: {key} has {each!a}; {advice}")
    return tuple(values)


def _is_tool(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and not {" ", ":"} & set(text)


def _is_path(text: str) -> bool:
    parts = text.split("/")
    is_plain = all(part != ".." and ("**" not in part or part == "**") for part in parts)
    is_home = not parts[0].startswith("~") or parts[0] == "~"
    return is_plain and is_home and parts[-1] != "" and not text.startswith("$") and "://" not in text


def _is_command(text: str) -> bool:
    return bool(text.split()) and not any(sign in text for sign in (";", "|", "&", "\n", "$(", "`", "'", '"'))


def _arguments(given: Any, where: str) -> Mapping[str, Condition]:
    if not isinstance(given, Mapping):
        raise PolicyError(f"{where}: arguments is {given!r:.60}; write a table: {{ limit = {{ max = 10 }} }}")
    return {name: _condition(value, f"{where}: arguments.{name}") for name, value in given.items()}


def _condition(given: Any, where: str) -> Condition:
    condition: Condition = given if isinstance(given, list | tuple | Mapping) else (given,)
    if not isinstance(condition, Mapping):
        is_good = all(map(_is_value, condition))
    elif "glob" in condition:
        is_good = len(condition) == 1 and isinstance(condition["glob"], str)
    else:
        is_good = condition.keys() <= {"min", "max"} and all(map(_is_number, condition.values()))
        is_good = is_good and condition.get("min", -inf) <= condition.get("max", inf)
    if not condition or not is_good:
        raise PolicyError(f"{where} is {given!r}; {_VALUE}")
    return condition


def _is_value(given: Any) -> bool:
    return isinstance(given, str | bool) or _is_number(given)


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and given == given  # noqa: PLR0124  (not nan)
