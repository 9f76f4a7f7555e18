"""Docstrings in Google, NumPy and Sphinx style: the text for the model, and the text of each parameter.

Nothing here raises: a docstring that follows no style is all description.
"""

from __future__ import annotations

import re

_PARAMETER_SECTIONS = {
    "args", "arguments", "params", "parameters", "keyword args", "keyword arguments", "other parameters",
}  # fmt: skip
# For the programmer, not for the model, which sees neither a Python type nor an exception.
_OTHER_SECTIONS = {
    "returns", "return", "yields", "yield", "receives", "raises", "raise", "warns", "attributes",
}  # fmt: skip
_SECTIONS = _PARAMETER_SECTIONS | _OTHER_SECTIONS

# Patterns stay text until their first use: compiling them would cost every import.
_FIELD = r":(?P<kind>\w+)(?:[ \t]+(?P<of>[^:\n]*))?:(?:[ \t]+(?P<text>.*)|$)"
_PARAMETER_FIELDS = {"param", "parameter", "arg", "argument", "key", "keyword", "kwarg"}
_OTHER_FIELDS = {
    "type", "return", "returns", "rtype", "yield", "yields", "ytype",
    "raise", "raises", "except", "exception",
}  # fmt: skip
_NAME = r"\*{0,2}(\w+)"


def parse_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Return the docstring, dedented and without those sections, and the text of each parameter."""
    if not docstring:
        return "", {}
    if "\n" not in docstring and ":" not in docstring:
        return docstring.strip(), {}
    lines = _dedented(docstring)
    if not any(_may_begin(line) for line in lines):
        return "\n".join(lines).strip(), {}
    kept: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        end = _section_end(lines, at, parameters)
        if end == at:
            kept.append(lines[at])
            at += 1
        else:
            at = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), parameters


def _dedented(docstring: str) -> list[str]:
    """Split into lines without the margin of the source; as inspect.cleandoc, which would cost an import."""
    first, *rest = docstring.expandtabs().split("\n")
    margin = min((_indent(line) for line in rest if line.strip()), default=0)
    # Where a section begins the docstring, its entries are the margin; they belong further in.
    begins = first.strip().lower()
    inset = "    " if begins.endswith(":") and begins.rstrip(":") in _PARAMETER_SECTIONS else ""
    return [first.strip(), *((inset + line[margin:]).rstrip() for line in rest)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _may_begin(line: str) -> bool:
    line = line.strip()
    return line.startswith(":") or line.rstrip(" :").lower() in _SECTIONS


def _section_end(lines: list[str], at: int, parameters: dict[str, str]) -> int:
    """Read the section that begins at a line, if one does; returns where it ends, or `at`."""
    if not _may_begin(lines[at]):
        return at
    if lines[at].lstrip().startswith(":"):
        return _read_field(lines, at, parameters)
    title = lines[at].strip()
    name = title.rstrip(" :").lower()
    if at + 1 < len(lines) and _is_rule(lines[at + 1]):
        return _read_numpy(lines, at, parameters if name in _PARAMETER_SECTIONS else {})
    if title.endswith(":"):
        return _read_google(lines, at, parameters if name in _PARAMETER_SECTIONS else {})
    return at


def _read_field(lines: list[str], at: int, parameters: dict[str, str]) -> int:
    """Read `:param int count: How many.` with its continuation lines."""
    match = re.match(_FIELD, lines[at].lstrip())
    if match is None or match["kind"] not in _PARAMETER_FIELDS | _OTHER_FIELDS:
        return at
    end = _block_end(lines, at)
    words = (match["of"] or "").split()
    if match["kind"] in _PARAMETER_FIELDS and words:
        _put(parameters, words[-1], [match["text"] or "", *lines[at + 1 : end]])
    return end


def _read_google(lines: list[str], at: int, parameters: dict[str, str]) -> int:
    """Read a section of entries `name (type): text`, indented below its title."""
    end = _block_end(lines, at)
    block = [line for line in lines[at + 1 : end] if line]
    if not block:
        return at
    margin = _indent(block[0])
    name, text = "", list[str]()
    for line in block:
        entry = _google_entry(line.strip()) if _indent(line) <= margin else None
        if entry is None:
            text.append(line)
            continue
        _put(parameters, name, text)
        name, text = entry[0], [entry[1]]
    _put(parameters, name, text)
    return end


def _google_entry(line: str) -> tuple[str, str] | None:
    """Split `name (type, optional): text`; the type may contain colons and brackets."""
    match = re.match(_NAME, line)
    if match is None:
        return None
    rest = line[match.end() :].lstrip()
    if rest.startswith("("):
        depth = 0
        for index, char in enumerate(rest):
            depth += (char == "(") - (char == ")")
            if depth == 0:
                rest = rest[index + 1 :].lstrip()
                break
    return (match[1], rest[1:].strip()) if rest.startswith(":") else None


def _read_numpy(lines: list[str], at: int, parameters: dict[str, str]) -> int:
    """Read a section of entries `name : type`, each with its text indented below it."""
    at += 2
    while at < len(lines):
        names = lines[at].partition(":")[0].split(",")
        is_heading = at + 1 < len(lines) and _is_rule(lines[at + 1])
        is_prose = not lines[at - 1] and not all(re.fullmatch(_NAME, name.strip()) for name in names)
        if lines[at] and (is_heading or is_prose):
            break
        end = _block_end(lines, at) if lines[at] else at + 1
        for name in names:
            _put(parameters, name.strip(), lines[at + 1 : end])
        at = end
    return at


def _is_rule(line: str) -> bool:
    line = line.strip()
    return len(line) >= 3 and line.strip("-") == ""


def _block_end(lines: list[str], at: int) -> int:
    """Find the end of what is indented below a line, blank lines inside it included."""
    margin = _indent(lines[at])
    end = at + 1
    for index in range(at + 1, len(lines)):
        if not lines[index]:
            continue
        if _indent(lines[index]) <= margin:
            break
        end = index + 1
    return end


def _put(parameters: dict[str, str], name: str, text: list[str]) -> None:
    match = re.fullmatch(_NAME, name)
    joined = " ".join(line.strip() for line in text if line.strip())
    if match and joined:
        parameters[match[1]] = joined
