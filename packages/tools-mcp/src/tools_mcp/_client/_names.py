"""Names for the tools of a server, whose own names may be longer or have other characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools_core._definition._naming import NAME_PATTERN

if TYPE_CHECKING:
    from collections.abc import Iterable

_is_legal = re.compile(NAME_PATTERN).fullmatch


def tool_names(remote: Iterable[str], prefix: str = "") -> dict[str, str]:
    """Return a legal name for each name that the server uses; those that are legal stay as they are."""
    wanted = {name: prefix + name for name in remote}
    if all(map(_is_legal, wanted.values())):
        return wanted
    from tools_core.formats._names import legal_names  # only for unusual names

    safe = {name: full if re.match("[A-Za-z_]", full) else f"_{full}" for name, full in wanted.items()}
    legal = legal_names(safe.values(), "openai")
    return {name: legal[full] for name, full in safe.items()}
