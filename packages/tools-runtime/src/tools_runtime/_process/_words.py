"""Figures as people read them."""

from __future__ import annotations


def size_of(count: int) -> str:
    """So many bytes, in the largest unit that fits."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}" if count < 1000 * unit else f"{count / unit:.0f} {name}"
    return f"{count} bytes"
