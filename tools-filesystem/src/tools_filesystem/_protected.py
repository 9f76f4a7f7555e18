"""Places that nobody writes to by default, because what lies there is run later without a question."""

from __future__ import annotations

import os
import unicodedata

# The journal of apply_patch is the tools' own business.
JOURNAL = ".ask-tools-journal"

PROTECTED = frozenset(
    {
        *(".git", ".hg", ".svn", ".gitconfig", ".gitmodules", ".husky"),  # hooks and commands in configuration
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile"),
        *(".zlogin", ".zlogout", ".inputrc", ".netrc", ".npmrc", ".pypirc", ".ssh", ".gnupg", ".envrc"),
        JOURNAL,
    }
)


def is_protected(components: list[str], names: frozenset[str]) -> bool:
    """Whether one of the components is such a name, as a file system that folds case and accents would see it."""
    folded = {_folded(name) for name in names}
    return any(_folded(component) in folded for component in components)


def looks_like_git(folder: int) -> bool:
    """Whether a folder is the inside of a git repository, whatever it is called."""
    for name in ("HEAD", "objects", "refs"):
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return False
    return True


def _folded(name: str) -> str:
    # Names that differ only so are one file on macOS and Windows, and some ignorable characters vanish on HFS+.
    kept = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", kept.casefold()).rstrip(". ")
