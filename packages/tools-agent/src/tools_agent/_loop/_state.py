"""The state of a run: the values that its tools, guardrails and functions among its options see."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools_core import Context


def state_of(own: Any, given: Any, call: Context | None, *, is_part: bool) -> Any:
    """Return the state of a run: mappings are merged into a new one, over the caller's; other objects stay as they are.

    What tools write goes into the mapping that was given for the run, if there is one.
    """
    outer = None if call is None else call.state
    if call is not None and (is_part or not isinstance(outer, Mapping)):
        return outer
    if given is not None and not isinstance(given, Mapping):
        return given
    if not isinstance(own, Mapping):
        return own if given is None else given
    if isinstance(given, MutableMapping):
        return ChainMap(given, dict(own))
    return {**inherited_from(outer or {}), **own, **(given or {})}


def inherited_from(state: Any) -> Any:
    """Return the values that a sub-agent has from its caller: all but those that each agent has itself."""
    if not isinstance(state, Mapping):
        return state
    return {name: value for name, value in state.items() if name not in ("skills", "token_usage")}
