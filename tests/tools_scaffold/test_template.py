"""The template is a working package of its own, one for each style."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tools_scaffold import new_package
from tools_scaffold._answers import LICENSES, STYLES
from tools_scaffold._template import AUTHOR, DESCRIPTION, FOLDER, INIT, OBJECTS, TOOL, YEAR, render

CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
MARKER = re.compile(r"^ *(?:#|<!--) (?:region \w+|endregion)(?: -->)?\n", re.MULTILINE)


def files(folder: Path) -> set[str]:
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {path for path in there if not CACHES & set(path.split("/"))}


def test_every_file_of_the_template_belongs_to_packages() -> None:
    used = {f"licenses/{path}" for path in LICENSES.values() if path}
    used |= {f"{style}/{path}" for style in STYLES for path in (INIT, *TOOL, "use.md")}
    assert {path for path in files(FOLDER) if not path.startswith("common/")} == used


def test_what_running_the_template_s_tests_leaves_behind_gets_into_no_package(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "template")
    for cache in CACHES:
        (tmp_path / "template/common/tests" / cache).mkdir(exist_ok=True)
        (tmp_path / "template/common/tests" / cache / "file").write_text("left")
    answers = new_package("example", into=tmp_path, author=AUTHOR, dry_run=True).answers
    assert render(answers, tmp_path / "template") == render(answers)


def plain(text: str) -> str:
    """A file without marks, and without regard to blank lines, of which the marks had some around them."""
    return re.sub("\n+", "\n", MARKER.sub("", text))


@pytest.mark.parametrize("style", STYLES)
def test_a_package_with_the_template_s_name_is_the_template(tmp_path: Path, style: str) -> None:
    made = new_package(
        "example",
        into=tmp_path,
        author=AUTHOR,
        url="https://example.org/tools-example",
        description=DESCRIPTION,
        year=int(YEAR),
        style=style,
        dry_run=True,
    )
    for path in sorted(files(FOLDER / "common") | {INIT, *TOOL}):
        source = FOLDER / (style if path in (INIT, *TOOL) else "common") / path
        made_path = path.replace("_pyproject", "pyproject")
        expected = source.read_text(encoding="utf-8")
        expected = expected.replace("tools_example:example", f"tools_example:{OBJECTS[style]}")
        expected = expected.replace("<!-- use -->\n", (FOLDER / style / "use.md").read_text(encoding="utf-8"))
        expected = expected.replace('style = "function"', f'style = "{style}"')
        if made_path == "pyproject.toml":
            kept = f'description = "{DESCRIPTION}"\nauthor'
            expected = expected.replace("pydantic = false\nauthor", f"pydantic = false\n{kept}")
        assert plain(made.files[made_path]) == plain(expected), made_path
    assert made.files["LICENSE"] == (FOLDER / "licenses/MIT.txt").read_text(encoding="utf-8")


def test_nobody_who_looks_for_projects_takes_the_template_for_one() -> None:
    assert not list(FOLDER.rglob("pyproject.toml"))


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_the_template_passes_its_own_checks_as_it_lies(tmp_path: Path, style: str) -> None:
    for part in ("common", style):
        shutil.copytree(FOLDER / part, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*CACHES))
    project = (tmp_path / "_pyproject.toml").rename(tmp_path / "pyproject.toml")
    text = project.read_text(encoding="utf-8").replace("tools_example:example", f"tools_example:{OBJECTS[style]}")
    project.write_text(text, encoding="utf-8")
    for words in (
        ["ruff", "check", "--no-cache", "."],
        ["ruff", "format", "--no-cache", "--check", "."],
        ["pytest", "-q", "-p", "no:cacheprovider"],
    ):
        if find_spec(words[0]) is None:
            pytest.skip(f"{words[0]} is not installed")
        command = [sys.executable, "-B", "-m", *words]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
