"""Fetches the official JSON Schema test suite, which the source distribution of `jsonschema` carries.

Leaves it in `.cache/json-schema-suite`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fetched import CACHE, download, fetch, unpack

if TYPE_CHECKING:
    from pathlib import Path

SUITE = CACHE / "json-schema-suite"
RELEASE = "jsonschema==4.26.0"


def fill(folder: Path) -> None:
    """Put the `json` folder of the archive in its place."""
    # pip asks a source distribution for its metadata, which takes its build backend along.
    archive = download(RELEASE, folder, "--no-binary", ":all:")
    unpack(archive, folder / "unpacked", "*/json", SUITE)


if __name__ == "__main__":
    sys.exit(fetch("The JSON Schema test suite", SUITE, fill))
