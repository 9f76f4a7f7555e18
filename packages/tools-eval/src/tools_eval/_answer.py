"""`Answer`: what the last reply of a run must say."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from math import isnan
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from tools_core import ToolCall
from tools_eval._expect import as_pattern, function_of


class Reply(NamedTuple):
    """What a scorer judges: the question, the text of the last reply, and all calls of the run."""

    question: str
    text: str
    calls: Sequence[ToolCall]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_as_list)]
Pattern = Annotated[str, AfterValidator(as_pattern)]


class Answer(BaseModel, frozen=True, extra="forbid", arbitrary_types_allowed=True):
    """Conditions on the text of the last reply.

    Attributes:
        contains: Texts that it must contain, in upper or lower case.
        lacks: Texts that it must not contain.
        matches: A regular expression that must match somewhere in it.
        scorer: A function of a `Reply` that returns true or false, or points from 0 to 1; it may be a coroutine, such
            as one that asks a model. In a file: `checks.py:is_polite`, or `package.module:is_polite`.
        threshold: The fewest points.
    """

    contains: Texts = []
    lacks: Texts = []
    matches: Pattern | None = None
    scorer: Callable[[Reply], Any] | None = None
    threshold: Annotated[float, Field(allow_inf_nan=False)] = 0.5

    @model_validator(mode="before")
    @classmethod
    def _from_value(cls, value: Any) -> Any:
        if callable(value):
            return {"scorer": value}
        return {"contains": value} if isinstance(value, str | list) else value

    @field_validator("scorer", mode="before")
    @classmethod
    def _import(cls, value: Any, info: ValidationInfo) -> Any:
        return function_of(value, info) if isinstance(value, str) else value

    async def problems(self, reply: Reply) -> list[str]:
        """Return what is wrong with an answer; empty for a good one."""
        problems = [*self._problems_of(reply.text)]
        if self.scorer is not None:
            points = await _points(self.scorer, reply)
            if points is False or points < self.threshold:
                name = getattr(self.scorer, "__name__", "scorer")
                grade = "rejected it" if points is False else f"gave {points:g}, below {self.threshold:g}"
                problems.append(f"answer: {name}() {grade}")
        return problems

    def _problems_of(self, text: str) -> Iterator[str]:
        folded = text.casefold()
        yield from (f"answer: {part!r} is missing" for part in self.contains if part.casefold() not in folded)
        yield from (f"answer: {part!r} should be missing" for part in self.lacks if part.casefold() in folded)
        if self.matches is not None and not re.search(self.matches, text):
            yield f"answer: {self.matches!r} does not match"


async def _points(scorer: Callable[[Reply], Any], reply: Reply) -> bool | float:
    """Call a scorer; a function runs in a thread, since it may wait for a model."""
    points: Any = await scorer(reply) if inspect.iscoroutinefunction(scorer) else await asyncio.to_thread(scorer, reply)
    if inspect.isawaitable(points):
        points = await points
    if not isinstance(points, bool | int | float) or isnan(points):
        raise TypeError(f"a scorer returns true or false, or points from 0 to 1; got {points!r}")
    return points
