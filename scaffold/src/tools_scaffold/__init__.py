"""Make a new tool package that works, and is tested, from its first minute."""

from __future__ import annotations

from tools_scaffold._add import Addition, add_tool
from tools_scaffold._command import configure
from tools_scaffold._errors import ScaffoldError
from tools_scaffold._new import new_package
from tools_scaffold._plan import Plan
from tools_scaffold._update import Update, plan_update

__all__ = ["Addition", "Plan", "ScaffoldError", "Update", "add_tool", "configure", "new_package", "plan_update"]
