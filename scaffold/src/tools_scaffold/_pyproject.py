"""A line more in a pyproject.toml, of which every other byte stays as it is."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

from tools_scaffold._errors import ScaffoldError
from tools_scaffold._project import parse

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = '[project.entry-points."ask_tools.tools"]'

_header = re.compile(
    r"""^[ \t]*\[[ \t]*project[ \t]*\.[ \t]*entry-points[ \t]*\.[ \t]*(?:"ask_tools\.tools"|'ask_tools\.tools')"""
    r"""[ \t]*\][ \t]*(?:\#.*)?$""",
    re.MULTILINE,
)
_dependencies = re.compile(r"^[ \t]*dependencies[ \t]*=[ \t]*\[", re.MULTILINE)


def with_entry_point(text: str, name: str, place: str) -> str:
    """Put an entry point below the others; ScaffoldError if it cannot be done without touching them."""
    line = f'{name} = "{place}"'

    def change(table: dict[str, Any]) -> None:
        table["project"].setdefault("entry-points", {}).setdefault("ask_tools.tools", {})[name] = place

    lines = text.split("\n")
    heads = [number for number, each in enumerate(lines) if _header.match(each)]
    if heads:
        last = heads[0]
        for number in range(heads[0] + 1, len(lines)):
            stripped = lines[number].lstrip()
            if stripped.startswith("["):
                break
            if stripped and not stripped.startswith("#"):
                last = number
        indent = re.match(r"[ \t]*", lines[last])
        lines.insert(last + 1, (indent[0] if indent else "") + line)
    else:
        while lines and not lines[-1].strip():
            lines.pop()
        lines += ["", HEADER, line, ""]
    problem = f"write this yourself, below {HEADER}:\n  {line}"
    return _checked(text, "\n".join(lines), change, problem)


def with_dependency(text: str, requirement: str) -> str:
    """Put a requirement before the others; ScaffoldError if it cannot be done without touching them."""

    def change(table: dict[str, Any]) -> None:
        table["project"]["dependencies"].insert(0, requirement)

    problem = f"add {requirement!r} to the dependencies first"
    found = _dependencies.search(text)
    if found is None:
        raise ScaffoldError(f"the dependencies in pyproject.toml are not written as one array: {problem}")
    rest = text[found.end() :]
    several = re.match(r"[ \t]*\n([ \t]*)(?=[\"'])", rest)
    if several:
        new = f'{text[: found.end()]}\n{several[1]}"{requirement}",{rest}'
    else:
        comma = "" if rest.lstrip().startswith("]") else ", "
        new = f'{text[: found.end()]}"{requirement}"{comma}{rest}'
    return _checked(text, new, change, problem)


def _checked(text: str, changed: str, change: Callable[[dict[str, Any]], None], problem: str) -> str:
    """Return `changed` if it says what `text` says but for `change`."""
    expected = copy.deepcopy(parse(text))
    try:
        change(expected)
        if parse(changed) == expected:
            return changed
    except (AttributeError, KeyError, TypeError, ScaffoldError):  # it is written in a way that was not foreseen
        pass
    raise ScaffoldError(f"pyproject.toml is written in a way that cannot be added to safely; {problem}")
