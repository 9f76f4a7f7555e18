"""Annotations: evaluation of hints that are text, hints in messages, and the error for unsupported ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ForwardRef, Literal, TypeAlias, get_type_hints

from tools_core._definition._hints._converters import Converter
from tools_core._values._problem import clip

Schema: TypeAlias = dict[str, Any]
# The schema of a hint, and its converter; None if valid JSON has the right type already.
Reading: TypeAlias = tuple[Schema, Converter | None]

SUPPORTED = (
    "use str, int, float, bool, list, dict, Literal, Enum, date, datetime, Path, UUID, Decimal, TypedDict, "
    "a dataclass, or a class of attrs, msgspec or pydantic"
)
_REFERENCE = re.compile(r"ForwardRef\('([^']*)'[^()]*\)")
_QUALIFIER = re.compile(r"(?:[A-Za-z_<][\w<>]*\.)+(?=[A-Za-z_])")  # the modules and functions around a name


class Unsupported(Exception):
    """A hint that JSON cannot express. `define` turns it into a DefinitionError that names the parameter."""

    def __init__(self, reason: str, fix: str = SUPPORTED) -> None:
        super().__init__(f"{reason}; {fix}")
        self.reason = reason
        self.fix = fix


def hint_name(hint: Any) -> str:
    """Return a hint as text, without the modules of its names."""
    text = hint.__qualname__ if isinstance(hint, type) else _REFERENCE.sub(r"\1", repr(hint))
    return clip(_QUALIFIER.sub("", text), 80)


def is_text(hint: Any) -> bool:
    """Return whether a hint, or a part of it, is text that must be evaluated."""
    if isinstance(hint, (str, ForwardRef)):
        return True
    parts: tuple[Any, ...] = getattr(hint, "__args__", ())
    return any(map(is_text, parts)) if parts and getattr(hint, "__origin__", None) is not Literal else False


def evaluate(hint: Any, globals_: Mapping[str, Any], locals_: Mapping[str, Any]) -> Any:
    """Evaluate the text in a hint."""
    if not is_text(hint):
        return hint
    # Hints are evaluated one at a time: a missing name in another hint, such as the return type, does not matter.
    holder = SimpleNamespace(__annotations__={"hint": hint})
    hint = getattr(hint, "__forward_arg__", hint)
    return _evaluated(holder, hint if isinstance(hint, str) else hint_name(hint), dict(globals_), locals_)["hint"]


def evaluate_members(cls: type, names: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate the hints of a class; they may use `names` even if its module does not have them."""
    return _evaluated(cls, cls.__name__, None, names)


def _evaluated(owner: Any, text: str, globals_: dict[str, Any] | None, locals_: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return get_type_hints(owner, globals_, dict(locals_), include_extras=True)
    except Exception as error:
        name = getattr(error, "name", None)
        if not isinstance(error, NameError) or not name:
            raise Unsupported(f"the hint {text!r} cannot be evaluated ({error})", "correct it") from error
        raise Unsupported(
            f"the name `{name}` in the hint {text!r} is not defined",
            f"define or import `{name}` at the top of the module, not in a function or `if TYPE_CHECKING:`",
        ) from error
