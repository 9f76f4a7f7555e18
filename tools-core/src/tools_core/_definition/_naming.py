"""Tool names: how one is derived from a class name, and which are legal."""

from __future__ import annotations

import re

from tools_core._values._errors import DefinitionError
from tools_core._values._problem import show

NAME_PATTERN = "[A-Za-z_][A-Za-z0-9_-]{0,63}"

_legal = re.compile(NAME_PATTERN).fullmatch
_acronym_then_word = re.compile("([A-Z]+)([A-Z][a-z])")
_word_then_upper = re.compile("([a-z0-9])([A-Z])")


def derive_name(class_name: str) -> str:
    """Turn `HTTPServerTool` into `http_server`; empty when nothing of the name is ASCII.

    The rule is the original ask-tools' own: diacritics dropped (NFKD), what is not `[A-Za-z0-9_-]` becomes `-`,
    CamelCase becomes snake_case, and one trailing `_tool` is removed.
    """
    name = class_name
    if not name.isascii():
        import unicodedata  # a table of 1 MB that ASCII names never need

        name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    name = re.sub("[^A-Za-z0-9_-]", "-", name)
    name = _word_then_upper.sub(r"\1_\2", _acronym_then_word.sub(r"\1_\2", name))
    return name.lower().removesuffix("_tool")


def check_name(name: object, owner: str) -> str:
    """Return `name` if a provider would take it as a tool's name; DefinitionError names `owner` otherwise."""
    if isinstance(name, str) and _legal(name):
        return name
    wanted = "1 to 64 of the letters A-Z and a-z, digits, _ and -, not beginning with a digit or -"
    if name == "":
        raise DefinitionError(f'{owner} gives no usable tool name; set one: name = "my_tool" ({wanted})')
    shown = show(name) if isinstance(name, str) else repr(name)
    raise DefinitionError(f"{owner} has the tool name {shown}, which no provider accepts; use {wanted}")
