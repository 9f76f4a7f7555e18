"""The search without `rg`: a separate program that prints what `rg` would.

It runs as `python -I -S _scan.py`, so that its caller can kill it: `re` has no time limit. Ignore files are not read.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
import sys
from contextlib import suppress

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LARGEST = 64 << 20  # bytes of a file
_SNIFF = 64 << 10  # bytes in which a NUL makes a file binary


def main(order: dict[str, Any], start: int) -> None:
    """Carry out an order: `mode` is list, content, files or count."""
    write = sys.stdout.buffer.write
    if order["mode"] == "list":
        for path in _listed(start, order):
            write(os.fsencode(f"{path}\0"))
        return
    pattern = re.compile(order["pattern"], re.MULTILINE | (re.IGNORECASE if order["ignore_case"] else 0))
    for path, descriptor in _opened(start, order):
        with open(descriptor, "rb") as file:
            data = file.read(_LARGEST + 1)
        if b"\0" in data[:_SNIFF] or len(data) > _LARGEST:
            continue
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        if pattern.search(text) is None:
            continue
        write(_report(path, text, pattern, order))


def _report(path: str, text: str, pattern: re.Pattern[str], order: dict[str, Any]) -> bytes:
    lines = text.removesuffix("\n").split("\n")
    found = {number: match for number, line in enumerate(lines) if (match := pattern.search(line)) is not None}
    if not found:
        return b""
    if order["mode"] == "files":
        return os.fsencode(f"{path}\0")
    if order["mode"] == "count":
        return os.fsencode(f"{path}\0{len(found)}\n")
    around = order["context"]
    shown = sorted({near for number in found for near in range(number - around, number + around + 1)})
    rows: list[dict[str, Any]] = [{"type": "begin", "data": {"path": {"text": path}}}]
    for number in shown:
        if 0 <= number < len(lines):
            match = found.get(number)
            begins = [] if match is None else [{"start": len(lines[number][: match.start()].encode())}]
            facts = {"line_number": number + 1, "lines": {"text": lines[number]}, "submatches": begins}
            rows.append({"type": "context" if match is None else "match", "data": facts})
    rows.append({"type": "end", "data": {"binary_offset": None, "stats": {"matched_lines": len(found)}}})
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def _listed(start: int, order: dict[str, Any]) -> list[str]:
    found = [(-state.st_mtime_ns if order["newest"] else 0, path) for path, _, _, state in _walk(start, order)]
    return [path for _, path in sorted(found)]


def _opened(start: int, order: dict[str, Any]) -> Iterator[tuple[str, int]]:
    if stat.S_ISREG(os.fstat(start).st_mode):
        yield ".", os.dup(start)
        return
    for path, name, folder, _ in _walk(start, order):
        with suppress(OSError):  # gone, or not permitted
            yield path, os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)


def _walk(start: int, order: dict[str, Any]) -> Iterator[tuple[str, str, int, os.stat_result]]:
    """Yield the path, the name, the open folder and the state of each wanted file; links are not followed."""
    for where, folders, names, folder in os.fwalk(".", dir_fd=start, follow_symlinks=False):
        folders[:] = sorted(name for name in folders if name != ".git" and order["depth"] != 1)
        for name in sorted(names):
            if name != ".git" and (not order["names"] or any(fnmatch.fnmatchcase(name, one) for one in order["names"])):
                with suppress(OSError):  # gone
                    state = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    if stat.S_ISREG(state.st_mode):
                        yield os.path.normpath(f"{where}/{name}"), name, folder, state


if __name__ == "__main__":
    sys.setrecursionlimit(100_000)
    main(json.loads(sys.argv[1]), int(sys.argv[2]))
