"""Each adapter with its real framework, in an environment of its own: `inside/NAME.py`, and its documented example."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = [ROOT / "packages/tools-adapters/README.md", ROOT / "docs/adapters.md"]
BLOCKS = [
    block
    for page in PAGES
    for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
]
NO_TELEMETRY = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "OTEL_SDK_DISABLED": "true",
}
FRAMEWORKS = sorted(path.stem for path in (HERE / "inside").glob("*.py"))


@pytest.fixture
def python(environment_with, name):
    extra = name.replace("_", "-")
    ours = ["tools-core", "packages/tools-runtime", f"packages/tools-adapters[{extra}]"]
    return environment_with(f"adapter-{extra}", ours, ["pytest"], HERE / f"constraints/{name}.txt")


def run(command, folder):
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONUTF8": "1"} | NO_TELEMETRY
    ended = subprocess.run(
        command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_adapter_carries_what_it_promises(python, name, tmp_path):
    alone = [
        "--noconftest",
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
        f"--rootdir={ROOT}",
        "-c",
        "/dev/null",
    ]
    code, output, errors = run(
        [python, "-m", "pytest", "-q", "-pno:cacheprovider", *alone, HERE / f"inside/{name}.py"], tmp_path
    )
    assert code == 0, output + errors


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_example_of_a_framework_runs_and_shows_its_real_output(python, name, tmp_path):
    (block,) = [block for block in BLOCKS if re.search(rf"import .*\bto_{name}\b", block)]
    code, output, errors = run([python, "-c", block], tmp_path)
    assert (code, output.splitlines()) == (0, re.findall(r"^\s*#> ?(.*)$", block, re.MULTILINE)), errors


def test_every_example_is_that_of_a_framework_which_has_an_environment():
    named = [name for block in BLOCKS for name in re.findall(r"import .*\bto_(\w+)", block)]
    assert sorted(named) == FRAMEWORKS
