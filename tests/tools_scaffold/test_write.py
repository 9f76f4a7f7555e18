"""A package is written whole or not at all, and never over something."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools_scaffold import Plan, ScaffoldError, new_package

Tree = Callable[[Path], dict[str, Any]]

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="POSIX file systems only")


def plan(folder: Path, **options: Any) -> Plan:
    return new_package("weather", into=folder, dry_run=True, **options)


def occupy_with_file(target: Path) -> None:
    target.write_text("mine")


def occupy_with_folder(target: Path) -> None:
    target.mkdir()
    (target / "notes.txt").write_text("mine")


def occupy_with_link(target: Path) -> None:
    target.symlink_to(target.parent / "elsewhere")
    (target.parent / "elsewhere").mkdir()


def occupy_with_dangling_link(target: Path) -> None:
    target.symlink_to(target.parent / "nowhere")


OCCUPANTS = [occupy_with_file, occupy_with_folder]
OCCUPANTS += [] if os.name == "nt" else [occupy_with_link, occupy_with_dangling_link]


@pytest.mark.parametrize("occupy", OCCUPANTS)
def test_what_exists_is_never_overwritten(tmp_path: Path, occupy: Any, tree: Tree) -> None:
    occupy(tmp_path / "tools-weather")
    before = tree(tmp_path)
    for dry_run in (True, False):
        with pytest.raises(ScaffoldError, match=r"exists already|symbolic link"):
            new_package("weather", into=tmp_path, dry_run=dry_run)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("occupy", OCCUPANTS)
def test_what_came_after_the_plan_is_not_overwritten_either(tmp_path: Path, occupy: Any, tree: Tree) -> None:
    made = plan(tmp_path)
    occupy(tmp_path / "tools-weather")
    before = tree(tmp_path)
    with pytest.raises(ScaffoldError, match="nothing was made"):
        made.write()
    assert tree(tmp_path) == before


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "tools-weather").mkdir()
    assert new_package("weather", into=tmp_path).folder.joinpath("pyproject.toml").is_file()
    assert os.listdir(tmp_path) == ["tools-weather"]


def test_a_second_time_is_refused_and_changes_nothing(tmp_path: Path, tree: Tree) -> None:
    new_package("weather", into=tmp_path)
    before = tree(tmp_path)
    with pytest.raises(ScaffoldError, match="not empty"):
        new_package("weather", into=tmp_path)
    assert tree(tmp_path) == before


class Interrupted(dict[str, str]):
    """Files during whose writing the user presses Ctrl-C."""

    def items(self) -> Iterator[tuple[str, str]]:  # type: ignore[override]
        yield from list(super().items())[:3]
        raise KeyboardInterrupt


@pytest.mark.parametrize("parent", ["", "packages"])
def test_an_interruption_leaves_nothing(tmp_path: Path, parent: str, tree: Tree) -> None:
    made = plan(tmp_path)
    made.folder = tmp_path / parent / "tools-weather"
    made.files = Interrupted(made.files)
    with pytest.raises(KeyboardInterrupt):
        made.write()
    assert tree(tmp_path) == {}


FULL_DISK = """
import resource, signal, sys
from tools_scaffold import ScaffoldError, new_package
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))
try:
    new_package("weather", into=sys.argv[1], author="Ada")
except ScaffoldError as error:
    print(error)
"""


@POSIX_ONLY
def test_a_disk_that_is_full_half_way_leaves_nothing(tmp_path: Path, tree: Tree) -> None:
    assert len(plan(tmp_path).files["pyproject.toml"]) < 2500 < len(plan(tmp_path).files["tests/test_contract.py"])
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("nothing was made:")
    assert tree(tmp_path) == {}


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a /proc, where not even root makes folders")
def test_a_place_that_takes_no_folders_is_an_error_that_names_it() -> None:
    with pytest.raises(ScaffoldError, match=r"nothing was made: '/proc/\.tools-weather"):
        new_package("weather", into="/proc")


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="needs a user who is not root")
def test_a_parent_that_is_read_only_is_an_error(tmp_path: Path, tree: Tree) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ScaffoldError, match="nothing was made"):
        new_package("weather", into=tmp_path)
    tmp_path.chmod(0o700)
    assert tree(tmp_path) == {}


@POSIX_ONLY
def test_files_have_the_modes_that_the_user_s_umask_gives(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "file").touch()
    made = new_package("weather", into=tmp_path)
    for path in [made.folder, *made.folder.rglob("*")]:
        like = tmp_path / ("plain" if path.is_dir() else "file")
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(like.stat().st_mode)
