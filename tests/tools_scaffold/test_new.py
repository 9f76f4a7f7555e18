"""`plan_package`: the content and the folder of a new package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_scaffold import ScaffoldError, plan_package

REPOSITORY_FILES = [
    ".github/dependabot.yml",
    ".github/workflows/ci.yml",
    ".github/workflows/publish.yml",
    ".pre-commit-config.yaml",
]
PACKAGE_FILES = [
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "evals/weather.toml",
    "pyproject.toml",
    "src/tools_weather/__init__.py",
    "src/tools_weather/_weather.py",
    "src/tools_weather/py.typed",
    "tests/test_contract.py",
    "tests/test_weather.py",
]


def project(plan):
    return tomllib.loads(plan.files["pyproject.toml"])["project"]


def test_a_plan_writes_exactly_its_files(tmp_path, tree):
    plan = plan_package("weather", into=tmp_path)
    assert tree(tmp_path) == {}
    plan.write()
    assert tree(tmp_path) == {f"tools-weather/{path}": text.encode() for path, text in plan.files.items()}
    assert sorted(plan.files) == sorted([*REPOSITORY_FILES, *PACKAGE_FILES, "docs/publish.md"])


@pytest.mark.parametrize("style", ["function", "class", "toolset"])
def test_all_placeholders_are_replaced(tmp_path, style):
    for path, text in plan_package("weather", into=tmp_path, style=style).files.items():
        assert not re.search(r"\$\{?[a-z]", text.replace("$GITHUB_REF_NAME", "").replace("$version", "")), path


def test_a_new_tool_does_not_claim_to_be_read_only(tmp_path):
    for style in ("function", "class"):
        plan = plan_package("weather", into=tmp_path, style=style)
        assert "read_only" not in plan.files["src/tools_weather/_weather.py"]


@pytest.mark.parametrize("ci", [True, False])
def test_workflows_are_omitted_in_a_git_repository_or_without_ci(tmp_path, ci):
    if ci:
        (tmp_path / ".git").mkdir()
    plan = plan_package("weather", into=tmp_path, ci=ci)
    assert sorted(plan.files) == PACKAGE_FILES
    assert "publish" not in plan.files["README.md"]


@pytest.mark.parametrize("terms", ["MIT", "Apache-2.0", "BSD-3-Clause", "GPL-3.0-or-later", "ISC", "MPL-2.0"])
def test_a_licence_is_named_and_its_text_included(tmp_path, terms):
    plan = plan_package("weather", into=tmp_path, license=terms, author="Ada")
    assert project(plan)["license"] == terms
    assert f"{terms}, see [LICENSE](LICENSE)." in plan.files["README.md"]
    assert len(plan.files["LICENSE"]) > 700
    assert ("Ada\n" in plan.files["LICENSE"]) is (terms in {"MIT", "BSD-3-Clause", "ISC"})


def test_without_a_licence_the_package_cannot_be_uploaded_by_mistake(tmp_path):
    plan = plan_package("weather", into=tmp_path, license="none")
    assert "Private :: Do Not Upload" in project(plan)["classifiers"]
    assert "license" not in project(plan)
    assert "LICENSE" not in plan.files


def test_author_address_description_and_url_are_in_the_metadata(tmp_path):
    plan = plan_package(
        "weather",
        into=tmp_path,
        author="Zoë O'Neil <zoe@example.org>",
        url="https://example.org/?a=b#c",
        description="It's raining.",
    )
    assert project(plan)["authors"] == [{"name": "Zoë O'Neil", "email": "zoe@example.org"}]
    assert project(plan)["urls"] == {"Homepage": "https://example.org/?a=b#c"}
    assert project(plan)["description"] == "It's raining."
    assert plan.files["README.md"].splitlines()[2] == "It's raining."
    assert '"""It\'s raining."""' in plan.files["src/tools_weather/_weather.py"]


line = st.text(
    st.characters(exclude_categories=("C", "Z"), exclude_characters="<>", include_characters=" "), max_size=99
)


