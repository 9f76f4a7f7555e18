"""The search without `rg`: a separate program that prints what `rg` would.

It runs as `python -I -S _scan.py`, so that its caller can kill it: `re` has no time limit. Ignore files are not read.
"""

from __future__ import annotations

import codecs
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

_TOKEN = re.compile(r"\\[bB]\{|\\.|\[\^?\]?|[*+?}]\+|&&|--|~~|.", re.DOTALL)
_NESTED = ("[", "&&", "--", "~~")  # between brackets, a set inside a set
_BOUNDARIES = ("\\<", "\\>", "\\b{", "\\B{")
_MAX_SIZE = 64 << 20  # bytes of a file
_SNIFF = 64 << 10  # bytes in which a NUL makes a file binary


def main(order: dict[str, Any], start: int) -> None:
    """Carry out an order: `mode` is list, content, files or count."""
    write = sys.stdout.buffer.write
    if order["mode"] == "list":
        for path in _listed(start, order):
            write(os.fsencode(f"{path}\0"))
        return
    try:
        pattern = _compiled(order)
    except (re.error, FutureWarning, RecursionError, OverflowError, ValueError) as error:
        sys.exit(f"regex parse error: {error}")
    for path, descriptor in _opened(start, order):
        with open(descriptor, "rb") as file:
            data = file.read(_MAX_SIZE + 1)
        text = None if len(data) > _MAX_SIZE else _decoded(data)
        if text is not None and pattern.search(text) is not None:
            write(_report(path, text, pattern, order))


def _decoded(data: bytes) -> str | None:
    """Return the text of a file as read_file shows it, with LF line endings; None for a binary file."""
    marks = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    if (codec := marks.get(data[:2])) is not None:
        text = data[2:].decode(codec, "replace")
    elif b"\0" in data[:_SNIFF]:
        return None
    else:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
    return text.replace("\r\n", "\n")


def _compiled(order: dict[str, Any]) -> re.Pattern[str]:
    """Compile the pattern; SystemExit for syntax that `rg` and `re` read in different ways."""
    inside = False
    for match in _TOKEN.finditer(order["pattern"]):
        part = match[0]
        if part in _NESTED if inside else part in _BOUNDARIES or part[1:] == "+":
            sys.exit(f"{part!r} at offset {match.start()} of the pattern needs ripgrep (rg), which is not installed")
        inside = (part != "]") if inside else part[0] == "["
    flags = re.MULTILINE | (re.IGNORECASE if order["ignore_case"] else 0)
    return re.compile(order["pattern"], flags)


def _report(path: str, text: str, pattern: re.Pattern[str], order: dict[str, Any]) -> bytes:
    lines = text.removesuffix("\n").split("\n")
    matches = {at: match.start() for at, line in enumerate(lines) if (match := pattern.search(line)) is not None}
    if not matches:
        return b""
    if order["mode"] == "files":
        return os.fsencode(f"{path}\0")
    if order["mode"] == "count":
        return os.fsencode(f"{path}\0{len(matches)}\n")
    around = sorted({number for at in matches for number in range(at - order["before"], at + order["after"] + 1)})
    rows: list[dict[str, Any]] = [{"type": "begin", "data": {"path": {"text": path}}}]
    for at in around:
        if 0 <= at < len(lines):
            begins = [{"start": len(lines[at][: matches[at]].encode())}] if at in matches else []
            facts = {"line_number": at + 1, "lines": {"text": lines[at]}, "submatches": begins}
            rows.append({"type": "match" if at in matches else "context", "data": facts})
    rows.append({"type": "end", "data": {"binary_offset": None, "stats": {"matched_lines": len(matches)}}})
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def _listed(start: int, order: dict[str, Any]) -> list[str]:
    files = [(-state.st_mtime_ns if order["newest"] else 0, path) for path, _, _, state in _walk(start, order)]
    return [path for _, path in sorted(files)]


def _opened(start: int, order: dict[str, Any]) -> Iterator[tuple[str, int]]:
    if stat.S_ISREG(os.fstat(start).st_mode):
        yield ".", os.dup(start)
        return
    for path, name, folder, _ in _walk(start, order):
        with suppress(OSError):  # deleted in the meantime, or not permitted
            yield path, os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)


def _walk(start: int, order: dict[str, Any]) -> Iterator[tuple[str, str, int, os.stat_result]]:
    """Yield the path, the name, the open folder and the state of each file of the search; links are not followed."""
    allowed, skipped = (re.compile(order[key], re.DOTALL) if order[key] else None for key in ("allowed", "skipped"))
    for folder_path, folders, names, folder in os.fwalk(".", dir_fd=start, follow_symlinks=False):
        state = os.fstat(folder)
        if [state.st_dev, state.st_ino] in order["hidden_folders"]:
            folders.clear()
            continue
        top = os.path.normpath(folder_path)
        prefix = "" if top == "." else f"{top}/"
        folders[:] = sorted(name for name in folders if name != ".git" and order["deep"]
                            and not (skipped and skipped.fullmatch(prefix + name)))  # fmt: skip
        for name in sorted(names):
            path = prefix + name
            if name == ".git" or (skipped and skipped.fullmatch(path)) or (allowed and not allowed.fullmatch(path)):
                continue
            with suppress(OSError):  # deleted in the meantime
                state = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(state.st_mode):
                    yield path, name, folder, state


if __name__ == "__main__":
    sys.setrecursionlimit(100_000)
    main(json.loads(sys.argv[1]), int(sys.argv[2]))
