"""The objects of fixtures: a context that records progress, and a caller of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Context, Registry, Tool, Toolset, registry

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from tools_core import Result


class Progress(NamedTuple):
    """One progress report of a tool."""

    done: float
    total: float | None
    message: str


class RecordingContext(Context):
    """A Context for tests: `reports` has the progress of all its calls, in order."""

    __slots__ = ("reports",)

    def __init__(
        self,
        *,
        workspace: str | os.PathLike[str] | None = None,
        state: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        call_id: str | None = None,
        run_id: str | None = None,
    ) -> None:
        super().__init__(
            workspace=workspace, state=state, timeout=timeout, call_id=call_id, run_id=run_id, on_progress=self._record
        )
        self.reports: list[Progress] = []

    def _record(self, done: float, total: float | None, message: str) -> None:
        self.reports.append(Progress(done, total, message))


class CallTool:
    """The fixture `call_tool`: calls tools with the context of the test, unless they name another one."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __call__(
        self, tool: Any, arguments: Any = None, /, *, context: Context | None = None, **keywords: Any
    ) -> Result:
        """Call a tool, its class, a function, or the installed tool of a name; UnknownToolError for an unknown one."""
        target = registry[tool] if isinstance(tool, str) else one_tool(tool)
        return target.call(arguments, context or self._context, **keywords)


def one_tool(tool: Any) -> Tool:
    """Return the tool of a Tool, its class or a function; TypeError for a toolset, which has several."""
    if isinstance(tool, Toolset) or (isinstance(tool, type) and issubclass(tool, Toolset)):
        raise TypeError(f"{tool!r} has several tools: pass one of its .tools")
    (single,) = Registry(tool).values()
    return single
