"""Calls in processes of their own, which can be killed."""

from __future__ import annotations

from tools_runtime._process._runtime import ProcessRuntime

__all__ = ["ProcessRuntime"]
