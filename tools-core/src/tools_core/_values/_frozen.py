"""Read-only JSON: definitions and metadata are handed out without copies, and no caller can change their owner."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NoReturn


def frozen(value: Any) -> Any:
    """Return a read-only copy of JSON; dicts and lists are of subclasses that `json` and `isinstance` accept."""
    if isinstance(value, FrozenDict | FrozenList):
        return value
    if isinstance(value, dict):
        return FrozenDict((key, frozen(item)) for key, item in value.items())
    return FrozenList(map(frozen, value)) if isinstance(value, list | tuple) else value


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("it is read-only; change a copy, as copy.deepcopy makes it")


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed; its copies can."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: deepcopy(item, memo) for key, item in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A list that cannot be changed; its copies can."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [deepcopy(item, memo) for item in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)
