"""The template is a working package of its own."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tools_scaffold import new_package
from tools_scaffold._template import AUTHOR, DESCRIPTION, FILES, FOLDER, YEAR

CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def test_every_file_of_the_template_is_listed() -> None:
    there = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert {path for path in there if not CACHES & set(path.split("/"))} == set(FILES)


def test_a_package_with_the_template_s_name_is_the_template(tmp_path: Path) -> None:
    made = new_package("example", into=tmp_path, author=AUTHOR, description=DESCRIPTION, year=int(YEAR), dry_run=True)
    assert made.files == {path: (FOLDER / path).read_text(encoding="utf-8") for path in FILES}


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [
        pytest.param(["ruff", "check", "--no-cache", "."], id="ruff check"),
        pytest.param(["ruff", "format", "--no-cache", "--check", "."], id="ruff format"),
        pytest.param(["pytest", "-q", "-p", "no:cacheprovider"], id="pytest"),
    ],
)
def test_the_template_passes_its_own_checks_where_it_lies(check: list[str]) -> None:
    if find_spec(check[0]) is None:
        pytest.skip(f"{check[0]} is not installed")
    command = [sys.executable, "-B", "-m", *check]
    ended = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
