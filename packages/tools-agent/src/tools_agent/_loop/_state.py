"""The state of a run: the values that its tools, guardrails and functions among its options see."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools_core import Context


def state_of(of_agent: Any, of_run: Any, call: Context | None, *, is_part: bool) -> Any:
    """Return the state of a run, from the context of the agent and the context of the run.

    Mappings are merged into a new one, over the values of the caller; other objects are passed on unchanged. Tools
    write into the mapping of the run, if it has one.
    """
    outer = None if call is None else call.state
    if call is not None and (is_part or not isinstance(outer, Mapping)):
        return outer
    if of_run is not None and not isinstance(of_run, Mapping):
        return of_run
    if not isinstance(of_agent, Mapping):
        return of_agent if of_run is None else of_run
    if isinstance(of_run, MutableMapping):
        return ChainMap(of_run, dict(of_agent))
    return {**inherited_from(outer or {}), **of_agent, **(of_run or {})}


def inherited_from(state: Any) -> Any:
    """Return the values that a sub-agent has from its caller, without the values that each agent has itself."""
    if not isinstance(state, Mapping):
        return state
    return {name: value for name, value in state.items() if name not in ("skills", "token_usage")}
