"""What a new package holds, and whose names it refuses."""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_scaffold import Plan, ScaffoldError, new_package

Tree = Callable[[Path], dict[str, Any]]

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="POSIX file systems only")


def plan(folder: Path, **options: Any) -> Plan:
    return new_package("weather", into=folder, dry_run=True, **options)


def test_what_is_written_is_what_was_planned(tmp_path: Path, tree: Tree) -> None:
    made = new_package("weather", into=tmp_path)
    assert made.folder == tmp_path / "tools-weather"
    assert list(tmp_path.iterdir()) == [made.folder]
    written = {path: data.decode("utf-8") for path, data in tree(made.folder).items() if data is not None}
    assert written == made.files
    assert sorted(written) == [
        ".github/dependabot.yml",
        ".github/workflows/ci.yml",
        ".github/workflows/publish.yml",
        ".gitignore",
        ".pre-commit-config.yaml",
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "docs/publish.md",
        "pyproject.toml",
        "src/tools_weather/__init__.py",
        "src/tools_weather/_weather.py",
        "src/tools_weather/py.typed",
        "tests/test_contract.py",
        "tests/test_weather.py",
    ]


def test_nothing_of_the_template_s_own_name_is_left(tmp_path: Path) -> None:
    for path, text in plan(tmp_path).files.items():
        assert "example" not in path + text.lower()


def test_a_dry_run_writes_nothing_and_says_the_same_each_time(tmp_path: Path, tree: Tree) -> None:
    first, second = plan(tmp_path), plan(tmp_path)
    assert tree(tmp_path) == {}
    assert (first.folder, first.files) == (second.folder, second.files)
    first.write()
    assert (tmp_path / "tools-weather/pyproject.toml").read_text(encoding="utf-8") == second.files["pyproject.toml"]


def test_description_author_and_year_go_where_they_belong(tmp_path: Path) -> None:
    made = plan(tmp_path, description='Says "hi" \\o/', author='Zoë "Z" O\\Neil', year=1999)
    project = tomllib.loads(made.files["pyproject.toml"])["project"]
    assert project["description"] == 'Says "hi" \\o/'
    assert project["authors"] == [{"name": 'Zoë "Z" O\\Neil'}]
    assert made.files["README.md"].splitlines()[2] == 'Says "hi" \\o/'
    assert 'Copyright (c) 1999 Zoë "Z" O\\Neil\n' in made.files["LICENSE"]


def test_without_git_s_user_the_authors_are_those_of_the_package(tmp_path: Path) -> None:
    made = plan(tmp_path)
    project = tomllib.loads(made.files["pyproject.toml"])["project"]
    assert project["authors"] == [{"name": "The tools-weather authors"}]
    assert f"Copyright (c) {time.localtime().tm_year} The tools-weather authors" in made.files["LICENSE"]
    assert project["description"] == "The weather tool for any model, agent framework or shell."


line = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "), min_size=1, max_size=100)


@pytest.mark.slow
@given(line.filter(str.strip), line.filter(str.strip))
def test_any_printable_line_survives_as_description_and_author(description: str, author: str) -> None:
    made = plan(Path(__file__).parent, description=description, author=author)
    project = tomllib.loads(made.files["pyproject.toml"])["project"]
    assert project["description"] == description
    assert project["authors"] == [{"name": author}]


@pytest.mark.parametrize("option", ["description", "author"])
@pytest.mark.parametrize("text", ["", " ", "two\nlines", "\x1b[2J", "\x7f", "\ud800", "a" * 301])
def test_what_is_no_line_is_refused_as_description_and_as_author(
    tmp_path: Path, option: str, text: str, tree: Tree
) -> None:
    options: dict[str, Any] = {option: text}
    with pytest.raises(ScaffoldError, match=f"the {option} must be a line"):
        new_package("weather", into=tmp_path, **options)
    assert tree(tmp_path) == {}


def test_git_s_user_is_the_author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    config.write_text('[user]\n\tname = "Ada Lovelace"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert 'authors = [{ name = "Ada Lovelace" }]' in plan(tmp_path).files["pyproject.toml"]


@pytest.mark.slow
@POSIX_ONLY
@pytest.mark.parametrize("answer", ["exec tail -f /dev/null", "exit 3", "printf 'a\\nb'", "printf '\\377'", "exit 0"])
def test_a_git_that_hangs_fails_or_babbles_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\n{answer}\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert "The tools-weather authors" in plan(tmp_path).files["LICENSE"]


def test_without_git_it_works_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "The tools-weather authors" in plan(tmp_path).files["LICENSE"]


@pytest.mark.parametrize(
    ("installed", "reason"),
    [
        pytest.param({"weather": "acme-tools 2.1"}, "weather is installed already from acme-tools 2.1", id="origin"),
        pytest.param({"acme:Weather": "acme"}, "weather is installed already from acme", id="qualified"),
        pytest.param(["weather"], "weather is installed already; try", id="names alone"),
        pytest.param({"rain": "tools-weather 1.0"}, "a package called tools-weather", id="distribution"),
    ],
)
def test_a_name_that_is_installed_is_refused_and_its_distribution_named(
    tmp_path: Path, installed: Any, reason: str, tree: Tree
) -> None:
    with pytest.raises(ScaffoldError, match=reason) as caught:
        new_package("weather", into=tmp_path, installed=installed)
    assert caught.value.proposal == "my-weather"
    assert tree(tmp_path) == {}


def test_the_proposal_is_not_an_installed_tool_either(tmp_path: Path) -> None:
    with pytest.raises(ScaffoldError) as caught:
        new_package("weather", into=tmp_path, installed=["weather", "my_weather"])
    assert caught.value.proposal == "my-my-weather"
