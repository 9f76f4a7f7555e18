"""Each adapter with its real framework, in its own environment: `inside/NAME.py`, and its documented example."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import tools_adapters

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = [ROOT / "packages/tools-adapters/README.md", ROOT / "docs/adapters.md"]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


MIGRATIONS = {"langchain": "docs/from-langchain.md", "openai_agents": "docs/from-openai-agents.md"}
BLOCKS = [block for page in PAGES for block in blocks(page)]
VARIABLES = {
    "PATH": "/usr/bin:/bin",
    "PYTHONPATH": str(HERE),
    "PYTHONUTF8": "1",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "OTEL_SDK_DISABLED": "true",
}
FRAMEWORKS = sorted(name.removeprefix("to_") for name in tools_adapters.__all__ if name.startswith("to_"))


@pytest.fixture
def run_inside(environment_with, tmp_path):
    """Run `inside/NAME.py` and other files in the environment of a framework."""
    return partial(_run_inside, environment_with, tmp_path)


def _run_inside(environment_with, tmp_path, name, *files, theirs=()):
    extra = name.replace("_", "-")
    ours = ["tools-core", "packages/tools-runtime", f"packages/tools-adapters[{extra}]"]
    python = environment_with(f"adapter-{extra}", ours, ["pytest", *theirs], HERE / f"constraints/{name}.txt")
    options = ["--noconftest", "--import-mode=importlib", "-pno:cacheprovider", "-c/dev/null", f"--rootdir={ROOT}"]
    command = [python, "-m", "pytest", "-q", *options, HERE / f"inside/{name}.py", *files]
    surroundings = {"cwd": tmp_path, "env": VARIABLES | {"HOME": str(tmp_path)}, "stdin": subprocess.DEVNULL}
    process = subprocess.run(command, **surroundings, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_adapter_keeps_its_promises_and_its_example_runs(run_inside, name, tmp_path):
    examples = [block for block in BLOCKS if re.search(rf"import .*\b(?:to|from)_{name}\b", block)]
    assert examples
    examples += blocks(ROOT / MIGRATIONS[name]) if name in MIGRATIONS else []
    for number, example in enumerate(examples):
        (tmp_path / f"example{number}.py").write_text(example, encoding="utf-8")
    run_inside(name, HERE / "inside/example.py")


@pytest.mark.slow
def test_another_library_sends_the_same_requests(run_inside):
    run_inside("openapi", theirs=["fastmcp"])


def test_importing_the_package_imports_no_framework():
    code = "import sys, tools_adapters; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"agents", "agno", "crewai", "haystack", "langchain_core", "pydantic_ai", "smolagents"}.isdisjoint(loaded)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_missing_framework_is_an_error_that_names_the_package(name):
    extra = name.replace("_", "-")
    with pytest.raises(ImportError, match=rf"pip install .*{extra}"):
        getattr(tools_adapters, next(public for public in tools_adapters.__all__ if public.endswith(f"_{name}")))


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="to_nothing"):
        _ = tools_adapters.to_nothing
