"""Linters, validators and reviewers from other projects accept the packages that `ask-tools new` generates."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools_scaffold import Plan, plan_package, plan_tool

pytestmark = pytest.mark.slow

PARAMS = 'city:str "Name of the city", day:date, days:int=3, units:C|F=C, tags:list[str]?, limit:Decimal?'
URL = "https://example.org/tools"
CASES = {
    "function": ("weather", {"params": PARAMS}),
    "class": ("WeatherTool", {"style": "class", "license": "Apache-2.0"}),
    "toolset": ("my-2nd-search", {"style": "toolset"}),
    "longest name": ("n" * 40, {"url": None}),
    "second tools": ("x", {"license": "MPL-2.0"}),
}


def run(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of this environment."""
    program = Path(sys.executable).parent / str(words[0])
    if not program.exists():
        pytest.skip(f"{words[0]} is not installed")
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST_", "UV_"))}
    return subprocess.run(
        [program, *map(str, words[1:])],
        cwd=cwd,
        env=variables | {"NO_COLOR": "1", "COLUMNS": "200", "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plan]:
    plans = {}
    for case, (name, options) in CASES.items():
        folder = tmp_path_factory.mktemp("generated")
        plans[case] = plan_package(
            name, into=folder, **{"author": "Ada Lovelace <ada@example.org>", "url": URL} | options
        )
        plans[case].write()
    for style in ("function", "class", "toolset"):
        plan_tool(f"{style}-two", into=plans["second tools"].folder, style=style, params=PARAMS).write()
    for plan in plans.values():
        subprocess.run(["git", "init", "--quiet"], cwd=plan.folder, check=True)
    return plans


@pytest.fixture(scope="module")
def folders(plans: dict[str, Plan]) -> list[Path]:
    return [plan.folder for plan in plans.values()]


def test_sp_repo_review_reports_no_failure(folders: list[Path]) -> None:
    for folder in folders:
        checks = json.loads(run("repo-review", "--format", "json", ".", cwd=folder).stdout)["checks"]
        assert [name for name, check in checks.items() if check["result"] is False] == []
        assert len(checks) > 50
        assert len([name for name, check in checks.items() if check["result"] is None]) < 5


def test_validate_pyproject_accepts_every_pyproject(folders: list[Path], tmp_path: Path) -> None:
    process = run("validate-pyproject", *(folder / "pyproject.toml" for folder in folders), cwd=tmp_path)
    assert (process.returncode, process.stdout.count("Valid file")) == (0, len(CASES)), process.stdout


def test_twine_accepts_the_built_distributions(folders: list[Path], tmp_path: Path) -> None:
    for number, folder in enumerate(folders):
        process = run("python", "-m", "build", "--no-isolation", "--outdir", tmp_path / str(number), cwd=folder)
        assert process.returncode == 0, process.stdout
    process = run("twine", "check", "--strict", *tmp_path.glob("*/*"), cwd=tmp_path)
    assert (process.returncode, process.stdout.count("PASSED")) == (0, 2 * len(CASES)), process.stdout


def test_zizmor_reports_nothing_at_its_strictest_level(folders: list[Path], tmp_path: Path) -> None:
    process = run("zizmor", "--offline", "--persona=auditor", *folders, cwd=tmp_path)
    assert process.returncode == 0, process.stdout


def test_zizmor_reports_an_action_without_a_pinned_commit(plans: dict[str, Plan], tmp_path: Path) -> None:
    workflow = plans["function"].files[".github/workflows/ci.yml"]
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    unpinned = re.sub("actions/checkout@[0-9a-f]{40} # v[0-9.]+", "actions/checkout@v7", workflow)
    assert unpinned != workflow
    (folder / "ci.yml").write_text(unpinned, encoding="utf-8")
    assert run("zizmor", "--offline", ".", cwd=tmp_path).returncode != 0


def test_ruff_accepts_every_generated_package(folders: list[Path], tmp_path: Path) -> None:
    for words in (["check"], ["format", "--check"]):
        process = run("ruff", *words, "--no-cache", *folders, cwd=tmp_path)
        assert process.returncode == 0, process.stdout


def test_strict_mypy_accepts_every_generated_package(folders: list[Path], tmp_path: Path) -> None:
    for folder in folders:
        process = run("mypy", "--cache-dir", tmp_path, cwd=folder)
        assert "no issues found" in process.stdout, process.stdout
