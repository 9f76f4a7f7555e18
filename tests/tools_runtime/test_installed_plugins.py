"""Installed plugins: a plugin that fails affects no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

RUN = """
    import json, logging
    from tools_core import tool
    from tools_runtime import Executor

    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("tools_runtime").addHandler(handler)

    @tool
    def work() -> str:
        "Work."
        return "done"

    executor = Executor([work])
    result = executor.call_tool("work")
    print(json.dumps({"seen": sorted(result.metadata), "problems": executor.plugins.problems, "log": lines}))
"""
WORKING = """
    from tools_runtime import hookimpl

    @hookimpl
    def after_tool_call(result):
        return result.with_metadata({__name__: True})
"""


@pytest.fixture
def site(tmp_path):
    """`site({distribution: source}, **environment)`: the plugins of an executor with these distributions."""

    def run(plugins, **environment):
        for distribution, source in plugins.items():
            (tmp_path / f"{distribution}.py").write_text(textwrap.dedent(source))
            info = tmp_path / f"{distribution}-1.5.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n")
            (info / "entry_points.txt").write_text(f"[ask_tools.plugins]\nguard = {distribution}\n")
        variables = {name: value for name, value in os.environ.items() if not name.startswith("ASK_TOOLS_")}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(RUN)],
            env=variables | {"PYTHONPATH": str(tmp_path)} | environment,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_a_plugin_works_by_being_installed(site):
    assert site({"acme": WORKING}) == {"seen": ["acme"], "problems": {}, "log": []}


@pytest.mark.parametrize("source", ["raise SystemExit(3)", "import missing_module", "x = 1", "{"])
def test_a_plugin_that_fails_is_a_problem_and_affects_no_other(source, site):
    report = site({"acme": WORKING, "broken": source})
    assert report["seen"] == ["acme"]
    assert list(report["problems"]) == ["broken:guard"]
    assert "broken:guard does not work" in report["log"][0]


def test_the_deny_list_keeps_a_plugin_from_being_imported(site):
    assert site({"acme": WORKING, "other": WORKING}, ASK_TOOLS_DENY="other")["seen"] == ["acme"]


def test_the_command_lists_the_hooks_of_installed_plugins(site, tmp_path):
    site({"acme": WORKING, "broken": "x = 1"})
    done = subprocess.run(
        [sys.executable, "-m", "tools_core", "hooks", "--json"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert {"hook": "after_tool_call", "plugin": "acme:guard"} in report["hooks"]
    assert [problem["plugin"] for problem in report["problems"]] == ["broken:guard"]
    assert done.returncode == 1
