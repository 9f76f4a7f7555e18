"""Waiting that ends early when the caller gives up."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_runtime._effects import LOOK, Pause

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import Context


def pause(seconds: float, context: Context) -> Generator[Any, Any, None]:
    """Wait so many seconds, by `yield from`, or until the caller gives up: ask `context.cancelled` which it was."""
    until = monotonic() + seconds
    while (left := until - monotonic()) > 0 and not context.cancelled:
        yield Pause(min(left, LOOK))
