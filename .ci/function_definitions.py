"""Fetches thousands of real function definitions, which the wheel of `bfcl-eval` (Apache-2.0) carries.

Leaves them in `.cache/function-definitions.json`, each once.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fetched import CACHE, download, fetch

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFINITIONS = CACHE / "function-definitions.json"
RELEASE = "bfcl-eval==2026.3.23"


def fill(folder: Path) -> None:
    """Write each definition of the wheel."""
    save(definitions(download(RELEASE, folder, "--only-binary", ":all:")))


def definitions(wheel: Path) -> Iterator[dict[str, Any]]:
    """Yield every function that the questions and the documents of the wheel define."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            parts = Path(name).parts
            if parts[:2] != ("bfcl_eval", "data") or "possible_answer" in parts or not name.endswith(".json"):
                continue
            for line in archive.read(name).decode("utf-8").splitlines():
                if line[:1] != "{" or line[-1:] != "}":  # a file of another kind
                    break
                entry = json.loads(line)
                found = entry if "parameters" in entry else entry.get("function", [])
                yield from [found] if isinstance(found, dict) else found


def save(found: Iterator[dict[str, Any]]) -> None:
    """Write each definition once, in one step."""
    unique = {json.dumps(definition, sort_keys=True): definition for definition in found}
    unfinished = DEFINITIONS.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(list(unique.values())), encoding="utf-8")
    unfinished.replace(DEFINITIONS)


if __name__ == "__main__":
    sys.exit(fetch("The function definitions", DEFINITIONS, fill))
