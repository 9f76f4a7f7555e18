"""What is built is what a user gets: wheels in clean environments, through pip and the real command."""

from __future__ import annotations

import email
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

GOOD = '''
from tools_core import tool

@tool
def good(text: str) -> str:
    """Give back the text."""
    return text
'''
NAMED = '''
from tools_core import tool

@tool
def same(text: str) -> str:
    """Say who answers."""
    return "{who}: " + text
'''
RAISES = "raise RuntimeError('raised while it was imported')"
EXITS = "import sys\nsys.exit(0)"
HANGS = "import threading\nthreading.Event().wait()"


def wheel_of(wheelhouse, name):
    return next(wheelhouse.glob(f"{name.replace('-', '_')}-*.whl"))


def source_of(wheelhouse, name):
    return next(wheelhouse.glob(f"{name.replace('-', '_')}-*.tar.gz"))


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def metadata(wheel):
    name = next(name for name in contents(wheel) if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(contents(wheel)[name])


def unpack(archive, folder):
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return next(folder.iterdir())


def names_in(process):
    """The names of the tools in the output of `ask-tools list --json`."""
    return sorted(tool["name"] for tool in json.loads(process.stdout))


def build_wheel(project, folder):
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=project, check=True)
    return next(folder.glob("*.whl"))


# What the archives hold


def test_the_wheel_of_tools_core_needs_nothing(wheelhouse):
    assert metadata(wheel_of(wheelhouse, "tools-core")).get_all("Requires-Dist") is None


def test_the_wheel_of_tools_core_carries_every_file_of_the_scaffold(wheelhouse):
    scaffold = ROOT / "scaffold" / "src"
    files = {
        path.relative_to(scaffold).as_posix(): path.read_bytes()
        for path in scaffold.rglob("*")
        if path.is_file() and not {"__pycache__", ".ruff_cache", ".mypy_cache", ".pytest_cache"} & set(path.parts)
    }
    assert "tools_scaffold/__init__.py" in files
    carried = contents(wheel_of(wheelhouse, "tools-core"))
    assert {name: carried.get(name) for name in files} == files


@pytest.mark.parametrize("name", ["ask-tools", "tools-core", "tools-filesystem", "tools-shell"])
def test_a_wheel_built_from_the_source_distribution_is_the_wheel_built_from_the_checkout(wheelhouse, tmp_path, name):
    project = unpack(source_of(wheelhouse, name), tmp_path / "source")
    assert contents(build_wheel(project, tmp_path / "wheel")) == contents(wheel_of(wheelhouse, name))


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("tools-core", "tools_core"),
        ("tools-core", "tools_scaffold"),
        ("tools-filesystem", "tools_filesystem"),
        ("tools-shell", "tools_shell"),
    ],
)
def test_a_wheel_is_typed(wheelhouse, name, module):
    assert f"{module}/py.typed" in contents(wheel_of(wheelhouse, name))


@pytest.mark.parametrize("name", ["ask-tools", "tools-core", "tools-filesystem", "tools-shell"])
def test_a_wheel_states_licence_python_version_and_readme(wheelhouse, name):
    wheel = wheel_of(wheelhouse, name)
    stated = metadata(wheel)
    assert (stated["License-Expression"], stated["Requires-Python"], stated["Version"]) == (
        "MIT",
        ">=3.11",
        "0.1.0",
    )
    assert any(file.endswith("licenses/LICENSE") for file in contents(wheel))
    assert stated.get_payload().startswith("# ")


@pytest.mark.parametrize("name", ["tools-core", "tools-filesystem", "tools-shell"])
def test_a_source_distribution_holds_no_more_than_the_package(wheelhouse, tmp_path, name):
    project = unpack(source_of(wheelhouse, name), tmp_path)
    known = {
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "hatch_build.py",
        "pyproject.toml",
        "src",
        ".gitignore",
    }
    assert {path.name for path in project.iterdir()} <= known


def test_concrete_tools_need_the_core_and_nothing_else(wheelhouse):
    for name in ("tools-filesystem", "tools-shell"):
        needs = metadata(wheel_of(wheelhouse, name)).get_all("Requires-Dist")
        assert [need for need in needs if "extra ==" not in need] == ["tools-core>=0.1"]


# Installing


