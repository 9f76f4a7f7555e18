"""Names that a provider accepts, different for different tools, whatever their order."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 64  # some providers accept up to 128 characters; all accept these
_MARKS = {"gemini": "_.:-", "mcp": "_.-"}


def legal_names(names: Iterable[str], format: str) -> dict[str, str]:  # noqa: A002  (the field's word)
    """Map each name to one that the provider of `format` accepts: at most 64 characters, no two alike.

    A legal name stays. In other names `_` replaces each character that is not allowed; a digest of the name is added
    where the result is too long, has no letter or digit, or is also the name of another tool.
    """
    allowed = f"A-Za-z0-9{_MARKS.get(format, '_-')}"
    first = "A-Za-z_" if format == "gemini" else allowed
    is_legal = re.compile(f"[{first}][{allowed}]{{0,{_LONGEST - 1}}}").fullmatch
    made = {name: name for name in names}
    short = {name: re.sub(f"[^{allowed}]", "_", name) for name in sorted(made) if not is_legal(name)}
    if not short:
        return made
    texts = [text if re.match(f"[{first}]", text) else f"_{text}" for text in short.values()]
    taken = made.keys() - short.keys()
    is_unique = [texts.count(text) == 1 and text not in taken and is_legal(text) and text.strip("_") for text in texts]
    taken |= {text for text, unique in zip(texts, is_unique, strict=True) if unique}
    for name, text, unique in zip(short, texts, is_unique, strict=True):
        made[name] = text if unique else _with_digest(name, text, taken)
        taken.add(made[name])
    return made


def _with_digest(name: str, short: str, taken: set[str]) -> str:
    made = f"{short[: _LONGEST - 9]}_{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    # A server may name a tool as another server's tool is rewritten: the next digest keeps them apart.
    return made if made not in taken else _with_digest(f"{name} ", short, taken)
