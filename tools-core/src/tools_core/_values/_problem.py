"""Problems of arguments, their paths, and values in messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from tools_core.text import visible

# A path is a linked pair, cheap to extend on the way down and rendered only for a problem.
Path: TypeAlias = tuple[Any, str | int] | None

MESSAGE_LIMIT = 400
_VALUE_LIMIT = 60
_PATH_LIMIT = 80
NON_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
NOTHING: Any = object()  # for "no value" wherever None is one


def path_keys(path: Path) -> list[str | int]:
    """Return the keys from the root to `path`."""
    keys: list[str | int] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return keys[::-1]


def render_path(path: Path) -> str:
    """Write a path as in Python: `items[1].quantity`, `["odd key"].x`; empty at the root."""
    parts: list[str] = []
    for key in path_keys(path):
        if isinstance(key, int):
            parts.append(f"[{key}]")
        elif str(key).isidentifier():
            parts.append(f".{key}")
        else:
            parts.append(f"[{show(key, 30)}]")
    return clip("".join(parts).removeprefix("."), _PATH_LIMIT)


class Problem:
    """One reason why arguments were refused; `path` is empty for the arguments as a whole.

    Path and text are rendered when they are read: most problems of rejected calls never are.
    """

    __slots__ = ("_got", "_rule", "where")

    def __init__(self, where: Path, rule: object, got: Any = NOTHING) -> None:
        self.where = where
        self._rule = rule
        self._got = got

    @property
    def path(self) -> str:
        """The place in the arguments, such as `items[1].quantity`."""
        return render_path(self.where)

    @property
    def text(self) -> str:
        """The expected value, and the actual one."""
        return str(self._rule) if self._got is NOTHING else f"{self._rule}, got {show(self._got)}"

    def __str__(self) -> str:
        path = self.path
        return clip(f"{path} {self.text}" if path else self.text, MESSAGE_LIMIT)

    def __repr__(self) -> str:
        return f"Problem({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self.where == other.where and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.where)

    def __reduce__(self) -> tuple[Any, ...]:
        return Problem, (self.where, self.text)


def clip(text: str, limit: int) -> str:
    """Truncate text to `limit` characters, including the ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def show(value: Any, limit: int = _VALUE_LIMIT) -> str:
    """Write a value for a message: like JSON, on one line, truncated, hidden characters escaped."""
    kind = type(value)
    if kind is str:
        if value.isalnum() and len(value) <= limit - 2:  # most values need no escape
            return f'"{value}"'
        if len(value) > limit:
            value = value[:limit]
        return clip('"' + _escape(value) + '"', limit)
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    if kind is int:
        # str() of a huge integer costs quadratic time, and Python refuses it past 4,300 digits.
        return str(value) if value.bit_length() < 200 else f"an integer of {value.bit_length()} bits"
    if kind is float:
        return NON_FINITE.get(str(value), str(value))
    if kind is list or kind is tuple:
        return f"an array of {len(value)}" if value else "an empty array"
    if kind is dict:
        return f"an object with {listing(map(str, value), 3)}" if value else "an empty object"
    return "bytes" if kind is bytes else f"{'an' if kind.__name__[0] in 'aeiouAEIOU' else 'a'} {kind.__name__}"


def listing(names: Iterable[str], limit: int = 10) -> str:
    """Join names with commas, each clipped, and count the rest."""
    names = list(names)
    text = ", ".join(_escape(clip(name, 40)) for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def _escape(text: str) -> str:
    return visible(text.replace("\\", "\\\\").replace('"', '\\"'))
