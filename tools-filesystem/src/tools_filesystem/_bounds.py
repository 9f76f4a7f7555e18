"""A number's limits, as part of its hint."""

from __future__ import annotations

from typing import NamedTuple


class Within(NamedTuple):
    """`Annotated[int, Within(1, 9)]`: the schema says so, and what is outside never reaches the tool."""

    ge: int
    le: int | None = None
