"""Questions are asked on a terminal alone, and only for what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools_scaffold import new_package

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")

Converse = Callable[..., tuple[int, str]]


def test_a_missing_name_is_asked_for_until_it_is_one(tmp_path: Path, converse: Converse) -> None:
    code, seen = converse(tmp_path, "class\nweather\nclass\nRain.\n", "tools_scaffold", "--author", "Ada")
    assert code == 0
    assert "error: 'class' is a word of the Python language" in seen
    text = (tmp_path / "tools-weather/pyproject.toml").read_text(encoding="utf-8")
    assert 'style = "class"' in text
    assert 'description = "Rain."' in text


def test_what_was_given_is_not_asked_for(tmp_path: Path, converse: Converse) -> None:
    words = ["--author", "Ada", "--style", "toolset", "--description", "Rain."]
    code, seen = converse(tmp_path, "weather\n", "tools_scaffold", *words)
    assert code == 0
    assert seen.count("?") + seen.count(": ") == 1 + seen.count("next: ")


def test_nothing_is_asked_where_there_is_a_name(tmp_path: Path, converse: Converse) -> None:
    code, seen = converse(tmp_path, "", "tools_scaffold", "weather", "--author", "Ada")
    assert code == 0
    assert "Style" not in seen


def test_the_end_of_the_terminal_ends_the_questions_and_makes_nothing(tmp_path: Path, converse: Converse) -> None:
    code, _ = converse(tmp_path, "\x04", "tools_scaffold", "--author", "Ada")
    assert code == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_nothing_is_asked_in_a_pipe(tmp_path: Path, words: list[str], program: str) -> None:
    command = [sys.executable, "-c", program, "tools_scaffold", *words]
    ended = subprocess.run(command, cwd=tmp_path, input="weather\n", capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "a package needs a NAME" in ended.stderr


def test_nothing_is_asked_with_json_even_on_a_terminal(tmp_path: Path, converse: Converse) -> None:
    code, seen = converse(tmp_path, "weather\n", "tools_scaffold", "--json")
    assert code == 2
    assert "a package needs a NAME" in seen
    assert list(tmp_path.iterdir()) == []


def test_add_says_what_it_changed_for_people_and_for_programs(tmp_path: Path, program: str) -> None:
    package = new_package("weather", into=tmp_path, author="Ada").folder
    command = [sys.executable, "-c", program, "tools_scaffold._add_command"]
    words = ["forecast", "--dir", str(package), "--params", "days:int=3"]
    planned = subprocess.run([*command, *words, "--dry-run"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert planned.stdout.startswith("would add forecast to tools-weather in tools-weather\n")
    ended = subprocess.run([*command, *words, "--json"], capture_output=True, text=True, check=True, cwd=tmp_path)
    said = json.loads(ended.stdout)
    assert said["files"] == {
        "src/tools_weather/_forecast.py": "made",
        "src/tools_weather/__init__.py": "changed",
        "tests/test_forecast.py": "made",
        "pyproject.toml": "changed",
    }
    assert said["next"][1] == "ask-tools call forecast days=3"
    again = subprocess.run([*command, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("error: tools-weather has a tool called forecast already")
