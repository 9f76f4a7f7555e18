"""From the text of a patch to its sections: which of the two formats it is, and nothing guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._writing._patch._envelope import parse_envelope
from tools_filesystem._writing._patch._unified import parse_unified

if TYPE_CHECKING:
    from tools_filesystem._writing._patch._sections import Section

_FORMATS = (
    "a patch begins with '*** Begin Patch' and then '*** Update File: PATH', '*** Add File: PATH' or "
    "'*** Delete File: PATH', or it is a unified diff with '--- PATH' and '+++ PATH'"
)


def parse(patch: str) -> list[Section]:
    """The sections of a patch, in order; ToolError names the line that cannot be read, and what would work."""
    lines = patch.split("\n")
    if not lines[-1]:
        lines.pop()
    if all(line.endswith("\r") for line in lines[:-1]):  # the patch itself came with CRLF
        lines = [line.removesuffix("\r") for line in lines]
    lines = _without_fence(lines)
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise ToolError(f"the patch is empty: {_FORMATS}", "validation_error")
    if lines[first].strip().lower() == "*** begin patch":
        sections = parse_envelope(lines, first + 1)
    elif any(line.startswith(("diff --git ", "--- ")) for line in lines):
        sections = parse_unified(lines)
    else:
        message = f"line {first + 1} of the patch is no beginning: {_FORMATS}, without a command around it"
        raise ToolError(message, "validation_error")
    if not sections:
        raise ToolError(f"the patch has no section: {_FORMATS}", "validation_error")
    return sections


def _without_fence(lines: list[str]) -> list[str]:
    """Leave out a Markdown fence around the patch; line numbers in messages stay right."""
    marked = [number for number, line in enumerate(lines) if line.strip()]
    if len(marked) < 2 or not lines[marked[0]].startswith("```") or lines[marked[-1]].strip() != "```":
        return lines
    return ["", *lines[marked[0] + 1 : marked[-1]]]
