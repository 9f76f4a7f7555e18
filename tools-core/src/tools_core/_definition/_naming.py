"""Tool names: derived from class names, and checked."""

from __future__ import annotations

import re

from tools_core._values._errors import DefinitionError
from tools_core._values._problem import show

NAME_PATTERN = "[A-Za-z_][A-Za-z0-9_-]{0,63}"

_legal = re.compile(NAME_PATTERN).fullmatch
_acronym_then_word = re.compile("([A-Z]+)([A-Z][a-z])")
_word_then_upper = re.compile("([a-z0-9])([A-Z])")


def derive_name(class_name: str) -> str:
    """Return `http_server` for `HTTPServerTool`; empty if no letter of the name is ASCII.

    As in the original ask-tools: remove diacritics (NFKD), replace other characters than `[A-Za-z0-9_-]` by `-`, turn
    CamelCase into snake_case, and remove `_tool` at the end.
    """
    name = class_name
    if not name.isascii():
        import unicodedata  # a table of 1 MB

        name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    name = re.sub("[^A-Za-z0-9_-]", "-", name)
    name = _word_then_upper.sub(r"\1_\2", _acronym_then_word.sub(r"\1_\2", name))
    return name.lower().removesuffix("_tool")


def check_name(name: object, owner: str) -> str:
    """Return `name` if it is a legal tool name for every provider; DefinitionError otherwise."""
    rule = "use 1 to 64 of the letters A-Z and a-z, digits, _ and -, and begin with a letter or _"
    if name == "":
        raise DefinitionError(f'{owner}: cannot derive a tool name; set name = "my_tool" ({rule})')
    if not isinstance(name, str):
        raise DefinitionError(f"{owner}: name must be text, got {show(name)}; {rule}")
    if not _legal(name):
        raise DefinitionError(f"{owner}: invalid tool name {show(name)}; {rule}")
    return name