def test_installing_tools_core_installs_one_distribution(install):
    listed = install("tools-core").pip("list", "--format=json").stdout
    assert json.loads(listed) == [{"name": "tools-core", "version": "0.1.0"}]


@pytest.mark.parametrize("page", ["README.md", "packages/tools-testing/README.md"])
def test_the_source_install_of_a_page_works_in_a_clean_environment(environment, page):
    (command,) = re.findall(r"^pip install ([^#\n]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    pip = [sys.executable, "-m", "pip", "--python", environment.interpreter, "install", "--quiet", *command.split()]
    subprocess.run(pip, cwd=ROOT, check=True)  # with the user's settings of pip: the build backend comes from the index
    assert environment.ask_tools("list", "--json").returncode == 0


def test_an_editable_install_serves_the_core_and_the_scaffold_from_the_checkout(environment):
    environment.copy_distribution("hatchling")
    environment.pip("install", "--no-index", "--no-build-isolation", "--editable", ROOT / "tools-core")
    code = "import tools_core, tools_scaffold; print(tools_core.__file__); print(tools_scaffold.__file__)"
    assert environment.python("-c", code).stdout.splitlines() == [
        str(ROOT / "tools-core" / "src" / "tools_core" / "__init__.py"),
        str(ROOT / "scaffold" / "src" / "tools_scaffold" / "__init__.py"),
    ]
    assert environment.ask_tools("--version").stdout == "ask-tools 0.1.0\n"


def test_the_meta_package_brings_the_everyday_tools(install):
    environment = install("ask-tools")
    names = names_in(environment.ask_tools("list", "--json"))
    assert {"bash", "python", "job_start"} <= set(names)
    assert {"read_file", "write_file", "edit_file", "apply_patch", "grep", "glob"} <= set(names)
    assert len(names) == 18


def test_python_m_tools_core_is_the_command(install):
    environment = install("ask-tools")
    by_module = environment.python("-m", "tools_core", "list", "--json")
    assert by_module.stdout == environment.ask_tools("list", "--json").stdout


def test_an_installed_tool_reads_a_file_of_the_workspace(install, tmp_path):
    (tmp_path / "notes.txt").write_text("buy milk\n", encoding="utf-8")
    called = install("ask-tools").ask_tools("call", "read_file", "path=notes.txt", cwd=tmp_path)
    assert "buy milk" in called.stdout


def test_uninstalling_a_package_takes_its_tools_away(install):
    environment = install("tools-filesystem")
    environment.pip("uninstall", "--yes", "tools-filesystem")
    assert names_in(environment.ask_tools("list", "--json")) == []


# A new package, made with tools-core alone


@pytest.fixture
def made(install, tmp_path):
    """Return what `ask-tools new mytool` makes, and the environment with tools-core alone that made it."""
    environment = install("tools-core")
    place = tmp_path / "place"
    place.mkdir()
    environment.ask_tools("new", "mytool", cwd=place)
    return next(place.glob("*/pyproject.toml")).parent, environment


def entry_points(project):
    described = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    return described["project"]["entry-points"]["ask_tools.tools"]


def test_a_new_package_installs_and_its_tools_are_found(made, tmp_path):
    project, environment = made
    wheel = build_wheel(project, tmp_path / "built")
    environment.pip("install", "--no-index", wheel)
    assert names_in(environment.ask_tools("list", "--json")) == sorted(entry_points(project))
    assert environment.ask_tools("doctor").returncode == 0


def test_the_tool_of_a_new_package_is_called_through_the_command_and_in_python(made, tmp_path):
    project, environment = made
    environment.pip("install", "--no-index", build_wheel(project, tmp_path / "built"))
    name = next(iter(entry_points(project)))
    shown = environment.ask_tools("show", name, "--json").stdout
    arguments = sample(json.loads(shown)["input_schema"])
    called = environment.ask_tools("call", name, "--json", "--args", json_file(tmp_path, arguments))
    assert json.loads(called.stdout)["ok"] is True
    code = "from tools_core import registry; registry.discover(); "
    code += f"print(registry[{name!r}].call({arguments!r}).ok)"
    assert environment.python("-c", code).stdout == "True\n"


def test_a_new_package_passes_its_own_tests(made, tmp_path):
    project, environment = made
    environment.pip("install", "--no-index", build_wheel(project, tmp_path / "built"))
    environment.copy_distribution("pytest")
    outcome = environment.python("-m", "pytest", cwd=project).stdout
    assert " passed" in outcome
    assert "skipped" not in outcome
    assert "warning" not in outcome


def test_a_new_package_holds_what_was_written_for_it_and_no_leftovers(made):
    project, _ = made
    files = [path for path in project.rglob("*") if path.is_file()]
    assert [path for path in files if "__pycache__" in path.parts or path.suffix == ".pyc"] == []
    assert [path for path in files if "example" in path.name and "mytool" not in path.name] == []


def test_a_new_package_installs_in_place_from_its_folder(made):
    project, environment = made
    environment.copy_distribution("hatchling")
    environment.copy_distribution("editables")
    environment.pip("install", "--no-index", "--no-build-isolation", "--editable", project)
    assert names_in(environment.ask_tools("list", "--json")) == sorted(entry_points(project))


def json_file(folder, value):
    path = folder / "arguments.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def sample(schema):
    """Arguments for what an object schema requires, of its simplest types."""
    values = {"string": "Oslo", "integer": 2, "number": 1.5, "boolean": True, "array": [], "object": {}}
    required = {name: schema["properties"][name] for name in schema.get("required", ())}
    return {name: part["enum"][0] if "enum" in part else values[part["type"]] for name, part in required.items()}


# One bad package never hides the others


@pytest.fixture(params=[RAISES, EXITS, HANGS], ids=["raises", "exits", "hangs"])
def with_a_bad_package(request, install, package):
    """An environment with a good package and one that does not survive its own import."""
    good = package("tools-good", GOOD, {"good": "good"})
    bad = package("tools-bad", request.param, {"bad": "bad"})
    return install("tools-core", good, bad)


def test_a_package_that_cannot_be_imported_is_listed_beside_the_others(with_a_bad_package):
    assert names_in(with_a_bad_package.ask_tools("list", "--json")) == ["bad", "good"]


def test_a_package_that_cannot_be_imported_keeps_no_other_tool_from_being_called(with_a_bad_package):
    assert with_a_bad_package.ask_tools("call", "good", "text=still here").stdout == "still here\n"


@pytest.mark.parametrize("words", [["--version"], ["--help"], [], ["show", "good"], ["new", "other", "--dry-run"]])
def test_a_package_that_cannot_be_imported_leaves_the_command_working(with_a_bad_package, words):
    assert with_a_bad_package.ask_tools(*words).stdout


def test_doctor_names_a_package_that_cannot_be_imported_and_still_looks_at_the_others(with_a_bad_package):
    seen = with_a_bad_package.ask_tools("doctor", check=False)
    assert seen.returncode == 1
    assert "tools-bad" in seen.stdout + seen.stderr


@pytest.mark.parametrize("source", [RAISES, EXITS], ids=["raises", "exits"])
def test_calling_a_tool_of_a_package_that_cannot_be_imported_names_the_package(install, package, source):
    environment = install("tools-core", package("tools-bad", source, {"bad": "bad"}))
    called = environment.ask_tools("call", "bad", check=False)
    assert called.returncode == 1
    assert "tools-bad" in called.stdout + called.stderr
    assert "Traceback" not in called.stderr


@pytest.fixture
def with_one_name_twice(install, package):
    """An environment where two packages claim the name `same`."""
    first = package("tools-first", NAMED.replace("{who}", "first"), {"same": "same"})
    second = package("tools-second", NAMED.replace("{who}", "second"), {"same": "same"})
    good = package("tools-good", GOOD, {"good": "good"})
    return install("tools-core", first, second, good)


def test_a_name_that_two_packages_claim_is_an_error_that_names_both(with_one_name_twice):
    called = with_one_name_twice.ask_tools("call", "same", "text=x", check=False)
    assert called.returncode != 0
    assert "tools-first:same" in called.stderr
    assert "tools-second:same" in called.stderr


@pytest.mark.parametrize("who", ["first", "second"])
def test_a_name_that_two_packages_claim_is_called_by_its_full_name(with_one_name_twice, who):
    assert with_one_name_twice.ask_tools("call", f"tools-{who}:same", "text=x").stdout == f"{who}: x\n"


def test_a_name_that_two_packages_claim_hides_no_other_tool(with_one_name_twice):
    assert with_one_name_twice.ask_tools("call", "good", "text=x").stdout == "x\n"
    assert "good" in names_in(with_one_name_twice.ask_tools("list", "--json"))
