"""A package works as it is made: tests, lint, types, build, discovery, all without an edit."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

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
    assert "no issues found in 3 source files" in run(made[name].folder, "mypy", "--cache-dir", str(cache))


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
    example = plan.files["README.md"].split("```python\n")[1].split("```")[0]
    ended = subprocess.run(
        [sys.executable, "-c", example], cwd=plan.folder / "src", capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines() == [
        "{'city': 'Oslo', 'temperature': 7.5, 'unit': 'celsius'}",
        "{'city': 'Oslo', 'temperature': 45.5, 'unit': 'fahrenheit'}",
    ]
