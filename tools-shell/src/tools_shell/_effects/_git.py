"""Recognition of git commands that neither write nor run programs that the repository names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tools_shell._effects._commands import words

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
# Keys of a repository's configuration that neither run programs nor read other files.
_KEYS = {
    "branch": "description merge pushremote rebase remote",
    "color": "branch diff status ui",
    "commit": "gpgsign",
    "core": "autocrlf bare eol filemode ignorecase logallrefupdates precomposeunicode quotepath repositoryformatversion"
    " safecrlf symlinks",
    "extensions": "objectformat refstorage",
    "fetch": "prune prunetags",
    "init": "defaultbranch",
    "log": "date decorate follow",
    "merge": "conflictstyle ff",
    "pull": "ff rebase",
    "push": "autosetupremote default followtags",
    "rebase": "autosquash autostash",
    "remote": "fetch prune pushurl tagopt url",
    "user": "email name signingkey",
}
_SECTION = re.compile(rf'\[({"|".join(_KEYS)})( "[^"\\]*")?\]')
_ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*=[^\\]*")
# Files whose presence makes git run a hook, or read another configuration.
_FOREIGN = ("commondir", "config.worktree", "hooks/post-index-change")
_GITLINK = (0o160000).to_bytes(4, "big")  # the mode of a submodule, in which git runs again


def git_reads(arguments: Sequence[Word], folder: str) -> bool:
    """Return whether git with these arguments only reads, in the repository at the top of `folder`."""
    if None in arguments:
        return False
    name, *rest = [str(word) for word in arguments if word != "--no-pager"] or [""]
    if name == "branch":
        return _BRANCH_LISTS.issuperset(rest) and _is_plain(folder)
    return name in _READERS and all(map(_is_harmless, rest)) and _is_plain(folder)


def _is_harmless(word: str) -> bool:
    if not word.startswith("-"):
        return True
    name, _, value = word.removeprefix("--").partition("=")
    if name in ("format", "pretty"):  # `%G` and `%(signature)` run a program that checks signatures
        return "G" not in value and "signature" not in value
    return name in _OPTIONS or name == "" or re.fullmatch(r"-[^-O]+", word) is not None


def _is_plain(folder: str) -> bool:
    """Return whether the repository has no submodules, hooks for reading, or keys that may run programs."""
    git = os.path.join(folder, ".git")
    config, index = os.path.join(git, "config"), os.path.join(git, "index")
    if os.path.islink(git) or any(os.path.lexists(os.path.join(git, name)) for name in _FOREIGN):
        return False
    try:
        if not os.path.isfile(config) or not _has_plain_keys(Path(config).read_text("utf-8")):
            return False
        return not os.path.lexists(index) or (os.path.isfile(index) and _GITLINK not in Path(index).read_bytes())
    except (OSError, ValueError):  # not readable, or not UTF-8
        return False


def _has_plain_keys(config: str) -> bool:
    keys: Sequence[str] = ()
    for line in map(str.strip, config.split("\n")):
        if (section := _SECTION.fullmatch(line)) is not None:
            keys = _KEYS[section[1]].split()
        elif line and line[0] not in "#;":
            entry = _ENTRY.fullmatch(line)
            if entry is None or entry[1].lower() not in keys:
                return False
    return True
