"""`ask-tools skill`: teach coding agents to write tools, with the skill that this package carries."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools_scaffold._text import ScaffoldError

if TYPE_CHECKING:
    import argparse

# Claude Code reads the first folder, Codex, Cursor and others the second.
_FOLDERS = (".claude/skills", ".agents/skills")
_SKILL = Path(__file__).parent / "skill"
EPILOG = """\
A skill is a folder with a SKILL.md file that coding agents read when a task matches its description. `install` links
the skill of this package in .claude/skills (Claude Code) and .agents/skills (Codex, Cursor and others) of this folder,
or of your home with --user; a link stays current when the package is upgraded. `show` prints the text.
Exit codes: 0 success, 2 a folder cannot be written, or something else has the name.

examples:
  ask-tools skill install
  ask-tools skill install --user --copy
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `ask-tools skill` to `parser`, and the function that runs it."""
    parser.epilog = EPILOG
    parser.add_argument("action", choices=["install", "show"], help="link the skill, or print it")
    parser.add_argument("--user", action="store_true", help="install for all your projects, in your home folder")
    parser.add_argument("--copy", action="store_true", help="copy the skill instead of linking it, to commit it")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.action == "show":
        sys.stdout.write((_SKILL / "SKILL.md").read_text(encoding="utf-8"))
        return 0
    try:
        for place in _install(Path.home() if arguments.user else Path.cwd(), copy=arguments.copy):
            sys.stdout.write(f"{'copied' if arguments.copy else 'linked'} {place}\n")
    except ScaffoldError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _install(base: Path, *, copy: bool) -> list[Path]:
    """Link or copy the skill below a folder, and return the places; ScaffoldError if that is not possible."""
    places = [base / folder / "ask-tools" for folder in _FOLDERS]
    for place in places:
        if os.path.lexists(place) and not _is_ours(place):
            raise ScaffoldError(f"{place} exists and is not this skill; remove it, or rename it")
    for place in places:
        try:
            _install_in(place, base, copy=copy)
        except OSError as error:
            raise ScaffoldError(f"{place} cannot be written: {error.strerror}") from error
    return places


def _is_ours(place: Path) -> bool:
    """Return whether `place` is a link, or a copy of some version of the skill."""
    return place.is_symlink() or "\nname: ask-tools\n" in _text(place / "SKILL.md")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _install_in(place: Path, base: Path, *, copy: bool) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_symlink():
        place.unlink()
    elif place.exists():
        shutil.rmtree(place)
    if copy:
        shutil.copytree(_SKILL, place)
    else:
        # A link inside the project is relative, so that the project can move.
        target = os.path.relpath(_SKILL, place.parent) if _SKILL.is_relative_to(base) else _SKILL
        place.symlink_to(target, target_is_directory=True)
