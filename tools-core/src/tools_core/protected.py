"""Files and folders that programs run or trust later without a question: hooks, keys, configuration with commands.

Tools that change files for a model refuse them, so that the model cannot arrange for code to run outside of its tools.
This is the one list for all packages. Names are protected in every folder of a workspace, existing or not.
"""

from __future__ import annotations

import functools
import os
import site
import sys

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDERS = frozenset((
    *(".git", ".githooks", ".hg", ".svn", ".husky"),  # hooks, and configuration that names programs
    *(".vscode", ".idea", ".devcontainer", ".claude", ".codex", ".cursor", ".gemini"),  # tasks, hooks, servers
    *(".ssh", ".gnupg"),
))  # fmt: skip
FILES = frozenset((
    *(".gitconfig", ".gitmodules", ".gitattributes", ".mcp.json", "mcp.json", ".envrc", ".npmrc", ".pypirc", ".netrc"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".login", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", "config.fish"),
    *("ask-tools.lock", "ask-tools.toml", "policy.toml", "approvals.json"),  # what is allowed to run
))  # fmt: skip
PROTECTED = FOLDERS | FILES | {"git~1"}  # the last is what FAT and NTFS also call `.git`

# The parts of these folders that decide which programs run; the rest of them is data, which commits change.
CONTROL = {".git": ("hooks", "config", "config.worktree", "commondir"), ".hg": ("hgrc",), ".svn": ()}
# A folder with all names of one of these groups is a git directory, whatever it is called.
GIT_MARKS = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))


def fold(name: str) -> str:
    """Return what is equal for all spellings that some file system takes for the same name."""
    if name.isascii():
        return name.casefold().rstrip(". ")
    import unicodedata  # 1 ms, and nearly all names are ASCII

    # Names that differ only so are one file on macOS and Windows, and some ignorable characters vanish on HFS+.
    kept = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", kept.casefold()).rstrip(". ")


def is_protected(name: str, names: frozenset[str] = PROTECTED) -> bool:
    """Return whether `name`, a single name without slashes, is one of `names` in some spelling."""
    return fold(name) in _folded(names)


def host_folders() -> list[str]:
    """Return the real paths of the folders that this process imports from: its environment, and tool packages.

    The user's folder of packages is one of them even before it exists.
    """
    folders = {os.path.dirname(os.__file__), *site.getsitepackages()}
    if sys.prefix != sys.base_prefix:
        folders.add(sys.prefix)
    if site.ENABLE_USER_SITE:
        folders.add(site.getusersitepackages())
    for name, module in sys.modules.copy().items():
        if name.startswith("tools_") and "." not in name and (file := getattr(module, "__file__", None)):
            folders.add(os.path.dirname(file))
    return [os.path.realpath(folder) for folder in sorted(folders)]


def is_git_directory(names: Iterable[str]) -> bool:
    """Return whether a folder with these entries is a git directory."""
    folded = set(map(fold, names))
    return any(folded.issuperset(map(fold, marks)) for marks in GIT_MARKS)


@functools.cache
def _folded(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(fold, names))
