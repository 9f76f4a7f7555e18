"""The one name of a tool package, in its three spellings, and which names are refused.

However it is given (`weather`, `tools-weather`, `tools_weather`, `WeatherTool`), the tool is `weather`, the
distribution `tools-weather` and the import package `tools_weather`.
"""

from __future__ import annotations

import builtins
import keyword
import re
from typing import TYPE_CHECKING

from tools_scaffold._errors import ScaffoldError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

LIMIT = 64  # what providers take as the name of a tool

_well_formed = re.compile("[a-z][a-z0-9]*(?:_[a-z0-9]+)*").fullmatch
_acronym_then_word = re.compile("([A-Z]+)([A-Z][a-z])")
_word_then_upper = re.compile("([a-z0-9])([A-Z])")
_prefix = re.compile("^tools_(?=.)")
_suffix = re.compile("(?<=.)(?:_tool)+$")

OURS = frozenset({"agent", "core", "filesystem", "mcp", "runtime", "scaffold", "shell", "testing"})
DEVICES = frozenset({"aux", "con", "nul", "prn"} | {port + n for port in ("com", "lpt") for n in "123456789"})
# What the made package's own code calls something else; a tool of the same name would hide it.
TAKEN_BY_TEMPLATE = frozenset({"answer", "name", "pytest", "result", "tool"})
# `type` is on the list since Python 3.12; what is refused should not hang on who refuses.
_KEYWORDS = frozenset(word.lower() for word in (*keyword.kwlist, *keyword.softkwlist, "type"))


class PackageName:
    """A legal name: the tool `my_weather`, distribution `tools-my-weather`, package `tools_my_weather`."""

    __slots__ = ("distribution", "package", "tool")

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.distribution = "tools-" + tool.replace("_", "-")
        self.package = "tools_" + tool


def read_name(text: str) -> PackageName:
    """Read a name in any of its spellings; ScaffoldError says what is wrong and proposes a legal one."""
    problem = _problem(text)
    if problem is None:
        return PackageName(_spell(text))
    proposal = propose(text)
    raise ScaffoldError(f"{problem}; try {proposal or 'a word like weather'}", proposal)


def propose(text: str, taken: Iterable[str] = ()) -> str | None:
    """Find a legal name close to `text` and not in `taken`; None if nothing of it is usable."""
    import unicodedata  # a table of 1 MB that a legal name never needs

    last = re.split(r"[/\\:]", text[-200:].rstrip("/\\:"))[-1]
    letters = unicodedata.normalize("NFKD", last).encode("ascii", "ignore").decode("ascii")
    word = re.sub("[^a-z0-9]+", "_", _spell(re.sub("[^A-Za-z0-9]+", "_", letters).strip("_"))).strip("_")
    for candidate in (word, f"my_{word}"):
        name = candidate[:LIMIT].rstrip("_")
        if word and name not in taken and _spell(name) == name and _problem(name) is None:
            return name.replace("_", "-")
    return None


def _spell(text: str) -> str:
    """Turn any spelling into the tool's: snake case, without our prefix and suffix."""
    name = _word_then_upper.sub(r"\1_\2", _acronym_then_word.sub(r"\1_\2", text))
    return _suffix.sub("", _prefix.sub("", name.lower().replace("-", "_")))


def _problem(text: str) -> str | None:
    if not text.strip():
        return "a tool package needs a name"
    if any(mark in text for mark in "/\\:\0") or text.startswith(("~", ".")):
        return f"{shown(text, 40)} is a path, not a name (--dir says where the package is made)"
    if not text.isascii():
        return f"{shown(text, 40)} has letters outside a to z"
    name = _spell(text)
    if name[0].isdigit():
        return f"{shown(text, 40)} begins with a digit"
    if not _well_formed(name):
        return f"{shown(text, 40)} is no legal name: use letters, digits, and single hyphens between them"
    if len(name) > LIMIT:
        return f"{shown(text, 40)} has {len(name)} characters; a tool's name has at most {LIMIT}"
    return _reserved(name)


def _reserved(name: str) -> str | None:
    if name in _KEYWORDS:
        return f"{shown(name, 40)} is a word of the Python language"
    if name in OURS:
        return f"tools-{name} is a package of ask-tools itself"
    if name in DEVICES:
        return f"{shown(name, 40)} is a device on Windows"
    if hasattr(builtins, name):
        return f"{shown(name, 40)} is a name of Python's own, which the tool's function would hide"
    if name.startswith("test_"):
        return f"{shown(name, 40)} would be taken for a test"
    if name == "tools":
        return f"{shown(name, 40)} says nothing of what the tool does"
    if name in TAKEN_BY_TEMPLATE:
        return f"{shown(name, 40)} is a name that the code of a tool package needs for itself"
    return None
