"""Where a new package goes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools_scaffold import ScaffoldError, new_package

Tree = Callable[[Path], dict[str, Any]]

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="POSIX file systems only")


def test_without_more_it_goes_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert new_package("weather").folder == tmp_path.resolve() / "tools-weather"


def repository(folder: Path, setting: str = 'packages = "packages"') -> Path:
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(f"[tool.ask-tools]\n{setting}\n")
    return folder


@pytest.mark.parametrize("here", [".", "packages", "deep/er", "tools-core"])
def test_a_repository_says_where_its_packages_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str) -> None:
    root = repository(tmp_path / "repo")
    (root / here).mkdir(parents=True, exist_ok=True)
    (root / "tools-core").mkdir(exist_ok=True)
    (root / "tools-core/pyproject.toml").write_text('[project]\nname = "tools-core"\n')
    monkeypatch.chdir(root / here)
    made = new_package("weather")
    assert made.folder == root.resolve() / "packages/tools-weather"
    assert made.folder.is_dir()


def test_dir_comes_before_what_the_repository_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path / "repo")
    monkeypatch.chdir(root)
    assert new_package("weather", into=".", dry_run=True).folder == root.resolve() / "tools-weather"


def test_a_repository_does_not_answer_for_one_within_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = repository(tmp_path / "repo") / "inner"
    (inner / ".git").mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert new_package("weather", dry_run=True).folder == inner.resolve() / "tools-weather"


def test_a_file_of_another_project_is_not_even_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text("this is no TOML")
    monkeypatch.chdir(tmp_path)
    assert new_package("weather", dry_run=True).folder.parent == tmp_path.resolve()


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ('packages = "../elsewhere"', "leads out of"),
        ('packages = "/tmp"', "leads out of"),
        ('packages = "link"', "leads out of"),
        ("packages = 7", "must name a folder"),
        ('packages = " "', "must name a folder"),
        ("packages =", "no valid TOML"),
        ('packages = "pyproject.toml"', "is not a folder"),
        ('packages = "not/there"', "nothing was made"),
    ],
)
@POSIX_ONLY
def test_a_setting_that_cannot_be_followed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, reason: str, tree: Tree
) -> None:
    root = repository(tmp_path / "repo", setting)
    (root / "link").symlink_to(tmp_path)
    before = tree(tmp_path)
    monkeypatch.chdir(root)
    with pytest.raises(ScaffoldError, match=reason):
        new_package("weather")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("into", ["missing", "file", "file/below", "nul\0", "\ud800"])
def test_a_folder_that_is_none_is_refused(tmp_path: Path, into: str, tree: Tree) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(ScaffoldError, match="folder"):
        new_package("weather", into=f"{tmp_path}/{into}")
    assert tree(tmp_path) == {"file": b"kept"}


@POSIX_ONLY
def test_a_current_folder_that_was_removed_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ScaffoldError, match="there is no folder"):
        new_package("weather")
