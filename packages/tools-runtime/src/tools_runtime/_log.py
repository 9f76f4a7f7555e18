"""The log of this package: `logging.getLogger("tools_runtime")`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


@cache
def log() -> Logger:
    """The logger, made when there is something to say."""
    import logging  # 7 ms

    return logging.getLogger("tools_runtime")
