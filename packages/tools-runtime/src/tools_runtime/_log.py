"""The log of this package: `logging.getLogger("tools_runtime")`; and what is said of an exception."""

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


def said(error: BaseException) -> str:
    """The class of an exception, and what it says."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  (its own __str__ fails: the class is all that can be said)
        return type(error).__name__
