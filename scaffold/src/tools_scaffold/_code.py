"""Python code for the parameters of a tool, laid out as ruff formats it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from tools_scaffold._params import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools_scaffold._params import Parameter

LINE_LENGTH = 110  # as the generated pyproject.toml says


def signature(parameters: Iterable[Parameter], indent: str) -> str:
    """Return one line for each parameter, or several for a long one."""
    return "\n".join(_parameter(each, indent) for each in parameters)


def bracketed(opening: str, items: Sequence[str], closing: str) -> str:
    """Enclose `items`, on one line if they fit."""
    line = f"{opening}{', '.join(items)}{closing}"
    if _fits(line):
        return line
    indent = opening[: len(opening) - len(opening.lstrip())]
    return "\n".join([opening, *(f"{indent}    {item}," for item in items), f"{indent}{closing}"])


def samples(parameters: Iterable[Parameter]) -> list[str]:
    """Return the items of a dictionary with a sample for each parameter."""
    return [f"{json_text(each.name)}: {_literal(each.sample)}" for each in parameters]


def import_lines(parameters: Iterable[Parameter], *more: tuple[str, str]) -> str:
    """Return the imports from the standard library that the parameters need."""
    wanted: dict[str, set[str]] = {}
    for module, name in [*more, *(pair for each in parameters for pair in each.imports)]:
        wanted.setdefault(module, set()).add(name)
    return "\n".join(f"from {module} import {', '.join(sorted(wanted[module]))}" for module in sorted(wanted))


def import_line(module: str, name: str) -> str:
    """Return the import of one name."""
    line = f"from {module} import {name}"
    return line if _fits(line) else f"from {module} import (\n    {name},\n)"


def shell_arguments(parameters: Iterable[Parameter]) -> str:
    """Return a sample for each parameter, as `ask-tools call` takes them, with a space before each."""
    pairs = [(each.name, each.sample) for each in parameters]
    texts = [f"{name}={sample if isinstance(sample, str) else json.dumps(sample)}" for name, sample in pairs]
    return "".join(f" {shlex.quote(text)}" for text in texts)


def _parameter(parameter: Parameter, indent: str) -> str:
    default = f" = {parameter.default}" if parameter.default else ""
    parts = [parameter.annotation, json_text(parameter.description)]
    return bracketed(f"{indent}{parameter.name}: Annotated[", parts, f"]{default},")


def _literal(sample: Any) -> str:
    if isinstance(sample, list):
        return f"[{', '.join(map(_literal, sample))}]"
    return json_text(sample) if isinstance(sample, str) else repr(sample)


def _fits(line: str) -> bool:
    # Formatters count some characters as two columns; the long form is right at every width.
    return line.isascii() and len(line) <= LINE_LENGTH
