"""A package that exists: where it is, what it is called, where its code is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_scaffold._changes import read
from tools_scaffold._errors import ScaffoldError, shown
from tools_scaffold._lines import decode

if TYPE_CHECKING:
    from os import PathLike

FILE = "pyproject.toml"


class Project:
    """A package's `folder`, the `text` of its pyproject.toml, how the lines of that end, and the `table` in it."""

    __slots__ = ("ending", "folder", "table", "text")

    def __init__(self, folder: Path, text: str, ending: str) -> None:
        self.folder = folder
        self.text = text
        self.ending = ending
        self.table = parse(text)

    @property
    def distribution(self) -> str:
        """What it is installed as."""
        return str(self.table["project"]["name"])

    @property
    def entry_points(self) -> dict[str, str]:
        """Its tools."""
        found = self.table["project"].get("entry-points", {})
        return dict(found.get("ask_tools.tools", {})) if isinstance(found, dict) else {}

    def package(self) -> tuple[str, str]:
        """The import package and its folder below this one's; ScaffoldError if there are none or several."""
        roots = {place.partition(":")[0].partition(".")[0] for place in self.entry_points.values()}
        places = [(root, path) for root in sorted(roots) for path in (f"src/{root}", root)]
        candidates = [(root, path) for root, path in places if self._is_package(path)]
        if not candidates:
            inside = sorted((self.folder / "src").glob("*/__init__.py"))
            candidates = [(path.parent.name, f"src/{path.parent.name}") for path in inside]
        if len(candidates) == 1:
            return candidates[0]
        found = f"several packages ({', '.join(name for name, _ in candidates)})" if candidates else "no package"
        raise ScaffoldError(f"there is {found} in {shown(self.folder)} to put a tool into; nothing was changed")

    def _is_package(self, path: str) -> bool:
        return (self.folder / path / "__init__.py").is_file()


def read_project(into: str | PathLike[str] | None) -> Project:
    """Find the package in a folder, by default the current one, or in the nearest one above it."""
    try:
        start = Path(into or ".").resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise ScaffoldError(f"there is no folder {shown(into or '.')}") from error
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return _project(folder)
        if (folder / ".git").exists():  # a repository does not answer for what lies within another one
            break
    raise ScaffoldError(f"there is no {FILE} in {shown(start)}; go to a package, or name its folder with --dir")


def parse(text: str) -> dict[str, Any]:
    """Read TOML; ScaffoldError if it is none."""
    import tomllib  # 10 ms

    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise ScaffoldError(f"{FILE} is no valid TOML ({error}); mend it first") from error


def _project(folder: Path) -> Project:
    found = Project(folder, *decode(read(folder, FILE) or b"", FILE))
    project = found.table.get("project")
    if not isinstance(project, dict) or not isinstance(project.get("name"), str):
        raise ScaffoldError(f"{shown(folder / FILE)} has no [project] with a name; it is no package")
    return found
