"""The changes that a patch makes: everything is read and checked, and nothing is changed yet."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._names import meant_place
from tools_filesystem._writing._overwrite import check_permitted
from tools_filesystem._writing._patch._apply import Applied, apply_hunks
from tools_filesystem._writing._patch._spot import Spot, locate, read_spot
from tools_filesystem._writing._patch._transaction import Change

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from tools_filesystem._paths._access import Access, PinnedRoot, Place
    from tools_filesystem._writing._patch._sections import Section

LARGEST = 10_000_000  # bytes of one file, before or after
MOST = 100_000_000  # bytes of all files together
MOST_SECTIONS = 300  # because their folders are held open at the same time


class Outcome(NamedTuple):
    """The new state of the file of a section; `data` is None where it goes."""

    section: Section
    added: int
    removed: int
    notes: list[str]
    diff: list[str]
    before: os.stat_result | None
    data: bytes | None


class PatchPlan:
    """The changes of a patch, and the folders that they need; all in one root."""

    def __init__(self, access: Access, sections: Sequence[Section]) -> None:
        if len(sections) > MOST_SECTIONS:
            message = f"the patch has {len(sections)} sections; at most {MOST_SECTIONS} are applied at once: split it"
            raise ToolError(message, "limit_exceeded")
        self.access = access
        self.root: PinnedRoot | None = None
        self.changes: list[Change] = []
        self.missing: dict[str, None] = {}
        self.outcomes: list[Outcome] = []
        self._taken: dict[str, str] = {}
        self._size = 0
        for section in sections:
            with explained(access, section.path):
                self.outcomes.append(self._plan(section))
        self._check_folders()

    def _plan(self, section: Section) -> Outcome:
        place = self._place(section.path)
        spot = self._locate(place, section.path, follow=section.action == "update" and section.destination is None)
        if section.action == "add":
            return self._add(section, spot)
        if spot.found is None:
            raise FileNotFoundError(section.path)
        if stat.S_ISLNK(spot.found.st_mode):
            tool = "move_path moves" if section.destination is not None else "delete_path deletes"
            raise ToolError(f"{section.path!r} is a link, which no patch changes; {tool} the link itself", "not_a_file")
        data, found = read_spot(place.root, spot, LARGEST)
        self._count(data)
        check_permitted(found, section.path)
        if section.action == "delete":
            return self._delete(section, spot, data, found)
        applied = apply_hunks(data, section.hunks, section.path)
        return self._update(section, spot, data, found, applied)

    def _add(self, section: Section, spot: Spot) -> Outcome:
        if spot.found is not None:
            message = f"{section.path!r} exists already: '*** Update File:' changes it"
            raise ToolError(f"{message}. Nothing was changed.", "conflict")
        applied = apply_hunks(b"", section.hunks, section.path)
        self._count(applied.data)
        self._put(section.path, spot, None, data=applied.data, executable=section.executable)
        return _outcome(section, applied, None, applied.data)

    def _delete(self, section: Section, spot: Spot, data: bytes, found: os.stat_result) -> Outcome:
        applied = apply_hunks(data, section.hunks, section.path)
        if section.exact and applied.data:
            message = f"{section.path!r}: the patch deletes a file, but does not show all of its lines; read it again"
            raise ToolError(f"{message}. Nothing was changed.", "conflict")
        self.changes.append(Change(section.path, spot.where, spot.name, found, data))
        lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        return _outcome(section, applied._replace(removed=lines), found, None)

    def _update(self, section: Section, spot: Spot, data: bytes, found: os.stat_result, applied: Applied) -> Outcome:
        self._count(applied.data)
        is_same = applied.data == data
        if section.destination is None:
            self._put(section.path, spot, found, content=data, data=applied.data, executable=section.executable)
            return _outcome(section, applied, found, applied.data)
        with explained(self.access, section.destination):
            goal = self._locate(self._place(section.destination), section.destination, follow=False)
        if goal.found is not None:
            message = f"{section.destination!r} exists already, so {section.path!r} cannot become it"
            raise ToolError(f"{message}: choose another name, or delete it in another patch first", "conflict")
        keep = is_same and section.executable is None
        self._put(
            section.destination, goal, None,
            data=None if keep else applied.data, origin=(spot.where, spot.name), executable=section.executable,
        )  # fmt: skip
        self.changes.append(Change(section.path, spot.where, spot.name, found, data))
        return _outcome(section, applied, found, applied.data)

    def _put(
        self, path: str, spot: Spot, found: os.stat_result | None, *, content: bytes | None = None,
        data: bytes | None = None, origin: tuple[str, str] | None = None, executable: bool | None = None,
    ) -> None:  # fmt: skip
        self.changes.append(Change(path, spot.where, spot.name, found, content, data, origin, executable))
        self.missing.update(dict.fromkeys(spot.to_make()))

    def _place(self, path: str) -> Place:
        place = meant_place(self.access, path, write=True)
        if self.root is None:
            self.root = place.root
        if place.root is not self.root:
            message = f"{path!r} is in another root than the files before it; a patch is all or nothing in one root"
            raise ToolError(f"{message}: write one patch for each", "validation_error")
        return place

    def _locate(self, place: Place, path: str, *, follow: bool) -> Spot:
        spot = locate(place, follow=follow)
        if spot.path in self._taken:
            other = self._taken[spot.path]
            message = f"{path!r} is changed twice by the patch (before as {other!r}): put all of it into one section"
            raise ToolError(f"{message}. Nothing was changed.", "validation_error")
        self._taken[spot.path] = path
        return spot

    def _count(self, data: bytes) -> None:
        self._size += len(data)
        if len(data) > LARGEST or self._size > MOST:
            message = f"the patch makes files of more than {LARGEST} bytes, or of {MOST} together; split it"
            raise ToolError(f"{message}. Nothing was changed.", "limit_exceeded")

    def _check_folders(self) -> None:
        """A name cannot be a file and a folder."""
        files = {"/".join(filter(None, (change.folder, change.name))): change.path for change in self.changes}
        for path in self.missing:
            if path in files:
                message = f"{files[path]!r} would be a file and a folder at once"
                raise ToolError(f"{message}. Nothing was changed.", "validation_error")


def _outcome(section: Section, applied: Applied, before: os.stat_result | None, data: bytes | None) -> Outcome:
    return Outcome(section, applied.added, applied.removed, applied.notes, applied.diff, before, data)
