"""`ask-tools new` and `ask-tools add`: generate tool packages that install and pass their tests."""

from __future__ import annotations

from tools_scaffold._add import plan_tool
from tools_scaffold._new import plan_package
from tools_scaffold._plan import Plan
from tools_scaffold._text import ScaffoldError

__all__ = ["Plan", "ScaffoldError", "plan_package", "plan_tool"]
