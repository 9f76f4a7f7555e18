"""Calls in worker processes, which can be killed."""

from tools_runtime._runtimes._process._runtime import ProcessRuntime

__all__ = ["ProcessRuntime"]
