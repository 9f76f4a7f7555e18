"""`Neighbours`: finds similar tools among many, without comparing each with each."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from typing import Any

from tools_eval._words import tool_words

_MIN_NAME = 5  # characters of a name that one other character makes too similar


class Neighbours:
    """Definitions by the words of their descriptions, the rarest first, and by names without one character."""

    def __init__(self, definitions: Iterable[Mapping[str, Any]]) -> None:
        self._definitions = {definition["name"]: definition for definition in definitions}
        self._words = {name: frozenset(tool_words(definition)) for name, definition in self._definitions.items()}
        self._frequencies = Counter(stem for words in self._words.values() for stem in words)
        self._by_word: defaultdict[str, list[str]] = defaultdict(list)
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        for name, words in self._words.items():
            for stem in words:
                self._by_word[stem].append(name)
            for variant in _variants(name):
                self._by_name[variant].append(name)

    def similar_name(self, name: str) -> str | None:
        """Return the name of another tool that differs in one character."""
        others = (other for variant in _variants(name) for other in self._by_name[variant] if other != name)
        return min(others, default=None)

    def are_named_in(self, text: str, name: str) -> bool:
        """Return whether a text names a tool other than `name`."""
        words = {*re.findall(r"[\w-]+", text), *re.findall(r"\w+", text)}
        return any(word in self._definitions for word in words - {name})

    def closest(self, definition: Mapping[str, Any], share: float) -> Mapping[str, Any] | None:
        """Return the other tool with the most common words, if their share is greater."""
        words = frozenset(tool_words(definition))
        ranked = sorted(words, key=lambda stem: (self._frequencies[stem], stem))
        # Tools without one of the rarest words have too few words in common.
        rarest = ranked[: len(ranked) - ceil(share * len(ranked)) + 1]
        best = None
        for name in dict.fromkeys(name for stem in rarest for name in self._by_word[stem]):
            common = len(words & self._words[name])
            part = common / (len(words) + len(self._words[name]) - common)
            if part > share and name != definition["name"]:
                best, share = self._definitions[name], part
        return best


def _variants(name: str) -> Iterator[str]:
    """Yield a name, and each text that lacks one of its characters, for two names that one edit makes equal."""
    yield name
    if len(name) >= _MIN_NAME:
        yield from {name[:at] + name[at + 1 :] for at in range(len(name))}
