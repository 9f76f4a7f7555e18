"""The words and sentences of descriptions, and how similar two tools are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

_COMMON_WORDS = """
a about above after all also an and any are as at be been before below between both but by can case default do does
each either else example for from get has have here how i if in into is it its let may me more most must my name need
no not of off on one only optional or other our out over own per please set should so some such that the their them
then there these they this those to too tool under unless until up use used user uses using value was we were what
when where which while who will with would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*|\d+")
# The ends of sentences, but not of abbreviations, numbers and file names; and empty lines.
_END = re.compile(r"(?<=[.!?:])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z`\"*'(])|\n\s*\n")


@lru_cache(4096)
def words(text: str) -> Mapping[str, str]:
    """Return the words of a text that carry meaning, by their stems."""
    stems = {_stem(word): word for word in map(str.lower, _WORD.findall(text)) if word not in _COMMON and len(word) > 1}
    return MappingProxyType(stems)


def _stem(word: str) -> str:
    for ending in ("ings", "ing", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def sentences(text: str) -> list[str]:
    """Return the sentences of a description."""
    return [sentence.strip() for sentence in _END.split(text) if sentence.strip()]


def tool_words(definition: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the words of a tool's name and description, by their stems."""
    return words(f"{definition['name']} {definition['description']}")


def similarity(first: Iterable[str], second: Iterable[str]) -> float:
    """Return the share of common words: 0 without any, 1 for equal sets."""
    left, right = set(first), set(second)
    return len(left & right) / len(left | right) if left and right else 0.0
