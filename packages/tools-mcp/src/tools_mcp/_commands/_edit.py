"""Editing one entry of a section in JSON with comments or in TOML; all other text stays as it is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_STRING = r'("(?:[^"\\\n]|\\.)*")'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_DECODER = json.JSONDecoder()


class _Member(NamedTuple):
    start: int  # of the name
    value: int
    end: int


def read(text: str, *, is_toml: bool) -> dict[str, Any]:
    """Parse text; empty text is an empty object, and ValueError has the place of an error."""
    if is_toml:
        import tomlkit  # 50 ms that only one client needs

        return dict(tomlkit.parse(text).unwrap())
    plain = _plain(text)
    data = json.loads(plain) if plain.strip() else {}
    if not isinstance(data, dict):
        raise ValueError("it is not an object")  # noqa: TRY004  (of the file, not of the program)
    return data


def changed(text: str, section: str, name: str, entry: Mapping[str, Any] | None, *, is_toml: bool) -> str:
    """Set an entry, or remove one that exists; the other members of an old entry stay."""
    if is_toml:
        return _changed_toml(text, section, name, entry)
    plain = _plain(text)
    if not plain.strip():
        return text + json.dumps({section: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
    root = _members(plain, plain.index("{"))
    if section not in root:
        return _insert(text, plain.index("{"), section, {name: entry})
    servers = _members(plain, root[section].value)
    if name not in servers:
        return _insert(text, root[section].value, name, entry)
    if entry is None:
        return _remove(text, servers, name)
    start, at, end = servers[name]
    return (
        text[:at] + _rendered(text, {**(json.loads(plain[at:end]) or {}), **entry}, _indent(text, start)) + text[end:]
    )


def _changed_toml(text: str, section: str, name: str, entry: Mapping[str, Any] | None) -> str:
    import tomlkit  # loaded already

    document: Any = tomlkit.parse(text)
    servers = document.setdefault(section, tomlkit.table(is_super_table=True))
    if entry is None:
        del servers[name]
    elif name in servers:
        servers[name].update(entry)
    else:
        servers[name] = dict(entry)
        if f"[{section}.{name}]" in document.as_string():  # not an inline table
            servers[name].add(tomlkit.nl())
    return f"{document.as_string().rstrip()}\n".lstrip()


def _plain(text: str) -> str:
    """Return `text` as plain JSON: comments and trailing commas become spaces, so each position stays."""
    return _blanked(_blanked(text, _COMMENT), _TRAILING_COMMA)


def _blanked(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(lambda match: match[1] or re.sub(r"\S", " ", match[0]), text)


def _members(plain: str, at: int) -> dict[str, _Member]:
    """Return the members of the object that begins at `at`; of equal names the last, as clients do."""
    members: dict[str, _Member] = {}
    end = _next(plain, at + 1)
    while plain[end] != "}":
        start = _next(plain, end + 1) if plain[end] == "," else end
        name, colon = _DECODER.raw_decode(plain, start)
        value = _next(plain, plain.index(":", colon) + 1)
        _, last = _DECODER.raw_decode(plain, value)
        members[name] = _Member(start, value, last)
        end = _next(plain, last)
    return members


def _next(plain: str, at: int) -> int:
    return len(plain) - len(plain[at:].lstrip())


def _insert(text: str, at: int, name: str, value: Any) -> str:
    """Add a member at the start of the object at `at`, on a separate line unless another begins on the same."""
    first = min(_members(_plain(text), at).values(), default=None)
    if first is None:
        outer = _indent(text, at)
        member = f"{json.dumps(name)}: {_rendered(text, value, outer + _unit(text))}"
        return f"{text[: at + 1]}\n{outer}{_unit(text)}{member}\n{outer}{text[at + 1 :].lstrip(' ')}"
    lead = text[text.rfind("\n", 0, first.start) + 1 : first.start]
    separator = " " if lead.strip() else f"\n{lead}"
    member = f"{json.dumps(name)}: {_rendered(text, value, _indent(text, first.start))},{separator}"
    return text[: first.start] + member + text[first.start :]


def _remove(text: str, members: Mapping[str, _Member], name: str) -> str:
    """Remove a member with a comma, and the lines that contain nothing else."""
    start, _, end = members[name]
    before = max((member.end for member in members.values() if member.end < start), default=0)
    bare = _blanked(text, _COMMENT)
    following = re.compile(r"\s*,").match(bare, end)
    if following:
        text = text[: following.end() - 1] + text[following.end() :]
    line, rest = text.rfind("\n", 0, start) + 1, len(text) - len(text[end:].lstrip(" \t\r"))
    if text[rest] == "\n" and not text[line:start].strip():
        start, rest = line, rest + 1
    text = text[:start] + text[rest:]
    if before and not following:
        comma = bare.index(",", before)
        text = text[:comma] + text[comma + 1 :]
    return text


def _rendered(text: str, value: Any, indent: str) -> str:
    """Return `value` as JSON in the layout of `text`, for a line with this indentation."""
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"\n{indent}")


def _unit(text: str) -> str:
    """Return the indentation of the first member that begins a line."""
    found = re.search(r'\n([ \t]+)"', text)
    return found[1] if found else "  "


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]
