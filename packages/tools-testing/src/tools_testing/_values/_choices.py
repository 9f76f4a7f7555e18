"""Who decides, wherever a value may be one thing or another."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Choices(Protocol):
    """The decisions that a generator asks for: those of hypothesis shrink, those of a seed need no hypothesis."""

    def integer(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        ...

    def number(self, low: float, high: float) -> float:
        """A finite number, both ends included."""
        ...

    def pick(self, options: Sequence[T]) -> T:
        """One of them, of which the first is the simplest."""
        ...

    def text(self, low: int, high: int) -> str:
        """Characters of any script, without lone surrogates."""
        ...


class SimplestChoices:
    """Always what is simplest: empty, zero, the first."""

    def integer(self, low: int, high: int) -> int:
        return min(max(low, 0), high)

    def number(self, low: float, high: float) -> float:
        return min(max(low, 0.0), high)

    def pick(self, options: Sequence[T]) -> T:
        return options[0]

    def text(self, low: int, high: int) -> str:
        return "a" * min(low, high)


_EDGES = 0.2  # the share of numbers that programs most often get wrong
_SAMPLES = "ab01 -_.Zé√日🙂\n\"'\\"


class RandomChoices:
    """Decisions of a random generator, which is repeatable by its seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311  (samples need no secrecy)

    def integer(self, low: int, high: int) -> int:
        if self._random.random() < _EDGES:
            return self._random.choice([edge for edge in (0, 1, -1, low, high) if low <= edge <= high])
        return self._random.randint(low, high)

    def number(self, low: float, high: float) -> float:
        # The width itself may be beyond what a float can hold.
        share = self._random.random()
        return min(high, max(low, low * (1 - share) + high * share))

    def pick(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def text(self, low: int, high: int) -> str:
        return "".join(self._random.choices(_SAMPLES, k=self._random.randint(low, high)))
