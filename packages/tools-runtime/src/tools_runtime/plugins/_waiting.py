"""Waiting that ends early when the caller gives up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_runtime._effects import Pause, parts

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import Context


def pause(seconds: float, context: Context) -> Generator[Any, Any, None]:
    """Wait so many seconds, by `yield from`, or until the caller gives up: ask `context.cancelled` which it was."""
    for part in parts(seconds, context):
        yield Pause(part)
