"""`install_command`: how to install what is missing, in a checkout as well as from the package index."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution, requires
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit
from urllib.request import url2pathname

_EXTRA = re.compile(r"""\bextra\s*==\s*(["'])(.+?)\1""")


def install_command(name: str, extra: str = "") -> str:
    """Return the command that installs a distribution, or the requirements of an extra of an installed one.

    If tools-core comes from a checkout with the distribution, the command installs that checkout.
    """
    if extra:
        wanted = [item.split(";") for item in requires(name) or ()]
        needed = [item[0].strip() for item in wanted for mark in _EXTRA.finditer(item[-1]) if mark[2] == extra]
        return pip("install", *needed)
    checkout = _checkout()
    for place in (f"./{name}", f"./packages/{name}"):
        if checkout is not None and (checkout / place).is_dir():
            others = [] if place in (checkout / "requirements.txt").read_text() else [place]
            return f"cd {quote(str(checkout))} && {pip('install', '-r', 'requirements.txt', *others)}"
    return pip("install", "--upgrade", name)


def pip(command: str, *words: str) -> str:
    """Return a command of pip, or of uv if the environment has no pip, for the environment of this interpreter."""
    if find_spec("pip"):
        program = [sys.executable, "-m", "pip", command]
    else:
        program = ["uv", "pip", command, "--python", sys.executable]
    return " ".join(map(quote, [*program, *words]))


def _checkout() -> Path | None:
    """Return the checkout from which tools-core was installed; None if it is from an index or a file."""
    try:
        source = json.loads(distribution("tools-core").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    url = urlsplit(source.get("url", ""))
    folder = Path(url2pathname(url.path)).parent
    is_checkout = url.scheme == "file" and "dir_info" in source and (folder / "requirements.txt").is_file()
    return folder if is_checkout else None
