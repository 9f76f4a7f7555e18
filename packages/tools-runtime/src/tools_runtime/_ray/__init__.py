"""Calls on a Ray cluster; needs `tools-runtime[ray]`, and imports Ray when the first call is made."""

from __future__ import annotations

from tools_runtime._ray._runtime import RayRuntime

__all__ = ["RayRuntime"]
