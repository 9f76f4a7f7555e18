"""`ask-tools doctor --hooks`: which installed plugins run around calls, the outermost first."""

from __future__ import annotations

from typing import Any

from tools_runtime._wrap._layers import hook_order
from tools_runtime._wrap._plugins import Plugins


def report() -> dict[str, Any]:
    """Return the hooks of installed plugins in their order, and the plugins that are left out with the reason."""
    plugins = Plugins((), installed=True)
    return {
        "hooks": [{"hook": hook, "plugin": plugin} for hook, plugin in hook_order(plugins.manager)],
        "problems": [{"plugin": name, "error": error} for name, error in plugins.problems.items()],
    }
