"""Docstrings in Google, NumPy and Sphinx style: the text for the model, and the text of each parameter.

Nothing here raises: a docstring that follows no style is all description.
"""

from __future__ import annotations

import re

_PARAMETERS = frozenset({
    "args", "arguments", "params", "parameters", "keyword args", "keyword arguments", "other parameters",
})  # fmt: skip
# For the programmer, not for the model, which sees neither a Python type nor an exception.
_OTHERS = frozenset({"returns", "return", "yields", "yield", "receives", "raises", "raise", "warns", "attributes"})
_PARAMETER_FIELDS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword", "kwarg"})
_OTHER_FIELDS = frozenset({
    "type", "return", "returns", "rtype", "yield", "yields", "ytype", "raise", "raises", "except", "exception",
})  # fmt: skip

# Patterns stay text until their first use: compiling them would cost every import.
_FIELD = r":(\w+)(?:[ \t]+([^:]*))?:(?:[ \t]+(.*)|$)"  # `:param int count: How many.`
_ENTRY = r"\*{0,2}(\w+)\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*:(.*)"  # `count (int, optional): How many.`
_RULE = r"\s*-{3,}\s*"


def parse_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Return the docstring, dedented and without those sections, and the text of each parameter."""
    if not docstring:
        return "", {}
    lines = _dedented(docstring)
    kept: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        end = _read_section(lines, at, parameters)
        if end == at:
            kept.append(lines[at])
            end += 1
        at = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), parameters


def _dedented(docstring: str) -> list[str]:
    """Split into lines without the margin of the source; as inspect.cleandoc, which would cost an import."""
    first, *rest = docstring.expandtabs().split("\n")
    margin = min((_indent(line) for line in rest if line.strip()), default=0)
    return [first.strip(), *(line[margin:].rstrip() for line in rest)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read_section(lines: list[str], at: int, parameters: dict[str, str]) -> int:
    """Read the section or field that begins at a line, if one does; return where it ends, or `at`."""
    line = lines[at].strip()
    if line.startswith(":"):
        return _read_field(lines, at, parameters)
    title = line.rstrip(" :").lower()
    if title not in _PARAMETERS | _OTHERS:
        return at
    found = parameters if title in _PARAMETERS else {}
    if at + 1 < len(lines) and re.fullmatch(_RULE, lines[at + 1]):
        return _read_numpy(lines, at + 2, found)
    return _read_google(lines, at, found) if line.endswith(":") else at


def _read_field(lines: list[str], at: int, parameters: dict[str, str]) -> int:
    match = re.match(_FIELD, lines[at].strip())
    if match is None or match[1] not in _PARAMETER_FIELDS | _OTHER_FIELDS:
        return at
    end = _block_end(lines, at)
    if match[1] in _PARAMETER_FIELDS:
        name = (match[2] or "").rpartition(" ")[2]
        for text in (match[3] or "", *lines[at + 1 : end]):
            _add(parameters, name, text)
    return end


def _read_google(lines: list[str], at: int, parameters: dict[str, str]) -> int:
    """Read entries `name (type): text`, indented below the title."""
    end = _block_end(lines, at)
    block = [line for line in lines[at + 1 : end] if line]
    if not block:
        return at
    margin, name = _indent(block[0]), ""
    for line in block:
        text = line
        if _indent(line) <= margin and (entry := re.match(_ENTRY, line.strip())):
            name, text = entry[1], entry[2]
        _add(parameters, name, text)
    return end


def _read_numpy(lines: list[str], at: int, parameters: dict[str, str]) -> int:
    """Read entries `name : type`, each with its text indented below it, up to the next heading."""
    while at < len(lines):
        if lines[at] and at + 1 < len(lines) and re.fullmatch(_RULE, lines[at + 1]):
            break
        end = _block_end(lines, at)
        for name in lines[at].partition(":")[0].split(","):
            for text in lines[at + 1 : end]:
                _add(parameters, name, text)
        at = end
    return at


def _block_end(lines: list[str], at: int) -> int:
    """Find the end of what is indented below a line, blank lines inside it included."""
    margin = _indent(lines[at])
    end = at + 1
    for index in range(at + 1, len(lines)):
        if lines[index]:
            if _indent(lines[index]) <= margin:
                break
            end = index + 1
    return end


def _add(parameters: dict[str, str], name: str, text: str) -> None:
    name, text = name.strip().lstrip("*"), text.strip()
    if name.isidentifier() and text:
        parameters[name] = f"{parameters[name]} {text}" if name in parameters else text
