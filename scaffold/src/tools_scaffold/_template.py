"""The template: a working package called `example`, renamed file by file.

The files under `template/` are a real package, which is linted, typed and tested as it stands.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_scaffold._names import PackageName

FOLDER = Path(__file__).parent / "template"

# Listed, not searched for: caches and compiled files may lie beside them.
FILES = (
    "pyproject.toml",
    "src/tools_example/__init__.py",
    "src/tools_example/_example.py",
    "src/tools_example/py.typed",
    "tests/test_example.py",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    ".gitignore",
    ".github/workflows/ci.yml",
)

DESCRIPTION = "The example tool for any model, agent framework or shell."
AUTHOR = "The tools-example authors"
YEAR = "2026"

_LINE_LIMIT = 110  # the made package's own, in its pyproject.toml
_import_line = re.compile(r"^from (\S+) import (\w+)$", re.MULTILINE)


def render(name: PackageName, *, description: str | None, author: str | None, year: int) -> dict[str, str]:
    """Return the files of the package called `name`, by their path in its folder."""
    texts = {
        "tools-example": name.distribution,
        "tools_example": name.package,
        "example": name.tool,
        f"{YEAR} {AUTHOR}": f"{year} {author or AUTHOR.replace('tools-example', name.distribution)}",
    }
    if description is not None:
        texts[DESCRIPTION] = description
    if author is not None:
        texts[AUTHOR] = author
    return {_replace(path, texts): _render_file(path, texts) for path in FILES}


def _render_file(path: str, texts: dict[str, str]) -> str:
    text = (FOLDER / path).read_text(encoding="utf-8")
    if path.endswith(".toml"):
        texts = {key: value.replace("\\", r"\\").replace('"', r"\"") for key, value in texts.items()}
    text = _replace(text, texts)
    return _import_line.sub(_wrap, text) if path.endswith((".md", ".py")) else text


def _replace(text: str, texts: dict[str, str]) -> str:
    # One pass, the longest first: what was put in is never looked at again.
    keys = sorted(texts, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, keys)), lambda found: texts[found[0]], text)


def _wrap(line: re.Match[str]) -> str:
    """Break an import that a long name made longer than the line limit, as formatters do."""
    return line[0] if len(line[0]) <= _LINE_LIMIT else f"from {line[1]} import (\n    {line[2]},\n)"
