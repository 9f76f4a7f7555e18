"""`ask-tools add`: a second tool beside the first, and nothing else is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tools_scaffold import ScaffoldError, add_tool, new_package

Tree = Callable[[Path], dict[str, Any]]
NEW = ["pyproject.toml", "src/tools_weather/__init__.py", "src/tools_weather/_forecast.py", "tests/test_forecast.py"]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return new_package("weather", into=tmp_path, author="Ada").folder


def pytest_in(folder: Path) -> str:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new).encode())


def test_four_files_change_and_the_package_s_own_contract_covers_the_new_tool(package: Path, tree: Tree) -> None:
    before = tree(package)
    added = add_tool("forecast", into=package, params="city:str, days:int=3")
    after = tree(package)
    assert sorted(path for path in after if after[path] != before.get(path)) == NEW
    assert sorted(change.path for change in added.changes) == NEW
    assert "passed" in pytest_in(package)


def test_a_dry_run_says_the_same_and_writes_nothing(package: Path, tree: Tree) -> None:
    before = tree(package)
    planned = add_tool("forecast", into=package, dry_run=True)
    assert tree(package) == before
    assert add_tool("forecast", into=package).changes == planned.changes


PYPROJECT = """# A comment at the top
[build-system]
requires = ["hatchling"]   # odd   spacing
build-backend = "hatchling.build"

[project]
name   =   "tools-weather"
version = "0.1.0"
dependencies = [
    # a comment in an array
    "tools-core",  # why
]

  [project.entry-points."ask_tools.tools"]
  # the first
  weather = "tools_weather:weather"   # behind it
  # after the last

[tool.other]
z = 1
a = '''
[project.entry-points."ask_tools.tools"]
'''
"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_comments_order_and_spaces_of_pyproject_stay_byte_for_byte(package: Path, ending: str) -> None:
    path = package / "pyproject.toml"
    path.write_bytes(PYPROJECT.replace("\n", ending).encode())
    add_tool("forecast", into=package)
    line = '  forecast = "tools_weather:forecast"\n'
    expected = PYPROJECT.replace("# behind it\n", f"# behind it\n{line}")
    assert path.read_bytes() == expected.replace("\n", ending).encode()


def test_with_pydantic_it_becomes_a_dependency_once(package: Path) -> None:
    add_tool("forecast", into=package, pydantic=True)
    add_tool("rain", into=package, pydantic=True)
    text = (package / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dependencies = ["pydantic>=2.10", "tools-core>=0.1"]\n' in text


def test_a_package_without_tools_gets_its_first(package: Path) -> None:
    edit(
        package / "pyproject.toml", '[project.entry-points."ask_tools.tools"]\nweather = "tools_weather:weather"\n', ""
    )
    add_tool("forecast", into=package)
    text = (package / "pyproject.toml").read_text(encoding="utf-8")
    assert text.endswith('\n\n[project.entry-points."ask_tools.tools"]\nforecast = "tools_weather:forecast"\n')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            '"""Doc."""\n\nfrom tools_weather._weather import weather  # why\n'
            '\n__all__ = ["weather"]  # sorted\nx = 1\n',
            '"""Doc."""\n\nfrom tools_weather._forecast import forecast\n'
            "from tools_weather._weather import weather  # why\n"
            '\n__all__ = ["forecast", "weather"]  # sorted\nx = 1\n',
            id="before",
        ),
        pytest.param(
            "from tools_weather._a import (\n    a,  # one\n)\n\n__all__ = [\n    'a',  # one\n    # two\n]\n",
            "from tools_weather._a import (\n    a,  # one\n)\nfrom tools_weather._forecast import forecast\n\n"
            "__all__ = [\n    'a',  # one\n    'forecast',\n    # two\n]\n",
            id="after, over lines",
        ),
        pytest.param(
            "from tools_weather._a import a\n\n__all__ = [\n    'a'\n]\n",
            "from tools_weather._a import a\nfrom tools_weather._forecast import forecast\n\n"
            "__all__ = [\n    'a',\n    'forecast',\n]\n",
            id="without the last comma",
        ),
        pytest.param(
            "from ._weather import weather\n__all__ = ('weather',)\n",
            "from ._forecast import forecast\nfrom ._weather import weather\n__all__ = ('forecast', 'weather')\n",
            id="relative, a tuple",
        ),
        pytest.param(
            '"""Doc."""\n\nimport os\n\nx = os.sep\n',
            '"""Doc."""\n\nimport os\n\nfrom tools_weather._forecast import forecast as forecast\n\nx = os.sep\n',
            id="no __all__",
        ),
        pytest.param("", "from tools_weather._forecast import forecast as forecast\n", id="empty"),
        pytest.param(
            '"""Doc."""\n',
            '"""Doc."""\n\nfrom tools_weather._forecast import forecast as forecast\n',
            id="docstring alone",
        ),
        pytest.param(
            'from tools_weather._z import Z, a\n\n__all__ = ["Z", "a", "é"]\n',
            "from tools_weather._forecast import forecast\nfrom tools_weather._z import Z, a\n\n"
            '__all__ = ["Z", "a", "forecast", "é"]\n',
            id="classes first",
        ),
        pytest.param(
            'from tools_weather._z import z, a\n\n__all__: list[str] = ["z", "a"]\n',
            "from tools_weather._forecast import forecast\nfrom tools_weather._z import z, a\n\n"
            '__all__: list[str] = ["z", "a", "forecast"]\n',
            id="an order of the author's own",
        ),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_an_export_is_added_and_the_author_s_text_stays(package: Path, before: str, after: str, ending: str) -> None:
    path = package / "src/tools_weather/__init__.py"
    path.write_bytes(before.replace("\n", ending).encode())
    add_tool("forecast", into=package)
    assert path.read_bytes() == after.replace("\n", ending if before else "\n").encode()


