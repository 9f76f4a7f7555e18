"""Editing one entry of a section in JSON, JSON with comments or TOML; all other text stays as it is.

`read` returns the data of a text. `put` and `remove` return the new text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tomlkit import TOMLDocument

    Format = Literal["json", "jsonc", "toml"]

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


class SyntaxProblem(ValueError):
    """A text that cannot be parsed, with the place of the mistake."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(reason)
        self.line = line
        self.column = column


class _Member(NamedTuple):
    start: int  # of the name
    value: int
    end: int


def read(text: str, kind: Format) -> dict[str, Any]:
    """Return the data; an empty text has none."""
    if kind == "toml":
        return dict(_toml(text).unwrap())
    plain = text if kind == "json" else _plain(text)
    if not plain.strip():
        return {}
    try:
        data = json.loads(plain)
    except json.JSONDecodeError as error:
        raise SyntaxProblem(error.msg, error.lineno, error.colno) from None
    if not isinstance(data, dict):
        raise SyntaxProblem("not an object", 1, 1)
    return data


def put(text: str, kind: Format, section: str, name: str, entry: Mapping[str, Any]) -> str:
    """Set an entry, and make the section if there is none; other members of an old entry stay."""
    if kind == "toml":
        return _put_toml(text, section, name, entry)
    plain = _plain(text)
    if not plain.strip():
        return text + json.dumps({section: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
    root = _next(plain, 0)
    found = _members(plain, root).get(section)
    if found is None:
        return _insert(text, root, section, {name: entry})
    old = _members(plain, found.value).get(name)
    if old is None:
        return _insert(text, found.value, name, entry)
    value = json.loads(plain[old.value : old.end]) | entry
    return text[: old.value] + _rendered(text, value, _indent(text, old.start)) + text[old.end :]


def remove(text: str, kind: Format, section: str, name: str) -> str:
    """Remove an entry that exists."""
    if kind == "toml":
        document = _toml(text)
        del document[section][name]
        return f"{document.as_string().rstrip()}\n".lstrip()
    plain = _plain(text)
    members = _members(plain, _members(plain, _next(plain, 0))[section].value)
    start, _, end = members[name]
    following = re.compile(r"\s*,").match(_without_comments(text), end)
    before = [member.end for member in members.values() if member.end < start]
    comma = -1
    if following:
        end = following.end()
    elif before:
        comma = plain.index(",", max(before))
    line = text.rfind("\n", 0, start) + 1
    rest = re.compile(r"[ \t\r]*\n").match(text, end)
    if rest and not text[line:start].strip():  # it has its lines for itself
        start, end = line, rest.end()
    else:
        start = len(text[:start].rstrip(" \t"))
    text = text[:start] + text[end:]
    return text if comma < 0 else text[:comma] + text[comma + 1 :]


def _plain(text: str) -> str:
    """Return `text` as plain JSON: comments and trailing commas become spaces, so each position stays."""
    return _TRAILING_COMMA.sub(_blank, _without_comments(text))


def _without_comments(text: str) -> str:
    return _COMMENT.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\r\n]", " ", match[0])


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
    return _SPACE.match(plain, at).end()  # type: ignore[union-attr]  # matches everywhere


def _insert(text: str, at: int, name: str, value: Any) -> str:
    """Add a member at the end of the object that begins at `at`, on a separate line if the others have one each."""
    plain = _plain(text)
    close = _DECODER.raw_decode(plain, at)[1] - 1
    last = max(_members(plain, at).values(), default=None)
    has_comma = last is not None and "," in _without_comments(text)[last.end : close]
    place = len(text[:close].rstrip())
    end = "," * has_comma
    if last and "\n" not in text[at:close]:
        member = f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}{end}"
    else:
        outer = _indent(text, at)
        inner = _indent(text, last.start) if last else outer + _unit(text)
        member = f"{_newline(text)}{inner}{json.dumps(name)}: {_rendered(text, value, inner)}{end}"
        if "\n" not in text[place:close]:
            member += _newline(text) + outer
    text = text[:place] + member + text[place:]
    return text if has_comma or not last else text[: last.end] + "," + text[last.end :]


def _rendered(text: str, value: Any, indent: str) -> str:
    """Return `value` as JSON in the layout of `text`, for a line with this indentation."""
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return f"{_newline(text)}{indent}".join(lines)


def _unit(text: str) -> str:
    """Return the indentation of the first member that begins a line."""
    found = re.search(r'\n([ \t]+)"', text)
    return found[1] if found else "  "


def _indent(text: str, at: int) -> str:
    found = re.compile(r"[ \t]*").match(text, text.rfind("\n", 0, at) + 1)
    return found[0] if found else ""


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _toml(text: str) -> TOMLDocument:
    import tomlkit  # 50 ms that only one client needs
    from tomlkit.exceptions import ParseError

    try:
        return tomlkit.parse(text)
    except ParseError as error:
        raise SyntaxProblem(str(error).partition(" at line ")[0], error.line, error.col + 1) from None


def _put_toml(text: str, section: str, name: str, entry: Mapping[str, Any]) -> str:
    from tomlkit import dumps, items  # loaded already

    document = _toml(text)
    servers = document.get(section, {})
    if name in servers:
        servers[name].update(entry)
    elif isinstance(servers, items.InlineTable):
        servers[name] = dict(entry)
    else:
        separator = "\n" * ((text != "") + (text != "" and not text.endswith("\n")))
        return text + separator + dumps({section: {name: dict(entry)}})
    return document.as_string()
