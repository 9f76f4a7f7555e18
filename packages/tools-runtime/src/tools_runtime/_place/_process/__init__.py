"""Calls in worker processes, which can be killed."""

from __future__ import annotations

from tools_runtime._place._process._errors import RemoteError
from tools_runtime._place._process._runtime import ProcessRuntime

__all__ = ["ProcessRuntime", "RemoteError"]
