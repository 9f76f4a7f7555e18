r"""ECMA-262 regular expressions, as JSON Schema writes them, compiled by `re`.

With `re.ASCII`, \d, \w and \b mean what ECMA-262 says. What else the two languages write differently is rewritten.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PARTS = r"\\u\{[0-9a-fA-F]{1,6}\}|\\k<\w+>|\\.|\(\?<(?![=!])|."


@lru_cache(maxsize=256)
def translate(pattern: str) -> re.Pattern[str]:
    """Compile an ECMA-262 pattern; ValueError with the reason when `re` has no counterpart."""
    try:
        return re.compile(_rewritten(pattern), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{error}") from None


def _rewritten(pattern: str) -> str:
    out: list[str] = []
    in_class = False
    for part in re.findall(_PARTS, pattern, re.DOTALL):
        if part.startswith("\\u{"):
            out.append(re.escape(chr(int(part[3:-1], 16))))
        elif in_class:
            in_class = part != "]"
            out.append(f"\\{part}" if part in "[&|~" else part)  # `re` warns that these may get a meaning
        elif part == "$":
            out.append(r"\Z")  # `$` also matches before a last newline
        elif part == "(?<":
            out.append("(?P<")
        elif part.startswith("\\k<"):
            out.append(f"(?P={part[3:-1]})")
        else:
            in_class = part == "["
            out.append(part)
    return "".join(out)
