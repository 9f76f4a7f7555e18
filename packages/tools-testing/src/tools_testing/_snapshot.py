"""Recorded definitions: report changes, and whether they break callers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools_testing._compare import compare_definitions, listed
from tools_testing._one_tool import one_tool

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "__tool_snapshots__"
_COMMAND = "pytest --tool-snapshot-update"


class ToolSnapshot:
    """The fixture `tool_snapshot`: call it with a tool to compare its definition with the recorded one.

    Any change fails the test; with `allow_compatible=True` only one that breaks callers.
    """

    def __init__(self, folder: Path, *, update: bool, written: list[str]) -> None:
        self._folder = folder
        self._update = update
        self._written = written

    def __call__(self, tool: Any, *, allow_compatible: bool = False) -> None:
        """Compare; AssertionError where the definition changed."""
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
            verb = "written" if before is None else "updated"
            self._written += [f"{verb}: {path}", *(f"  {change}" for change in listed(changes))]
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
