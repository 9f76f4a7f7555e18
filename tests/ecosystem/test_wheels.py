"""Built distributions, installed with pip and uv into empty environments and used through the command."""

from __future__ import annotations

import email
import json
import os
import re
import shlex
import shutil
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
    """Return the text."""
    return text
'''
NAMED = '''
from tools_core import tool

@tool
def same(text: str) -> str:
    """Return the text after the name of the package."""
    return "{name}: " + text
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
    """Return the names of the tools in the output of `ask-tools list --json`."""
    return sorted(tool["name"] for tool in json.loads(process.stdout))


def build_wheel(project, folder):
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=project, check=True)
    return next(folder.glob("*.whl"))


# Contents of the archives


def test_the_wheel_of_tools_core_has_no_dependencies(wheelhouse):
    assert metadata(wheel_of(wheelhouse, "tools-core")).get_all("Requires-Dist") is None


def test_the_wheel_of_tools_core_contains_the_scaffold(wheelhouse):
    scaffold = ROOT / "scaffold" / "src"
    files = {
        path.relative_to(scaffold).as_posix(): path.read_bytes()
        for path in scaffold.rglob("*")
        if path.is_file() and not {"__pycache__", ".ruff_cache", ".mypy_cache", ".pytest_cache"} & set(path.parts)
    }
    assert "tools_scaffold/__init__.py" in files
    packed = contents(wheel_of(wheelhouse, "tools-core"))
    assert {name: packed.get(name) for name in files} == files


@pytest.mark.parametrize("name", ["ask-tools", "tools-core", "tools-filesystem", "tools-shell"])
def test_source_distribution_and_checkout_build_the_same_wheel(wheelhouse, tmp_path, name):
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
def test_the_metadata_contains_licence_python_version_and_readme(wheelhouse, name):
    wheel = wheel_of(wheelhouse, name)
    fields = metadata(wheel)
    assert (fields["License-Expression"], fields["Requires-Python"], fields["Version"]) == (
        "MIT",
        ">=3.11",
        "0.1.0",
    )
    assert any(file.endswith("licenses/LICENSE") for file in contents(wheel))
    assert fields.get_payload().startswith("# ")


@pytest.mark.parametrize("name", ["tools-core", "tools-filesystem", "tools-shell"])
def test_a_source_distribution_contains_only_the_package(wheelhouse, tmp_path, name):
    project = unpack(source_of(wheelhouse, name), tmp_path)
    expected = {
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "hatch_build.py",
        "pyproject.toml",
        "src",
        ".gitignore",
    }
    assert {path.name for path in project.iterdir()} <= expected


def test_packages_of_tools_depend_only_on_the_core(wheelhouse):
    for name in ("tools-filesystem", "tools-shell"):
        requirements = metadata(wheel_of(wheelhouse, name)).get_all("Requires-Dist")
        assert [requirement for requirement in requirements if "extra ==" not in requirement] == ["tools-core>=0.1"]


# Installing


def test_installing_tools_core_installs_one_distribution(install):
    listed = install("tools-core").pip("list", "--format=json").stdout
    assert json.loads(listed) == [{"name": "tools-core", "version": "0.1.0"}]


def install_command(page):
    """Return the arguments of the first `pip install` of a page."""
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", "")
    return shlex.split(re.search(r"^pip install ((?:-r|\.)[^#\n]*)", text, re.MULTILINE)[1])


# These run with the user's settings of pip and uv, since dependencies come from the index.
@pytest.mark.parametrize("page", ["README.md", "packages/tools-testing/README.md"])
def test_the_pip_command_of_a_page_installs_from_source(environment, page):
    pip = [sys.executable, "-m", "pip", "--python", environment.interpreter, "install", "--quiet"]
    subprocess.run([*pip, *install_command(page)], cwd=ROOT, check=True)
    assert environment.ask_tools("list", "--json").returncode == 0


def test_the_uv_command_of_the_readme_installs_copies_from_source(environment):
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if uv is None:
        pytest.skip("uv is not installed")
    command = [uv, "pip", "install", "--quiet", "--python", environment.interpreter]
    subprocess.run([*command, *install_command("README.md")], cwd=ROOT, check=True)
    assert environment.ask_tools("run", "--help").returncode == 0
    sources = [path.read_text(encoding="utf-8") for path in environment.site_packages().glob("*/direct_url.json")]
    assert len(sources) > 10
    assert [source for source in sources if '"editable":true' in source.replace(" ", "")] == []


