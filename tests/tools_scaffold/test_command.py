"""`ask-tools new` and `ask-tools add` as processes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(f"opened a socket: {event}")

sys.addaudithook(refuse)
from tools_core.command import main
sys.exit(main())
"""


@pytest.fixture
def ask_tools(tmp_path):
    """Run the command in a folder; it exits if it opens a socket."""

    def ask_tools(*words, cwd=tmp_path):
        command = [sys.executable, "-c", NO_NETWORK, *words]
        return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", check=False)

    return ask_tools


def test_new_prints_the_files_and_the_next_commands(ask_tools, tmp_path):
    process = ask_tools("new", "weather", "--params", "city:str, days:int=3")
    assert (process.returncode, process.stderr) == (0, "")
    lines = process.stdout.splitlines()
    assert lines[0] == "Wrote 16 files in tools-weather:"
    assert all((tmp_path / "tools-weather" / line.strip()).is_file() for line in lines[1:17])
    assert lines[17:] == [
        "Next:",
        "  cd tools-weather && python -m pip install --editable . pytest",
        "  ask-tools call weather city=example",
        "  python -m pytest",
        "  ask-tools eval --model scripted:words",
    ]


def test_add_prints_the_files_and_the_next_commands(ask_tools, tmp_path):
    ask_tools("new", "weather")
    process = ask_tools("add", "forecast", "--style", "toolset", cwd=tmp_path / "tools-weather")
    assert process.stdout.splitlines() == [
        "Wrote 5 files in .:",
        "  evals/forecast.toml",
        "  src/tools_weather/_forecast.py",
        "  tests/test_forecast.py",
        "  src/tools_weather/__init__.py",
        "  pyproject.toml",
        "Next:",
        "  python -m pip install --editable .",
        "  ask-tools call forecast_lookup text=example",
        "  python -m pytest",
        "  ask-tools eval --model scripted:words",
    ]


def test_a_dry_run_only_lists_the_files(ask_tools, tmp_path):
    assert ask_tools("new", "weather", "--dry-run").stdout.startswith("Would write 16 files in tools-weather:\n")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_from_the_configuration_is_reported(ask_tools, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.ask-tools]\npackages = "packages"\n')
    process = ask_tools("new", "weather")
    assert process.stdout.startswith(
        "Wrote 16 files in packages/tools-weather (set in pyproject.toml; --dir writes elsewhere):\n"
    )


def test_json_contains_names_folder_files_and_next_commands(ask_tools, tmp_path):
    (tmp_path / "my place").mkdir()
    result = json.loads(ask_tools("new", "rain-radar", "--dir", "my place", "--json").stdout)
    assert result["next"][0] == "cd 'my place/tools-rain-radar' && python -m pip install --editable . pytest"
    assert [result[key] for key in ("tool", "distribution", "package", "written")] == [
        "rain_radar",
        "tools-rain-radar",
        "tools_rain_radar",
        True,
    ]
    assert all((tmp_path / "my place/tools-rain-radar" / path).is_file() for path in result["files"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["new"], "the following arguments are required: NAME"),
        (["new", "class"], "error: 'class' is a Python keyword; try my-class"),
        (["new", "weather", "--params", "city"], "error: --params: 'city' is not understood"),
        (["new", "bash"], "has a tool called bash; try my-bash"),
        (["add", "weather"], "is not in a package"),
    ],
)
def test_a_mistake_is_reported_on_stderr_with_exit_code_2(ask_tools, tmp_path, words, reason):
    process = ask_tools(*words)
    assert (process.returncode, process.stdout) == (2, "")
    assert reason in process.stderr
    assert "Traceback" not in process.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_package_with_broken_metadata_hides_no_other_tool_names(ask_tools, tmp_path, monkeypatch):
    broken = tmp_path / "site/a_broken-1.0.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: a-broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_bytes(b"[ask_tools.tools]\nnot an entry\n\xff")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent))
    assert "has a tool called bash" in ask_tools("new", "bash").stderr
    assert ask_tools("new", "weather").returncode == 0


@pytest.mark.slow
def test_add_prints_commands_for_the_current_folder(ask_tools):
    ask_tools("new", "weather")
    result = json.loads(ask_tools("add", "forecast", "--dir", "tools-weather", "--json").stdout)
    assert result["next"][0] == "cd tools-weather && python -m pip install --editable ."
