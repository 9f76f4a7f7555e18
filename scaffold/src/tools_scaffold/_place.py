"""Where a new package goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_scaffold._errors import ScaffoldError, shown

if TYPE_CHECKING:
    from os import PathLike


def choose_parent(into: str | PathLike[str] | None) -> Path:
    """Return the folder that will hold the package's folder.

    That is `into`; else the folder that the surrounding repository names for its packages, by
    `[tool.ask-tools] packages = "..."` in the nearest pyproject.toml that has it; else the current folder.
    """
    try:
        parent = Path.cwd() if into is None else Path(into).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:  # gone, a loop of links, no path at all
        raise ScaffoldError(f"there is no folder {shown(into or '.')} to make the package in; make it first") from error
    if not parent.is_dir():
        raise ScaffoldError(f"{shown(parent)} is not a folder; say where to make the package with --dir")
    return parent if into is not None else _configured(parent) or parent


def check_free(folder: Path) -> None:
    """Refuse a folder that holds something already; a missing or an empty one is free."""
    if folder.is_symlink():
        raise ScaffoldError(f"{shown(folder)} is a symbolic link; remove it, or choose another name or --dir")
    try:
        if not any(folder.iterdir()):
            return
        state = "exists already and is not empty"
    except FileNotFoundError:
        return
    except NotADirectoryError:
        state = "exists already and is not a folder"
    except OSError as error:
        state = f"cannot be looked into ({error.strerror})"
    raise ScaffoldError(f"{shown(folder)} {state}; nothing was changed: choose another name or --dir")


def _configured(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        setting = _packages_setting(folder / "pyproject.toml")
        if setting is not None:
            return _inside(folder, setting)
        if (folder / ".git").exists():  # a repository does not answer for what lies within another one
            return None
    return None


def _packages_setting(path: Path) -> str | None:
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    if b"ask-tools" not in raw:  # the usual case needs no parser
        return None
    import tomllib  # 10 ms

    try:
        content: dict[str, Any] = tomllib.loads(raw.decode("utf-8"))
    except ValueError as error:
        raise ScaffoldError(f"{shown(path)} is no valid TOML ({error}); mend it, or use --dir") from error
    table = content.get("tool", {}).get("ask-tools", {})
    setting: object = table.get("packages")
    if setting is None or (isinstance(setting, str) and setting.strip()):
        return setting
    raise ScaffoldError(f"[tool.ask-tools] packages in {shown(path)} must name a folder, such as packages")


def _inside(root: Path, setting: str) -> Path:
    top = root.resolve()
    folder = (top / setting).resolve()
    if not folder.is_relative_to(top):
        raise ScaffoldError(f"[tool.ask-tools] packages = {shown(setting)} leads out of {shown(top)}; use --dir")
    return folder
