"""Completion of the input: commands after a slash, and files after `@`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from tools_cli._chat.chat import Chat
from tools_cli._chat.slash_commands import completions
from tools_core.text import visible

_AT_PATH = re.compile(r'(?<!\S)@("[^"]*|\S*)$')


class ChatCompleter(Completer):
    """Completes commands, their arguments, and `@path`."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        is_visible = lambda path: not Path(path).name.startswith(".")  # noqa: E731
        self._files = PathCompleter(get_paths=lambda: [chat.folder], file_filter=is_visible, expanduser=True)

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
            start = match[1].removeprefix('"')
            for completion in self._files.get_completions(Document(start), complete_event):
                path = start + completion.text + "/" * completion.display_text.endswith("/")
                path = f'"{path}"' if " " in path else path
                yield Completion(f"@{path}", start_position=-len(match[0]), display=completion.display)