def test_an_editable_install_imports_core_and_scaffold_from_the_checkout(environment):
    environment.copy_distribution("hatchling")
    environment.pip("install", "--no-index", "--no-build-isolation", "--editable", ROOT / "tools-core")
    code = "import tools_core, tools_scaffold; print(tools_core.__file__); print(tools_scaffold.__file__)"
    assert environment.python("-c", code).stdout.splitlines() == [
        str(ROOT / "tools-core" / "src" / "tools_core" / "__init__.py"),
        str(ROOT / "scaffold" / "src" / "tools_scaffold" / "__init__.py"),
    ]
    assert environment.ask_tools("--version").stdout == "ask-tools 0.1.0\n"


def test_the_meta_package_installs_the_everyday_tools(install):
    environment = install("ask-tools")
    names = names_in(environment.ask_tools("list", "--json"))
    assert {"bash", "python", "job_start"} <= set(names)
    assert {"read_file", "write_file", "edit_file", "apply_patch", "grep", "glob"} <= set(names)
    assert len(names) == 17


def test_python_m_tools_core_is_the_command(install):
    environment = install("ask-tools")
    by_module = environment.python("-m", "tools_core", "list", "--json")
    assert by_module.stdout == environment.ask_tools("list", "--json").stdout


def test_an_installed_tool_reads_a_file_of_the_workspace(install, tmp_path):
    (tmp_path / "notes.txt").write_text("buy milk\n", encoding="utf-8")
    process = install("ask-tools").ask_tools("call", "read_file", "path=notes.txt", cwd=tmp_path)
    assert "buy milk" in process.stdout


def test_uninstalling_a_package_removes_its_tools(install):
    environment = install("tools-filesystem")
    environment.pip("uninstall", "--yes", "tools-filesystem")
    assert names_in(environment.ask_tools("list", "--json")) == []


# A generated package; tools-core is the only dependency


@pytest.fixture
def generated(install, tmp_path):
    """Return the folder that `ask-tools new mytool` creates, and the environment, which only has tools-core."""
    environment = install("tools-core")
    place = tmp_path / "place"
    place.mkdir()
    environment.ask_tools("new", "mytool", cwd=place)
    return next(place.glob("*/pyproject.toml")).parent, environment


def entry_points(project):
    described = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    return described["project"]["entry-points"]["ask_tools.tools"]


def test_the_tools_of_an_installed_new_package_are_listed(generated, tmp_path):
    project, environment = generated
    wheel = build_wheel(project, tmp_path / "built")
    environment.pip("install", "--no-index", wheel)
    assert names_in(environment.ask_tools("list", "--json")) == sorted(entry_points(project))
    assert environment.ask_tools("doctor").returncode == 0


def test_a_new_tool_can_be_called_from_the_shell_and_from_python(generated, tmp_path):
    project, environment = generated
    environment.pip("install", "--no-index", build_wheel(project, tmp_path / "built"))
    name = next(iter(entry_points(project)))
    definition = environment.ask_tools("show", name, "--json").stdout
    arguments = sample(json.loads(definition)["input_schema"])
    process = environment.ask_tools("call", name, "--json", "--args", json_file(tmp_path, arguments))
    assert json.loads(process.stdout)["ok"] is True
    code = "from tools_core import registry; registry.discover(); "
    code += f"print(registry[{name!r}].call({arguments!r}).ok)"
    assert environment.python("-c", code).stdout == "True\n"


def test_a_new_package_passes_its_own_tests(generated, tmp_path):
    project, environment = generated
    environment.pip("install", "--no-index", build_wheel(project, tmp_path / "built"))
    environment.copy_distribution("pytest")
    outcome = environment.python("-m", "pytest", cwd=project).stdout
    assert " passed" in outcome
    assert "skipped" not in outcome.replace("1 skipped", "")  # without tools-testing, its contract
    assert "warning" not in outcome


