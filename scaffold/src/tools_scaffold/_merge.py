"""Merging what an author and a new template have both changed."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def merge(base: str, ours: str, theirs: str) -> str | None:
    """Merge two descendants of `base` line by line; None where both changed the same place."""
    first, mine, new = (text.splitlines(keepends=True) for text in (base, ours, theirs))
    merged: list[str] = []
    at = at_mine = at_new = 0
    for start, start_mine, start_new, size in _common(first, mine, new):
        before = first[at:start]
        left, right = mine[at_mine:start_mine], new[at_new:start_new]
        if left in (before, right):
            merged += right
        elif right == before:
            merged += left
        else:
            return None
        merged += first[start : start + size]
        at, at_mine, at_new = start + size, start_mine + size, start_new + size
    return "".join(merged)


def _common(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of lines that all three have: their places, and how many lines; at last an empty one at the ends."""
    left = SequenceMatcher(None, base, ours, autojunk=False).get_matching_blocks()
    right = SequenceMatcher(None, base, theirs, autojunk=False).get_matching_blocks()
    one = two = 0
    while one < len(left) and two < len(right):
        (start, start_ours, size), (other, start_theirs, other_size) = left[one], right[two]
        begin, end = max(start, other), min(start + size, other + other_size)
        if begin < end:
            yield begin, start_ours + begin - start, start_theirs + begin - other, end - begin
        if start + size < other + other_size:
            one += 1
        else:
            two += 1
    yield len(base), len(ours), len(theirs), 0
