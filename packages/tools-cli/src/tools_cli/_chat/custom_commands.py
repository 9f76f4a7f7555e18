"""Commands of the user and the project: Markdown files whose text is a prompt."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tools_cli._commands.attachments import decoded
from tools_core.files import config_path
from tools_core.text import visible

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_FRONT = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_MAX_SIZE = 100_000  # bytes


class CustomCommand(NamedTuple):
    """A prompt with places for arguments, from a file of the project or of the user."""

    path: Path
    home: str  # "project" or "user"
    template: str

    @property
    def purpose(self) -> str:
        """The `description` of the file, or its first line."""
        front = _FRONT.match(self.template)
        described = re.search(r"(?m)^description: *(.+)$", front[1]) if front else None
        text = described[1].strip("\"' ") if described else self._body.strip().partition("\n")[0].lstrip("# ")
        return f"{visible(text)[:80]} ({self.home})"

    def prompt(self, arguments: str) -> str:
        """Return the prompt for the words after the name; without a place for them they follow the text."""
        try:
            words = shlex.split(arguments)
        except ValueError:  # an apostrophe
            words = arguments.split()

        def value(match: re.Match[str]) -> str:
            if match[1] == "ARGUMENTS":
                return arguments
            return words[int(match[1]) - 1] if int(match[1]) <= len(words) else ""

        text, count = re.subn(r"\$(ARGUMENTS\b|[1-9](?!\d))", value, self._body.strip())
        return f"{text}\n\n{arguments}" if arguments and not count else text

    @property
    def _body(self) -> str:
        return _FRONT.sub("", self.template, count=1)


def custom_commands(workspace: str) -> dict[str, CustomCommand]:
    """Return the commands of the project and of the user by their name, such as `/review`; the project's are first."""
    commands: dict[str, CustomCommand] = {}
    for home, folder in (("user", Path(config_path("commands"))), ("project", Path(workspace, ".ask-tools/commands"))):
        for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
            is_usable = _NAME.fullmatch(path.stem) and path.is_file() and path.stat().st_size <= _MAX_SIZE
            # A link of the project could send any file of the user to the model.
            if is_usable and (home == "user" or path.resolve().is_relative_to(Path(workspace).resolve())):
                with suppress(PermissionError):
                    text = decoded(path.read_bytes()).replace("\r\n", "\n")
                    commands[f"/{path.stem}"] = CustomCommand(path, home, text)
    return commands
