"""How a limit is told: as it was set, though a little of it has passed when a call begins."""

from __future__ import annotations


def shown(limit: float) -> float:
    """Seconds, to a hundredth."""
    return round(limit + 0.0005, 2) or limit
