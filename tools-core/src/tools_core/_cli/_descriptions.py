"""One-line descriptions of installed tools, for `list` and completion.

A description is code: a docstring, an attribute, or computed. So a package is imported once, in a separate process,
and its descriptions are kept in the user's cache folder, in one file for each distribution. Descriptions in metadata
would need a build hook in every package, and an editable installation would show old ones.

A file is valid while what it was made from has the same times and sizes: `entry_points.txt` and the package's imported
source files. A package with a tool that cannot be loaded is not kept: something else may repair it.
"""

from __future__ import annotations

import json
import os
import sys
from binascii import crc32
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core._cli._installed import packages, stamp

if TYPE_CHECKING:
    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._registry import Registry


def describe(registry: Registry, *, load: bool = True) -> tuple[dict[str, str], dict[str, str]]:
    """Return the descriptions of tools by name, and errors by the name of tools that could not be loaded.

    With `load=False` it returns the descriptions that are in the cache.
    """
    descriptions: dict[str, str] = {}
    errors: dict[str, str] = {}
    for distribution, points in packages(registry).items():
        known = _read(next(iter(points.values())))
        if load and any(point.name not in known for point in points.values()):
            known, failed = _load(distribution, points)
            errors |= failed
        descriptions |= {name: known[point.name] for name, point in points.items() if point.name in known}
    return descriptions, errors


def _load(distribution: str, points: dict[str, EntryPoint]) -> tuple[dict[str, str], dict[str, str]]:
    """Load the tools of a package; keep the descriptions, by the names in the package, unless there is an error."""
    from tools_core._cli._loader import load_apart  # not needed if everything is in the cache

    report = load_apart(distribution, points)
    known = {points[each["name"]].name: each["description"] for each in report["tools"] if "description" in each}
    errors = {each["name"]: each["error"] for each in report["tools"] if "error" in each}
    if not errors:
        _write(next(iter(points.values())), known, report["files"])
    return known, errors


def _path(point: EntryPoint) -> str:
    """Return the file for a distribution in one place and one version of Python; an upgrade replaces it."""
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    key = f"{os.path.dirname(point.folder)}\n{sys.version}".encode(errors="surrogateescape")
    return os.path.join(root, "ask-tools", f"{point.distribution}-{crc32(key):08x}.json")


def _read(point: EntryPoint) -> dict[str, str]:
    try:
        with open(_path(point), encoding="utf-8") as file:
            entry = json.load(file)
        is_valid = entry["source"] == [point.folder, point.version]
        if is_valid and all(stamp(path) == known for path, known in entry["files"].items()):
            return {str(name): str(text) for name, text in entry["descriptions"].items()}
    # Missing, unreadable or written by another program: the tools are loaded again.
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    return {}


def _write(point: EntryPoint, descriptions: dict[str, str], files: dict[str, list[int]]) -> None:
    from tools_core._registry._replace_file import replace  # as above

    metadata = [point.folder, os.path.join(point.folder, "entry_points.txt")]  # the folder may be a zip archive
    files = files | {path: stamp(path) for path in metadata}
    entry = {"source": [point.folder, point.version], "files": files, "descriptions": descriptions}
    path = _path(point)
    with suppress(OSError):  # a folder that cannot be written to: the tools are loaded each time
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace(path, json.dumps(entry).encode())  # in one step: others may read or write
