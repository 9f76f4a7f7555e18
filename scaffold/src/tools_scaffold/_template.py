"""The template: which generated file comes from which source, and how placeholders are filled in.

Sources that end in `.tmpl` contain `$name` placeholders for `string.Template`; the others are copied as they are.
"""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from tools_scaffold._code import import_line

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "template"

PACKAGE = {
    ".gitignore": "gitignore",
    "CHANGELOG.md": "CHANGELOG.md.tmpl",
    "README.md": "README.md.tmpl",
    "pyproject.toml": "pyproject.toml.tmpl",
    "src/$package/__init__.py": "__init__.py.tmpl",
    "src/$package/py.typed": "py.typed",
    "tests/test_contract.py": "test_contract.py.tmpl",
}
# For a package that is the root of its repository.
REPOSITORY = {
    ".github/dependabot.yml": "dependabot.yml",
    ".github/workflows/ci.yml": "ci.yml",
    ".github/workflows/publish.yml": "publish.yml",
    ".pre-commit-config.yaml": "pre-commit-config.yaml",
    "docs/publish.md": "publish.md.tmpl",
}
LICENSES = ("MIT", "Apache-2.0", "BSD-3-Clause", "GPL-3.0-or-later", "ISC", "MPL-2.0")

_import_line = re.compile(r"^from (\S+) import (\w+)$", re.MULTILINE)


def render(sources: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each file, by its path in the package."""
    files: dict[str, str] = {}
    for path, source in sources.items():
        text = (FOLDER / source).read_text(encoding="utf-8")
        if source.endswith(".tmpl"):
            text = _import_line.sub(lambda line: import_line(line[1], line[2]), fill(text, values))
        files[fill(path, values)] = text
    return files


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders in `text`."""
    return Template(text).substitute(values)
