"""`ask-tools update`: a newer template comes into a package, and nothing of its author's is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tools_scaffold
from tools_scaffold import ScaffoldError, new_package, plan_update
from tools_scaffold._merge import merge

Tree = Callable[[Path], dict[str, Any]]
Update = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scaffold of tomorrow: a second template, and the first one in the archive, as the source says how."""
    site = tmp_path_factory.mktemp("newer")
    package = site / "tools_scaffold"
    shutil.copytree(Path(tools_scaffold.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    template = package / "template"
    (package / "history").mkdir()
    command = [sys.executable, "-m", "zipfile", "-c", str(package / "history/1.zip"), f"{template}/."]
    subprocess.run(command, check=True)
    source = package / "_template.py"
    text = source.read_text(encoding="utf-8").replace("VERSION = 1\n", "VERSION = 2\n")
    source.write_text(text, encoding="utf-8")
    (template / "common/docs/publish.md").unlink()
    (template / "common/NEWS.md").write_text("# News of tools-example\n", encoding="utf-8")
    change(template / "common/.gitignore", ".coverage\n", ".coverage\n.new_cache/\n")
    change(template / "common/CHANGELOG.md", "# Changelog\n", "# Changes\n")
    change(template / "common/_pyproject.toml", '"pytest>=8.3"', '"pytest>=9"')
    change(template / "common/_pyproject.toml", "[tool.ruff]\n", '[tool.codespell]\nskip = "x"\n\n[tool.ruff]\n')
    change(template / "common/.pre-commit-config.yaml", "rev: v6.0.0", "rev: v7.0.0")
    return site


def change(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new).encode())


@pytest.fixture
def update(program: str) -> Update:
    def update(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        start = f"import sys; sys.path.insert(0, {str(site)!r})\n"
        return subprocess.run(
            [sys.executable, "-c", start + program, "tools_scaffold._update_command", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    return update


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return new_package("weather", into=tmp_path, author="Ada").folder


def test_an_old_package_becomes_what_the_new_template_makes(
    package: Path, newer: Path, update: Update, tmp_path: Path, tree: Tree
) -> None:
    ended = update(newer, package, "--yes", "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    said = json.loads(ended.stdout)
    assert said["made"] is True
    assert said["template"] == {"old": 1, "new": 2}
    assert said["files"] == {
        ".gitignore": "replaced",
        ".pre-commit-config.yaml": "replaced",
        "CHANGELOG.md": "replaced",
        "NEWS.md": "created",
        "docs/publish.md": "dropped",
        "pyproject.toml": "replaced",
    }
    (tmp_path / "fresh").mkdir()
    make = f"import sys; sys.path.insert(0, {str(newer)!r})\nfrom tools_scaffold import new_package\n"
    make += f"new_package('weather', into={str(tmp_path / 'fresh')!r}, author='Ada')"
    subprocess.run([sys.executable, "-c", make], check=True)
    fresh = tree(tmp_path / "fresh/tools-weather")
    kept = {"docs": None, "docs/publish.md": (package / "docs/publish.md").read_bytes()}
    assert tree(package) == fresh | kept
    assert "the newest: nothing to do" in update(newer, package).stdout


def test_without_a_yes_the_difference_is_shown_and_nothing_written(
    package: Path, newer: Path, update: Update, tree: Tree
) -> None:
    before = tree(package)
    for words in ([], ["--dry-run"], ["--dry-run", "--yes"]):
        ended = update(newer, package, *words)
        assert ended.returncode == 0
        assert "--- a/.gitignore\n+++ b/.gitignore\n" in ended.stdout
        assert "+.new_cache/\n" in ended.stdout
        assert "--- /dev/null\n+++ b/NEWS.md\n" in ended.stdout
        assert "nothing was written; --yes writes it" in ended.stdout
    assert tree(package) == before


def test_changes_of_the_author_s_are_kept_merged_or_left_beside(package: Path, newer: Path, update: Update) -> None:
    change(package / "pyproject.toml", 'version = "0.1.0"', 'version = "3.0"  # mine')  # merges
    change(package / "CHANGELOG.md", "# Changelog\n", "# Log\n")  # where the template changed it, too
    (package / ".gitignore").unlink()
    (package / "NEWS.md").write_text("mine", encoding="utf-8")
    change(package / "README.md", "## Use", "## How to use it")  # the template did not touch it
    (package / ".pre-commit-config.yaml").write_bytes(b"# \xff\n")  # no text to merge
    said = json.loads(update(newer, package, "--yes", "--json").stdout)
    assert said["files"] == {
        ".gitignore": "removed",
        ".pre-commit-config.yaml": "beside",
        "CHANGELOG.md": "beside",
        "NEWS.md": "beside",
        "docs/publish.md": "dropped",
        "pyproject.toml": "merged",
    }
    project = (package / "pyproject.toml").read_text(encoding="utf-8")
    assert 'version = "3.0"  # mine' in project
    assert '"pytest>=9"' in project
    assert (package / "CHANGELOG.md").read_text(encoding="utf-8").startswith("# Log\n")
    assert (package / "CHANGELOG.md.new").read_text(encoding="utf-8").startswith("# Changes\n")
    assert (package / "NEWS.md").read_text(encoding="utf-8") == "mine"
    assert (package / ".pre-commit-config.yaml").read_bytes() == b"# \xff\n"
    assert "How to use it" in (package / "README.md").read_text(encoding="utf-8")
    assert not (package / ".gitignore").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")
def test_on_a_terminal_it_shows_the_difference_and_asks(
    package: Path, newer: Path, tree: Tree, converse: Callable[..., tuple[int, str]]
) -> None:
    before = tree(package)
    code, seen = converse(package, "no\n", "tools_scaffold._update_command", site=newer)
    assert (code, tree(package)) == (0, before)
    assert seen.index("+.new_cache/\n") < seen.index("Write this? (yes or no) [no]: ")
    code, seen = converse(package, "yes\n", "tools_scaffold._update_command", site=newer)
    assert (code, (package / "NEWS.md").exists()) == (0, True)
    assert seen.count("+.new_cache/\n") == 1


def test_lines_go_on_ending_as_they_did(package: Path, newer: Path, update: Update) -> None:
    path = package / ".gitignore"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    update(newer, package, "--yes")
    assert path.read_bytes().endswith(b".coverage\r\n.new_cache/\r\n")


def test_what_lies_beside_from_an_earlier_update_is_never_overwritten(
    package: Path, newer: Path, update: Update, tree: Tree
) -> None:
    change(package / "CHANGELOG.md", "# Changelog\n", "# Log\n")
    (package / "CHANGELOG.md.new").write_text("half merged", encoding="utf-8")
    before = tree(package)
    ended = update(newer, package, "--yes")
    assert ended.returncode == 2
    assert "'CHANGELOG.md.new' is there from an earlier update" in ended.stderr
    assert tree(package) == before


def test_a_merge_that_is_no_toml_any_more_lies_beside(package: Path, newer: Path, update: Update) -> None:
    change(package / "pyproject.toml", "[project]\n", '[tool.codespell]\nskip = "mine"\n\n[project]\n')
    said = json.loads(update(newer, package, "--yes", "--json").stdout)
    assert said["files"]["pyproject.toml"] == "beside"
    assert 'skip = "mine"' in (package / "pyproject.toml").read_text(encoding="utf-8")


def test_a_package_of_the_present_template_is_left_alone(package: Path, tree: Tree) -> None:
    (package / "README.md").write_text("mine", encoding="utf-8")
    before = tree(package)
    found = plan_update(package)
    found.write()
    assert (found.steps, tree(package)) == ([], before)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("version = 1\n", "version = 99\n", "pip install --upgrade tools-core"),
        ("version = 1\n", "version = 0\n", "there is no template 0"),
        ("version = 1\n", 'version = "1"\n', "ask-tools new did not make it"),
        ("[tool.ask-tools.template]", "[tool.mine]", "ask-tools new did not make it"),
        ('style = "function"', "style = 7", "style = '7' in .tool.ask-tools.template. cannot be read"),
        ('style = "function"', 'style = "../x"', "is none of function"),
        ("year = 2026\n", "", "needs name and year"),
    ],
)
def test_a_record_that_cannot_be_followed_is_refused(package: Path, old: str, new: str, problem: str) -> None:
    path = package / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    year = next(line for line in text.splitlines() if line.startswith("year = "))
    path.write_text(text.replace(year, "year = 2026").replace(old, new), encoding="utf-8")
    with pytest.raises(ScaffoldError, match=problem):
        plan_update(package)


def test_the_archive_has_the_template_as_it_was(newer: Path) -> None:
    with zipfile.ZipFile(newer / "tools_scaffold/history/1.zip") as archive:
        assert b"# Changelog" in archive.read("common/CHANGELOG.md")


lines = st.lists(st.sampled_from("abcde"), max_size=12).map(lambda signs: "".join(f"{sign}\n" for sign in signs))


@given(lines, lines)
def test_one_side_s_changes_alone_are_taken_whole(base: str, changed: str) -> None:
    assert merge(base, changed, base) == changed
    assert merge(base, base, changed) == changed
    assert merge(base, changed, changed) == changed


@given(lines, lines, lines)
def test_a_merge_takes_no_side_and_loses_no_line(base: str, ours: str, theirs: str) -> None:
    merged = merge(base, ours, theirs)
    assert merged == merge(base, theirs, ours)
    if merged is not None:
        for sign in "abcde":
            added = max(ours.count(sign), theirs.count(sign)) - base.count(sign)
            assert merged.count(sign) >= added


def test_changes_in_different_places_are_merged_and_in_the_same_place_are_not() -> None:
    base = "1\n2\n3\n4\n5\n"
    assert merge(base, base.replace("1", "one"), base.replace("5", "five")) == "one\n2\n3\n4\nfive\n"
    assert merge(base, base.replace("3", "three"), base.replace("3", "III")) is None
