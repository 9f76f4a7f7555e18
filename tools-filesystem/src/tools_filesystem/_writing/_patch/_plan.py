"""The plan of a patch: everything is read and checked before anything changes."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._locate import locate
from tools_filesystem._writing._changes import Change
from tools_filesystem._writing._patch._apply import Applied, apply_hunks

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from contextlib import ExitStack

    from tools_filesystem._paths._access import Access, PinnedRoot
    from tools_filesystem._paths._locate import Located
    from tools_filesystem._writing._patch._sections import Section

LARGEST = 10  # megabytes of one file, before or after
MOST = 100  # megabytes of all files together
MOST_SECTIONS = 100  # because their folders are held open at the same time


class Outcome(NamedTuple):
    """The changes of a section; the first is that of the resulting file, if there is one."""

    section: Section
    changes: tuple[Change, ...]
    applied: Applied
    before: os.stat_result | None = None


class PatchPlan:
    """The changes of a patch, all in one root. The places stay open until the stack is closed."""

    def __init__(self, access: Access, sections: Sequence[Section], stack: ExitStack) -> None:
        if len(sections) > MOST_SECTIONS:
            message = f"the patch has {len(sections)} sections; at most {MOST_SECTIONS} are applied at once: split it"
            raise ToolError(message, "limit_exceeded")
        self.access = access
        self._stack = stack
        self._root: PinnedRoot | None = None
        self._taken: dict[str, str] = {}
        self._size = 0
        self.outcomes = [self._plan(section) for section in sections]

    def _plan(self, section: Section) -> Outcome:
        if section.action == "add":
            return self._add(section)
        moves = section.destination is not None
        place = self._locate(section.path, follow=section.action != "delete" and not moves)
        if stat.S_ISLNK(place.state.st_mode):
            tool = "move_path moves" if moves else "delete_path deletes"
            raise ToolError(f"{section.path!r} is a link, which no patch changes; {tool} the link itself", "not_a_file")
        with explained(section.path):
            data, found = place.read(LARGEST)
        self._count(data)
        place.check_permitted("write_file with overwrite=true replaces it")
        applied = apply_hunks(data, section.hunks, section.path)
        gone = Change(place=place, data=None, found=found, content=data)
        if section.action == "delete" and section.exact and applied.data:
            message = f"{section.path!r}: the patch deletes a file, but does not show all of its lines; read it again"
            raise ToolError(f"{message}. Nothing was changed.", "conflict")
        if section.action == "delete":
            lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
            applied = applied._replace(removed=lines)
            return Outcome(section, (gone,), applied, found)
        self._count(applied.data)
        if section.destination is None:
            change = Change(place=place, data=applied.data, found=found, content=data, executable=section.executable)
            return Outcome(section, (change,), applied, found)
        goal = self._locate(section.destination, new=True, follow=False)
        if goal.found is not None:
            message = f"{section.destination!r} exists already, so {section.path!r} cannot become it"
            raise ToolError(f"{message}: choose another name, or delete it in another patch first", "conflict")
        change = Change(place=goal, data=applied.data, found=None, model=place, executable=section.executable)
        return Outcome(section, (change, gone), applied, found)

    def _add(self, section: Section) -> Outcome:
        place = self._locate(section.path, new=True)
        place.check_file_name()
        if place.found is not None:
            message = f"{section.path!r} exists already: '*** Update File:' changes it"
            raise ToolError(f"{message}. Nothing was changed.", "conflict")
        applied = apply_hunks(b"", section.hunks, section.path)
        self._count(applied.data)
        change = Change(place=place, data=applied.data, found=None, executable=section.executable)
        return Outcome(section, (change,), applied)

    def _locate(self, path: str, *, new: bool = False, follow: bool = True) -> Located:
        place = self._stack.enter_context(locate(self.access, path, write=True, new=new, follow=follow))
        self._root = self._root or place.root
        if self._root is not place.root:
            message = f"{path!r} is in another root than the files before it; a patch is all or nothing in one root"
            raise ToolError(f"{message}: write one patch for each", "validation_error")
        real = place.below
        if real in self._taken:
            message = f"{path!r} is changed twice by the patch (before as {self._taken[real]!r})"
            raise ToolError(f"{message}: put all of it into one section. Nothing was changed.", "validation_error")
        self._taken[real] = path
        return place

    def _count(self, data: bytes) -> None:
        self._size += len(data)
        if len(data) > LARGEST << 20 or self._size > MOST << 20:
            message = f"the patch makes files of more than {LARGEST} MB, or of {MOST} MB together; split it"
            raise ToolError(f"{message}. Nothing was changed.", "limit_exceeded")
