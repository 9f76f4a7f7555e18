"""Places that have been reached in a pattern of several parts, one of which stands for any number of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def beyond(places: set[int], pattern: Sequence[str], star: str) -> set[int]:
    """These places, and those behind any `star` at them, which may stand for no part at all."""
    for place in sorted(places):
        end = place
        while end < len(pattern) and pattern[end] == star:
            end += 1
            places = places | {end}
    return places
