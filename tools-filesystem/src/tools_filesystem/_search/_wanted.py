"""Which files a search of contents looks into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_filesystem._search._pattern import Pattern, expanded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_filesystem._search._pattern import State


class Wanted:
    """What is wanted of a folder: files of the type that match a pattern, if there is one, and no `!pattern`.

    A pattern without a slash holds for the names of files in every folder, as with `rg -g`.
    """

    __slots__ = ("_no", "_type", "_yes", "by_ending", "endings", "hidden")

    def __init__(self, yes: State | None, no: State | None, type: State | None, *, hidden: bool) -> None:
        self._yes, self._no, self._type, self.hidden = yes, no, type, hidden
        # One of them may say a quick no by the ending of a name, and a quick yes if it is the only one.
        first = type or yes
        self.endings: tuple[str, ...] = first.endings if first is not None and first.by_ending else ("",)
        self.by_ending = no is None and (type is None or yes is None) and (first is None or first.by_ending)

    def takes(self, name: str) -> bool:
        """Whether a file of this name is wanted."""
        return (
            (self.hidden or name[0] != ".")
            and (self._yes is None or self._yes.takes(name))
            and (self._no is None or not self._no.takes(name))
            and (self._type is None or self._type.takes(name))
        )

    def enters(self, name: str) -> Wanted | None:
        """What is wanted of a folder of this name; None when there can be nothing."""
        if name[0] == "." and not self.hidden:
            return None
        yes = self._yes and self._yes.enters(name)
        if yes is None and self._yes is not None:
            return None
        no = self._no and self._no.enters(name)
        if (yes, no) == (self._yes, self._no):
            return self  # `type` is the same everywhere
        return Wanted(yes, no, self._type, hidden=self.hidden)

    def endings_everywhere(self) -> tuple[str, ...]:
        """Endings that all wanted files have, in this folder and below; empty when there are none to tell."""
        if self.endings == ("",) or self.enters("x") is not self:
            return ()
        return self.endings


def wanted_for(globs: list[str], types: Iterable[str], *, hidden: bool) -> Wanted:
    """What the arguments of a search ask for."""
    yes = [form for glob in globs if not glob.startswith("!") for form in _forms(glob)]
    no = [form for glob in globs if glob.startswith("!") for form in _forms(glob[1:])]
    no += [f"{form.rstrip('/')}/**" for form in no]  # a folder with all that is in it
    kinds = [form for kind in types for form in _forms(kind)]
    return Wanted(_state(yes), _state(no), _state(kinds), hidden=hidden)


def _state(patterns: list[str]) -> State | None:
    return Pattern(patterns, hidden=True).start if patterns else None


def _forms(glob: str) -> list[str]:
    return [form if "/" in form.rstrip("/") else f"**/{form}" for form in expanded(glob)]
