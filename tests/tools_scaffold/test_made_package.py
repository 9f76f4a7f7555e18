"""A package works as it is made: tests, lint, types, build, discovery, all without an edit."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

import tools_core
from tools_scaffold import Plan, new_package

pytestmark = pytest.mark.slow

LONGEST = "n23456789_" * 6 + "n234"
NAMES = [
    pytest.param("example", id="the template's own name"),
    pytest.param("weather", id="word"),
    pytest.param("x", id="one letter"),
    pytest.param("my-2nd-Search", id="hyphens, digits, capitals"),
    pytest.param("a" * 40, id="40 letters"),
    pytest.param(LONGEST, id="64 characters"),
    pytest.param("WeatherTool", id="class name"),
    pytest.param("random", id="module of the standard library"),
    pytest.param("city", id="parameter of the tool"),
    pytest.param("testrail", id="looks like a test"),
    pytest.param("annotations", id="name of a future"),
]


def run(folder: Path, *words: str, **environment: str) -> str:
    """Run a module of this Python in `folder`; its output, if it succeeds."""
    if find_spec(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    command = [sys.executable, "-m", *words]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Plan]:
    folder = tmp_path_factory.mktemp("made")
    # One class name and one word give the same tool, so each package has a folder of its own.
    plans = {}
    for case in NAMES:
        name = str(case.values[0])
        (folder / name).mkdir()
        plans[name] = new_package(name, into=folder / name, author='Zoë "Z" O\\Neil', description='Says "hi".')
    return plans


@pytest.mark.parametrize("name", NAMES)
def test_its_tests_pass(made: Mapping[str, Plan], name: str) -> None:
    output = run(made[name].folder, "pytest", "-q")
    assert "passed" in output
    assert "failed" not in output


def test_it_is_clean_for_ruff_whatever_the_length_of_its_name(made: Mapping[str, Plan], tmp_path: Path) -> None:
    for plan in made.values():
        run(plan.folder, "ruff", "check", ".")
        run(plan.folder, "ruff", "format", "--check", ".")
    for length in range(1, 65):
        new_package("n" * length, into=tmp_path, author="Ada")
    run(tmp_path, "ruff", "check", ".")
    run(tmp_path, "ruff", "format", "--check", ".")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_clean_for_strict_mypy(
    made: Mapping[str, Plan], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cache = tmp_path_factory.getbasetemp() / "mypy"  # shared: the core need not be checked for each package again
    assert "no issues found in 4 source files" in run(made[name].folder, "mypy", "--cache-dir", str(cache))


@pytest.mark.parametrize("name", ["weather", "my-2nd-Search", LONGEST])
def test_it_builds_installs_and_is_discovered(made: Mapping[str, Plan], name: str, tmp_path: Path) -> None:
    plan = made[name]
    run(plan.folder, "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    metadata = next(site.glob("*.dist-info"))
    assert (metadata / "entry_points.txt").read_text() == (
        f"[ask_tools.tools]\n{plan.tool} = {plan.package}:{plan.tool}\n"
    )
    assert {path.name for path in (site / plan.package).iterdir()} == {
        "__init__.py",
        f"_{plan.tool}.py",
        "py.typed",
    }
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    output = run(plan.folder, "pytest", "-q", "-o", "pythonpath=", PYTHONPATH=path)
    assert "skipped" not in output  # the discovery of what is installed was tried


@pytest.mark.parametrize("name", ["weather", "random", LONGEST])
def test_its_readme_s_python_runs(made: Mapping[str, Plan], name: str) -> None:
    plan = made[name]
    example = first_block(plan)
    ended = subprocess.run(
        [sys.executable, "-c", example], cwd=plan.folder / "src", capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines() == [
        "{'city': 'Oslo', 'temperature': 7.5, 'unit': 'celsius'}",
        "{'city': 'Oslo', 'temperature': 7.5, 'unit': 'celsius'}",
    ]


def first_block(plan: Plan) -> str:
    """The first block of Python in the README."""
    return plan.files["README.md"].split("```python\n")[1].split("```")[0]


PARAMS = 'city:str "Name", day:date, limit:Decimal, at:datetime?, days:int=3, units:C|F=C, tags:list[UUID]?'
KINDS = [
    pytest.param(style, pydantic, params, id=f"{style}{'-pydantic' * pydantic}{'-params' * bool(params)}")
    for style in ("function", "class", "toolset")
    for pydantic in (False, True)
    for params in (None, PARAMS)
]


def pythons() -> list[Path]:
    """Every Python 3.11 to 3.14 that pyenv has, and the one that runs this."""
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = {path.name.rpartition(".")[0]: path / "bin/python" for path in sorted(versions.glob("3.1[1-4].*"))}
    return [*found.values()] or [Path(sys.executable)]


@pytest.mark.parametrize(("style", "pydantic", "params"), KINDS)
def test_a_package_of_any_kind_passes_its_tests_and_shows_its_readme_s_answer(
    tmp_path: Path, style: str, pydantic: bool, params: str | None
) -> None:
    plan = new_package("weather", into=tmp_path, author="Ada", style=style, pydantic=pydantic, params=params)
    assert "failed" not in run(plan.folder, "pytest", "-q")
    ended = subprocess.run(
        [sys.executable, "-c", first_block(plan)], cwd=plan.folder / "src", capture_output=True, text=True, check=True
    )
    assert "Oslo" in ended.stdout


@pytest.mark.parametrize("style", ["function", "class", "toolset"])
@pytest.mark.parametrize("python", pythons(), ids=lambda path: path.parts[-3])
def test_its_tests_pass_on_every_python_that_is_here(tmp_path: Path, python: Path, style: str) -> None:
    plan = new_package("weather", into=tmp_path, author="Ada", style=style, params=PARAMS)
    # pytest and the core are pure Python: those of this environment serve every Python.
    places = [Path(module.__file__ or "").parents[1] for module in (pytest, tools_core)]
    path = os.pathsep.join(map(str, places))
    command = [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(command, cwd=plan.folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("style", ["function", "class", "toolset"])
def test_the_commands_of_its_readme_run(tmp_path: Path, style: str) -> None:
    plan = new_package("weather", into=tmp_path, author="Ada", style=style, params=PARAMS)
    run(plan.folder, "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))
    lines = [line for line in plan.files["README.md"].splitlines() if line.startswith("ask-tools ")]
    assert [line.split()[1] for line in lines] == ["show", "call"]
    for line in lines:
        assert "Oslo" in run(plan.folder, "tools_core", *shlex.split(line)[1:], PYTHONPATH=path) or "show" in line
