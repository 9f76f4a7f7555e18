"""Hints that are still text: `from __future__ import annotations`, quoted names, forward references."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ForwardRef, Literal, get_type_hints

from tools_core._definition._hints._reading import Unsupported, hint_name

if TYPE_CHECKING:
    from collections.abc import Mapping

# Raised by evaluating the text of a hint: `X | Y` of unfit types, a missing attribute, a typing error.
_EVALUATION = (NameError, SyntaxError, TypeError, AttributeError, ValueError, LookupError)


def annotations_of(owner: Any) -> dict[str, Any]:
    """Read `__annotations__`; a name that Python 3.14 cannot evaluate yet stays a forward reference."""
    found: dict[str, Any]
    try:
        found = owner.__annotations__
    except NameError:  # 3.14 evaluates annotations when they are read, and brings the library that then helps
        library = import_module("annotationlib")
        found = library.get_annotations(owner, format=library.Format.FORWARDREF)
    return found


def is_text(hint: Any) -> bool:
    """Tell whether a hint, or a part of it, has still to be evaluated."""
    if isinstance(hint, (str, ForwardRef)):
        return True
    parts: tuple[Any, ...] = getattr(hint, "__args__", ())
    return any(map(is_text, parts)) if parts and getattr(hint, "__origin__", None) is not Literal else False


def resolve(hint: Any, globals_: Mapping[str, Any], locals_: Mapping[str, Any]) -> Any:
    """Evaluate what is text in one hint."""
    if not is_text(hint):
        return hint
    # One hint at a time, so that a name that is missing elsewhere (in the return type, say) does no harm.
    holder = SimpleNamespace(__annotations__={"hint": hint})
    try:
        return get_type_hints(holder, dict(globals_), dict(locals_), include_extras=True)["hint"]
    except _EVALUATION as error:
        raise _unresolved(hint, error) from error


def resolve_members(owner: type, hints: dict[str, Any], locals_: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate what is text in the hints of a class; each name is looked up where its class was written."""
    if not any(map(is_text, hints.values())):
        return hints
    try:
        found = get_type_hints(owner, localns=dict(locals_), include_extras=True)
    except _EVALUATION as error:
        raise _unresolved(owner.__name__, error) from error
    return {name: found[name] for name in hints}


def _unresolved(hint: Any, error: Exception) -> Unsupported:
    written = getattr(hint, "__forward_arg__", hint)
    text = written if isinstance(written, str) else hint_name(written)
    name = getattr(error, "name", None)
    if isinstance(error, NameError) and name:
        return Unsupported(
            f"the name `{name}` in the hint {text!r} is not defined",
            f"define or import `{name}` at the top of the module, not in a function or `if TYPE_CHECKING:`",
        )
    return Unsupported(f"the hint {text!r} cannot be evaluated ({error})", "write one that can be")
