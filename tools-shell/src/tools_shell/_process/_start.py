"""Starting programs: under a supervisor that ends everything they start, or, at level none, directly."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_shell._process._launch import Launch, Process


def launch(what: Launch) -> Process:
    """Start a program; OSError when that is not possible."""
    if not what.supervised:
        from tools_shell._process._direct import Direct  # one of the two is enough for most

        return Direct(what)
    from tools_shell._process._supervised import Supervised

    return Supervised(what)
