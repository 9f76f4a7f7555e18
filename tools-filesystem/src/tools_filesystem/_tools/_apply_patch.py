"""The `apply_patch` tool."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._ledger import Content, ledger_of
from tools_filesystem._paths._names import escaped
from tools_filesystem._tools._check import checked
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._changes import commit
from tools_filesystem._writing._patch._parse import parse
from tools_filesystem._writing._patch._plan import PatchPlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_filesystem._ledger import Ledger
    from tools_filesystem._writing._changes import Change
    from tools_filesystem._writing._patch._plan import Outcome


class ApplyPatch(FileTool):
    """Change several files with one patch: all of it is applied, or nothing. For one small change, use edit_file.

    Accepts a unified diff, or this format:

    *** Begin Patch
    *** Update File: src/app.py
    *** Move to: src/main.py
    @@ def run():
         first = 1
    -    second = 2
    +    second = 3
    *** Add File: docs/new.md
    +every line of a new file begins with +
    *** Delete File: old.txt
    *** End Patch

    Hunk lines begin with a space (keep), `-` (remove) or `+` (add). `*** Move to:` and the heading behind `@@` (a line
    above the hunk, such as a function) are optional. Show about three unchanged lines around each change; a hunk that
    fits in several places is refused.
    """

    destructive = True

    def paths_in(self, arguments: Mapping[str, Any]) -> Sequence[Any] | None:
        """Return the files that the patch names."""
        patch = arguments.get("patch")
        try:
            sections = parse(patch) if isinstance(patch, str) else []
        except ToolError:
            return None
        return [path for one in sections for path in (one.path, one.destination) if path is not None] or None

    def execute(
        self,
        patch: Annotated[str, "Patch text.", Limits(max_length=5_000_000)],
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access, ExitStack() as stack:
            plan = PatchPlan(access, parse(patch), stack)
            changes = plan.changes()
            paths = [change.place.real for change in changes]
            commit(changes, context)
            _remember(changes, paths, ledger_of(context.run_id))
            folder = changes[0].place.root.real if changes else ""
            changed = [path for change, path in zip(changes, paths, strict=True) if change.data is not None]
        remark = checked(folder, changed, context) if changed else ""
        results = [_result(outcome) for outcome in plan.outcomes]
        notes = [note for outcome in plan.outcomes for note in outcome.applied.notes]
        lines = [line for result in results for line in (_summary(result), *result["diff"])]
        content = "\n".join([*lines, *(f"[{note}]" for note in notes), *([remark] if remark else [])])
        return Result.ok({"results": results, "notes": notes}, content=content, metadata=access.warnings())


def _remember(changes: Sequence[Change], paths: Sequence[str], ledger: Ledger) -> None:
    deleted = {id(one.place): (one, path) for one, path in zip(changes, paths, strict=True) if one.data is None}
    for change, path in zip(changes, paths, strict=True):
        old, old_path = deleted.get(id(change.model), (change, path))  # it was moved
        content, data = ([part] if isinstance(part, bytes) else part for part in (old.content, change.data))
        before = None if old.status is None else Content(old_path, old.status, content)
        after = None if change.state is None else Content(path, change.state, data)
        ledger.replace(before, after)


def _result(outcome: Outcome) -> dict[str, Any]:
    section, applied = outcome.section, outcome.applied
    moved = {"moved_to": _printable(section.destination)} if section.destination else {}
    counts = {"added": applied.added, "removed": applied.removed}
    modes = {} if section.is_executable is None else {"executable": section.is_executable}
    diff = applied.diff if section.action == "update" else []
    return {"action": section.action, "path": _printable(section.path), **moved, **modes, **counts, "diff": diff}


def _summary(result: Mapping[str, Any]) -> str:
    moved = f" -> {result['moved_to']}" if "moved_to" in result else ""
    verb = {"add": "Added", "update": "Updated", "delete": "Deleted"}[result["action"]]
    mode = {True: ", executable", False: ", not executable", None: ""}[result.get("executable")]
    return f"{verb} {result['path']}{moved} (+{result['added']} -{result['removed']}{mode})"


def _printable(path: str) -> str:
    """Return a path as in the patch, with escapes for bytes that are not text."""
    return path if path.isprintable() else escaped(path)