def test_a_new_package_contains_no_leftovers(generated):
    project, _ = generated
    files = [path for path in project.rglob("*") if path.is_file()]
    assert [path for path in files if "__pycache__" in path.parts or path.suffix == ".pyc"] == []
    assert [path for path in files if "example" in path.name and "mytool" not in path.name] == []


def test_a_new_package_can_be_installed_in_editable_mode(generated):
    project, environment = generated
    environment.copy_distribution("hatchling")
    environment.copy_distribution("editables")
    environment.pip("install", "--no-index", "--no-build-isolation", "--editable", project)
    assert names_in(environment.ask_tools("list", "--json")) == sorted(entry_points(project))


def json_file(folder, value):
    path = folder / "arguments.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def sample(schema):
    """Return simple arguments for the required properties of a schema."""
    values = {"string": "Oslo", "integer": 2, "number": 1.5, "boolean": True, "array": [], "object": {}}
    required = {name: schema["properties"][name] for name in schema.get("required", ())}
    return {
        name: schema["enum"][0] if "enum" in schema else values[schema["type"]] for name, schema in required.items()
    }


# A broken package does not hide the others


@pytest.fixture(params=[RAISES, EXITS, HANGS], ids=["raises", "exits", "hangs"])
def with_a_bad_package(request, install, package):
    """An environment with a good package and one that cannot be imported."""
    good = package("tools-good", GOOD, {"good": "good"})
    bad = package("tools-bad", request.param, {"bad": "bad"})
    return install("tools-core", good, bad)


@pytest.mark.parametrize("source", [RAISES, EXITS], ids=["raises", "exits"])
def test_list_shows_tools_of_packages_that_cannot_be_imported(install, package, source):
    good = package("tools-good", GOOD, {"good": "good"})
    environment = install("tools-core", good, package("tools-bad", source, {"bad": "bad"}))
    assert names_in(environment.ask_tools("list", "--json")) == ["bad", "good"]


def test_tools_can_be_called_despite_a_broken_package(with_a_bad_package):
    assert with_a_bad_package.ask_tools("call", "good", "text=still here").stdout == "still here\n"


@pytest.mark.parametrize("words", [["--version"], ["--help"], [], ["show", "good"], ["new", "other", "--dry-run"]])
def test_the_command_works_despite_a_broken_package(with_a_bad_package, words):
    assert with_a_bad_package.ask_tools(*words).stdout


def test_doctor_names_a_package_that_cannot_be_imported(with_a_bad_package):
    report = with_a_bad_package.ask_tools("doctor", check=False)
    assert report.returncode == 1
    assert "tools-bad" in report.stdout + report.stderr


@pytest.mark.parametrize("source", [RAISES, EXITS], ids=["raises", "exits"])
def test_a_call_names_the_package_that_cannot_be_imported(install, package, source):
    environment = install("tools-core", package("tools-bad", source, {"bad": "bad"}))
    process = environment.ask_tools("call", "bad", check=False)
    assert process.returncode == 1
    assert "tools-bad" in process.stdout + process.stderr
    assert "Traceback" not in process.stderr


@pytest.fixture
def with_one_name_twice(install, package):
    """An environment with two packages that have a tool called `same`."""
    first = package("tools-first", NAMED.replace("{name}", "first"), {"same": "same"})
    second = package("tools-second", NAMED.replace("{name}", "second"), {"same": "same"})
    good = package("tools-good", GOOD, {"good": "good"})
    return install("tools-core", first, second, good)


def test_a_call_of_an_ambiguous_name_names_both_packages(with_one_name_twice):
    process = with_one_name_twice.ask_tools("call", "same", "text=x", check=False)
    assert process.returncode != 0
    assert "tools-first:same" in process.stderr
    assert "tools-second:same" in process.stderr


@pytest.mark.parametrize("name", ["first", "second"])
def test_an_ambiguous_tool_can_be_called_by_its_full_name(with_one_name_twice, name):
    assert with_one_name_twice.ask_tools("call", f"tools-{name}:same", "text=x").stdout == f"{name}: x\n"


def test_an_ambiguous_name_hides_no_other_tool(with_one_name_twice):
    assert with_one_name_twice.ask_tools("call", "good", "text=x").stdout == "x\n"
    assert "good" in names_in(with_one_name_twice.ask_tools("list", "--json"))
