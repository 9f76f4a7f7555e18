"""The plugin that makes `Executor(runtime="ray")` work."""

from __future__ import annotations

from tools_ray._runtime import RayRuntime
from tools_runtime import Runtime, hookimpl


@hookimpl
def register_runtimes() -> dict[str, type[Runtime]]:
    """Return RayRuntime under its name."""
    return {"ray": RayRuntime}
