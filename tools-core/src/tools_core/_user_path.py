"""Where the user's own files are."""

from __future__ import annotations

import os


def user_path(variable: str, usual: str, name: str) -> str:
    """Return the path of a file in the folder that the environment names, or in the usual one.

    It is absolute, because a repository may have put a file below the current folder; a user without a home has `/`.
    """
    given = os.environ.get(variable, "")
    folders = (given, os.path.expanduser(usual), usual.replace("~", "", 1))
    return os.path.join(next(filter(os.path.isabs, folders)), "ask-tools", name)
