"""Definitions kept beside the tests: what changed since, and whether that breaks callers."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from tools_testing._check_tool import one_tool
from tools_testing._compare import compare_definitions
from tools_testing._compare._change import listed

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "__tool_snapshots__"


class ToolSnapshot:
    """The fixture `tool_snapshot`: call it with a tool to hold its definition against the one on record.

    Any change fails, with its verdict; `allow_compatible=True` lets pass what breaks nobody.
    """

    def __init__(self, folder: Path, *, update: bool, written: list[str]) -> None:
        self._folder = folder
        self._update = update
        self._written = written

    def __call__(self, tool: Any, *, allow_compatible: bool = False) -> None:
        """AssertionError when the definition is not the one on record."""
        __tracebackhide__ = True
        definition = one_tool(tool).definition
        path = self._folder / f"{definition['name']}.json"
        text = json.dumps(definition, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        before = path.read_text(encoding="utf-8") if path.is_file() else None
        if before == text:
            return
        if self._update:
            self._write(path, text, before)
            return
        if before is None:
            raise AssertionError(f"no definition of `{definition['name']}` is on record: run {_COMMAND}")
        changes = compare_definitions(json.loads(before), definition)
        is_breaking = any(change.is_breaking for change in changes)
        if changes and (is_breaking or not allow_compatible):
            verdict = "breaking" if is_breaking else "compatible"
            raise AssertionError(
                f"the definition of `{definition['name']}` has changed, and the change is {verdict}:\n"
                f"{listed(changes)}\nif it is meant: run {_COMMAND}"
            )

    def _write(self, path: Path, text: str, before: str | None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f"{path.name}.{os.getpid()}.new")
        aside.write_text(text, encoding="utf-8", newline="\n")
        aside.replace(path)  # whole or not at all, also with several workers
        changes = compare_definitions(json.loads(before), json.loads(text)) if before is not None else []
        lines = [f"{'updated' if before is not None else 'written'}: {path}"]
        self._written.append("\n".join([*lines, *(f"  {change}" for change in listed(changes).splitlines())]))


_COMMAND = "pytest --tool-snapshot-update"
