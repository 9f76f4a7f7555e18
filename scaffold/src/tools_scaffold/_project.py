"""An existing package, and the changes to its `pyproject.toml` and `__init__.py` that add a tool."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_scaffold._text import ScaffoldError, bracketed, import_line, show

if TYPE_CHECKING:
    from pathlib import Path

HEADER = '[project.entry-points."ask_tools.tools"]'

_table = re.compile(  # the header in all its spellings, and the lines of the table
    r"""^[ \t]*\[[ \t]*project[ \t]*\.[ \t]*entry-points[ \t]*\.[ \t]*(["'])ask_tools\.tools\1[ \t]*\]"""
    r"[ \t]*(?:#.*)?\n"
    r"(?:[ \t]*[\w-]+[ \t]*=.*\n)*",
    re.MULTILINE,
)
_exports = re.compile(r"^(__all__(?:: *[\w., |\[\]]+)? = )(\[[^]#]*\]|\([^)#]*\))", re.MULTILINE)


class Project(NamedTuple):
    """A package: its folder, and the parsed and the raw text of its `pyproject.toml`."""

    folder: Path
    settings: dict[str, Any]
    text: str

    @property
    def distribution(self) -> str:
        """The name of the distribution."""
        return str(self.settings["project"]["name"])

    @property
    def entry_points(self) -> dict[str, str]:
        """The references to the tools of the package, by name."""
        return dict(self.settings["project"].get("entry-points", {}).get("ask_tools.tools", {}))

    def package(self) -> str:
        """Return the name of the import package, which must be the only one in `src`."""
        names = [path.parent.name for path in self.folder.glob("src/*/__init__.py")]
        if len(names) != 1:
            raise ScaffoldError(f"{show(self.folder / 'src')} has {len(names)} packages; expected one with __init__.py")
        return names[0]


def find_project(folder: Path) -> Project:
    """Return the package in `folder` or in the nearest folder above it that has a `pyproject.toml`."""
    for ancestor in (folder, *folder.parents):
        path = ancestor / "pyproject.toml"
        if path.is_file():
            text = read(path)
            settings = parse_toml(path, text)
            if "name" not in settings.get("project", {}):
                raise ScaffoldError(f"{show(path)} has no [project] with a name")
            return Project(ancestor, settings, text)
    raise ScaffoldError(f"{show(folder)} is not in a package: no pyproject.toml; name its folder with --dir")


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Parse TOML; ScaffoldError if it is invalid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScaffoldError(f"{show(path)} is not valid TOML: {error}") from error


def read(path: Path) -> str:
    """Return the text of a file with its original line endings; ScaffoldError if it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScaffoldError(f"{show(path)} cannot be read: {error}") from error


def with_entry_points(project: Project, new: dict[str, str]) -> str:
    """Return the text of `pyproject.toml` with additional entry points."""
    lines = "".join(f'{name} = "{reference}"\n' for name, reference in new.items())
    text = project.text.replace("\r\n", "\n").rstrip("\n") + "\n"
    table = _table.search(text)
    changed = f"{text[: table.end()]}{lines}{text[table.end() :]}" if table else f"{text}\n{HEADER}\n{lines}"
    try:
        project_table = tomllib.loads(changed)["project"]
        succeeded = project_table["entry-points"]["ask_tools.tools"] == project.entry_points | new
    except (KeyError, tomllib.TOMLDecodeError):  # such as entry points in an inline table
        succeeded = False
    if not succeeded:
        raise ScaffoldError(f"pyproject.toml has no table {HEADER} that can be extended; add to it:\n{lines}")
    return _with_line_endings_of(project.text, changed)


def with_export(text: str, package: str, module: str, name: str) -> str:
    """Return the text of the package's `__init__.py` with an additional import, listed in `__all__`."""
    changed = text.replace("\r\n", "\n")
    line = import_line(f"{package}.{module}", name)
    exports = _exports.search(changed)
    if exports is None:
        raise ScaffoldError(f"__init__.py has no list `__all__ = [...]` to extend; create one, or add:\n{line}")
    opening, closing = exports[2][0], exports[2][-1]
    names = sorted({*re.findall(r"\w+", exports[2]), name}, key=_export_order)
    listed = bracketed(f"{exports[1]}{opening}", [f'"{export}"' for export in names], closing)
    changed = changed[: exports.start()] + listed + changed[exports.end() :]
    imports = list(re.finditer(rf"^from {package}\.(\w+) import (?:\([^)]*\)|.*)\n", changed, re.MULTILINE))
    earlier = [match for match in imports if _natural(match[1]) < _natural(module)]
    position = earlier[-1].end() if earlier else imports[0].start() if imports else changed.index("__all__")
    return _with_line_endings_of(text, changed[:position] + line + "\n" + changed[position:])


def _export_order(name: str) -> tuple[int, list[str | int]]:
    """Sort as ruff does: constants, then classes, then functions."""
    return 0 if name.isupper() else 1 if name[0].isupper() else 2, _natural(name)


def _natural(name: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _with_line_endings_of(original: str, text: str) -> str:
    return text.replace("\n", "\r\n") if "\r\n" in original else text
