"""The resolver that needs no help from the kernel: one bare name after the other, each link read."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from tools_filesystem._paths._step import again, step

if TYPE_CHECKING:
    from tools_filesystem._paths._access import PinnedRoot, Place

_MOST_LINKS = 40  # as the kernel has it
_MOST_STEPS = 20_000


def pin_by_walk(place: Place) -> int:
    """Never a name with a slash in it or behind it, because `O_NOFOLLOW` does not hold for those."""
    walk = _Walk(place.root, place.path)
    try:
        while walk.todo:
            walk.take(walk.todo.pop())
    except BaseException:
        os.close(walk.current)
        raise
    return walk.current


class _Walk:
    """What is left to do, and where we are: pinned, and by its names from the root, none of them a link."""

    __slots__ = ("current", "here", "links", "path", "root", "steps", "todo")

    def __init__(self, root: PinnedRoot, path: str) -> None:
        self.root = root
        self.path = path
        self.todo = path.split("/")[::-1]
        self.here: list[str] = []
        self.links = self.steps = 0
        self.current = again(root.descriptor)

    def take(self, name: str) -> None:
        self.steps += 1
        if name == "..":
            self._up()
        elif name not in ("", "."):  # these only ask for a folder, which all but the last one were opened as
            found = step(self.current, name, is_last=not self.todo)
            if isinstance(found, str):
                self._follow(found)
            else:
                self.here.append(name)
                self._move(found)
        if self.links > _MOST_LINKS or self.steps > _MOST_STEPS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self.path)

    def _up(self) -> None:
        """Go down again from the root, because the folder above may have been moved out of it meanwhile."""
        if not self.here:
            raise OSError(errno.EXDEV, "is outside the workspace", self.path)
        self.here.pop()
        self._move(again(self.root.descriptor))
        for name in self.here:
            self.steps += 1
            found = step(self.current, name, is_last=False)
            if isinstance(found, str):
                raise OSError(errno.ELOOP, "became a link meanwhile", self.path)
            self._move(found)

    def _follow(self, target: str) -> None:
        self.links += 1
        self.todo += self.root.relative(target).split("/")[::-1]
        if target.startswith("/"):
            self.here.clear()
            self._move(again(self.root.descriptor))

    def _move(self, found: int) -> None:
        os.close(self.current)
        self.current = found