@given(line.filter(str.strip), line.filter(str.strip))
def test_every_description_and_author_is_in_the_metadata(description, author):
    plan = plan_package("weather", into=Path(__file__).parent, description=description, author=author)
    assert project(plan)["description"] == description
    assert project(plan)["authors"] == [{"name": author}]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('[user]\nname = Ada\nemail = "ada@example.org"', {"authors": [{"name": "Ada", "email": "ada@example.org"}]}),
        ("[user]\nname = Ada", {"authors": [{"name": "Ada"}]}),
        ("", {"authors": [{"name": "The tools-weather authors"}], "urls": None}),
        ('[remote "origin"]\nurl = git@example.org:ada/x.git', {"urls": {"Homepage": "https://example.org/ada/x"}}),
        ('[remote "origin"]\nurl = https://a:secret@example.org/x', {"urls": {"Homepage": "https://example.org/x"}}),
        ('[remote "origin"]\nurl = /srv/x', {"urls": None}),
    ],
)
def test_author_and_url_default_to_git_settings_without_passwords(tmp_path, monkeypatch, config, expected):
    path = tmp_path / "config"
    path.write_text(config)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    metadata = project(plan_package("weather", into=tmp_path))
    assert {key: metadata.get(key) for key in expected} == expected


def test_author_has_a_default_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert project(plan_package("weather", into=tmp_path))["authors"] == [{"name": "The tools-weather authors"}]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"style": "klass"}, "--style 'klass' is not one of function, class, toolset"),
        ({"license": "GPL"}, "--license 'GPL' is not one of MIT"),
        ({"url": "example.org"}, "--url 'example.org' is not an address"),
        ({"author": "Ada\nx"}, "--author must be one printable line"),
        ({"description": "two\nlines"}, "--description must be one printable line"),
        ({"into": "missing"}, "'missing' is not a folder"),
    ],
)
def test_an_invalid_option_is_refused(tmp_path, monkeypatch, options, problem):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScaffoldError, match=re.escape(problem)):
        plan_package("weather", **options)


def test_an_existing_folder_is_refused(package, tree):
    before = tree(package)
    with pytest.raises(ScaffoldError, match="exists; choose another name or --dir"):
        plan_package("weather", into=package.parent)
    assert tree(package) == before


def test_a_repository_can_configure_the_folder_for_packages(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.ask-tools]\npackages = "packages"\n')
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    plan = plan_package("weather")
    plan.write()
    assert (tmp_path / "packages/tools-weather/pyproject.toml").is_file()


def test_a_nested_repository_ignores_the_configuration_of_the_outer_one(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.ask-tools]\npackages = "packages"\n')
    (tmp_path / "inner/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "inner")
    assert plan_package("weather").folder == tmp_path / "inner/tools-weather"


def test_no_file_has_the_path_of_this_machine(tmp_path, monkeypatch):
    """A repository is cloned elsewhere, and its `pyproject.toml` is published."""
    metadata = tmp_path / "site/tools_core-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tools-core\nVersion: 0.1.0\n")
    url = (tmp_path / "checkout/tools-core").as_uri()
    (metadata / "direct_url.json").write_text(json.dumps({"url": url, "dir_info": {"editable": True}}))
    monkeypatch.syspath_prepend(metadata.parent)
    monkeypatch.chdir(tmp_path)
    for style in ("function", "class", "toolset"):
        for path, text in plan_package("weather", into=tmp_path, style=style).files.items():
            assert str(tmp_path) not in text, path
            assert not re.search(r"(?<![\w.:/])/(home|root|tmp|usr|work)/", text), path


FULL_DISK = """
import resource, signal, sys
from tools_scaffold import plan_package, plan_tool
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
plan = plan_package("forecast", into=sys.argv[1]) if sys.argv[2] == "new" else plan_tool("forecast", into=sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
plan.write()
"""


@pytest.mark.skipif(os.name == "nt", reason="needs the file size limit of POSIX")
@pytest.mark.parametrize("command", ["new", "add"])
def test_a_full_disk_leaves_the_files_unchanged(package, tree, command):
    folder = package.parent if command == "new" else package
    before = tree(folder)
    process = subprocess.run(
        [sys.executable, "-B", "-c", FULL_DISK, folder, command], capture_output=True, text=True, check=False
    )
    assert "nothing was changed" in process.stderr
    assert tree(folder) == before