@pytest.mark.parametrize(
    ("path", "content", "problem"),
    [
        ("src/tools_weather/__init__.py", b"__all__ = ['a']\n__all__ += ['b']\n", "cannot be added to safely"),
        ("src/tools_weather/__init__.py", b"__all__ = [n for n in dir()]\n", "cannot be added to safely"),
        ("src/tools_weather/__init__.py", b"__all__ = ['a', 'b',\n 'c', 'd']\n", "cannot be added to safely"),
        ("src/tools_weather/__init__.py", b"def forecast(): ...\n", "has a forecast already"),
        ("src/tools_weather/__init__.py", b"def (\n", "cannot be read"),
        ("src/tools_weather/__init__.py", b"x = '\xff'\n", "is not UTF-8"),
        ("src/tools_weather/__init__.py", b"x = 1\r\ny = 2\n", "end in different ways"),
        ("src/tools_weather/_forecast.py", b"mine", "exists already"),
        ("tests/test_forecast.py", b"mine", "exists already"),
        ("pyproject.toml", b"[project", "no valid TOML"),
        ("pyproject.toml", b"[tool.x]\n", "has no .project. with a name"),
        (
            "pyproject.toml",
            b'[project]\nname = "w"\nentry-points = {"ask_tools.tools" = {weather = "tools_weather:weather"}}\n',
            "cannot be added to safely",
        ),
        ("pyproject.toml", b'[project]\nname = "w"\ndynamic = ["dependencies"]\n', "not written as one array"),
    ],
)
def test_what_cannot_be_changed_safely_is_refused_and_nothing_is_written(
    package: Path, path: str, content: bytes, problem: str, tree: Tree
) -> None:
    (package / path).write_bytes(content)
    before = tree(package)
    with pytest.raises(ScaffoldError, match=problem):
        add_tool("forecast", into=package, pydantic=True)
    assert tree(package) == before


@pytest.mark.parametrize("path", NEW)
def test_a_file_that_somebody_changes_meanwhile_stops_all_and_what_was_done_is_undone(
    package: Path, path: str, tree: Tree
) -> None:
    planned = add_tool("forecast", into=package, dry_run=True)
    (package / path).write_bytes(b"somebody else's")
    before = tree(package)
    with pytest.raises(ScaffoldError, match="was changed meanwhile"):
        planned.write()
    assert tree(package) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs limits of a POSIX system")
def test_a_disk_that_is_full_changes_nothing(package: Path, tree: Tree) -> None:
    before = tree(package)
    code = "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    code += "from tools_scaffold import add_tool; resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)); "
    code += f"add_tool('forecast', into={str(package)!r})"
    ended = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    assert "ScaffoldError: nothing was changed: " in ended.stderr
    assert tree(package) == before


@pytest.mark.parametrize(
    ("name", "installed", "problem"),
    [
        ("weather", {}, "tools-weather has a tool called weather already"),
        ("forecast", {"forecast": "acme 1.0"}, "installed already from acme 1.0"),
        ("class", {}, "a word of the Python language"),
    ],
)
def test_a_name_that_is_taken_is_refused(package: Path, name: str, installed: dict[str, str], problem: str) -> None:
    with pytest.raises(ScaffoldError, match=problem):
        add_tool(name, into=package, installed=installed)


def test_the_package_s_own_installation_is_in_nobody_s_way(package: Path) -> None:
    assert add_tool("forecast", into=package, installed={"weather": "tools_weather 0.1.0"}).tool == "forecast"


@pytest.mark.skipif(os.name == "nt", reason="POSIX links only")
def test_a_file_that_leads_out_of_the_package_is_refused(package: Path, tmp_path: Path, tree: Tree) -> None:
    outside = tmp_path / "outside"
    (package / "tests").rename(outside)
    (package / "tests").symlink_to(outside)
    before = tree(tmp_path)
    with pytest.raises(ScaffoldError, match="leads out of"):
        add_tool("forecast", into=package)
    assert tree(tmp_path) == before


def test_it_is_found_from_any_folder_of_the_package(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(package / "src/tools_weather")
    assert add_tool("forecast").folder == package.resolve()


def test_where_there_is_no_package_it_says_so(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(ScaffoldError, match=r"there is no pyproject\.toml"):
        add_tool("forecast", into=tmp_path)


@pytest.mark.slow
def test_a_package_with_a_tool_of_each_kind_passes_all_its_checks(package: Path) -> None:
    for number, (style, pydantic) in enumerate(product(("function", "class", "toolset"), (False, True))):
        add_tool(f"{style}{number}", into=package, style=style, pydantic=pydantic, params="city:str, days:int=3")
    assert "passed" in pytest_in(package)
    for words in (["check"], ["format", "--check"]):
        ended = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--no-cache", "."],
            cwd=package,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout
