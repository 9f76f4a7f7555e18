"""Rules for all source files, checked without running them."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.metadata
import re
import statistics
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tools_core import registry

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    ROOT / "tools-core/src",
    ROOT / "scaffold/src",
    ROOT / "tools-filesystem/src",
    ROOT / "tools-shell/src",
]
SOURCES += sorted(ROOT.glob("packages/*/src"))
MODULES = sorted(path for source in SOURCES for path in source.rglob("*.py"))
STDLIB_ONLY = [path for path in MODULES if {"tools_core", "tools_scaffold"} & set(path.parts)]
PUBLIC_MODULES = {
    "tools_adapters.rigging",
    "tools_agent.approval",  # for programs whose sessions remember answers
    "tools_agent.delegation",  # for tools whose calls run other calls
    "tools_core.command",  # for packages that add sub-commands
    "tools_core.files",  # for tools that change files
    "tools_core.formats",
    "tools_core.linux",  # for packages that start or confine processes
    "tools_core.schema",
    "tools_core.text",  # for code that asks, prints or logs
    "tools_core.threads",  # for code that runs calls
    "tools_core.variables",  # for code that judges commands
    "tools_runtime.approval",  # for programs that ask a person
    "tools_runtime.hookspecs",
    "tools_runtime.plugins",
    "tools_runtime.search",
    "tools_runtime.remote",  # for runtimes in other packages
}  # what users import by module; every other module is underscored
STDLIB = sys.stdlib_module_names | {"annotationlib", "compression"}  # the two came with Python 3.14
POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
LONGEST_MODULE = 400
OVERSIZED: set[str] = set()  # modules that are longer; this list only shrinks
NO_CHECKOUT = "only on a checkout: git does not know this folder"


def name_of(path):
    """`tools_core._jsonschema` for tools-core/src/tools_core/_jsonschema/__init__.py."""
    source = next(source for source in SOURCES if path.is_relative_to(source))
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(nodes):
    """The top-level packages that the nodes import, literal `import_module` and `__import__` included."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module.partition(".")[0]


