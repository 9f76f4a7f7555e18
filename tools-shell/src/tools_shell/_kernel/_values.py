"""Values as text: a `repr` of bounded length, which for the usual containers is never built in full."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing for it would cost more than all of this module
if TYPE_CHECKING:
    from typing import Any

VALUE = 16_000  # characters of a value that are shown
_NESTED = 100  # containers inside each other that are shown


def clip(text: str, limit: int) -> str:
    """The head and the tail of `text`, with a count of what is left out between them."""
    if len(text) <= limit:
        return text
    half = max(limit // 2, 1)
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def shown(value: Any) -> tuple[str, bool]:
    """The `repr` of a value, and whether something is left out of it."""
    view = _View()
    view.add(value)
    return "".join(view.pieces), view.is_cut


class _View:
    """Writes a `repr` that ends when it is long enough, instead of one that is cut when it has been built."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.is_cut = False
        self._room = VALUE
        self._outer: list[int] = []

    def add(self, value: Any) -> None:
        kind = type(value)
        if kind in _BRACKETS and value:
            self._container(value, kind)
        elif kind in (str, bytes, bytearray) and len(value) > self._room:
            self._long(value)
        elif kind is int:
            self._integer(value)
        else:
            self._other(value)

    def _write(self, text: str) -> None:
        self.pieces.append(text)
        self._room -= len(text)

    def _container(self, value: Any, kind: type) -> None:
        before, after = _BRACKETS[kind]
        if id(value) in self._outer or len(self._outer) >= _NESTED:
            self.is_cut |= id(value) not in self._outer
            self._write(f"{before}...{after}")
            return
        self._outer.append(id(value))
        self._write(before)
        # A copy of what has room, since a thread may go on filling it; with the values, whatever keys say they equal.
        items = value.items() if kind is dict else value
        for count, item in list(zip(range(self._room + 1), items)):  # noqa: B905  (which began with Python 3.10)
            if self._room <= 0:
                self._write(f", ... {len(value) - count} more")
                self.is_cut = True
                break
            if count:
                self._write(", ")
            if kind is dict:
                self.add(item[0])
                self._write(": ")
                self.add(item[1])
            else:
                self.add(item)
        self._write("," + after if kind is tuple and len(value) == 1 else after)
        self._outer.pop()

    def _long(self, value: Any) -> None:
        half = max(self._room // 2, 20)
        if len(value) <= 2 * half:  # it is no longer than the two parts of it
            self._write(repr(value))
            return
        while half > 20 and len(repr(value[:half])) + len(repr(value[-half:])) > 2 * VALUE:
            half //= 2  # what is not printable is longer than it looks
        left_out = f"[... {len(value) - 2 * half} of {len(value)} left out ...]"
        self._write(f"{value[:half]!r} {left_out} {value[-half:]!r}")
        self.is_cut = True

    def _integer(self, value: int) -> None:
        bits = value.bit_length()
        if bits <= 3 * max(self._room, 100) and (text := _decimal(value)):
            self._write(text)
            return
        digits = int(bits * 0.30103) + 1
        self._write(f"<int of about {digits} digits: {'-' if value < 0 else ''}{hex(abs(value) >> (bits - 64))}...>")
        self.is_cut = True

    def _other(self, value: Any) -> None:
        try:
            text = str.__str__(repr(value))
        except Exception as error:  # noqa: BLE001  (the code's own method: that it fails is what there is to see)
            self._write(
                f"<{type(value).__name__} whose repr raised {type(error).__name__}: {clip(message_of(error), 200)}>"
            )
            return
        room = max(self._room, 20)
        self.is_cut |= len(text) > room
        self._write(clip(text, room))


_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    dict: ("{", "}"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}


def _decimal(value: int) -> str:
    try:
        return repr(value)
    except ValueError:  # more digits than the interpreter is willing to write
        return ""


def name_of(error: BaseException) -> str:
    """The name of an exception's class, whatever that class's own class makes of it."""
    name: str = vars(type)["__name__"].__get__(type(error))
    return name


def message_of(error: BaseException) -> str:
    """The message of an exception, whatever its class makes of that."""
    try:
        return str.__str__(str(error))
    except Exception as failure:  # noqa: BLE001  (the code's own method)
        return f"(its message cannot be shown: {type(failure).__name__})"
