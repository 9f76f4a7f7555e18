"""Arguments for a schema, of one kind, from any choices; proven to exist before the first is asked for."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from tools_testing._values._choices import RandomChoices, SimplestChoices
from tools_testing._values._flatten import DeadEnd
from tools_testing._values._generate import Generator, first_fitting
from tools_testing._values._hostile import hostile
from tools_testing._values._judge import Judge
from tools_testing._values._near import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_testing._values._choices import Choices

Kind = Literal["valid", "near", "hostile"]

_SEARCH = 300  # tries for the first value, before a schema is said to have none
_HASTY_TRIES = 3  # for each one after, by the choices given
_TRIES = 10  # and then by a seed, before the first one is given again
_SEEDS = 2**16


class NoValueError(ValueError):
    """No value of the kind asked for was found; the message names the part of the schema that has none."""


class Source:
    """Gives arguments of one kind for one schema."""

    def __init__(self, schema: Mapping[str, Any], kind: Kind = "valid") -> None:
        if kind not in ("valid", "near", "hostile"):
            raise ValueError(f'kind is "valid", "near" or "hostile", got {kind!r}')
        self.judge = Judge(schema)
        self.kind = kind
        random = RandomChoices(0)
        try:
            self.valid = first_fitting(Generator(self.judge, random).arguments, self.judge.accepts, _SEARCH)
        except DeadEnd:
            raise NoValueError(_without_value(self.judge)) from None
        self.near: Any = None
        if kind == "near":
            try:
                self.near = first_fitting(lambda: self._changed(random), self._is_refused, _SEARCH)
            except DeadEnd:
                raise NoValueError(
                    "no object was found that the schema refuses: it is open to everything. "
                    'Set "additionalProperties": false, or describe the members'
                ) from None

    def draw(self, choices: Choices) -> Any:
        """Arguments by these choices."""
        if self.kind == "near":
            return self._drawn(choices, self._changed, self._is_refused, self.near)
        made = self._drawn(choices, self._made, self.judge.accepts, self.valid)
        return made if self.kind == "valid" else hostile(made, choices)

    def _drawn(self, choices: Choices, make: Callable[..., Any], fits: Callable[[Any], bool], fallback: Any) -> Any:
        """By the choices, if that goes quickly; else by those of a seed that they choose; else what is known to fit."""
        with suppress(DeadEnd):
            return first_fitting(lambda: make(choices, is_hasty=True), fits, _HASTY_TRIES)
        seeded = RandomChoices(choices.integer(0, _SEEDS))
        with suppress(DeadEnd):
            return first_fitting(lambda: make(seeded), fits, _TRIES)
        return fallback

    def _made(self, choices: Choices, *, is_hasty: bool = False) -> Any:
        return Generator(self.judge, choices, is_hasty=is_hasty).arguments()

    def _changed(self, choices: Choices, *, is_hasty: bool = False) -> Any:
        return changed(self._made(choices, is_hasty=is_hasty), choices)

    def _is_refused(self, arguments: Any) -> bool:
        return not self.judge.repairs(arguments)


def samples(schema: Mapping[str, Any], count: int, kind: Kind = "valid", seed: int = 0) -> list[Any]:
    """Some arguments, always the same ones for a seed; the first are the simplest."""
    source = Source(schema, kind)
    choices = RandomChoices(seed)
    return [source.draw(SimplestChoices()), *(source.draw(choices) for _ in range(count - 1))]


def _without_value(judge: Judge) -> str:
    """Say which part of a schema has no value, as far as one alone is to blame."""
    place = "the schema as a whole"
    for name, part in judge.root["properties"].items():
        generator = Generator(judge, RandomChoices(0))
        needed = name in judge.root.get("required", ())
        if needed and not _has_value(generator, judge, part):
            place = f"the required property {name!r}"
            break
    return (
        f"no valid value was found for {place} in {_SEARCH} tries. Its keywords may exclude each other; "
        "if they do not, give sample arguments instead"
    )


def _has_value(generator: Generator, judge: Judge, part: Any) -> bool:
    try:
        first_fitting(lambda: generator.begun(part, 1), lambda made: judge.fits([part], made), _SEARCH)
    except DeadEnd:
        return False
    return True
