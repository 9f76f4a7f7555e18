"""Text for messages and for generated files: quoting, and the layout that ruff gives to code."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LINE_LENGTH = 120  # as in the generated pyproject.toml


class ScaffoldError(ValueError):
    """The package or tool cannot be generated as requested; nothing was written."""


def show(value: object) -> str:
    """Quote a value for a message: one line, escaped, at most 60 characters."""
    text = str(value)
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def check_line(option: str, text: str) -> None:
    """Raise ScaffoldError unless `text` is one printable line."""
    if not text.strip() or not text.isprintable() or len(text) > 200:
        raise ScaffoldError(f"--{option} must be one printable line of at most 200 characters")


def quote(text: str) -> str:
    """Quote text as Python, JSON and TOML do."""
    return json.dumps(text, ensure_ascii=False)


def docstring(text: str) -> str:
    """Escape text for a docstring, as ruff formats it."""
    text = text.replace("\\", "\\\\")
    return text.replace('"', '\\"') if re.search('^"|"$|"""', text) else text


def bracketed(opening: str, items: Sequence[str], closing: str) -> str:
    """Enclose `items`, on one line if they fit."""
    line = f"{opening}{', '.join(items)}{closing}"
    if _fits(line):
        return line
    indent = opening[: len(opening) - len(opening.lstrip())]
    return "\n".join([opening, *(f"{indent}    {item}," for item in items), f"{indent}{closing}"])


def import_line(module: str, name: str) -> str:
    """Return the import of one name."""
    line = f"from {module} import {name}"
    return line if _fits(line) else f"from {module} import (\n    {name},\n)"


def _fits(line: str) -> bool:
    # Formatters count some characters as two columns; the long form is right at every width.
    return line.isascii() and len(line) <= LINE_LENGTH
