"""`Limits`: constraints on an argument."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Limits:
    """Constraints in a type hint: `Annotated[int, "Seconds to wait", Limits(ge=1, le=600)]`.

    They are part of the schema: the model sees them, and no other value reaches the tool. The names follow
    annotated-types.

    Args:
        ge: The smallest number.
        gt: A bound below the smallest number.
        le: The largest number.
        lt: A bound above the largest number.
        multiple_of: The number is a multiple of it.
        min_length: The least number of characters of a string, or items of an array.
        max_length: The greatest number of characters of a string, or items of an array.
        pattern: An ECMA-262 regular expression that matches a part of the string.
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None

    def __repr__(self) -> str:
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return f"Limits({', '.join(f'{name}={value!r}' for name, value in values if value is not None)})"
