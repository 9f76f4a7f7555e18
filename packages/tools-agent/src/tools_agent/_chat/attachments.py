"""`@path` in a prompt: pictures and other files become attachments, text files follow the prompt."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from tools_agent._messages import User
from tools_core import Audio, File, Image

_PATH = re.compile(r'(?<!\S)@(?:"([^"]+)"|(\S+))')
_MAX_TEXT = 100_000  # characters of a text file; the model reads a longer one with its tools
_MAX_BYTES = 20_000_000  # of a picture or another file
_MAX_COMPLETIONS = 200
_BLOCKS: dict[str, type[Image | Audio | File]] = {"image": Image, "audio": Audio, "application/pdf": File}


def read_prompt(text: str, folder: str) -> tuple[User, list[str]]:
    """Return the message of a prompt with its attachments, and a note for each `@path`."""
    files: list[Image | Audio | File] = []
    texts: list[str] = []
    notes: list[str] = []
    for match in _PATH.finditer(text):
        name = match[1] or match[2].rstrip(",;:.!?)")
        path = Path(folder, Path(name).expanduser())
        if not path.is_file():
            if not path.is_dir():  # the model lists folders
                notes.append(f"{name} is not a file: not attached")
            continue
        kind = mimetypes.guess_type(path.name)[0] or ""
        data = path.read_bytes() if path.stat().st_size <= _MAX_BYTES else b""
        block = _BLOCKS.get(kind) or _BLOCKS.get(kind.partition("/")[0])
        if block is not None and data:
            files.append(block(data, kind, name=path.name))
            notes.append(f"attached {name} ({kind}, {len(data):,} bytes)")
            continue
        try:
            content = data.decode()
        except UnicodeDecodeError:
            notes.append(f"{name} is not text: not attached")
            continue
        if len(content) > _MAX_TEXT or not data:
            notes.append(f"{name} is large: the model reads it with its tools")
            continue
        texts.append(f'<file path="{name}">\n{content}\n</file>')
        notes.append(f"attached {name} ({len(content):,} characters)")
    return User(content="\n\n".join([text, *texts]), files=files), notes


class PathCompleter(Completer):
    """Completes `@path` with the files of a folder; hidden files after a dot."""

    def __init__(self, folder: Callable[[], str]) -> None:
        self._folder = folder

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        """Yield the files whose names begin with the text after the last slash, or contain it."""
        word = document.text_before_cursor.rpartition(" ")[2].rpartition("\n")[2]
        if not word.startswith("@"):
            return
        parent, slash, start = word[1:].lstrip('"').rpartition("/")
        for name, is_folder in _entries(Path(self._folder(), Path(parent + slash).expanduser()), start):
            path = f"{parent}{slash}{name}{'/' if is_folder else ''}"
            text = f'@"{path}"' if " " in path and not is_folder else f"@{path}"
            yield Completion(text, start_position=-len(word), display=name + ("/" if is_folder else ""))


def _entries(folder: Path, start: str) -> Iterator[tuple[str, bool]]:
    try:
        names = {path.name: path.is_dir() for path in folder.iterdir()}
    except OSError:
        return
    visible = [name for name in names if name.startswith(".") == start.startswith(".") and name.isprintable()]
    matches = [name for name in visible if start.casefold() in name.casefold()]
    order = sorted(matches, key=lambda name: (not name.casefold().startswith(start.casefold()), name.casefold()))
    yield from ((name, names[name]) for name in order[:_MAX_COMPLETIONS])
