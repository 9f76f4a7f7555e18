"""Tool calls as tasks of a Ray cluster."""

from tools_ray._runtime import RayRuntime

__all__ = ["RayRuntime"]
