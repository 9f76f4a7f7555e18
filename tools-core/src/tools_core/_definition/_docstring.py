"""Docstrings in Google, NumPy and Sphinx style: the text for models, and the texts of the parameters.

Nothing here raises: a docstring without sections is a description.
"""

from __future__ import annotations

import inspect
import re

_PARAMETERS = frozenset({
    "args", "arguments", "params", "parameters", "keyword args", "keyword arguments", "other parameters",
})  # fmt: skip
# For programmers only: models see neither Python types nor exceptions.
_OTHERS = frozenset({"returns", "return", "yields", "yield", "receives", "raises", "raise", "warns", "attributes"})
_PARAMETER_FIELDS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword", "kwarg"})
_OTHER_FIELDS = frozenset({
    "type", "return", "returns", "rtype", "yield", "yields", "ytype", "raise", "raises", "except", "exception",
})  # fmt: skip

_FIELD = re.compile(r":(\w+)(?:[ \t]+([^:]*))?:(?:[ \t]+(.*)|$)")  # `:param int count: Number of items.`
# `count (int, optional): Number.`, and what models write: a list, Markdown, or a dash in place of the colon.
_BULLET = re.compile(r"^(?:[-*+\u2022]|\d+[.)])\s+")
_ENTRY = re.compile(
    r"[*`]{0,3}(\w+)[*`]{0,3}\s*(?:\((?:[^()]|\([^()]*\))*\))?[*`]{0,3}(?:\s*:|\s+(?:--?|\u2013|\u2014)\s)[*`]{0,3}(.*)"
)
_MIN_WIDTH = 64  # characters at which lines are wrapped: 72 with indentation removed
# Lines that are no part of a paragraph: blank and indented ones, lists, quotes, tables, headings, code.
_STRUCTURE = re.compile(r"\s|$|[-*+] |[>|#:]|\d+[.)] |```")
_RULE = re.compile(r"\s*-{3,}\s*")


def parse_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Return the text for models and the texts of the parameters by name.

    The text is dedented and without these sections, and the wrapped lines of its paragraphs are joined. Lines of a
    section that describe no parameter stay in it.
    """
    lines = [line.rstrip() for line in inspect.cleandoc(docstring or "").split("\n")]
    if _is_title(lines[0]) and len(lines) > 1 and not _indent(lines[1]):  # cleandoc has removed the indentation
        lines[1:] = [f"    {line}" if line else "" for line in lines[1:]]
    text: list[str] = []
    parameters: dict[str, str] = {}
    start = 0
    while start < len(lines):
        end, others = _read_section(lines, start, parameters)
        text += others
        if end == start:
            text.append(lines[start])
            end += 1
        start = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_unwrapped(text))).strip(), parameters


def _unwrapped(lines: list[str]) -> list[str]:
    """Join each line with the next one if its width is the only reason for its end."""
    joined: list[str] = []
    width, is_code = 0, False  # of the last line, as it was in the docstring
    for line in lines:
        is_code ^= line.lstrip().startswith("```")
        first = line.partition(" ")[0]
        is_wrapped = width + 1 + len(first) > _MIN_WIDTH and not is_code and not _STRUCTURE.match(line)
        if joined and is_wrapped and not _STRUCTURE.match(joined[-1]):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
        width = len(line)
    return joined


def _is_title(line: str) -> bool:
    return line.strip().rstrip(" :").lower() in _PARAMETERS | _OTHERS


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read_section(lines: list[str], start: int, parameters: dict[str, str]) -> tuple[int, list[str]]:
    """Read the section or field that starts at a line.

    Returns its end, or `start` for any other line, and the lines that describe no parameter.
    """
    line = lines[start].strip()
    if line.startswith(":"):
        return _read_field(lines, start, parameters), []
    if not _is_title(line):
        return start, []
    is_for_models = line.rstrip(" :").lower() in _PARAMETERS
    texts = parameters if is_for_models else {}
    if start + 1 < len(lines) and _RULE.fullmatch(lines[start + 1]):
        end, others = _read_numpy(lines, start + 2, texts)
    elif line.endswith(":"):
        end, others = _read_google(lines, start, texts)
    else:
        return start, []
    return end, others if is_for_models else []


def _read_field(lines: list[str], start: int, parameters: dict[str, str]) -> int:
    match = _FIELD.match(lines[start].strip())
    if match is None or match[1] not in _PARAMETER_FIELDS | _OTHER_FIELDS:
        return start
    name = (match[2] or "").rpartition(" ")[2].strip("*`")
    if match[1] in _PARAMETER_FIELDS and not name.isidentifier():
        return start
    end = _block_end(lines, start)
    if match[1] in _PARAMETER_FIELDS:
        for text in (match[3] or "", *lines[start + 1 : end]):
            _add(parameters, name, text)
    return end


def _read_google(lines: list[str], start: int, parameters: dict[str, str]) -> tuple[int, list[str]]:
    """Read entries `name (type): text`, indented below the title."""
    end = _block_end(lines, start)
    block = [line for line in lines[start + 1 : end] if line]
    if not block:
        return start, []
    margin, name = _indent(block[0]), ""
    others: list[str] = []
    for line in block:
        text = line
        if _indent(line) <= margin and (entry := _ENTRY.match(_BULLET.sub("", line.strip(), count=1))):
            name, text = entry[1], entry[2]
        elif not name or (_indent(line) <= margin and _BULLET.match(line.strip())):
            others.append(line.strip())
            continue
        _add(parameters, name, text)
    return end, others


def _read_numpy(lines: list[str], start: int, parameters: dict[str, str]) -> tuple[int, list[str]]:
    """Read entries `name : type`, each with its text indented below it, up to the next heading."""
    others: list[str] = []
    while start < len(lines):
        if lines[start] and start + 1 < len(lines) and _RULE.fullmatch(lines[start + 1]):
            break
        end = _block_end(lines, start)
        title = _BULLET.sub("", lines[start], count=1)
        names = [name.strip(" *`") for name in title.partition(":")[0].split(",")]
        if not all(name.isidentifier() for name in names):
            others += lines[start:end]
        elif end == start + 1 and (entry := _ENTRY.match(title)) and " " in entry[2].strip():
            _add(parameters, entry[1], entry[2])  # `name : text`
        for name in names if all(name.isidentifier() for name in names) else ():
            for text in lines[start + 1 : end]:
                _add(parameters, name, text)
        start = end
    return start, [line for line in others if line]


def _block_end(lines: list[str], start: int) -> int:
    """Return the end of the block that is indented below a line; blank lines inside it count."""
    margin = _indent(lines[start])
    end = start + 1
    for index in range(start + 1, len(lines)):
        if lines[index]:
            if _indent(lines[index]) <= margin:
                break
            end = index + 1
    return end


def _add(parameters: dict[str, str], name: str, text: str) -> None:
    name, text = name.strip().lstrip("*"), text.strip()
    if name.isidentifier() and text:
        parameters[name] = f"{parameters[name]} {text}" if name in parameters else text
