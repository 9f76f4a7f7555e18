"""What is wrong with a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class PolicyError(ValueError):
    """A policy that cannot be relied on: nothing is allowed by it until it is put right."""


class NobodyToAskError(Exception):
    """There is no terminal, or nobody at it."""


def near(key: Any, known: Iterable[str]) -> str:
    """What was meant instead, if anything comes near."""
    from difflib import get_close_matches  # only for a mistake

    found = get_close_matches(str(key)[:100], list(known), n=1)
    return f" (did you mean {found[0]}?)" if found else ""
