"""The parts that readers of single kinds of hints share: their results, their state, their one error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias, get_origin

from tools_core._values._problem import clip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core._definition._hints._convert import Converter

Schema: TypeAlias = dict[str, Any]
# The schema of a hint, and its converter; None where JSON is already what the hint asks for.
Reading: TypeAlias = tuple[Schema, "Converter | None"]

USABLE = "use str, int, float, bool, list, dict, Literal, Enum, TypedDict, a dataclass or a pydantic model"

_REFERENCE = r"ForwardRef\('([^']*)'[^()]*\)"
_QUALIFIER = r"(?:[A-Za-z_<][\w<>]*\.)+(?=[A-Za-z_])"  # the modules and functions around a name


class HintReader:
    """Reads hints; `defs` collects what the schema needs in `$defs`. `Reader` is its only subclass."""

    def __init__(self, *, is_output: bool = False) -> None:
        self.defs: Schema = {}
        self.is_output = is_output  # the type of a result, and not of an argument
        self.is_foreign = False  # a library's objects or classes wrote a part of the schema
        self.definitions: dict[Any, Definition] = {}  # the types that are being read

    def read(self, hint: Any) -> Reading:
        """Read one hint; raises Unsupported."""
        raise NotImplementedError

    def free_name(self, wanted: str) -> str:
        """Reserve a name in `$defs`."""
        base = name = re.sub(r"\W", "_", wanted)
        number = 2
        while name in self.defs:
            name, number = f"{base}{number}", number + 1
        self.defs[name] = {}
        return name

    def class_names(self) -> Mapping[str, Any]:
        """Names that hints inside these classes may use, even where their module does not know them."""
        return {one.__name__: one for one in self.definitions}


class Definition:
    """A type that is being read; where it uses itself, this stands in for its converter."""

    def __init__(self) -> None:
        self.name: str | None = None  # in `$defs`, as soon as there is a use
        self.convert: Converter | None = None

    def __call__(self, value: Any, path: Any, problems: Any) -> Any:
        return self.convert(value, path, problems) if self.convert else value


class Unsupported(Exception):
    """A hint that JSON cannot fill; `Draft` turns it into a DefinitionError that says where."""

    def __init__(self, reason: str, fix: str = USABLE) -> None:
        super().__init__(f"{reason}; {fix}")
        self.reason = reason
        self.fix = fix


def hint_name(hint: Any) -> str:
    """Write a hint as its author did, as near as Python remembers it."""
    text = hint.__qualname__ if isinstance(hint, type) else re.sub(_REFERENCE, r"\1", repr(hint))
    return clip(re.sub(_QUALIFIER, "", text), 80)


def bare(hint: Any) -> Any:
    """Leave out what a generic class or alias is filled with."""
    return get_origin(hint) or hint
