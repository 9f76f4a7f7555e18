"""`uv sync`, `uv run ask-tools` and `uv run pytest` work in a checkout and in the folder of each package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

PROJECTS = [".", "scaffold", "tools-core", "tools-filesystem", "tools-shell"]
PROJECTS += sorted(f"packages/{path.parent.name}" for path in ROOT.glob("packages/*/pyproject.toml"))
PROJECTS.remove("packages/tools-ray")  # ray is large
NO_INDEX = re.compile(r"Failed to fetch|error sending request|Could not connect|dns error", re.IGNORECASE)


# Packages that `ask-tools new` has made, with tests of their own, and one that is no member of the workspace.
OWN_TOOLS = {"packages/tools-sql": "sql_query", "packages/tools-web": "web_fetch", "packages/tools-adapters": ""}


@pytest.fixture(scope="module")
def uv():
    """Run uv in a folder; it must succeed."""
    program = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None:
        pytest.skip("uv is not installed")

    def uv(folder, *words):
        environ = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
        environ |= {"UV_PYTHON": sys.executable, "UV_NO_PROGRESS": "1", "PYTHONUTF8": "1"}
        process = subprocess.run(
            [program, *words], cwd=folder, env=environ, capture_output=True, encoding="utf-8", check=False
        )
        if process.returncode and NO_INDEX.search(process.stderr):
            pytest.skip(f"packages are not downloaded: {process.stderr.strip().splitlines()[-1]}")
        assert process.returncode == 0, f"uv {' '.join(words)}\n{process.stdout}\n{process.stderr}"
        return process.stdout

    return uv


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the files that git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("only on a checkout: git does not know this folder")
    folder = tmp_path_factory.mktemp("uv") / "ask-tools"
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.mark.parametrize("project", PROJECTS)
def test_uv_prepares_each_project_for_its_command_and_tests(uv, checkout, project):
    uv(checkout / project, "sync")
    expected = OWN_TOOLS.get(project, "read_file")
    assert expected in uv(checkout / project, "run", "ask-tools", "list")
    collected = uv(checkout / project, "run", "pytest", "--collect-only", "--quiet")
    tests = {line.rpartition("::")[0] for line in collected.splitlines() if "::" in line}
    assert tests
    if project != "." and project not in OWN_TOOLS:
        (source,) = (checkout / project).glob("src/*")
        assert {re.search(r"tests/(\w+)", path)[1] for path in tests} == {source.name}


def test_uv_runs_the_tests_of_a_generated_package(uv, checkout):
    created = json.loads(uv(checkout, "run", "--project", checkout, "ask-tools", "new", "weather", "--json"))
    uv(created["folder"], "sync", "--all-groups")
    tested = uv(created["folder"], "run", "pytest")
    assert " passed" in tested
    assert "skipped" not in tested.replace("1 skipped", "")  # without tools-testing, its contract
    assert "city" in uv(created["folder"], "run", "ask-tools", "call", "weather", "text=city")


def test_uv_runs_the_tests_of_a_package_in_its_folder(uv, checkout):
    assert " passed" in uv(checkout / "scaffold", "run", "pytest", "-k", "parameter")
