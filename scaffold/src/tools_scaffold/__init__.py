"""Make a new tool package that works, and is tested, from its first minute."""

from __future__ import annotations

from tools_scaffold._command import configure
from tools_scaffold._errors import ScaffoldError
from tools_scaffold._new import new_package
from tools_scaffold._plan import Plan

__all__ = ["Plan", "ScaffoldError", "configure", "new_package"]
