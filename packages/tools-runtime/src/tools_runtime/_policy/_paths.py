"""Paths: where the arguments of a call lead, and the patterns that they are compared with."""

from __future__ import annotations

import json
import os
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import escape
from typing import TYPE_CHECKING, Any

from tools_runtime._policy._places import beyond

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MOST_LINKS = 40
_DEEPEST = 64
_FORMATS = frozenset(("path", "file-path", "directory-path"))  # the last two are those of pydantic
_ABSENT = object()  # what the tool has for an argument that is not given, and does not tell


class _UnclearError(Exception):
    """Where a path leads depends on what is not there yet."""


def schema_paths(schema: Mapping[str, Any], arguments: Mapping[str, Any], workspace: str) -> list[str] | None:
    """The real paths of all arguments that the schema calls paths; None where one cannot be resolved.

    Of what a tool may do with a path before it is opened (`~` and variables put in, `..` taken out of the text),
    everything that it may come to is told.
    """
    found: list[str] = []
    try:
        for path in _named(schema, arguments, schema.get("$defs", {}), 0):
            for text in dict.fromkeys((path, os.path.expanduser(os.path.expandvars(path)))):
                whole = os.path.join(workspace, text)
                found += [*_real(whole), *_real(os.path.normpath(whole))]
    except (_UnclearError, OSError, ValueError, RecursionError):
        return None
    return list(dict.fromkeys(found))


def mentions_paths(schema: Mapping[str, Any]) -> bool:
    """Whether there is anything in a schema that it calls a path."""
    text = json.dumps(schema, separators=(",", ":"))
    return any(f'"format":"{name}"' in text for name in _FORMATS)


def _named(schema: Any, value: Any, definitions: Mapping[str, Any], depth: int) -> Iterator[str]:
    """The values in which the schema sees paths."""
    if not isinstance(schema, dict) or value is None:
        return
    if depth > _DEEPEST or (value is _ABSENT and ("$ref" in schema or mentions_paths(schema))):
        raise _UnclearError
    if isinstance(value, str) and schema.get("format") in _FORMATS:
        yield value
    for inner, part in (*_members(schema, value), *((each, value) for each in _branches(schema, definitions))):
        yield from _named(inner, part, definitions, depth + 1)


def _members(schema: Mapping[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """What is inside a value, each part with its own schema."""
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        others = [schema.get(key) for key in ("additionalProperties", "unevaluatedProperties")]
        others += schema.get("patternProperties", {}).values()
        for name, inner in value.items():
            yield schema.get("propertyNames"), name
            for each in (properties[name],) if name in properties else others:
                yield each, inner
        for name in properties.keys() - value.keys() - set(schema.get("required", ())):
            each = properties[name]
            yield each, each.get("default", _ABSENT) if isinstance(each, dict) else None
    elif isinstance(value, list):
        first = schema.get("prefixItems", ())
        others = [schema.get(key) for key in ("items", "unevaluatedItems")]
        for number, inner in enumerate(value):
            yield schema.get("contains"), inner
            for each in (first[number],) if number < len(first) else others:
                yield each, inner


def _branches(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Any]:
    """Other schemas for the same value."""
    for key in ("anyOf", "oneOf", "allOf"):
        yield from schema.get(key, ())
    yield from (schema.get(key) for key in ("if", "then", "else"))
    yield from schema.get("dependentSchemas", {}).values()
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = definitions.get(reference.removeprefix("#/$defs/"))
        if target is None:
            raise _UnclearError
        yield target


def _real(path: str) -> Iterator[str]:
    """Where a path leads, and the links that it goes by at its end."""
    for _ in range(_MOST_LINKS):
        where, name = os.path.split(path.rstrip("/") or "/")
        if name in ("", ".", ".."):
            yield _existing(path)
            return
        path = os.path.join(_existing(where), name)
        yield path
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:  # no link, or nothing yet
            return
    raise _UnclearError


def _existing(folder: str) -> str:
    """The real path of a folder, which may still have to be made."""
    missing: list[str] = []
    while True:
        try:
            return os.path.join(os.path.realpath(folder, strict=True), *missing)
        except FileNotFoundError:
            folder, name = os.path.split(folder.rstrip("/"))
            if name in ("", "..") or os.path.islink(os.path.join(folder, name)):
                raise _UnclearError from None
            if name != ".":
                missing.insert(0, name)


def matches_path(pattern: str, path: str, workspace: str) -> bool:
    """Whether a glob covers a path. `*` stays within one name, `**` is any number of folders.

    One that begins with neither `/` nor `~` is below the workspace. `src/**` covers `src` itself as well.
    """
    return _matches(_parts(pattern, workspace), tuple(part for part in path.split("/") if part))


@lru_cache(maxsize=1_000)
def _parts(pattern: str, workspace: str) -> tuple[str, ...]:
    if pattern == "~" or pattern.startswith("~/"):
        pattern = escape(os.path.realpath(os.path.expanduser("~"))) + pattern[1:]
    elif not pattern.startswith("/"):
        pattern = f"{escape(workspace)}/{pattern}"
    return tuple(part for part in pattern.split("/") if part not in ("", "."))


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """By the places in the pattern that can have been reached, so that no pattern takes long."""
    reached = beyond({0}, pattern, "**")
    for part in parts:
        following: set[int] = set()
        for place in reached:
            if place < len(pattern):
                if pattern[place] == "**":
                    following.add(place)
                elif fnmatchcase(part, pattern[place]):
                    following.add(place + 1)
        reached = beyond(following, pattern, "**")
    return len(pattern) in reached
