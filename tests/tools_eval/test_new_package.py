"""A package that `ask-tools new` makes is evaluated."""

import os
import subprocess
import sys

import pytest

from tools_eval import load_cases


@pytest.fixture
def package(ask_tools, tmp_path):
    """A new package, installed in a folder that `PYTHONPATH` names."""
    options = ["--params", 'city:str "Name of the city"', "--description", "Forecast the weather of a city."]
    ask_tools("new", "weather", *options)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", tmp_path / "site", "./tools-weather"], cwd=tmp_path, check=True)
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])}


def test_a_new_package_passes_its_ten_cases_with_the_script(package, report_of, ask_tools):
    report = report_of("tools-weather/evals", "--model", "scripted:words", **package)
    assert [attempt["problems"] for attempt in report["attempts"]] == [[]] * 10
    offered = report["definitions"]
    assert "weather" in offered and len(offered) == 21


def test_an_uninstalled_package_is_an_error_with_the_command(ask_tools):
    ask_tools("new", "weather")
    error = ask_tools("eval", "tools-weather/evals", "--model", "scripted:words", status=2)
    assert error == (
        "error: the package tools-weather is not installed\n  python -m pip install --editable tools-weather\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("params", ["size:float, tags:list[str]", "text:str=x", "on:bool, unit:C|F, day:date"])
@pytest.mark.parametrize("style", ["function", "toolset"])
def test_the_cases_of_any_new_tool_are_valid(ask_tools, tmp_path, params, style):
    ask_tools("new", "gauge", "--style", style, "--params", params)
    cases = load_cases(tmp_path / "tools-gauge/evals")
    assert len(cases) == 10 and {case.distractors for case in cases} == {0, 5, 20}
    chosen = [case for case in cases if not case.no_call]
    assert {tuple(case.expected_tools) for case in chosen} == {
        ({"function": "gauge", "toolset": "gauge_lookup"}[style],)
    }
