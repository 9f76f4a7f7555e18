"""The plan of a patch: every file is read and every hunk is placed before anything changes."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

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
    from tools_filesystem._paths._located import Located
    from tools_filesystem._writing._patch._sections import Section

MAX_FILE = 10  # megabytes of one file, before or after
MAX_TOTAL = 100  # megabytes of all files together
MAX_SECTIONS = 100  # their folders are open at the same time


class Outcome(NamedTuple):
    """The effect of a section."""

    section: Section
    applied: Applied


@dataclass(slots=True, eq=False)
class _File:
    """A file of the patch: its content on the disk, and after the sections that were planned so far."""

    place: Located
    path: str
    status: os.stat_result | None
    before: bytes | None
    after: bytes | None
    model: Located | None = None
    is_executable: bool | None = None

    @property
    def is_changed(self) -> bool:
        """Return whether the content or the mode changes."""
        was_executable = self.status is not None and bool(self.status.st_mode & 0o111)
        return self.after != self.before or (self.is_executable is not None and self.is_executable != was_executable)


class PatchPlan:
    """The changes of a patch, all in one root. The places stay open until the stack is closed."""

    def __init__(self, access: Access, sections: Sequence[Section], stack: ExitStack) -> None:
        if len(sections) > MAX_SECTIONS:
            message = f"the patch has {len(sections)} sections; at most {MAX_SECTIONS} are applied at once: split it"
            raise ToolError(message, "limit_exceeded")
        self.access = access
        self._stack = stack
        self._root: PinnedRoot | None = None
        self._files: dict[str, _File] = {}
        self._size = 0
        self.outcomes = [Outcome(section, self._apply(section)) for section in sections]

    def changes(self) -> list[Change]:
        """Return one change for each file whose content or mode changes."""
        files = [file for file in self._files.values() if file.is_changed]
        return [
            Change(
                place=file.place, data=file.after, status=file.status, content=file.before, model=file.model,
                is_executable=file.is_executable,
            )
            for file in sorted(files, key=lambda file: file.after is None)  # new content before old files are deleted
        ]  # fmt: skip

    def _apply(self, section: Section) -> Applied:
        path = section.path
        if section.action == "add":
            file = self._file(path, new=True)
            if file.after is not None:
                raise ToolError(f"{path!r} exists: use '*** Update File:'. Nothing was changed.", "conflict")
            applied = apply_hunks(b"", section.hunks, path)
            file.is_executable = section.is_executable
            self._put(file, applied.data)
            return applied._replace(removed=0)  # not the end of the file without a line feed
        file = self._file(path, follow=section.action == "update" and section.destination is None)
        data = file.before if section.is_copy else file.after  # git shows copies of the old content
        if data is None:
            raise ToolError(f"{path!r} is deleted by this patch. Nothing was changed.", "conflict")
        if file.status is not None:
            file.place.check_permitted("write_file with overwrite=true replaces it")
        applied = apply_hunks(data, section.hunks, path)
        if section.action == "delete":
            if section.shows_all and applied.data:
                message = f"{path!r}: the patch deletes a file, but does not show all of its lines; read it again"
                raise ToolError(f"{message}. Nothing was changed.", "conflict")
            self._put(file, None)
            lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
            return applied._replace(removed=lines)
        if section.destination is None:
            file.is_executable = file.is_executable if section.is_executable is None else section.is_executable
            self._put(file, applied.data)
            return applied
        goal = self._file(section.destination, new=True, follow=False, repair="")
        if goal is file or goal.after is not None:
            verb = "copied" if section.is_copy else "moved"
            message = f"{section.destination!r} exists, so {path!r} cannot be {verb} there"
            raise ToolError(f"{message}; choose another name. Nothing was changed.", "conflict")
        goal.model = file.model or file.place
        goal.is_executable = file.is_executable if section.is_executable is None else section.is_executable
        self._put(goal, applied.data)
        if not section.is_copy:
            self._put(file, None)
        return applied

    def _file(
        self, path: str, *, new: bool = False, follow: bool = True, repair: Literal["", "spelling"] = "spelling"
    ) -> _File:
        """Return a file of the patch, which is read from the disk the first time."""
        located = locate(self.access, path, write=True, new=True, follow=follow, repair=repair)
        place = self._stack.enter_context(located)
        self._root = self._root or place.root
        if self._root is not place.root:
            message = f"{path!r} is in another root than the files before it; a patch changes one root"
            raise ToolError(f"{message}: use one patch for each root", "validation_error")
        if place.below in self._files:
            return self._files[place.below]
        status, data = place.status, None
        if status is None and not new:
            locate(self.access, path, follow=follow).close()  # raises with similar names
        if status is None:
            place.check_file_name()
        elif stat.S_ISLNK(status.st_mode):
            message = f"{path!r} is a symlink; patches change regular files: use move_path or delete_path"
            raise ToolError(message, "not_a_file")
        else:
            with explained(path):
                data, status = place.read(MAX_FILE)
            self._count(data)
        file = self._files[place.below] = _File(place, path, status, data, data)
        return file

    def _put(self, file: _File, data: bytes | None) -> None:
        file.after = data
        self._count(data or b"")

    def _count(self, data: bytes) -> None:
        self._size += len(data)
        if len(data) > MAX_FILE << 20 or self._size > MAX_TOTAL << 20:
            message = f"the patch changes files of more than {MAX_FILE} MB, or {MAX_TOTAL} MB together; split it"
            raise ToolError(f"{message}. Nothing was changed.", "limit_exceeded")
