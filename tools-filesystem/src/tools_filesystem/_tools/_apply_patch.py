"""The `apply_patch` tool."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._ledger import Ledger, Stamp
from tools_filesystem._paths._names import sendable
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._changes import commit
from tools_filesystem._writing._patch._parse import parse
from tools_filesystem._writing._patch._plan import PatchPlan

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from tools_filesystem._writing._patch._plan import Outcome


class ApplyPatch(FileTool):
    """Change several files with one patch: all of it is applied, or nothing.

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
        """The files that the patch names."""
        patch = arguments.get("patch")
        try:
            sections = parse(patch) if isinstance(patch, str) else None
        except ToolError:
            sections = None
        if sections is None:
            return None
        return [path for section in sections for path in (section.path, section.destination) if path is not None]

    def execute(
        self,
        patch: Annotated[str, "Patch text.", Limits(max_length=5_000_000)],
        dry_run: Annotated[bool, "Only check and return the diff."] = False,
        *,
        context: Context,
    ) -> Result:
        sections = parse(patch)
        with self.access(context) as access, ExitStack() as stack:
            plan = PatchPlan(access, sections, stack)
            if not dry_run:
                states = dict(zip(map(id, plan.changes), commit(plan.changes, context), strict=True))
                for outcome in plan.outcomes:
                    _record(access.ledger(context), outcome, states[id(outcome.change)])
        report = _report(plan.outcomes, dry_run=dry_run)
        return Result.ok(report, content=_text(report))


def _record(ledger: Ledger, outcome: Outcome, state: os.stat_result | None) -> None:
    """Whoever knew all of a file before knows all of it now; of a new one the patch is all there is."""
    before = outcome.before
    knew = before is None or ledger.covers(Stamp.of(before))
    if before is not None:
        ledger.forget(Stamp.of(before))
    if knew and state is not None:
        ledger.record(Stamp.of(state), 0, state.st_size)


def _report(outcomes: Sequence[Outcome], *, dry_run: bool) -> dict[str, Any]:
    report: dict[str, Any] = {
        "summary": "\n".join(map(_summary, outcomes)),
        "results": [_result(outcome) for outcome in outcomes],
        "notes": [note for outcome in outcomes for note in outcome.applied.notes],
    }
    if dry_run:
        report["notes"].insert(0, "dry run: nothing was written")
        report["diff"] = "\n".join(line for outcome in outcomes for line in _diff(outcome))
    return report


def _text(report: Mapping[str, Any]) -> str:
    """Return the report as a model reads it."""
    notes = [f"[{note}]" for note in report["notes"]]
    return "\n".join([report["summary"], *notes, *([report["diff"]] if "diff" in report else [])])


def _summary(outcome: Outcome) -> str:
    section, applied = outcome.section, outcome.applied
    moved = f" -> {_told(section.destination)}" if section.destination else ""
    return f"{section.action.capitalize()} {_told(section.path)}{moved} (+{applied.added} -{applied.removed})"


def _result(outcome: Outcome) -> dict[str, Any]:
    section = outcome.section
    result: dict[str, Any] = {"action": section.action, "path": _told(section.path)}
    if section.destination:
        result["moved_to"] = _told(section.destination)
    result |= {"added": outcome.applied.added, "removed": outcome.applied.removed}
    return result


def _diff(outcome: Outcome) -> list[str]:
    section = outcome.section
    old = "/dev/null" if section.action == "add" else _told(section.path)
    new = "/dev/null" if section.action == "delete" else _told(section.destination or section.path)
    return [f"--- {old}", f"+++ {new}", *outcome.applied.diff]


def _told(path: str) -> str:
    """A path as the patch has it, unless that is in quotes with bytes which are no text."""
    return path if path.isascii() or not any("\ud800" <= char <= "\udfff" for char in path) else sendable(path)
