"""`call_tool`: one call in a test, by the tool or by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core import registry as installed
from tools_testing._check_tool import one_tool

if TYPE_CHECKING:
    from tools_core import Context, Registry, Result


class CallTool:
    """Calls with the context of the test, unless another one is given."""

    def __init__(self, registry: Registry, context: Context) -> None:
        self._registry = registry
        self._context = context

    def __call__(
        self, tool: Any, arguments: Any = None, /, *, context: Context | None = None, **keywords: Any
    ) -> Result:
        """Call a tool, its class, a function, or the tool of that name; UnknownToolError when there is none."""
        if isinstance(tool, str):
            tool = self._registry.get(tool) or installed[tool]
        return one_tool(tool).call(arguments, context or self._context, **keywords)
