"""Arguments that were valid until one thing was changed."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools_testing._values._choices import Choices

_STRANGERS: tuple[Any, ...] = (None, True, "text", "", 0, -1, 1.5, 10**30, [], ["text"], {}, {"unexpected": 1})


def changed(arguments: dict[str, Any], choices: Choices) -> Any:
    """A copy with one member dropped, added, misspelt, or replaced by something of another kind or size."""
    out = copy.deepcopy(arguments)
    places = [*_places(out)]
    container, key = choices.pick(places) if places and choices.integer(0, 4) else (out, None)
    if key is None:
        out[choices.pick(("unexpected", *(f"{name}s" for name in arguments)))] = choices.pick(_STRANGERS)
        return out
    change = choices.pick(("replace", "stretch", "drop"))
    if change == "drop":
        del container[key]
    elif change == "stretch":
        container[key] = _stretched(container[key], choices)
    else:
        container[key] = copy.deepcopy(choices.pick(_STRANGERS))
    return out


def _places(value: Any) -> Any:
    """Every container with each of its keys, the outermost first."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _stretched(value: Any, choices: Choices) -> Any:
    """Something of the same kind that is probably too much or too little."""
    if isinstance(value, bool) or value is None:
        return choices.pick(("yes", "no"))
    if isinstance(value, int | float):
        return choices.pick((value + 1, value - 1, -value, value * 1_000 + 0.5 if abs(value) < 1e300 else 0.5))
    if isinstance(value, str):
        return choices.pick((value[:-1], value + "x", "", value * 100 + "x" * 100))
    if isinstance(value, list):
        return choices.pick((value[:-1], value + value, []))
    return {**value, "unexpected": 1}
