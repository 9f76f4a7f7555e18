"""Plugins for the hooks around calls, each usable alone.

Pass them to an executor from the outermost to the innermost:
`hooks=[OpenTelemetry(), AuditLog(path), OutputBudget(), LoopDetector(), Cache(), Retry(), RateLimit({...})]`.
The memory of a plugin belongs to one run; its option `key` shares it among several.
"""

from tools_runtime.plugins._audit_log import AuditLog
from tools_runtime.plugins._cache import Cache
from tools_runtime.plugins._loop_detector import LoopDetector
from tools_runtime.plugins._opentelemetry import OpenTelemetry
from tools_runtime.plugins._output_budget import OutputBudget
from tools_runtime.plugins._rate_limit import RateLimit
from tools_runtime.plugins._redact import Redactor
from tools_runtime.plugins._retry import Retry

__all__ = ["AuditLog", "Cache", "LoopDetector", "OpenTelemetry", "OutputBudget", "RateLimit", "Redactor", "Retry"]
