"""Shared fixtures: runs of pytest in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

DEADLOCK = 240  # seconds


@pytest.fixture
def run_pytest(tmp_path):
    """Write test files, run pytest on them in a separate process, and return the process with its output."""

    def run(*words, env=None, **files):
        folder = tmp_path / "suite"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "ASK_TOOLS_"))
        }
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *map(str, words)]
        return subprocess.run(
            command,
            cwd=folder,
            env={**environment, "PYTHONUTF8": "1", "COLUMNS": "120", **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=DEADLOCK,
            check=False,
        )

    return run
