"""Plugins for the hooks around calls: what every application needs sooner or later, each to be used or replaced alone.

Give them to an executor from the outermost to the innermost:
`hooks=[OpenTelemetry(), AuditLog(path), OutputBudget(), LoopDetector(), Cache(), Retry(), RateLimit({...})]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_runtime.plugins._audit_log import AuditLog
    from tools_runtime.plugins._cache import Cache
    from tools_runtime.plugins._loop_detector import LoopDetector
    from tools_runtime.plugins._opentelemetry import OpenTelemetry
    from tools_runtime.plugins._output_budget import OutputBudget
    from tools_runtime.plugins._rate_limit import RateLimit
    from tools_runtime.plugins._retry import Retry

__all__ = ["AuditLog", "Cache", "LoopDetector", "OpenTelemetry", "OutputBudget", "RateLimit", "Retry"]

_HOMES = {
    "AuditLog": "_audit_log",
    "Cache": "_cache",
    "LoopDetector": "_loop_detector",
    "OpenTelemetry": "_opentelemetry",
    "OutputBudget": "_output_budget",
    "RateLimit": "_rate_limit",
    "Retry": "_retry",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tools_runtime.plugins' has no attribute {name!r}")
    from importlib import import_module  # built in

    value: object = getattr(import_module(f"tools_runtime.plugins.{home}"), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
