"""Recognition of git commands that neither write nor run programs that the repository names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tools_shell._effects._commands import words
from tools_shell._git._config import is_unsafe, read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._effects._commands import Word

_READERS = words("blame describe diff log ls-files rev-parse shortlog show status")
_BRANCH_LISTS = words("--all --list --remotes --show-current --verbose -a -r -v -vv")
# An allow list, because git completes options: `--outp` writes, and `--ext` runs a program.
_OPTIONS = words("""
    abbrev-commit abbrev-ref all author before branch branches cached cherry-pick color count date decorate diff-filter
    exclude-standard first-parent follow graph grep ignore-all-space ignore-case ignore-space-change ignored
    is-inside-work-tree left-right long max-count merges name-only name-status no-color no-decorate no-ext-diff
    no-merges no-patch no-renames numstat oneline others patch porcelain quiet relative reverse short shortstat
    show-toplevel since staged stat stat-width summary tags topo-order unified until untracked-files verify word-diff
""")
# Ends of keys with which a reading command connects to a server, starts a daemon, or runs gpg.
_ACTIVE = (".fsmonitor", ".partialclone", ".promisor", ".showsignature")
# Files whose presence makes git run a hook, or read another configuration.
_FOREIGN = ("commondir", "config.worktree", "hooks/post-index-change")
_GITLINK = (0o160000).to_bytes(4, "big")  # the mode of a submodule, in which git runs again


def git_reads(git: str, arguments: Sequence[Word], folder: str) -> bool:
    """Return whether the program `git` with these arguments only reads, in the repository at the top of `folder`."""
    if None in arguments:
        return False
    name, *rest = [str(word) for word in arguments if word != "--no-pager"] or [""]
    if name == "branch":
        return _BRANCH_LISTS.issuperset(rest) and _is_plain(git, folder)
    return name in _READERS and all(map(_is_harmless, rest)) and _is_plain(git, folder)


def _is_harmless(word: str) -> bool:
    if not word.startswith("-"):
        return True
    name, _, value = word.removeprefix("--").partition("=")
    if name in ("format", "pretty"):  # `%G` and `%(signature)` run a program that checks signatures
        return "G" not in value and "signature" not in value
    return name in _OPTIONS or name == "" or re.fullmatch(r"-[^-O]+", word) is not None


def _is_plain(git: str, folder: str) -> bool:
    """Return whether the repository has no submodules, hooks for reading, or keys that may run programs."""
    directory = os.path.join(folder, ".git")
    config, index = os.path.join(directory, "config"), os.path.join(directory, "index")
    if os.path.islink(directory) or any(os.path.lexists(os.path.join(directory, name)) for name in _FOREIGN):
        return False
    try:
        if os.path.lexists(index) and not (os.path.isfile(index) and _GITLINK not in Path(index).read_bytes()):
            return False
        settings = read_settings(Path(config).read_bytes(), git) if os.path.isfile(config) else None
    except OSError:  # not readable
        return False
    return settings is not None and not any(is_unsafe(setting) or setting[0].endswith(_ACTIVE) for setting in settings)
