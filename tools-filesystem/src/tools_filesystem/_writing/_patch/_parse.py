"""Parse the text of a patch into sections: `*** Begin Patch` ... `*** End Patch`, or a unified diff.

Between the markers every content line has a prefix, so that content cannot be mistaken for a marker.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._writing._near_miss import quoted
from tools_filesystem._writing._patch._sections import BLANK, Hunk, Section, hunk_of, refuse
from tools_filesystem._writing._patch._unified import NUMBERS, parse_unified

if TYPE_CHECKING:
    from typing import Literal

    Numbered = list[tuple[int, str]]

_ACTIONS: dict[str, Literal["add", "update", "delete"]] = {
    "add file": "add",
    "update file": "update",
    "delete file": "delete",
}
_HERE_DOCUMENT = re.compile(r"(?:apply_?patch\s+)?<<-?\s*['\"]?(\w+)['\"]?")
_MARKERS = (
    "'*** Add File: PATH', '*** Update File: PATH', '*** Move to: PATH' (below an update), '*** Delete File: PATH' "
    "or '*** End Patch'"
)
_FORMATS = (
    "a patch begins with '*** Begin Patch' and then '*** Update File: PATH', '*** Add File: PATH' or "
    "'*** Delete File: PATH', or it is a unified diff with '--- PATH' and '+++ PATH'"
)


def parse(patch: str) -> list[Section]:
    """Return the sections of a patch; ToolError names the unreadable line and the fix."""
    lines = patch.split("\n")
    if not lines[-1]:
        lines.pop()
    if all(line.endswith("\r") for line in lines[:-1]):  # the patch itself has CRLF line endings
        lines = [line.removesuffix("\r") for line in lines]
    lines = _unwrapped(lines)
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise ToolError(f"the patch is empty: {_FORMATS}", "validation_error")
    if lines[first].strip().lower() == "*** begin patch":
        sections = _envelope(lines, first + 1)
    elif any(line.startswith(("diff --git ", "--- ")) for line in lines):
        sections = parse_unified(lines)
    else:
        message = f"patch line {first + 1} is not the start of a patch: {_FORMATS}"
        raise ToolError(message, "validation_error")
    if not sections:
        raise ToolError(f"the patch has no section: {_FORMATS}", "validation_error")
    return sections


def _unwrapped(lines: list[str]) -> list[str]:
    """Remove a Markdown fence or a here-document around the patch; line numbers in messages stay correct."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if len(filled) < 2:
        return lines
    first, last = lines[filled[0]].strip(), lines[filled[-1]].strip()
    document = _HERE_DOCUMENT.fullmatch(first)
    if (first.startswith("```") and last == "```") or (document is not None and last == document[1]):
        return [""] * (filled[0] + 1) + lines[filled[0] + 1 : filled[-1]]
    return lines


def _envelope(lines: list[str], position: int) -> list[Section]:
    """Return the sections of the lines from `position`, which is after the first marker."""
    filled = [at for at in range(position, len(lines)) if lines[at] not in BLANK]
    # Only where no content can be, a marker may have blanks before it; later ones may then have the same.
    padding = lines[filled[0]].partition("*")[0] if filled else ""
    padding = "" if padding.strip() else padding
    numbered = [(at + 1, lines[at].removeprefix(padding) if _is_padded(lines[at], padding) else lines[at])
                for at in range(position, len(lines))]  # fmt: skip
    end = next((at for at, (_, line) in enumerate(numbered) if _marker(line)[0] == "end patch"), None)
    if end is None and filled and _marker(lines[filled[-1]].strip())[0] == "end patch":
        end = filled[-1] - position
    if end is None:
        refuse(len(lines), "the patch is truncated: '*** End Patch' is missing")
    heads = [at for at in range(end) if _marker(numbered[at][1])[0] in _ACTIONS]
    for number, line in numbered[: heads[0] if heads else end]:
        if line not in BLANK:
            refuse(number, f"{quoted(line)} is not a marker: {_MARKERS}")
    for number, line in numbered[end + 1 :]:
        if line not in BLANK:
            refuse(number, "text after '*** End Patch'; content with these words needs its prefix")
    return [_section(*numbered[head], numbered[head + 1 : following]) for head, following in pairwise([*heads, end])]


def _is_padded(line: str, padding: str) -> bool:
    marker = _marker(line.removeprefix(padding))[0]
    return bool(padding) and line.startswith(padding) and (marker in _ACTIONS or marker in ("end patch", "move to"))


def _section(number: int, line: str, body: Numbered) -> Section:
    marker, path = _marker(line)
    if not path:
        refuse(number, f"'{line.strip()}' has no path after the colon")
    if marker == "add file":
        return Section(number, "add", path, _added(body))
    destination = None
    if marker == "update file" and body and _marker(body[0][1])[0] == "move to":
        destination = _marker(body[0][1])[1]
        if not destination:
            refuse(body[0][0], "'*** Move to:' has no path after the colon")
        body = body[1:]
    hunks = _hunks(body)
    if marker == "delete file" and hunks:
        refuse(hunks[0].number, "a deleted file has no hunks")
    if marker == "update file" and not hunks and destination is None:
        refuse(number, "this update has no hunk: '@@', then lines that begin with ' ', '-' or '+'")
    return Section(number, _ACTIONS[marker], path, hunks, destination)


def _added(body: Numbered) -> tuple[Hunk, ...]:
    while body and body[-1][1] in BLANK:  # blank lines that separate it from the next section
        body = body[:-1]
    for number, line in body:
        if not line.startswith(("+", "\\")):
            refuse(number, f"in a new file every line begins with '+', an empty one too; this is {quoted(line)}")
    return (hunk_of(body[0][0], body),) if body else ()


def _hunks(body: Numbered) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    heads: Numbered = []
    content: Numbered = []

    def close(*, at_end: bool = False) -> None:
        if heads or at_end or any(line not in BLANK for _, line in content):
            hunks.append(_hunk(heads, content if any(line not in BLANK for _, line in content) else [], at_end=at_end))
        heads.clear()
        content.clear()

    for number, line in body:
        if line.startswith("@@"):
            if content:
                close()
            heads.append((number, line))
        elif _marker(line)[0] == "end of file":
            close(at_end=True)
        else:
            content.append((number, line))
    close()
    return tuple(hunks)


def _hunk(heads: Numbered, content: Numbered, *, at_end: bool) -> Hunk:
    """Parse a hunk with its `@@` lines, each of which may have a heading or line numbers."""
    start, anchors = None, list[bytes]()
    for _, line in heads:
        text = line[2:].rstrip("\r")
        numbers = NUMBERS.match(f"@@ {text.strip()}")
        if numbers:
            start = int(numbers[1])
            adds_alone = content and not any(line in BLANK or line[0] in " -" for _, line in content)
            if adds_alone and numbers[2] != "0":
                refuse(heads[0][0], "this hunk announces old lines, but has none; show a line above or below")
        elif text.strip(" @"):
            anchors.append(text.removeprefix(" ").encode())
    number = (heads or content or [(0, "")])[0][0]
    return hunk_of(number, content, anchors=anchors, start=start, at_end=at_end)


def _marker(line: str) -> tuple[str, str]:
    """Return the words of a marker line and the text after its colon; two empty strings for any other line."""
    if not line.startswith("*** "):
        return "", ""
    words, _, rest = line[4:].partition(":")
    return words.strip().lower(), rest.strip()
