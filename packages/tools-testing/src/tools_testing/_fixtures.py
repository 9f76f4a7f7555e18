"""The objects of fixtures: a context that records progress, a caller of tools, and recorded definitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Context, Registry, Tool, Toolset, registry
from tools_testing._compare import compare_definitions, listed

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from tools_core import Result

SNAPSHOTS = "__tool_snapshots__"
_COMMAND = "pytest --tool-snapshot-update"


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


class ToolSnapshot:
    """The fixture `tool_snapshot`: call it with a tool to compare its definition with the recorded one.

    Any change fails the test; with `allow_compatible=True` only one that breaks callers.
    """

    def __init__(self, folder: Path, *, update: bool, records: list[str]) -> None:
        self._folder = folder
        self._update = update
        self._records = records

    def __call__(self, tool: Any, *, allow_compatible: bool = False) -> None:
        """Compare; AssertionError if the definition changed."""
        __tracebackhide__ = True
        definition = one_tool(tool).definition
        path = self._folder / f"{definition['name']}.json"
        text = json.dumps(definition, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        before = path.read_text(encoding="utf-8") if path.is_file() else None
        if before == text:
            return
        changes = compare_definitions(json.loads(before), definition) if before is not None else []
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            verb = "recorded" if before is None else "updated"
            self._records += [f"{verb}: {path}", *(f"  {change}" for change in listed(changes))]
            return
        if before is None:
            raise AssertionError(f"`{definition['name']}` has no recorded definition: run {_COMMAND}")
        is_breaking = any(change.is_breaking for change in changes)
        if changes and (is_breaking or not allow_compatible):
            verdict = "breaking" if is_breaking else "compatible"
            report = "\n".join(map(str, listed(changes)))
            raise AssertionError(
                f"the definition of `{definition['name']}` has changed, and the change is {verdict}:\n"
                f"{report}\nif this is intended: run {_COMMAND}"
            )


def one_tool(tool: Any) -> Tool:
    """Return the tool of a Tool, its class or a function; TypeError for a toolset, which has several."""
    if isinstance(tool, Toolset) or (isinstance(tool, type) and issubclass(tool, Toolset)):
        raise TypeError(f"{tool!r} has several tools: pass one of its .tools")
    registry = Registry()
    registry.register(tool)
    (single,) = registry.values()
    return single
