"""`Limits`: constraints on an argument, without a library of constraints."""

from __future__ import annotations


class Limits:
    """Bounds inside a type hint: `Annotated[int, "Seconds to wait", Limits(ge=1, le=600)]`.

    They are part of the schema, so the model sees them and what is outside never reaches the tool. `ge`, `gt`, `le` and
    `lt` bound a number, `multiple_of` its steps, `min_length` and `max_length` the characters of a string or the items
    of an array, `pattern` is an ECMA-262 regular expression that must be found in a string.
    """

    __slots__ = ("ge", "gt", "le", "lt", "max_length", "min_length", "multiple_of", "pattern")

    def __init__(
        self,
        *,
        ge: float | None = None,
        gt: float | None = None,
        le: float | None = None,
        lt: float | None = None,
        multiple_of: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str | None = None,
    ) -> None:
        self.ge, self.gt, self.le, self.lt = ge, gt, le, lt
        self.multiple_of = multiple_of
        self.min_length, self.max_length = min_length, max_length
        self.pattern = pattern

    def __repr__(self) -> str:
        given = {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}
        return f"Limits({', '.join(f'{name}={value!r}' for name, value in given.items())})"
