"""Our tools in Inspect, in a separate environment."""

import subprocess
from pathlib import Path

import pytest


@pytest.mark.slow
def test_inspect_calls_our_tools(environment_with, tmp_path):
    ours = ["tools-core", "packages/tools-runtime", "packages/tools-agent", "packages/tools-eval[inspect]"]
    python = environment_with("inspect", ours, ["inspect-ai==0.3.285"])
    script = Path(__file__).with_name("inside") / "with_inspect.py"
    done = subprocess.run([python, script, tmp_path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
