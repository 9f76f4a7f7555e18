"""Python code made from parameters, laid out as a formatter would."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tools_scaffold._types import TYPES, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools_scaffold._params import Parameter

LINE_LIMIT = 110  # the made package's own, in its pyproject.toml

_HOMES = {
    "collections": ("deque",),
    "datetime": ("UTC", "date", "datetime", "time"),
    "decimal": ("Decimal",),
    "pathlib": ("Path",),
    "typing": ("Annotated", "Any", "Literal", "TypedDict"),
    "uuid": ("UUID",),
    "pydantic": ("BaseModel", "Field"),
    "tools_core": ("Halt", "Result", "Tool", "ToolError", "Toolset", "tool"),
}
_THIRD_PARTY = ("pydantic", "pytest", "tools_core")

_import_block = re.compile(r"^(?:(?:from \S+ )?import .*\n|\n)+", re.MULTILINE)


def sent(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Samples as a model sends them, as Python code by name."""
    return {each.name: _sample(each, as_sent=True) for each in parameters}


def valued(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Samples as Python code has them, by name."""
    return {each.name: _sample(each, as_sent=False) for each in parameters}


def shell_words(parameters: Iterable[Parameter]) -> str:
    """Samples as the command takes them."""
    import json
    import shlex

    words = []
    for each in parameters:
        value: Any = each.choices[0] if each.choices else TYPES[each.type].sent
        text = value if isinstance(value, str) and not each.is_list else json.dumps([value] if each.is_list else value)
        words.append(shlex.quote(f"{each.name}={text}"))
    return " ".join(words)


def signature(parameters: Iterable[Parameter], indent: str, *, pydantic: bool) -> str:
    """The lines of a signature, one parameter each."""
    return "".join(_parameter(each, indent, pydantic=pydantic) for each in parameters)


def fields(parameters: Iterable[Parameter], indent: str) -> str:
    """The lines of a class with a field for each parameter."""
    return "".join(_field(each, indent) for each in parameters)


def enclosed(head: str, items: Sequence[str], tail: str, after: int = 0) -> str:
    """Put items between `head` and `tail`: on one line if it fits with `after` more, else on one line each."""
    line = f"{head}{', '.join(items)}{tail}"
    if width(line) + after <= LINE_LIMIT or not items:
        return line
    indent = head[: len(head) - len(head.lstrip())]
    return "\n".join([head, *(f"{indent}    {item}," for item in items), f"{indent}{tail}"])


def width(text: str) -> int:
    """How many columns a line takes."""
    if text.isascii():
        return len(text)
    import unicodedata  # a table of 1 MB, needed only for text outside ASCII

    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "FW" else 1 for sign in text
    )


def with_imports(code: str) -> str:
    """Write the imports at the head of a program anew, so that they bring what the code below them uses."""
    head = code.index('"""', 3) + 4 if code.startswith('"""') else 0
    block = _import_block.match(code, head)
    if block is None:
        return code
    rest = code[block.end() :]
    known = {name for names in _HOMES.values() for name in names}
    kept = [line for line in block[0].splitlines() if line and line.split()[1] not in _HOMES]
    used = _names(rest) & known
    lines = kept + [
        f"from {home} import {', '.join(sorted(used.intersection(names)))}"
        for home, names in _HOMES.items()
        if used.intersection(names)
    ]
    groups: list[list[str]] = [[], [], []]
    for line in sorted(lines, key=lambda line: (line.startswith("from"), line.split()[1])):
        home = line.split()[1]
        own = home.startswith("tools_") and home not in _THIRD_PARTY
        groups[2 if own else 1 if home in _THIRD_PARTY else 0].append(line)
    gap = "\n\n\n" if re.match("class |def |@", rest) else "\n\n"
    return code[:head] + "\n" * bool(head) + "\n\n".join("\n".join(group) for group in groups if group) + gap + rest


def _names(code: str) -> set[str]:
    import ast

    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def _sample(parameter: Parameter, *, as_sent: bool) -> str:
    if parameter.choices:
        return literal(parameter.choices[0])
    known = TYPES[parameter.type]
    code = known.code
    if as_sent:
        code = literal(known.sent) if isinstance(known.sent, str) else repr(known.sent)
    return f"[{code}]" if parameter.is_list else code


def _parameter(parameter: Parameter, indent: str, *, pydantic: bool) -> str:
    words = literal(parameter.description)
    text = f"Field(description={words})" if pydantic else words
    default = "" if parameter.default is None else f" = {parameter.default}"
    head = f"{indent}{parameter.name}: Annotated["
    line = f"{head}{_type(parameter)}, {text}]{default},"
    if width(line) <= LINE_LIMIT:
        return line + "\n"
    inner = indent + "    "
    if pydantic:
        text = enclosed(f"{inner}Field(", [f"description={words}"], ")", 1).lstrip()
    return f"{head}\n{_annotation(parameter, inner)}\n{inner}{text},\n{indent}]{default},\n"


def _annotation(parameter: Parameter, indent: str) -> str:
    """The type for a line of its own, with a comma; long choices take several lines."""
    line = f"{indent}{_type(parameter)},"
    if not parameter.choices or width(line) <= LINE_LIMIT:
        return line
    end = f"\n{indent}| None," if parameter.is_optional else ","
    return _choices(parameter, indent) + end


def _choices(parameter: Parameter, indent: str) -> str:
    lines = "".join(f"{indent}    {literal(choice)},\n" for choice in parameter.choices)
    return f"{indent}Literal[\n{lines}{indent}]"


def _type(parameter: Parameter) -> str:
    text = f"list[{parameter.type}]" if parameter.is_list else parameter.type
    if parameter.choices:
        text = f"Literal[{', '.join(map(literal, parameter.choices))}]"
    return f"{text} | None" if parameter.is_optional else text


def _field(parameter: Parameter, indent: str) -> str:
    line = f"{indent}{parameter.name}: {_type(parameter)}\n"
    if not parameter.choices or width(line) - 1 <= LINE_LIMIT:
        return line
    if not parameter.is_optional:
        return f"{indent}{parameter.name}: {_choices(parameter, indent).lstrip()}\n"
    inner = indent + "    "
    return f"{indent}{parameter.name}: (\n{_choices(parameter, inner)}\n{inner}| None\n{indent})\n"
