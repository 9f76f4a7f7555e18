"""Whoever is killed half way leaves the whole thing, or nothing; the next one cleans up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools_scaffold import add_tool, new_package

Tree = Callable[[Path], dict[str, Any]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs the system calls of Linux"),
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]

FILE_CALLS = "openat,mkdir,mkdirat,write,rename,renameat,renameat2,rmdir,unlink,unlinkat,fsync,chmod,fchmodat"
NEW = "import sys; from tools_scaffold import new_package; new_package('weather', into='.', author='Ada', year=2026)"
ADD = "import sys; from tools_scaffold import add_tool; add_tool('forecast', into='tools-weather')"


def traced(code: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["strace", "-f", "-qq", *options, sys.executable, "-S", "-B", "-c", code]
    path = os.pathsep.join(str(Path(sys.modules[name].__file__ or "").parents[1]) for name in ("tools_scaffold",))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if "PTRACE" in ended.stderr or "ptrace" in ended.stderr:
        pytest.skip("this machine lets nobody trace a process")
    return ended


def calls(code: str, folder: Path) -> list[tuple[str, int]]:
    """The system calls that touch files of `folder`: their names, and how many of each came before."""
    log = folder.parent / "calls"
    assert traced(code, folder, "-o", str(log), "-e", f"trace={FILE_CALLS}", "-y").returncode == 0
    counts: dict[str, int] = {}
    found = []
    for line in log.read_text().splitlines():
        match = re.match(r"\d+ +(\w+)\(", line)
        if match:
            counts[match[1]] = counts.get(match[1], 0) + 1
            if "weather" in line and "O_RDONLY" not in line:
                found.append((match[1], counts[match[1]]))
    return found


def kill_before(code: str, folder: Path, call: str, number: int) -> None:
    """Run `code` and kill it as it is about to make that call."""
    options = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:error=EIO:when={number}"]
    traced(code, folder, "-o", os.devnull, *options)


@pytest.mark.parametrize("code", [NEW, ADD], ids=["new", "add"])
def test_nothing_is_written_outside_the_folder(tmp_path: Path, code: str) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    if code == ADD:
        new_package("weather", into=folder, author="Ada")
    log = tmp_path / "calls"
    traced(code, folder, "-o", str(log), "-y", "-e", "trace=%file")
    changing = re.compile(
        r"\d+ +(?:mkdir|rename|link|unlink|rmdir|chmod|chown|truncate|mknod)\w*\(|O_(?:WRONLY|RDWR|CREAT)"
    )
    lines = [line for line in log.read_text().splitlines() if changing.search(line) and "= -1 " not in line]
    assert len(lines) > 5
    elsewhere = [line for line in lines if str(folder) not in line and '"/dev/null"' not in line]
    assert [line for line in elsewhere if '"/' in line or ".." in line] == []  # what is left is relative to it


def test_a_new_package_is_there_whole_or_not_at_all_wherever_its_maker_is_killed(tmp_path: Path, tree: Tree) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    found = calls(NEW, whole)
    expected = tree(whole / "tools-weather")
    assert len(found) > 30
    for index, (call, number) in enumerate(found):
        folder = tmp_path / f"killed {index}"
        folder.mkdir()
        kill_before(NEW, folder, call, number)
        target = folder / "tools-weather"
        assert not target.exists() or tree(target) == expected, (call, number)
        assert all(path.name.startswith(".") for path in folder.iterdir() if path != target)
        if not target.exists():
            new_package("weather", into=folder, author="Ada", year=2026)
        assert tree(folder) == tree(whole), "what the killed one left is still there"
        shutil.rmtree(folder)


def test_a_tool_that_is_added_leaves_a_package_that_works_and_that_can_be_added_to_again(
    tmp_path: Path, tree: Tree
) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    before = new_package("weather", into=whole, author="Ada", year=2026).files
    found = calls(ADD, whole)
    expected = tree(whole)
    assert len(found) > 10
    for index, (call, number) in enumerate(found):
        folder = tmp_path / f"killed {index}"
        folder.mkdir()
        package = new_package("weather", into=folder, author="Ada", year=2026).folder
        kill_before(ADD, folder, call, number)
        left = {path: data for path, data in tree(package).items() if data is not None and ".part" not in path}
        for path, data in left.items():  # every file is whole: as it was, or as it shall be
            assert data in (before.get(path, "").encode(), expected[f"tools-weather/{path}"]), (call, number, path)
        if tree(folder) != expected:
            if "forecast" in (package / "pyproject.toml").read_text(encoding="utf-8"):  # it was about to clean up
                add_tool("rain", into=package)
                assert not [path for path in tree(package) if ".part" in path]
            else:
                add_tool("forecast", into=package)
                assert tree(folder) == expected
        shutil.rmtree(folder)
