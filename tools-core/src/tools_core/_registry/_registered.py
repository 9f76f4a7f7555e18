"""`Registered`: a tool that this process registered."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from tools_core._tools._tool import Tool


class Registered:
    """A tool, and the object that was registered: a function, class, instance or toolset."""

    __slots__ = ("source", "tool")

    def __init__(self, tool: Tool, source: object) -> None:
        self.tool = tool
        self.source = source

    def load(self) -> Tool:
        """Return the tool, as for one that was discovered."""
        return self.tool

    def is_reload_of(self, other: Registered) -> bool:
        """Return whether the same definition at module level ran again, as in a notebook."""
        name = getattr(self.source, "__qualname__", "<locals>")
        return "<" not in name and self.origin == other.origin

    @property
    def origin(self) -> str:
        """Return where it is defined: `module:qualname`."""
        made = self.source if hasattr(self.source, "__qualname__") else type(self.source)
        return f"{getattr(made, '__module__', '?')}:{getattr(made, '__qualname__', '?')}"
