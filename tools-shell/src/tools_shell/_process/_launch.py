"""Starting commands: under a supervisor that ends all that comes of them, or, at level none, directly."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_shell._process._command import Command, Process


def start(command: Command) -> Process:
    """Start a command; OSError when that is not possible."""
    if command.isolation.rung == "none":
        from tools_shell._process._direct import Direct  # one of the two is enough for most

        return Direct(command)
    from tools_shell._process._supervised import Supervised

    return Supervised(command)
