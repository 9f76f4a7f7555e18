"""Instructions of the user and the project for the model: `AGENTS.md`, or `CLAUDE.md` in a folder without one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tools_cli._commands.attachments import decoded, list_files
from tools_core.command import note
from tools_core.files import config_path

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = ("AGENTS.md", "CLAUDE.md")
_MAX_CHARACTERS = 20_000  # of one file
_MAX_NESTED = 50  # files below the workspace that are named


def instructions(workspace: str, root: str | None) -> Iterator[str]:
    """Yield the instructions of the user, and of the project from the root of the repository down to the workspace.

    Files below the workspace are named, so that the model reads them when it works there. They are text for the model:
    approval, policy and sandbox do not depend on them.
    """
    folder, top = Path(workspace).resolve(), Path(root or workspace).resolve()
    if text := _text_of(Path(config_path("AGENTS.md")), "AGENTS.md of the user", None):
        yield f"\nInstructions of the user:\n\n{text}"
    places = [folder, *folder.parents]
    for place in reversed(places[: places.index(top) + 1] if top in places else [folder]):
        path = next((path for name in _NAMES if (path := place / name).is_file()), None)
        if path is not None and (text := _text_of(path, str(path.relative_to(top)), top)):
            yield f"\nAdvice of the project, from {path.relative_to(top)}:\n\n{text}"
    nested, _ = list_files(folder, f"**/{{{','.join(_NAMES)}}}", _MAX_NESTED) if root else ((), 0)
    if names := ", ".join(path for path in nested if "/" in path):
        yield f"\nSome folders have more advice. Read it before you change files there: {names}"


def _text_of(path: Path, name: str, root: Path | None) -> str:
    """Return the text of a file, at most its beginning; empty if it is missing or cannot be used, which is shown."""
    try:
        # A link could send any file of the user to the model.
        if root is not None and not path.resolve().is_relative_to(root):
            note(f"{name} is not used: it is a link out of the project")
            return ""
        text = decoded(path.read_bytes()).strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        note(f"{name} is not used: {error.strerror}")
        return ""
    if len(text) <= _MAX_CHARACTERS:
        return text
    note(f"{name} has {len(text):,} characters: the model gets the first {_MAX_CHARACTERS:,}")
    return f"{text[:_MAX_CHARACTERS]}\n[{len(text) - _MAX_CHARACTERS:,} more characters: read the file]"
