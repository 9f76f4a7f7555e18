"""Generated packages without an edit: tests, lint, types, wheel, and the commands of their README."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tools_scaffold import plan_package, plan_tool

pytestmark = pytest.mark.slow

ALL_TYPES = (
    'city:str "Name, with ümlauts", share:float, exact:bool, day:date, at:datetime?, clock:time, limit:Decimal,'
    "file:Path, key:UUID, days:int=3, units:C|F=C, tags:list[UUID]?, size:float=1e20"
)
ANY_TEXT = '"It’s" – in C:\\temp, ‘or’ """'
ANY_PARAMS = 'city:str="–\\ n" "– C:\\new ‘x’", units:–|F'
QUOTES = "answer:str, unit:it's|b|\N{GRINNING FACE}, type:int, list:list[str]?"
LONG_LINES = ", ".join(f'parameter_{number}:list[datetime]? "{"word " * 15}"' for number in range(9))
KINDS = [
    pytest.param("weather", {}, id="function"),
    pytest.param("my-2nd-Search", {"style": "class", "params": ALL_TYPES}, id="class, all types"),
    pytest.param("n" * 40, {"style": "toolset", "params": LONG_LINES}, id="toolset, long lines"),
    pytest.param("quotes", {"params": ANY_PARAMS}, id="function, ambiguous characters"),
    pytest.param("more-quotes", {"style": "toolset", "params": ANY_PARAMS}, id="toolset, ambiguous characters"),
    pytest.param("zodiac", {"style": "toolset", "params": QUOTES}, id="toolset, quotes and names of its code"),
    pytest.param("random", {"style": "function", "params": ALL_TYPES, "license": "none"}, id="function, all types"),
]


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_a_new_package_passes_its_tests_ruff_and_strict_mypy(tmp_path, run, name, options):
    plan = plan_package(name, into=tmp_path, description=ANY_TEXT, **options)
    plan.write()
    assert "passed" in run(plan.folder, "pytest", "-q")
    run(plan.folder, "ruff", "check", "--no-cache")
    run(plan.folder, "ruff", "format", "--check", "--no-cache")
    assert "no issues found in 4 source files" in run(plan.folder, "mypy", "--cache-dir", tmp_path / "mypy")


def test_a_package_passes_its_checks_after_tools_of_each_style_are_added(tmp_path, run, package):
    for style in ("function", "class", "toolset"):
        plan_tool(f"{style}-{'n' * 30}", into=package, style=style, params=ALL_TYPES).write()
    assert "passed" in run(package, "pytest", "-q")
    run(package, "ruff", "check", "--no-cache")
    run(package, "ruff", "format", "--check", "--no-cache")
    assert "no issues found in 10 source files" in run(package, "mypy", "--cache-dir", tmp_path / "mypy")


def test_files_of_the_user_are_not_published(tmp_path, run):
    plan = plan_package("weather", into=tmp_path)
    plan.write()
    for name in ("customers.csv", "app.sqlite3", ".env", "src/tools_weather/cache.db", "tests/mail.mbox", "notes/a.md"):
        path = plan.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("private")
    run(plan.folder, "hatchling", "build", "-d", tmp_path / "dist")
    with tarfile.open(next(tmp_path.glob("dist/*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = {path for path in plan.files if path.startswith(("src/", "tests/", "evals/"))}
    assert names == {*sources, ".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
    with zipfile.ZipFile(next(tmp_path.glob("dist/*.whl"))) as wheel:
        modules = [name for name in wheel.namelist() if ".dist-info/" not in name]
    assert sorted(modules) == ["tools_weather/__init__.py", "tools_weather/_weather.py", "tools_weather/py.typed"]


@pytest.mark.parametrize("style", ["function", "class", "toolset"])
def test_an_installed_package_is_discovered_and_the_examples_of_its_readme_run(tmp_path, run, style):
    plan = plan_package("weather", into=tmp_path, style=style, params=ALL_TYPES)
    plan.write()
    run(plan.folder, "hatchling", "build", "-t", "wheel", "-d", tmp_path)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path / "site")  # noqa: S202  (a wheel of ours)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    assert "skipped" not in run(plan.folder, "pytest", "-q", "-o", "pythonpath=", env=environment)
    plan_tool("forecast", into=plan.folder).write()
    assert "run: python -m pip install --editable ." in run(plan.folder, "pytest", "-q", env=environment)
    readme = plan.files["README.md"]
    (program,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    process = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "example" in process.stdout
    commands = re.findall(r"^ask-tools (?:show|call).*$", readme, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert "city" in run(tmp_path, "tools_core", *shlex.split(command)[1:], env=environment)
