"""What tests want from the network: fetched once, in one step, into `.cache`.

Without a network the tests that want it skip and say so; in CI that is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE = Path(__file__).resolve().parent.parent / ".cache"
_FAILURES = (OSError, StopIteration, subprocess.CalledProcessError, tarfile.TarError, zipfile.BadZipFile)


def fetch(what: str, place: Path, fill: Callable[[Path], None]) -> int:
    """Have `fill` make `place`, with a folder to work in, unless it is there; returns the exit code."""
    if place.exists():
        return 0
    place.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:  # on the same file system: what is moved is whole
        try:
            fill(Path(folder))
        except _FAILURES as error:
            print(f"{what} could not be downloaded; the tests that want it will skip: {error}", file=sys.stderr)
            return 1 if os.environ.get("CI") == "true" else 0
    return 0


def download(release: str, folder: Path, *options: str) -> Path:
    """Download one distribution through pip, from wherever pip is configured to look."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, *options, "--dest", folder, release], check=True)
    name = release.partition("==")[0].replace("-", "_")
    return next(folder.glob(f"{name}-*"))


def unpack(archive: Path, folder: Path, part: str, place: Path) -> None:
    """Move one folder of an archive to its place, in one step."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    shutil.rmtree(place, ignore_errors=True)
    shutil.move(next(folder.glob(part)), place)
