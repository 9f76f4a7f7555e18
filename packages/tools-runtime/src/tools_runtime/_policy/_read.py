"""Policy files: read strictly. What is not understood is refused, since it may have been meant to forbid something."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from tools_runtime._policy._errors import PolicyError, near
from tools_runtime._policy._rule import Bounds, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

_HINTS = ("read_only", "destructive", "idempotent", "open_world")
_KEYS = ("decision", "tool", *_HINTS, "paths", "commands", "arguments", "reason")
_DECISIONS = ("allow", "ask", "deny")
_LARGEST = 1_000_000  # bytes
_BOUNDS = ("glob", "min", "max")


def read_file(path: str | os.PathLike[str]) -> tuple[bytes, list[Rule]]:
    """The bytes of a policy file, and its rules; FileNotFoundError if there is none."""
    import tomllib  # only for who has a file

    source = os.fspath(path)
    data = _bytes_of(source)
    try:
        document = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(f"{source}: this is no TOML: {error}") from error
    for key in document:
        if key != "rule":
            raise PolicyError(
                f"{source}: unknown key {key!r}{near(key, ['rule'])}; a policy has [[rule]] and nothing else"
            )
    return data, read_rules(document.get("rule", []), source)


def _bytes_of(source: str) -> bytes:
    try:
        with open(source, "rb", opener=_open) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise PolicyError(f"{source}: this is no regular file")
            if found.st_mode & stat.S_IWOTH:
                raise PolicyError(f"{source}: anybody can write to it; fix: chmod o-w {source}")
            if hasattr(os, "geteuid") and found.st_uid not in (0, os.geteuid()):
                raise PolicyError(
                    f"{source}: it belongs to another user (uid {found.st_uid}), who could allow anything"
                )
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        if os.path.islink(source):
            raise PolicyError(f"{source}: it is a link to what is not there; remove it, or put it right") from None
        raise
    except OSError as error:
        raise PolicyError(f"{source}: cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise PolicyError(f"{source}: is longer than {_LARGEST:,} bytes")
    return data


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe is refused, not waited for


def read_rules(given: Any, source: str) -> list[Rule]:
    """Rules as TOML has them; PolicyError names the rule, the key, what is wrong and what would work."""
    if not isinstance(given, list | tuple):
        raise PolicyError(f"{source}: rule is {_kind(given)}; rules are written as [[rule]], each followed by its keys")
    return [_rule(each, source, number) for number, each in enumerate(given, 1)]


def _rule(given: Any, source: str, number: int) -> Rule:
    where = f"{source}: rule {number}"
    if not isinstance(given, Mapping):
        raise PolicyError(f"{where} is {_kind(given)}, not a table of keys")
    for key in given:
        if key not in _KEYS:
            raise PolicyError(f"{where}: unknown key {key!r}{near(key, _KEYS)}; there are {', '.join(_KEYS)}")
    decision = given.get("decision")
    if decision not in _DECISIONS:
        said = "is missing" if decision is None else f"is {decision!r}{near(decision, _DECISIONS)}"
        raise PolicyError(f'{where}: decision {said}; write decision = "allow", "ask" or "deny"')
    for name in _HINTS:
        if not isinstance(given.get(name, True), bool):
            raise PolicyError(f"{where}: {name} is {given[name]!r}; write true or false")
    reason = given.get("reason", "")
    if not isinstance(reason, str):
        raise PolicyError(f"{where}: reason is {_kind(reason)}; write text")
    return Rule(
        decision=decision,
        source=source,
        number=number,
        text=_text(given),
        tools=_tools(given, where),
        annotations={name: given[name] for name in _HINTS if name in given},
        paths=_paths(given, where),
        commands=_commands(given, where),
        arguments=_arguments(given.get("arguments", {}), where),
        reason=reason,
    )


def _texts(given: Mapping[str, Any], key: str, where: str, example: str) -> Sequence[str]:
    if key not in given:
        return ()
    values = [given[key]] if isinstance(given[key], str) else given[key]
    is_list = isinstance(values, list | tuple) and values and all(isinstance(each, str) and each for each in values)
    if not is_list:
        raise PolicyError(
            f"{where}: {key} is {given[key]!r}; write text, or a list with at least one: {key} = {example}"
        )
    return tuple(values)


def _tools(given: Mapping[str, Any], where: str) -> Sequence[str]:
    tools = _texts(given, "tool", where, '["read_*", "grep"]')
    for each in tools:
        if not each.isascii() or not each.isprintable() or " " in each:
            raise PolicyError(f"{where}: tool {each!a} is no name that a tool can have: they are plain ASCII letters")
        if ":" in each:
            raise PolicyError(f"{where}: tool {each!r} names a distribution; write the tool's name alone")
    return tools


def _paths(given: Mapping[str, Any], where: str) -> Sequence[str]:
    paths = _texts(given, "paths", where, '["src/**", "~/notes/*.md"]')
    for each in paths:
        parts = each.split("/")
        if ".." in parts:
            raise PolicyError(f"{where}: paths has {each!r}: `..` is never in a resolved path; write where it leads")
        if any("**" in part and part != "**" for part in parts):
            raise PolicyError(f"{where}: paths has {each!r}: `**` stands alone between slashes, as in src/**/*.py")
        if each.endswith("/"):
            raise PolicyError(
                f"{where}: paths has {each!r}: it names the folder alone; write {each}** for what is in it"
            )
        if each.startswith("$") or "://" in each:
            raise PolicyError(f"{where}: paths has {each!r}: variables and URLs are not understood; write the path")
        if parts[0].startswith("~") and parts[0] != "~":
            raise PolicyError(f"{where}: paths has {each!r}: only ~/ is understood; write the whole path")
    return paths


def _commands(given: Mapping[str, Any], where: str) -> Sequence[str]:
    commands = _texts(given, "commands", where, '["git status", "ls *"]')
    for each in commands:
        if not each.split():
            raise PolicyError(f"{where}: commands has an empty pattern; write words, as in git status")
        if any(sign in each for sign in (";", "|", "&", "\n", "$(", "`")):
            raise PolicyError(
                f"{where}: commands has {each!r}: a pattern is for one simple command; write one for each: ['a', 'b *']"
            )
        if "'" in each or '"' in each:
            raise PolicyError(
                f"{where}: commands has {each!r}: words are compared without their quotes; write * or ? for what was"
                " quoted"
            )
    return commands


def _arguments(given: Any, where: str) -> Mapping[str, Bounds]:
    if not isinstance(given, Mapping):
        raise PolicyError(
            f"{where}: arguments is {_kind(given)}; write a table, as in arguments = {{ limit = {{ max = 10 }} }}"
        )
    return {name: _bounds(value, f"{where}: arguments.{name}") for name, value in given.items()}


def _bounds(given: Any, where: str) -> Bounds:
    if _is_value(given):
        return Bounds(values=(given,))
    if isinstance(given, list | tuple) and given and all(map(_is_value, given)):
        return Bounds(values=tuple(given))
    advice = 'write a value, a list of values, { glob = "..." }, or { min = 1, max = 10 }'
    if not isinstance(given, Mapping) or not given:
        raise PolicyError(f"{where} is {given!r}; {advice}")
    for key in given:
        if key not in _BOUNDS:
            raise PolicyError(f"{where}: unknown key {key!r}{near(key, _BOUNDS)}; {advice}")
    if "glob" in given and (len(given) > 1 or not isinstance(given["glob"], str)):
        raise PolicyError(f"{where}: glob is text, and stands alone; {advice}")
    for key in ("min", "max"):
        value = given.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not -inf <= value <= inf:
            raise PolicyError(f"{where}: {key} is {value!r}, not a number; {advice}")
    if given.get("min", -inf) > given.get("max", inf):
        raise PolicyError(f"{where}: min is above max, so that no value is between them; {advice}")
    return Bounds(glob=given.get("glob"), min=given.get("min"), max=given.get("max"))


def _is_value(given: Any) -> bool:
    """Whether something can be equal to this: nothing is to a number that is none."""
    return isinstance(given, str | bool | int | float) and given == given  # noqa: PLR0124  (nan is not)


def _text(given: Mapping[str, Any]) -> str:
    import json  # only to load a policy

    return ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}" for key, value in given.items())


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.60}"
