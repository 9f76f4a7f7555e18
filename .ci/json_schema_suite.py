"""Fetches the official JSON Schema test suite, which the source distribution of `jsonschema` carries.

Leaves it in `.cache/json-schema-suite`. Without a network the tests that want it skip and say so; in CI that
is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITE = ROOT / ".cache" / "json-schema-suite"
RELEASE = "jsonschema==4.26.0"


def main() -> int:
    """Fetch the suite unless it is there."""
    if (SUITE / "tests" / "draft2020-12").is_dir():
        return 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack(download(Path(folder)), Path(folder) / "unpacked")
        except (OSError, subprocess.CalledProcessError, tarfile.TarError) as error:
            print(
                f"The JSON Schema test suite could not be downloaded; its tests will skip: {error}",
                file=sys.stderr,
            )
            return 1 if os.environ.get("CI") == "true" else 0
    return 0


def download(folder: Path) -> Path:
    """Download the source distribution through pip, from wherever pip is configured to look."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    # pip asks a source distribution for its metadata, which takes its build backend along.
    subprocess.run([*pip, "--no-deps", "--no-binary", ":all:", "--dest", folder, RELEASE], check=True)
    return next(folder.glob("jsonschema-*.tar.gz"))


def unpack(archive: Path, folder: Path) -> None:
    """Move the `json` folder of the archive to its place, in one step."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    SUITE.parent.mkdir(exist_ok=True)
    shutil.rmtree(SUITE, ignore_errors=True)
    shutil.move(next(folder.iterdir()) / "json", SUITE)


if __name__ == "__main__":
    sys.exit(main())
