import json
import os
import subprocess
import sys
from typing import Literal

import pytest

from tools_agent import ScriptedProvider
from tools_core import ToolCall, tool


@tool(read_only=True)
def weather(city: str, days: int = 1, units: Literal["C", "F"] = "C") -> str:
    """Forecast rain, wind and temperature for a city. Returns a line for each day.

    Args:
        city: Name of the city.
        days: Number of days.
        units: Unit of temperatures.
    """
    return f"{city}: dry for {days} days, 21 °{units}"


@tool(read_only=True)
def news(topic: str) -> str:
    """Search articles about a topic. Returns headlines.

    Args:
        topic: Words to search for.
    """
    return f"nothing new about {topic}"


@pytest.fixture
def tools():
    return [weather, news]


@pytest.fixture
def model():
    """`model(("weather", {"city": "Oslo"}))` answers each request with these calls, or with a text."""

    def model(*replies):
        parts = [reply if isinstance(reply, str) else ToolCall(None, *reply) for reply in replies]
        return ScriptedProvider(default=parts)

    return model


@pytest.fixture
def ask_tools(tmp_path):
    """Run `ask-tools` in a temporary folder."""

    def ask_tools(*words, status=0, **variables):
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ASK_TOOLS_")}
        command = [sys.executable, "-m", "tools_core", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ | variables, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 or done.stdout else done.stderr

    return ask_tools


@pytest.fixture
def report_of(ask_tools):
    """Run `ask-tools eval --json`, and return the report."""
    return lambda *words, **options: json.loads(ask_tools("eval", "--json", *words, **options))
