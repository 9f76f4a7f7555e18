"""Completion of the input: commands after a slash, and files after `@`."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import PurePosixPath

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from tools_cli._chat.chat import Chat
from tools_cli._chat.slash_commands import completions
from tools_cli._commands.attachments import list_files
from tools_core.text import visible

_AT_PATH = re.compile(r'(?<!\S)@("[^"]*|\S*)$')
_MAX_PATHS = 50  # of a menu
_FRESH = 3.0  # seconds for which the list of files is used


class ChatCompleter(Completer):
    """Completes commands, their arguments, and `@path`: any part of the path of a file that is not ignored."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._elsewhere = PathCompleter(get_paths=lambda: [chat.folder], expanduser=True)
        self._paths: list[str] = []
        self._listed = ("", 0.0)  # the folder of the paths, and the time

    def matches(self, document: Document) -> bool:
        """Return whether the text before the cursor is a command or ends with `@path`."""
        text = document.text_before_cursor
        return text.startswith("/") or _AT_PATH.search(text) is not None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions of the text before the cursor."""
        text = document.text_before_cursor
        if text.startswith("/"):
            word = text.partition(" ")[2] if " " in text else text
            for name, meaning in completions(self._chat, text):
                yield Completion(name, start_position=-len(word), display_meta=visible(meaning)[:60])
        elif match := _AT_PATH.search(text):
            for path in self._matching(match[1].removeprefix('"'), complete_event):
                quoted = f'"{path}"' if " " in path else path
                yield Completion(f"@{quoted}", start_position=-len(match[0]), display=visible(path))

    def _matching(self, start: str, complete_event: CompleteEvent) -> list[str]:
        if start.startswith(("/", "~", "../")):  # outside of the workspace
            items = self._elsewhere.get_completions(Document(start), complete_event)
            return [start + item.text + "/" * item.display_text.endswith("/") for item in items]
        word = start.casefold()
        paths = [path for path in self._files() if word in path.casefold()]
        paths.sort(key=lambda path: (not path.rstrip("/").rpartition("/")[2].casefold().startswith(word), len(path)))
        return paths[:_MAX_PATHS]

    def _files(self) -> list[str]:
        """Return the files of the workspace, and their folders."""
        folder, now = self._chat.folder, time.monotonic()
        if self._listed[0] != folder or now - self._listed[1] > _FRESH:
            files, _ = list_files(folder)
            parents = {f"{parent}/": None for file in files for parent in PurePosixPath(file).parents if parent.name}
            self._paths, self._listed = [*files, *parents], (folder, now)
        return self._paths
