"""The report for `ask-tools doctor`: the isolation on this machine, and why it is not stronger."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_shell._sandbox._choose import isolation_for
from tools_shell._workspace import workspace_path

if TYPE_CHECKING:
    from tools_shell._settings import Sandbox


def diagnosis(sandbox: Sandbox, root: str | None) -> dict[str, object]:
    """Return the level for these settings, what it leaves open, and the installed programs."""
    place = workspace_path(root)
    isolation = isolation_for(sandbox, place)
    facts: dict[str, object] = {
        "isolation": isolation.level,
        "isolation_level": sandbox.level,
        "not_isolated": list(isolation.missing),
    }
    if sandbox.level == "sandboxed" and isolation.level in {"contained", "none"}:
        try:
            isolation_for(replace(sandbox, level="required"), place)
        except ToolError as reason:
            facts["no_sandbox"] = str(reason)
    return {**facts, "programs": {name: shutil.which(name) for name in ("bash", "bwrap")}}