def run_at_import(node):
    """Every node below `node` that runs when the module is imported: all but the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from run_at_import(child)


def test_the_core_and_the_scaffold_import_the_standard_library_alone():
    imports = {name_of(path): set(imported(ast.walk(ast.parse(path.read_bytes())))) for path in STDLIB_ONLY}
    foreign = {name: packages - STDLIB - {"tools_core", "tools_scaffold"} for name, packages in imports.items()}
    assert {name: packages for name, packages in foreign.items() if packages} == {}


def test_the_core_and_the_scaffold_import_on_every_system():
    imports = {name_of(path): set(imported(run_at_import(ast.parse(path.read_bytes())))) for path in STDLIB_ONLY}
    assert {name: packages & POSIX_ONLY for name, packages in imports.items() if packages & POSIX_ONLY} == {}


def test_the_contracts_of_direction_know_every_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    packages = {folder.name for source in SOURCES for folder in source.iterdir() if (folder / "__init__.py").is_file()}
    named = set(settings["root_packages"])
    assert named <= packages
    # A package that `ask-tools new` has just made needs no contract, as long as it keeps to itself.
    needs = {name_of(path): set(imported(ast.walk(ast.parse(path.read_bytes())))) & packages for path in MODULES}
    for package in packages - named:
        users = {module for module, needed in needs.items() if package in needed | {module.partition(".")[0]}}
        assert {module.partition(".")[0] for module in users} == {package}, "name it in root_packages"
        assert set().union(*(needs[module] for module in users)) <= {package, "tools_core"}


def test_modules_are_small():
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name for name, count in lines.items() if count > LONGEST_MODULE} == OVERSIZED
    assert statistics.median(lines.values()) <= 120


def test_modules_are_underscored_unless_users_import_them():
    inner = {name: name.split(".")[1:] for name in map(name_of, MODULES)}
    public = {name for name, parts in inner.items() if parts and not any(part.startswith("_") for part in parts)}
    assert public <= PUBLIC_MODULES


@pytest.mark.parametrize("name", sorted({name_of(path).partition(".")[0] for path in MODULES}))
def test_the_public_names_of_a_package_are_sorted_and_complete(name):
    package = importlib.import_module(name)
    exported = list(package.__all__)
    assert exported == sorted(set(exported))
    for public in exported:
        with contextlib.suppress(ImportError):  # of an adapter, whose framework is not installed here
            assert hasattr(package, public)
    present = {key for key, value in vars(package).items() if not isinstance(value, types.ModuleType)}
    public = {key for key in present if not key.startswith("_")} - {"annotations", "TYPE_CHECKING"}
    assert public <= set(exported)


def test_the_core_has_few_public_names():
    assert len(importlib.import_module("tools_core").__all__) <= 29


def test_every_package_says_that_it_is_typed():
    folders = {source / name_of(path).partition(".")[0] for source in SOURCES for path in source.rglob("__init__.py")}
    folders = {folder for folder in folders if folder.is_dir()}
    assert [str(folder) for folder in folders if not (folder / "py.typed").is_file()] == []


def test_each_parameter_of_a_shipped_tool_has_a_type_or_alternatives():
    shipped = [name for name in registry if registry.origin(name).distribution.startswith("tools-")]
    assert len(shipped) >= 17
    for name in shipped:  # some clients reject lists of types, and parameters that accept anything
        for parameter, schema in registry[name].definition["input_schema"].get("properties", {}).items():
            assert isinstance(schema.get("type"), str) or "anyOf" in schema, f"{name}: {parameter}"


@pytest.mark.parametrize("project", [source.parent for source in SOURCES], ids=lambda project: project.name)
def test_a_package_has_readme_changelog_and_licence(project):
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 120
    assert "## 0.1.0" in (project / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "MIT License" in (project / "LICENSE").read_text(encoding="utf-8")


# Text that no file may contain


@pytest.fixture(scope="module")
def texts():
    """Every file that git tracks, or would track, by its path."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(NO_CHECKOUT)
    paths = [ROOT / name for name in listed.split("\0") if name]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths if path.is_file()}


def test_no_file_names_the_host_of_a_package_registry(texts):
    hosts = [
        ("pypi", "org"),
        ("python" + "hosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("rubygems", "org"),
    ]
    needles = re.compile(rb"|".join(re.escape(".".join(host).encode()) for host in hosts), re.IGNORECASE)
    assert {name: needles.findall(text) for name, text in texts.items() if needles.search(text)} == {}


def test_no_file_names_a_path_of_this_machine(texts):
    everywhere = {Path("/"), Path("/root"), Path("/usr"), Path("/usr/local")}  # they say nothing of this one
    places = {ROOT, Path.home(), Path(sys.prefix), Path(sys.base_prefix)} - everywhere
    needles = [f"{place}/".encode() for place in places]
    paths = {name: [needle for needle in needles if needle in text] for name, text in texts.items()}
    assert {name: needles for name, needles in paths.items() if needles} == {}


def test_constraints_are_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", pin)] == []
    assert pins == sorted(pins)


@pytest.mark.slow  # whose environment has all groups of dependencies
def test_pinned_versions_run_on_the_first_python_3_11():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {line.partition("==")[0] for line in lines}
    installed = [d for d in importlib.metadata.distributions() if d.name.lower().replace("_", "-") in pins]
    needs = {d.name: d.metadata.get("Requires-Python") or "" for d in installed}
    assert len(needs) > 20
    assert {name: versions for name, versions in needs.items() if "3.11.0" not in SpecifierSet(versions)} == {}


def test_the_page_about_the_walks_of_a_call_names_modules_that_exist():
    page = (ROOT / "docs/explanation/walks.md").read_text(encoding="utf-8")
    modules = re.findall(r"`(\w+(?:/\w+)*\.py)`", page)
    assert len(modules) > 15
    folders = [ROOT / "tools-core/src/tools_core", ROOT / "tools-core/src/tools_core/_registry"]
    missing = [name for name in modules if not any((folder / name).is_file() for folder in folders)]
    assert missing == []
