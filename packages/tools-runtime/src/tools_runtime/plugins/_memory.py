"""The memory of plugins: `PerKey` for each run or key of the user's choice, `Bounded` for values of limited size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from tools_core import Context

    Key = Callable[[Context], Hashable]

T = TypeVar("T")
K = TypeVar("K")


class Bounded(Generic[K, T]):
    """Values of limited number and total size; the least recently used are dropped first."""

    def __init__(self, max_entries: int, max_size: float = 1) -> None:
        if max_entries < 1 or max_size < 1:
            raise ValueError(f"limits must be at least 1, got {max_entries!r} and {max_size!r}")
        self._max_entries = max_entries
        self._max_size = max_size
        self._values: OrderedDict[K, tuple[T, int]] = OrderedDict()
        self._size = 0
        self.lock = threading.RLock()

    def find(self, key: K) -> T | None:
        """Return the value with this key."""
        with self.lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def add(self, key: K, value: T, size: int = 0) -> bool:
        """Store a value; False if it is too large."""
        if size > self._max_size:
            return False
        with self.lock:
            self._size += size - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, size
            while len(self._values) > self._max_entries or self._size > self._max_size:
                self._size -= self._values.popitem(last=False)[1][1]
        return True

    def clear(self) -> None:
        """Drop all values."""
        with self.lock:
            self._values.clear()
            self._size = 0


class PerKey(Generic[T]):
    """A value for each run, or for each key that `key` returns for the context; `create` returns a new one.

    Beyond `max_keys` the least recently used value is dropped.
    """

    def __init__(self, create: Callable[[], T], key: Key | None, max_keys: int) -> None:
        self._create = create
        self._key = key
        self._values: Bounded[Hashable, T] = Bounded(max_keys)

    def of(self, context: Context) -> T:
        """Return the value for the key of this context."""
        key = context.run_id if self._key is None else self._key(context)
        with self._values.lock:
            value = self._values.find(key)
            if value is None:
                value = self._create()
                self._values.add(key, value)
            return value

    def clear(self) -> None:
        """Drop all values."""
        self._values.clear()
