"""What can be told of a value in a dialect without its schema: enough to tell alternatives apart."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

EVERY_TYPE = frozenset(("array", "boolean", "null", "number", "object", "string"))


class Shape:
    """The JSON types of a value (an integer is a number), what it is one of, and the names of its members.

    `values` and `allowed` are None where nothing is known.
    """

    __slots__ = ("allowed", "members", "required", "types", "values")

    def __init__(
        self,
        types: Iterable[str],
        *,
        values: Iterable[Any] | None = None,
        required: Iterable[str] = (),
        allowed: Iterable[str] | None = None,
        members: dict[str, Shape] | None = None,
    ) -> None:
        self.types = frozenset("number" if kind == "integer" else kind for kind in types)
        self.values = None if values is None else [(type_of(value), value) for value in values]
        self.required = frozenset(required)
        self.allowed = None if allowed is None else frozenset(allowed)
        self.members = members or {}

    def fits(self, value: Any) -> bool:
        """Whether `value` may be of this shape."""
        kind = type_of(value)
        if kind not in self.types:
            return False
        if self.values is not None and kind not in ("object", "array"):
            return (kind, value) in self.values
        if kind != "object":
            return True
        return (
            self.required <= value.keys()
            and (self.allowed is None or value.keys() <= self.allowed)
            and all(shape.fits(value[key]) for key, shape in self.members.items() if key in value)
        )

    def or_null(self) -> Shape:
        """The same, or null."""
        made = Shape(self.types | {"null"}, required=self.required, allowed=self.allowed, members=self.members)
        made.values = None if self.values is None else [*self.values, ("null", None)]
        return made

    def is_disjoint(self, other: Shape) -> bool:
        """Whether it is certain that no value has both shapes."""
        return all(self._is_disjoint_in(kind, other) for kind in self.types & other.types)

    def _is_disjoint_in(self, kind: str, other: Shape) -> bool:
        if kind == "object":
            for one, two in ((self, other), (other, self)):
                if two.allowed is not None and not one.required <= two.allowed:
                    return True
            shared = self.required & other.required & self.members.keys() & other.members.keys()
            return any(self.members[key].is_disjoint(other.members[key]) for key in shared)
        if self.values is None or other.values is None:
            return False
        return not any(value in other.values for value in self.values if value[0] == kind)


def union_of(shapes: list[Shape]) -> Shape:
    """The shape of a value that has one of `shapes`."""
    made = Shape(frozenset().union(*(shape.types for shape in shapes)))
    if all(shape.values is not None for shape in shapes):
        made.values = [value for shape in shapes for value in shape.values or ()]
    objects = [shape for shape in shapes if "object" in shape.types]
    if objects and all(shape.allowed is not None for shape in objects):
        made.allowed = frozenset().union(*(shape.allowed or () for shape in objects))
        made.required = frozenset.intersection(*(shape.required for shape in objects))
    return made


def type_of(value: Any) -> str:
    """The JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "object" if isinstance(value, dict) else "array"
