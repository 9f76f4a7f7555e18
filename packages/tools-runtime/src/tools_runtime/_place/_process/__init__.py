"""Calls in worker processes, which can be killed."""

from tools_runtime._place._process._runtime import ProcessRuntime

__all__ = ["ProcessRuntime"]
