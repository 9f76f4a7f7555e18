"""One-line descriptions of installed tools, for `list` and completion.

A description is code: a docstring, an attribute, or computed. So a package is imported once, in a process of its own,
and its descriptions are kept in the user's cache folder, in one file for each distribution. Descriptions in metadata
would need a build hook in every package, and an editable installation would show old ones.

An entry is valid while the files that it was made from have the same times and sizes: `entry_points.txt` and the
package's imported source files, also in editable installations. Where a tool could not be loaded, the folder of the
distribution counts as well: every installation there changes it, perhaps by the missing dependency.
"""

from __future__ import annotations

import json  # 3 ms
import os
import sys
from binascii import crc32
from contextlib import suppress

from tools_core._cli._installed import stamp

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._registry import Registry

    Entry = dict[str, dict[str, Any]]  # `descriptions` and `errors` by name, `files` with their stamps


def describe(registry: Registry, *, load: bool = True) -> tuple[dict[str, str], dict[str, str]]:
    """Return the descriptions of tools by name, and errors by the name of tools that could not be loaded.

    With `load=False` it returns those in the cache.
    """
    points = {name: point for name in registry if (point := registry.origin(name)) is not None}
    entries = {point.folder: _read(point) for point in {point.folder: point for point in points.values()}.values()}
    descriptions: dict[str, str] = {}
    errors: dict[str, str] = {}
    unknown: list[str] = []
    for name, point in points.items():
        entry = entries[point.folder]
        if point.name in entry["descriptions"]:
            descriptions[name] = entry["descriptions"][point.name]
        elif point.name in entry["errors"]:
            errors[name] = entry["errors"][point.name]
        else:
            unknown.append(name)
    if unknown and load:
        _load(unknown, points, entries, descriptions, errors)
    return descriptions, errors


def _load(
    names: list[str],
    points: dict[str, EntryPoint],
    entries: dict[str, Entry],
    descriptions: dict[str, str],
    errors: dict[str, str],
) -> None:
    """Load the tools whose descriptions are unknown, and write what can be kept to the cache."""
    from tools_core._cli._loader import load_apart  # not needed if everything is in the cache

    changed: dict[str, EntryPoint] = {}
    for facts in load_apart(names)[0]:
        point = points[facts["name"]]
        entry = entries[point.folder]
        kind = "errors" if "error" in facts else "descriptions"
        text = facts.get("error") or facts.get("description", "")
        (errors if kind == "errors" else descriptions)[facts["name"]] = text
        if facts.get("files") is not None:  # else a lock refuses it, or it ended the process
            entry[kind][point.name] = text
            entry["files"] |= facts["files"]
            changed[point.folder] = point
    for folder, point in changed.items():
        _write(point, entries[folder])


def _path(point: EntryPoint) -> str:
    """Return the file for a distribution in one place and one version of Python; an upgrade replaces it."""
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    key = f"{os.path.dirname(point.folder)}\n{sys.version}".encode(errors="surrogateescape")
    return os.path.join(root, "ask-tools", f"{point.distribution}-{crc32(key):08x}.json")


def _source(point: EntryPoint) -> list[str]:
    return [point.folder, point.version]


def _read(point: EntryPoint) -> Entry:
    try:
        with open(_path(point), encoding="utf-8") as file:
            entry = json.load(file)
        texts = [*entry["descriptions"].values(), *entry["errors"].values()]
        is_valid = entry["source"] == _source(point) and all(isinstance(text, str) for text in texts)
        if is_valid and all(stamp(path) == known for path, known in entry["files"].items()):
            return {kind: entry[kind] for kind in ("descriptions", "errors", "files")}
    # Missing, unreadable or written by another program: the tools are loaded again.
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    return {"descriptions": {}, "errors": {}, "files": {}}


def _write(point: EntryPoint, entry: Entry) -> None:
    from tools_core._registry._replace_file import replace  # as above

    counted = [point.folder, os.path.join(point.folder, "entry_points.txt")]  # the folder may be a zip archive
    counted += [os.path.dirname(point.folder)] if entry["errors"] else []
    entry["files"] |= {path: stamp(path) for path in counted}
    path = _path(point)
    with suppress(OSError):  # a folder that cannot be written to: the tools are loaded each time
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace(path, json.dumps({"source": _source(point), **entry}).encode())  # in one step: others may read or write
