"""Which stream each byte came from, where two of them are written down as one."""

from __future__ import annotations

from array import array
from bisect import bisect_right

_MOST = 1 << 17  # changes that are remembered, in 1 MiB; of what is older it is not known any more


class Order:
    """The places where one stream follows on another, in the order of arrival."""

    __slots__ = ("_changes", "_first", "_names", "known_from")

    def __init__(self, first: str, second: str) -> None:
        self._names = (first, second)
        self._changes = array("Q", [0])  # at even indices, counted from `_first`, the first one begins
        self._first = 0
        self.known_from = 0  # before this it is not known whose a byte is

    def add(self, name: str, position: int) -> None:
        """From `position` on it is `name` who writes."""
        is_other = self._names.index(name) != (self._first + len(self._changes) - 1) % 2
        if is_other:
            self._changes.append(position)
            if len(self._changes) > _MOST:
                self.forget(self._changes[_MOST // 2 + 1])

    def forget(self, before: int) -> None:
        """What is before this position will not be asked for."""
        count = bisect_right(self._changes, before) - 1
        if count > len(self._changes) // 2:  # seldom, since it moves all that is left
            del self._changes[:count]
            self._first += count
            self.known_from = self._changes[0]

    def back(self, name: str, end: int, count: int) -> int:
        """Where the last `count` bytes begin that `name` wrote before `end`; all that are known, if they are fewer."""
        wanted, index = self._names.index(name), bisect_right(self._changes, end) - 1
        while index >= 0:
            begin = self._changes[index]
            if (self._first + index) % 2 == wanted:
                if end - begin >= count:
                    return end - count
                count -= end - begin
            end = begin
            index -= 1
        return end

    def select(self, name: str, start: int, data: bytes, limit: int) -> tuple[bytes, int]:
        """What `name` wrote of `data`, which begins at `start`: so many bytes at most, and where they end."""
        wanted, end = self._names.index(name), start + len(data)
        index = bisect_right(self._changes, start) - 1
        parts: list[bytes] = []
        while index < len(self._changes) and (begin := max(self._changes[index], start)) < end:
            following = self._changes[index + 1] if index + 1 < len(self._changes) else end
            if (self._first + index) % 2 == wanted:
                part = data[begin - start : min(following, begin + limit) - start]
                parts.append(part)
                limit -= len(part)
                if not limit:
                    return b"".join(parts), begin + len(part)
            index += 1
        return b"".join(parts), end
