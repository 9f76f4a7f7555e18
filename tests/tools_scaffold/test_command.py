"""`ask-tools new`, as a process and as a sub-command."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools_scaffold import configure

COMMAND = """
import argparse, sys
from tools_scaffold import configure

def no_network(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(f"it opened a socket: {event}")

sys.addaudithook(no_network)
parser = argparse.ArgumentParser("ask-tools new")
configure(parser)
arguments = parser.parse_args()
sys.exit(arguments.run(arguments))
"""


def ask_tools_new(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COMMAND, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8")


def test_it_shows_the_files_and_the_next_three_commands(tmp_path: Path) -> None:
    ended = ask_tools_new(tmp_path, "weather")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[0] == "made tools-weather (15 files)"
    assert all((tmp_path / "tools-weather" / line.strip()).is_file() for line in lines[1:16])
    assert lines[16:] == [
        "next:",
        "  cd tools-weather && python -m pip install --editable . pytest",
        "  ask-tools call weather city=Oslo",
        "  python -m pytest",
    ]


def test_a_dry_run_shows_the_same_and_writes_nothing(tmp_path: Path) -> None:
    planned = ask_tools_new(tmp_path, "weather", "--dry-run")
    assert planned.returncode == 0
    assert list(tmp_path.iterdir()) == []
    made = ask_tools_new(tmp_path, "weather")
    assert planned.stdout == made.stdout.replace("made", "would make", 1)


def test_json_says_it_for_programs(tmp_path: Path) -> None:
    (tmp_path / "my place").mkdir()
    ended = ask_tools_new(
        tmp_path, "rain-radar", "--dir", "my place", "--json", "--author", "Ada", "--description", "Rain."
    )
    report = json.loads(ended.stdout)
    folder = tmp_path.resolve() / "my place/tools-rain-radar"
    assert report["made"] is True
    assert report["folder"] == str(folder)
    assert (report["tool"], report["distribution"], report["package"]) == (
        "rain_radar",
        "tools-rain-radar",
        "tools_rain_radar",
    )
    assert sorted(report["files"]) == sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )
    assert report["next"][0].startswith("cd 'my place/tools-rain-radar' && ")
    assert 'description = "Rain."' in (folder / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "error: a package needs a NAME"),
        (["class"], "error: 'class' is a word of the Python language; try my-class"),
        (["../evil"], "error: '../evil' is a path, not a name"),
        (["weather", "--dir", "missing"], "error: there is no folder 'missing'"),
        (["weather", "--author", ""], "error: the author must be a line"),
        (["weather", "--color"], "unrecognized arguments: --color"),
    ],
)
def test_a_mistake_is_told_on_stderr_and_is_exit_code_2(tmp_path: Path, words: list[str], reason: str) -> None:
    ended = ask_tools_new(tmp_path, *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert reason in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


def install(folder: Path, distribution: str, entry_points: bytes) -> None:
    """Put the metadata of a distribution into `folder`, as an installation does."""
    metadata = folder / f"{distribution.replace('-', '_')}-1.5.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n")
    (metadata / "entry_points.txt").write_bytes(entry_points)


def test_installed_tools_are_known_from_their_metadata_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    install(site, "a-broken-one", b"[ask_tools.tools]\nno entry\n")
    install(site, "a-garbled-one", b"\xff\xfe[ask_tools.tools]\n")
    install(site, "acme-tools", b"[ask_tools.tools]\nweather = no_such_module:weather\n")
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=":" if sys.platform != "win32" else ";")
    ended = ask_tools_new(tmp_path, "weather")
    assert ended.returncode == 2
    assert "a tool called weather is installed already from acme-tools 1.5; try my-weather" in ended.stderr
    assert ask_tools_new(tmp_path, "my-weather").returncode == 0


def test_the_command_can_tell_the_installed_names_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    configure(parser, lambda: {"weather": "acme-tools 1.5"})
    arguments = parser.parse_args(["weather", "--dir", str(tmp_path)])
    assert arguments.run(arguments) == 2
    assert "acme-tools 1.5" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
