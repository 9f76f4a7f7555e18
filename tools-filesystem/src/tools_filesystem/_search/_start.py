"""What glob and grep have in common: where a search begins, and what is said of what it did not see."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools_filesystem._access import Place
from tools_filesystem._names import quoted
from tools_filesystem._resolve import open_folder
from tools_filesystem._search._ignore import Ignore, names_in

if TYPE_CHECKING:
    from typing import Any

    from tools_filesystem._search._budget import Budget
    from tools_filesystem._search._folders import Skipped


def rules_above(place: Place) -> tuple[Ignore, str]:
    """The ignore rules from the root down to a folder, without its own, and the folder's path as they know it."""
    names = [name for name in place.path.split("/") if name not in ("", ".")]
    ignore = Ignore()
    if ".." in names:  # which folders lie above is not to be seen from the path
        return ignore, ""
    for depth in range(len(names)):
        above = "".join(f"{name}/" for name in names[:depth])
        folder = open_folder(Place(place.root, above or "."))
        try:
            ignore = ignore.within(folder, above, names_in(folder))
        finally:
            os.close(folder)
    return ignore, "".join(f"{name}/" for name in names)


def prefix_of(path: str) -> str:
    """What comes before a found path, so that it can be passed to other tools as it is."""
    bare = path.removeprefix("./").rstrip("/")
    return "" if bare in ("", ".") and not path.startswith("/") else f"{bare}/"


def visible(path: str) -> str:
    """A path on one line that UTF-8 can carry; each name in it means itself when it is sent back as it is."""
    if path.isprintable():
        return path
    return "/".join(name if name.isprintable() else quoted(name) for name in path.split("/"))


def all_visible(paths: list[str]) -> list[str]:
    """The same for many paths, most of which can be shown as they are."""
    return paths if "".join(paths).isprintable() else [visible(path) for path in paths]


def tell(facts: dict[str, Any], notes: list[str], name: str, count: int, text: str) -> None:
    """Say how many there were of something, if there were any: to a program in `facts`, to a reader in `notes`."""
    if count:
        facts[name] = count
        notes.append(f"{count} {text}")


def left_unseen(skipped: Skipped, budget: Budget, facts: dict[str, Any]) -> list[str]:
    """What to say of what was not looked at; `facts` get the same."""
    notes: list[str] = []
    if budget.stopped is not None:
        facts["stopped"] = budget.stopped
        notes.append(f"stopped early ({budget.stopped}): there may be more; search a smaller folder")
    names = ", ".join(visible(name) if name else "the folder itself" for name in skipped.names)
    tell(facts, notes, "unreadable", skipped.unreadable, f"could not be read{': ' if names else ''}{names}")
    elsewhere = "pass one as path to search it"
    tell(facts, notes, "mounts", skipped.mounts, f"other file systems were not entered; {elsewhere}")
    tell(facts, notes, "too_deep", skipped.too_deep, f"folders lie too deep; {elsewhere}")
    unheeded = "ignore rules are too long or too many, and were not heeded"
    tell(facts, notes, "ignore_rules_dropped", skipped.rules, unheeded)
    if skipped.ignored:
        facts["ignored"] = skipped.ignored
    return notes


def why_nothing(skipped: Skipped, *, hidden: bool) -> str:
    """What a search that found nothing left out on purpose, with the arguments that include it."""
    left_out = [f"{skipped.ignored} ignored entries (ignore=false)"] if skipped.ignored else []
    left_out += [] if hidden else ["hidden ones (hidden=true)"]
    return f"; not looked at: {', '.join(left_out)}" if left_out else ""
