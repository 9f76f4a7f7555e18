"""Reading the files of clients, JSON with comments or TOML, and editing one entry of a section."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_STRING = r'("(?:[^"\\\n]|\\.)*")'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")


def read(text: str, *, is_toml: bool) -> dict[str, Any]:
    """Parse text; empty text is an empty object, and ValueError has the place of an error."""
    if is_toml:
        import tomlkit  # 50 ms that only one client needs

        return dict(tomlkit.parse(text).unwrap())
    plain = _blanked(_blanked(text, _COMMENT), _TRAILING_COMMA)
    data = json.loads(plain) if plain.strip() else {}
    if not isinstance(data, dict):
        raise ValueError("it is not an object")  # noqa: TRY004  (of the file, not of the program)
    return data


def changed(text: str, section: str, name: str, entry: Mapping[str, Any] | None, *, is_toml: bool) -> str | None:
    """Set an entry, or remove it; None for JSON with comments. The other members of an old entry stay."""
    if is_toml:
        return _changed_toml(text, section, name, entry)
    try:
        document = json.loads(text) if text.strip() else {}
    except ValueError:
        return None
    entries = document.setdefault(section, {})
    if entry is None:
        entries.pop(name, None)
    else:
        entries[name] = {**(entries.get(name) or {}), **entry}
    indent = re.search(r'\n([ \t]+)"', text)
    return json.dumps(document, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"


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


def _blanked(text: str, pattern: re.Pattern[str]) -> str:
    """Replace comments or trailing commas by spaces, so that the places in errors are right."""
    return pattern.sub(lambda match: match[1] or re.sub(r"\S", " ", match[0]), text)
