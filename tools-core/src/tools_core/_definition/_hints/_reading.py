"""What reading a hint gives, and the one way in which it fails."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from tools_core._values._problem import clip

if TYPE_CHECKING:
    from tools_core._definition._hints._convert import Converter

Schema: TypeAlias = dict[str, Any]
# The schema of a hint, and its converter; None where JSON is already what the hint asks for.
Reading: TypeAlias = tuple[Schema, "Converter | None"]

USABLE = "use str, int, float, bool, list, dict, Literal, Enum, TypedDict, a dataclass or a pydantic model"

_REFERENCE = r"ForwardRef\('([^']*)'[^()]*\)"
_QUALIFIER = r"(?:[A-Za-z_<][\w<>]*\.)+(?=[A-Za-z_])"  # the modules and functions around a name


class Unsupported(Exception):
    """A hint that JSON cannot fill; `read_signature` turns it into a DefinitionError that says where."""

    def __init__(self, reason: str, fix: str = USABLE) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.reason}; {self.fix}"

    def inside(self, place: str) -> Unsupported:
        """Say in which part of a larger hint the reason lies."""
        self.reason = f"{place}: {self.reason}"
        return self


def hint_name(hint: Any) -> str:
    """Write a hint as its author did, as near as Python remembers it."""
    text = hint.__qualname__ if isinstance(hint, type) else re.sub(_REFERENCE, r"\1", repr(hint))
    return clip(re.sub(_QUALIFIER, "", text), 80)
