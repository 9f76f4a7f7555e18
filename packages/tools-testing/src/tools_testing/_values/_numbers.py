"""Numbers within bounds and in steps."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tools_testing._values._flatten import DeadEnd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_testing._values._choices import Choices

# How far unbounded numbers go: what a program expects, the edge of 32 bits, beyond 64 bits, beyond a float's digits.
_REACHES = (10, 1_000, 2**31, 2**64, 10**30)


def number(schemas: Sequence[dict[str, Any]], choices: Choices, *, whole: bool) -> int | float:
    """Make a number for all of these flat schemas."""
    steps = [_exact(schema["multipleOf"]) for schema in schemas if "multipleOf" in schema]
    if whole:
        steps.append(Fraction(1))
    if not steps and choices.pick((True, False)):
        steps = [Fraction(1)]
    low, high = _bounds(schemas, choices)
    if not steps:
        return choices.number(_float(low), _float(high))
    step = _common(steps)
    first, last = math.ceil(low / step), math.floor(high / step)
    first += first * step == low and _is_open(schemas, "exclusiveMinimum", low)
    last -= last * step == high and _is_open(schemas, "exclusiveMaximum", high)
    if first > last:
        raise DeadEnd
    exact = choices.integer(first, last) * step
    return int(exact) if exact.denominator == 1 else _float(exact)


def _float(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:  # a bound beyond what JSON numbers commonly hold
        raise DeadEnd from None


def _bounds(schemas: Sequence[dict[str, Any]], choices: Choices) -> tuple[Fraction, Fraction]:
    lows = [_exact(schema[key]) for schema in schemas for key in ("minimum", "exclusiveMinimum") if key in schema]
    highs = [_exact(schema[key]) for schema in schemas for key in ("maximum", "exclusiveMaximum") if key in schema]
    reach = choices.pick(_REACHES)
    low = max(lows) if lows else (min(highs) - reach if highs else Fraction(-reach))
    high = min(highs) if highs else (max(lows) + reach if lows else Fraction(reach))
    if low > high:
        raise DeadEnd
    return low, high


def _is_open(schemas: Sequence[dict[str, Any]], keyword: str, bound: Fraction) -> bool:
    return any(keyword in schema and _exact(schema[keyword]) == bound for schema in schemas)


def _exact(value: float) -> Fraction:
    return Fraction(str(value))  # 0.1 means a tenth


def _common(steps: Sequence[Fraction]) -> Fraction:
    """The smallest number that is a multiple of each."""
    common = steps[0]
    for step in steps[1:]:
        numerator = math.lcm(common.numerator * step.denominator, step.numerator * common.denominator)
        common = Fraction(numerator, common.denominator * step.denominator)
    return common
