"""Which members an object has, and what schemas each of them must fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tools_testing._values._flatten import DEEP, DeadEnd, Flattening
from tools_testing._values._pattern import matching

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_testing._values._choices import Choices

_EXTRA = 2  # members that nobody asked for


def schemas_of_member(name: str, flat: Sequence[dict[str, Any]], matches: Callable[[str, str], bool]) -> list[Any]:
    """Every schema that the member of this name must fit."""
    found: list[Any] = []
    for schema in flat:
        own = [schema["properties"][name]] if name in schema.get("properties", {}) else []
        own += [part for pattern, part in schema.get("patternProperties", {}).items() if matches(pattern, name)]
        found += own or [schema.get("additionalProperties", True)]
    known = any(name in schema.get("properties", {}) for schema in flat)
    if not known:
        found += [schema["unevaluatedProperties"] for schema in flat if "unevaluatedProperties" in schema]
    return [schema for schema in found if schema is not True]


def member_names(flattening: Flattening, choices: Choices, make_name: Callable[[list[Any]], Any]) -> list[str]:
    """Choose the names: all required ones, some of the others, and as many more as must be."""
    flat = flattening.flat
    low = max((int(schema.get("minProperties", 0)) for schema in flat), default=0)
    high = min((int(schema["maxProperties"]) for schema in flat if "maxProperties" in schema), default=None)
    names = dict.fromkeys(name for schema in flat for name in schema.get("required", ()))
    optional = [name for schema in flat for name in schema.get("properties", {}) if name not in names]
    is_deep = flattening.depth >= DEEP
    for name in dict.fromkeys(optional):
        is_free = high is None or len(names) < high
        if is_free and (len(names) < low or (not is_deep and choices.pick((False, True)))):
            names[name] = None
    _follow(flattening, names)
    wanted = max(low - len(names), 0)
    if not is_deep and (high is None or len(names) + wanted < high):
        wanted += choices.integer(0, _EXTRA)
    _add_others(flattening, names, wanted, low, choices, make_name)
    _follow(flattening, names)
    return list(names)


def _follow(flattening: Flattening, names: dict[str, None]) -> None:
    """Take in what the presence of a member asks for, until nothing is new."""
    done: set[tuple[int, str]] = set()
    waiting = True
    while waiting:
        waiting = False
        for schema in list(flattening.flat):
            for name, part in schema.get("dependentSchemas", {}).items():
                if name in names and (id(schema), name) not in done:
                    done.add((id(schema), name))
                    flattening.add(part)
                    waiting = True
            needs = [needed for name, needed in schema.get("dependentRequired", {}).items() if name in names]
            needed = {name for group in needs for name in group} | set(schema.get("required", ()))
            if needed - names.keys():
                names.update(dict.fromkeys(sorted(needed - names.keys())))
                waiting = True


def _add_others(
    flattening: Flattening,
    names: dict[str, None],
    wanted: int,
    low: int,
    choices: Choices,
    make_name: Callable[[list[Any]], Any],
) -> None:
    flat = flattening.flat
    patterns = [pattern for schema in flat for pattern in schema.get("patternProperties", {})]
    rules = [schema["propertyNames"] for schema in flat if "propertyNames" in schema]
    is_closed = any(
        schema.get("additionalProperties") is False or schema.get("unevaluatedProperties") is False for schema in flat
    )
    if is_closed and not patterns:
        if len(names) < low:
            raise DeadEnd
        return
    for _ in range(wanted * 4):
        if wanted == 0:
            return
        use_pattern = bool(patterns) and (is_closed or choices.pick((True, False)))
        name = matching(choices.pick(patterns), choices) if use_pattern else make_name(rules)
        if isinstance(name, str) and name not in names:
            names[name] = None
            wanted -= 1
    if len(names) < low:
        raise DeadEnd


def pattern_matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern, as far as the two languages agree; the judge has the last word."""
    python = pattern.replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!")
    try:
        return re.search(python, name, re.ASCII) is not None
    except re.error:
        return False
