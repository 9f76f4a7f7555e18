"""`ask-tools call --save` and `--raw`: a result as it is, into files or to standard output."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tools_core._cli._terminal import CommandError, note, one_line
from tools_core._registry._replace_file import replace, write_new

if TYPE_CHECKING:
    from tools_core._values._content import Block
    from tools_core._values._result import Result


def check_free(path: str, *, force: bool) -> None:
    """Refuse before the tool runs what could not be saved after it."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise CommandError(f"--save: there is no folder {folder}")
    if os.path.isdir(path):
        raise CommandError(f"--save: {path} is a folder")
    for each in (path, _numbered(path, 1)):
        if not force and os.path.lexists(each):
            raise CommandError(f"--save: {each} is there already", "add --force to overwrite it")


def save(result: Result, path: str, *, force: bool) -> None:
    """Write each content block to a file, several to numbered ones; a text alone is written like one block."""
    blocks = _blocks(result)
    if blocks:
        _say_texts(result)
        names = [path] if len(blocks) == 1 else [_numbered(path, number + 1) for number in range(len(blocks))]
        files = {name: block.data for name, block in zip(names, blocks, strict=True)}
    else:
        files = {path: _encoded(result)}
    for name in files:  # all or none, as far as that can be known
        if not force and os.path.lexists(name):
            raise CommandError(f"--save: {name} is there already", "add --force to overwrite it", status=1)
    for name, data in files.items():
        try:
            (replace if force else write_new)(name, data)
        except OSError as failure:
            raise CommandError(f"--save: {name} cannot be written: {failure.strerror}", status=1) from failure
        note(f"saved {one_line(name)} ({len(data)} bytes)")


def write_raw(result: Result) -> None:
    """Write the text as it is, or the bytes of the one content block."""
    blocks = _blocks(result)
    if len(blocks) > 1:
        message = f"--raw writes one content block, and there are {len(blocks)}"
        raise CommandError(message, "--save FILE writes each to a file", status=1)
    if blocks:
        _say_texts(result)
    sys.stdout.flush()
    output = sys.stdout.buffer
    output.write(blocks[0].data if blocks else _encoded(result))
    output.flush()


def _blocks(result: Result) -> list[Block]:
    content = result.content
    return [] if isinstance(content, str) else [each for each in content if not isinstance(each, str)]


def _say_texts(result: Result) -> None:
    """The texts beside blocks are told apart from them."""
    for each in result.content:
        if isinstance(each, str):
            note(each)


def _encoded(result: Result) -> bytes:
    return str(result).encode(errors="backslashreplace")  # a lone surrogate has no UTF-8


def _numbered(path: str, number: int) -> str:
    stem, extension = os.path.splitext(path)
    return f"{stem}-{number}{extension}"
