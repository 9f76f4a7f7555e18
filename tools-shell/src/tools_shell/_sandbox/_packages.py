"""The folders outside of a Python environment from which it imports: `.pth` files and editable installations."""

from __future__ import annotations

import ast
import functools
import glob
import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_SIZE = 1 << 20
_MAPPING = re.compile(r"^(?:MAPPING|NAMESPACES)\b[^=]*= (\{.*\})$", re.MULTILINE)


def package_folders(environment: str) -> Iterator[str]:
    """Yield the folders that the packages of an environment are imported from, if they are not inside it."""
    pattern = os.path.join(glob.escape(environment), "lib*", "python3*", "site-packages")
    for folder in glob.glob(pattern):
        with suppress(OSError):
            yield from _named_in(folder, os.stat(folder).st_mtime_ns)


@functools.lru_cache(64)
def _named_in(folder: str, _stamp: int) -> tuple[str, ...]:
    """Return the existing folders that the files of a site-packages folder name."""
    named: list[str] = []
    for name in os.listdir(folder):
        path = f"{folder}/{name}"
        with suppress(OSError, ValueError, SyntaxError):
            if name.endswith(".pth"):
                lines = (line.strip() for line in _read(path).splitlines())
                named += [os.path.join(folder, line) for line in lines if line and not line.startswith(("#", "import"))]
            elif name.startswith("__editable__") and name.endswith("_finder.py"):
                named += _mapped(_read(path))
            elif name.endswith(".dist-info"):
                named += _editable(_read(f"{path}/direct_url.json"))
    found = (os.path.normpath(path) for path in named)
    return tuple(dict.fromkeys(path for path in found if os.path.isdir(path)))


def _mapped(finder: str) -> Iterator[str]:
    """Yield the folders of an import hook of setuptools."""
    for match in _MAPPING.finditer(finder):
        for places in ast.literal_eval(match[1]).values():
            for place in [places] if isinstance(places, str) else places:
                yield place if os.path.isdir(place) else os.path.dirname(place)


def _editable(record: str) -> Iterator[str]:
    """Yield the project of an editable installation, from which other import hooks load."""
    facts = json.loads(record)
    if facts.get("dir_info", {}).get("editable"):
        yield unquote(urlsplit(facts["url"]).path)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read(_MAX_SIZE)
