"""A client's configuration file: read with checks, shown as a difference, and replaced in one step."""

from __future__ import annotations

import difflib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_core._cli._terminal import CommandError, write
from tools_core._registry._replace_file import replace
from tools_mcp._commands import _edit
from tools_mcp._commands._clients import CLIENTS, Client

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # in each client


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that say which entry of which file."""
    parser.add_argument("client", metavar="CLIENT", choices=list(CLIENTS), help=", ".join(CLIENTS))
    parser.add_argument("--name", metavar="NAME", default="ask-tools", help="the entry's name; by default ask-tools")
    parser.add_argument("--project", action="store_true", help="edit the file of the project in this folder")
    parser.add_argument("--dry-run", action="store_true", help="show the change and leave the file as it is")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The text of a client's file, and the entry of a name: None if there is none."""

    client: Client
    path: Path
    name: str
    text: str
    entry: Mapping[str, Any] | None

    @classmethod
    def of(cls, options: Namespace) -> Configuration:
        """Read the file; CommandError if it cannot be edited, or if the entry starts another server."""
        client, name = CLIENTS[options.client], options.name
        if not _NAME.fullmatch(name):
            raise CommandError(f"a name has letters, digits, _ and -, at most 64, got {name!r}")
        if options.project and client.project is None:
            raise CommandError(f"{client.title} has no configuration for projects", "leave out --project")
        path = Path.cwd() / client.project if options.project and client.project else client.file()
        text = path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
        try:
            section = _edit.read(text, client.format).get(client.section, {})
        except _edit.SyntaxProblem as error:
            message = f"{path}:{error.line}:{error.column} cannot be parsed: {error}"
            raise CommandError(message, "correct it and try again; the file has not changed", status=1) from error
        if not isinstance(section, dict):
            raise CommandError(f"{client.section} in {path} is not an object", "correct it and try again", status=1)
        entry = section.get(name)
        if not (entry is None or _starts_us(entry)):
            message = f"{name} in {path} starts another server"
            raise CommandError(message, "choose another --name", status=1)
        return cls(client=client, path=path, name=name, text=text, entry=entry)

    def change(self, text: str, options: Namespace) -> None:
        """Print the difference, and write `text` unless it is a dry run; the old file is kept beside the new one."""
        if text == self.text:
            write(f"{self.path} needs no change")
            return
        old, new = (each.splitlines() for each in (self.text, text))
        write("\n".join(difflib.unified_diff(old, new, str(self.path), str(self.path), n=1, lineterm="")))
        if options.dry_run:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            backup = self.path.with_name(f"{self.path.name}.before-ask-tools")
            shutil.copy2(self.path, backup)
            write(f"the old file is {backup}")
        replace(self.path, text.encode("utf-8", "surrogateescape"))
        write(f"{self.path} is changed; restart {self.client.title}")


def _starts_us(entry: Any) -> bool:
    words = [entry.get("command"), *entry.get("args", ())] if isinstance(entry, dict) else []
    return "serve" in words and ("tools_core" in words or Path(str(words[0])).name == "ask-tools")
