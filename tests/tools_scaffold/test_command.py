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
from tools_core.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def ask_tools(tmp_path):
    """Run the command in a folder, without a network."""

    def ask_tools(*words, cwd=tmp_path):
        command = [sys.executable, "-c", NO_NETWORK, *words]
        return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", check=False)

    return ask_tools


def test_new_prints_the_files_and_the_next_commands(ask_tools, tmp_path):
    ended = ask_tools("new", "weather", "--params", "city:str, days:int=3")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[0] == "Wrote 15 files in tools-weather:"
    assert all((tmp_path / "tools-weather" / line.strip()).is_file() for line in lines[1:16])
    assert lines[16:] == [
        "Next:",
        "  cd tools-weather && python -m pip install --editable . pytest",
        "  ask-tools call weather city=example",
        "  python -m pytest",
    ]


def test_add_prints_the_files_and_the_next_commands(ask_tools, tmp_path):
    ask_tools("new", "weather")
    ended = ask_tools("add", "forecast", "--style", "toolset", cwd=tmp_path / "tools-weather")
    assert ended.stdout.splitlines() == [
        "Wrote 4 files in .:",
        "  src/tools_weather/_forecast.py",
        "  tests/test_forecast.py",
        "  src/tools_weather/__init__.py",
        "  pyproject.toml",
        "Next:",
        "  python -m pip install --editable .",
        "  ask-tools call forecast_lookup text=example",
        "  python -m pytest",
    ]


def test_a_dry_run_writes_nothing(ask_tools, tmp_path):
    assert ask_tools("new", "weather", "--dry-run").stdout.startswith("Would write 15 files in tools-weather:\n")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_from_the_configuration_is_reported(ask_tools, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.ask-tools]\npackages = "packages"\n')
    ended = ask_tools("new", "weather")
    assert ended.stdout.startswith(
        "Wrote 15 files in packages/tools-weather (set in pyproject.toml; --dir writes elsewhere):\n"
    )


def test_json_has_the_names_the_folder_the_files_and_the_next_commands(ask_tools, tmp_path):
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
    ended = ask_tools(*words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert reason in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_package_with_broken_metadata_does_not_hide_the_names_of_others(ask_tools, tmp_path, monkeypatch):
    broken = tmp_path / "site/a_broken-1.0.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: a-broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_bytes(b"[ask_tools.tools]\nnot an entry\n\xff")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent))
    assert "has a tool called bash" in ask_tools("new", "bash").stderr
    assert ask_tools("new", "weather").returncode == 0


def test_the_next_commands_of_add_work_in_the_folder_where_it_was_called(ask_tools):
    ask_tools("new", "weather")
    result = json.loads(ask_tools("add", "forecast", "--dir", "tools-weather", "--json").stdout)
    assert result["next"][0] == "cd tools-weather && python -m pip install --editable ."
