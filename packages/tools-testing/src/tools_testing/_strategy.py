"""`arguments_for`: a hypothesis strategy of any schema that the core takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st

from tools_testing._values._source import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


class HypothesisChoices:
    """Decisions of hypothesis, which go back to the simplest ones when a test fails."""

    def __init__(self, draw: Callable[[SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        made: int = self._draw(st.integers(low, high))
        return made

    def number(self, low: float, high: float) -> float:
        made: float = self._draw(st.floats(low, high, allow_nan=False, allow_infinity=False))
        return made

    def pick(self, options: Sequence[T]) -> T:
        made: T = self._draw(st.sampled_from(options))
        return made

    def text(self, low: int, high: int) -> str:
        made: str = self._draw(st.text(_CHARACTERS, min_size=low, max_size=high))
        return made


_CHARACTERS = st.characters(codec="utf-8")


def arguments_for(schema: Mapping[str, Any], kind: Kind = "valid") -> SearchStrategy[Any]:
    """Arguments for an input schema, as a hypothesis strategy.

    "valid" ones are accepted as they stand. "near" ones are objects, one change away from a valid one, which are
    refused and which no repair saves. "hostile" ones are of any type: JSON text that is broken, values that are no
    JSON, valid arguments in a wrong dress; some of them may be accepted.

    Raises:
        NoValueError: there is no such value, or none was found in a bounded search.
        DefinitionError: the core does not take the schema.
    """
    source = Source(schema, kind)

    @st.composite
    def arguments(draw: Callable[[SearchStrategy[Any]], Any]) -> Any:
        return source.draw(HypothesisChoices(draw))

    return arguments()
