"""Jupyter notebooks as text: cells with their outputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_OUTPUT = 4000  # characters of one output


def notebook_lines(data: bytes) -> list[str] | None:
    """Return the lines that show a notebook; None if the file is not one."""
    try:
        notebook = json.loads(data)
        cells = notebook["cells"]
        return [line for number, cell in enumerate(cells, 1) for line in _cell(number, cell)]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _cell(number: int, cell: dict[str, Any]) -> Iterator[str]:
    count = cell.get("execution_count")
    yield f"--- cell {number} ({cell['cell_type']}{f', run {count}' if count else ''}) ---"
    yield from _text(cell["source"]).split("\n")
    for output in cell.get("outputs", ()):
        yield f"--- output of cell {number} ---"
        text = _output(output)
        yield from text[:_MAX_OUTPUT].rstrip("\n").split("\n")
        if len(text) > _MAX_OUTPUT:
            yield f"[{len(text) - _MAX_OUTPUT} more characters]"


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _text(output["text"])
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    data = output["data"]
    kinds = ", ".join(kind for kind in data if kind != "text/plain")
    return "\n".join(
        [*([_text(data["text/plain"])] if "text/plain" in data else []), *([f"[{kinds}]"] if kinds else [])]
    )


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
