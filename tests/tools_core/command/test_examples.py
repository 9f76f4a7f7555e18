"""Every example of the help texts runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

PYTHON = sys._base_executable
COMMANDS = ["list", "show", "call", "schema", "check", "lock", "verify", "doctor", "skill", "completion"]
SOURCE = '''
    from typing import Annotated

    from tools_core import Context, Image, tool


    @tool(read_only=True, tags=["weather"])
    def get_weather(city: Annotated[str, "City name"], days: Annotated[int, "How many days"] = 3) -> dict:
        """Forecast the weather."""
        return {"city": city, "days": days}


    @tool(read_only=True)
    def get_map(city: Annotated[str, "City name"], context: Context) -> Image:
        """Draw a map."""
        context.progress(1, 1)
        return Image(b"\\x89PNG\\r\\n\\x1a\\n" + city.encode())


    @tool(destructive=True, requires_approval=True)
    def flood(city: Annotated[str, "City name"]) -> str:
        """Let it rain."""
        return city
'''


def examples(text):
    return re.findall(r"^  (.*ask-tools .*)$", text.partition("examples:\n")[2], re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="this system has no bash")
def test_every_example_of_the_help_runs(ask_tools, environment, site, tmp_path):
    site.install("tools-weather", {name: name for name in ("get_weather", "get_map", "flood")}, SOURCE)
    weather = SOURCE.replace("get_weather", "weather").replace("\n    ", "\n")
    (tmp_path / "weather.py").write_text(weather)
    script = tmp_path / "bin" / "ask-tools"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{PYTHON}" -S -m tools_core "$@"\n')
    script.chmod(0o755)
    variables = {**environment, "PATH": f"{script.parent}{os.pathsep}{environment['PATH']}"}
    for name in COMMANDS:  # in the order of the help: `verify` reads what `lock` writes
        lines = examples(ask_tools(name, "--help").out)
        assert lines
        for example in lines:
            assert f"ask-tools {name}" in example
            command = ["bash", "-e", "-o", "pipefail", "-c", example]
            done = subprocess.run(
                command, env=variables, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, check=False
            )
            assert done.returncode == 0, f"{example}\n{done.stdout.decode()}{done.stderr.decode()}"
    assert (tmp_path / "map.png").read_bytes().endswith(b"Oslo")
