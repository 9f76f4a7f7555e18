"""Collections and mappings as hints: the functions that create them from lists and objects, and their types."""

from __future__ import annotations

from collections import OrderedDict, abc, defaultdict, deque
from collections.abc import Callable
from functools import partial
from typing import Any, get_args, get_origin

from tools_core._definition._hints._annotations import Unsupported, hint_name
from tools_core._definition._hints._converters import Converter

_LISTS = (list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection, abc.Reversible)
# Collections, and the functions that create them from a list.
COLLECTIONS: dict[Any, Callable[[Any], Any]] = {
    **dict.fromkeys(_LISTS, list),
    **dict.fromkeys((set, abc.Set, abc.MutableSet), set),
    frozenset: frozenset,
    tuple: tuple,
    deque: deque,
}
# Mappings, and the functions that create them from a dict; None if it stays.
MAPPINGS: dict[Any, Callable[[Any], Any] | None] = {
    **dict.fromkeys((dict, abc.Mapping, abc.MutableMapping)),
    OrderedDict: OrderedDict,
    defaultdict: partial(defaultdict, None),
}


def check_count(hint: Any, origin: Any, args: tuple[Any, ...]) -> None:
    """Refuse a collection with too many or too few types."""
    count = 2 if origin in MAPPINGS else 1
    if origin is not tuple and len(args) != count:
        example = "dict[str, int]" if count == 2 else "list[str]"
        raise Unsupported(f"{hint_name(hint)} must have {count} type{'s' * (count > 1)}", f"write {example}")


def unpacked_type(hint: Any) -> Any:
    """Return X for `*tuple[X, ...]` and `Unpack[tuple[X, ...]]`, and None for any other hint."""
    is_unpack = getattr(get_origin(hint), "_name", None) == "Unpack"
    inner = get_args(get_args(hint)[0] if is_unpack else hint)
    is_open = (is_unpack or getattr(hint, "__unpacked__", False)) and inner[1:] == (...,)
    return inner[0] if is_open else None


def created(create: Callable[[Any], Any], convert: Converter | None) -> Converter:
    """Convert an object to a mapping of another class."""

    def converted(value: Any, path: Any, problems: Any) -> Any:
        value = convert(value, path, problems) if convert else value
        return create(value) if isinstance(value, dict) else None

    return converted
