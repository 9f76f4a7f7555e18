"""Days of work, each in a new home, with the installed tools at their default settings."""

from __future__ import annotations

import pytest

from tools_core import ToolError
from tools_shell import Bash


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Check the workspaces at the end of a day, unless the day has failed."""
    result = yield
    for day in item.funcargs["new_day"].days:
        day.end()
        day.check_workspace()
    return result


LEVELS = ["landlock", "contained", "none"]


@pytest.fixture(params=["sandboxed", *(pytest.param(level, marks=pytest.mark.slow) for level in LEVELS)])
def level(request, monkeypatch, day):
    """Repeat the day at each sandbox level of this machine; "sandboxed", the default, is the best one."""
    monkeypatch.setenv("ASK_TOOLS_ISOLATION", request.param)
    try:
        Bash(day.workspace).diagnose()
    except ToolError as error:
        pytest.skip(f"this system does not have it: {error.message}")
    return request.param
