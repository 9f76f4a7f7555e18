"""The background jobs that end with the command."""

from __future__ import annotations

import sys

from tools_core.command import note


def end_jobs() -> None:
    """End the jobs of all tools, and name the jobs that were running."""
    # Jobs belong to packages of tools, which are not imported here: only one that was used can have any.
    for name, module in sys.modules.copy().items():
        if "." not in name and "end_jobs" in getattr(module, "__dict__", {}).get("__all__", ()):
            for job in module.end_jobs():
                note(f"ended with this command: {job}")
