"""The source of one cell of a notebook, which is replaced without a change of the other bytes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


class Cell(NamedTuple):
    """The source of a cell, and the place of its value in the JSON text of the notebook."""

    source: str
    start: int
    end: int
    has_outputs: bool

    def replaced(self, notebook: str, source: str) -> str:
        """Return the notebook with another source in this cell, formatted like the old one."""
        old = notebook[self.start : self.end]
        is_ascii = "\\u" in old or (notebook.isascii() and "\\u" in notebook)
        line = notebook[notebook.rfind("\n", 0, self.start) + 1 : self.start]
        indent = line[: len(line) - len(line.lstrip())]
        if not old.startswith("["):
            new = json.dumps(source, ensure_ascii=is_ascii)
        elif "\n" in notebook and line.strip().startswith('"source"'):
            end, step = next(re.finditer(r"(\r?\n)([ \t]*)", notebook)).groups()
            inner = f"{end}{indent}{step or ' '}"
            items = [json.dumps(part, ensure_ascii=is_ascii) for part in source.splitlines(keepends=True)]
            new = f"[{inner}{f',{inner}'.join(items)}{end}{indent}]" if items else "[]"
        else:
            new = json.dumps(source.splitlines(keepends=True), ensure_ascii=is_ascii)
        return notebook[: self.start] + new + notebook[self.end :]


def cell_of(notebook: str, number: int, path: str) -> Cell:
    """Return a cell by its number, from 1; ToolError (`not_found`) for another number."""
    try:
        cells = dict(_members(notebook, 0))["cells"]
        starts = list(_items(notebook, cells[0]))
        if not 1 <= number <= len(starts):
            raise ToolError(f"{path!r} has cells 1 to {len(starts)}, not {number}", "not_found")
        members = dict(_members(notebook, starts[number - 1]))
        start, end = members["source"]
        source = json.loads(notebook[start:end])
        outputs = json.loads(notebook[slice(*members["outputs"])]) if "outputs" in members else []
        return Cell(source if isinstance(source, str) else "".join(source), start, end, bool(outputs))
    except (ValueError, TypeError, KeyError, RecursionError, IndexError) as error:
        raise ToolError(f"{path!r} is not a notebook with cells; omit cell", "validation_error") from error


def _value(text: str, at: int) -> tuple[Any, int, int]:
    """Return the value that begins at a place after white space, and its span."""
    start = _end_of_space(text, at)
    value, end = _DECODER.raw_decode(text, start)
    return value, start, end


def _members(text: str, at: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the names of an object's members, each with the span of its value."""
    at = _opened(text, at, "{")
    while text[at] != "}":
        name, _, at = _value(text, at)
        _, start, end = _value(text, _opened(text, at, ":"))
        yield name, (start, end)
        at = _end_of_space(text, end)
        at = _end_of_space(text, at + 1) if text[at] == "," else at


def _items(text: str, at: int) -> Iterator[int]:
    """Yield where the items of an array begin."""
    at = _opened(text, at, "[")
    while text[at] != "]":
        _, start, end = _value(text, at)
        yield start
        at = _end_of_space(text, end)
        at = _end_of_space(text, at + 1) if text[at] == "," else at


def _opened(text: str, at: int, char: str) -> int:
    at = _end_of_space(text, at)
    if text[at] != char:
        raise ValueError(f"no {char}")
    return _end_of_space(text, at + 1)


def _end_of_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
