"""`make release` finds what must not be released, and pins, renames and describes what it builds."""

from __future__ import annotations

import email
import re
import shutil
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def release(tmp_path, monkeypatch):
    """The program, whose folders are the test's."""
    spec = spec_from_file_location("release", ROOT / ".ci/release.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("WORK", "DIST"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.setattr(module, name, folder)
    return module


@pytest.fixture
def source(tmp_path):
    """A copy of some sources, as if they were the last commit."""
    folder = tmp_path / "source"
    (folder / "packages").mkdir(parents=True)
    left = shutil.ignore_patterns("__pycache__", ".*")
    for name in ("tools-core", "scaffold", "packages/tools-runtime"):
        shutil.copytree(ROOT / name, folder / name, ignore=left)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["tools-", "ask-tools-"])
def test_a_release_requires_exact_versions_under_the_released_names(release, source, monkeypatch, prefix):
    monkeypatch.setattr(release, "PREFIX", prefix)
    projects = list(release.find_projects(source))
    assert [project.name for project in projects] == [f"{prefix}core", f"{prefix}runtime", "ask-tools"]
    release.pin(source, projects)
    for project in projects:
        release.build(source, project)
    with zipfile.ZipFile(release.wheel_of(projects[1])) as wheel:
        (place,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        metadata = email.message_from_bytes(wheel.read(place))
    assert f"{prefix}core==0.1.0" in metadata.get_all("Requires-Dist")
    for project in projects:
        with zipfile.ZipFile(release.wheel_of(project)) as wheel:
            texts = [wheel.read(name).decode(errors="replace") for name in wheel.namelist()]
        names = {match[0] for text in texts for match in re.finditer(r"(?<![\w/.-])(ask-)?tools-core(?![\w-])", text)}
        assert names == {f"{prefix}core"}
    assert "](../" not in metadata.get_payload()
    monkeypatch.setattr(release, "run", lambda *_words, **_options: "")  # `make release` runs twine and others
    release.check(source, projects)


@pytest.mark.parametrize("name", ["data.sqlite3", "src/tools_runtime/notes.csv", ".env"])
def test_the_check_finds_files_outside_the_commit(release, source, name):
    projects = {project.folder: project for project in release.find_projects(source)}
    project = projects["packages/tools-runtime"]
    names = ["LICENSE", "PKG-INFO", "src/tools_runtime/__init__.py"]
    assert list(release.foreign(source, project, names)) == []
    assert list(release.foreign(source, project, [*names, name])) == [f"{name} is not a file of the commit"]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("License-Expression", "GPL-3.0-only", "the wheel has no MIT licence"),
        ("Requires-Python", ">=3.9", "it requires Python >=3.9"),
        ("Requires-Dist", "tools-core>=0.1", "it requires tools-core>=0.1 instead of exactly 0.1.0"),
        ("Requires-Dist", "tools-core[all]==0.2", "it requires tools-core[all]==0.2 instead of exactly 0.1.0"),
    ],
)
def test_the_check_finds_wrong_metadata(release, source, field, value, problem):
    metadata = email.message_from_string("License-Expression: MIT\nRequires-Python: >=3.11\nRequires-Dist: httpx>=1\n")
    projects, names = list(release.find_projects(source)), ["x.dist-info/licenses/LICENSE"]
    assert list(release.wrong(metadata, names, projects)) == []
    if field != "Requires-Dist":
        del metadata[field]
    metadata[field] = value
    assert list(release.wrong(metadata, names, projects)) == [problem]


def test_links_of_a_readme_lead_to_the_tag_of_the_release(release):
    text = "[a](../../docs/agent.md#runs), [b](#here), [c](https://example.org/x), ![d](picture.svg)"
    assert release.with_absolute_links(text, "packages/tools-agent/README.md", "1.2.0") == (
        f"[a]({release.SOURCE}/v1.2.0/docs/agent.md#runs), [b](#here), [c](https://example.org/x), "
        f"![d]({release.SOURCE}/v1.2.0/packages/tools-agent/picture.svg)"
    )


def test_the_notes_are_the_sections_of_the_released_versions(release, source, capsys):
    changelog = source / "packages/tools-runtime/CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## 0.1.0 - 2026-12-01\n\n- New.\n\n## 0.0.9 - 2026-11-01\n\n- Old.\n")
    projects = list(release.find_projects(source))
    notes = release.notes(source, projects)
    assert "## tools-runtime 0.1.0 - 2026-12-01\n\n- New.\n" in notes
    assert "Old." not in notes
    assert "tools-core/CHANGELOG.md has no date" in capsys.readouterr().out
    changelog.write_text("# Changelog\n")
    with pytest.raises(release.ReleaseError, match=r"has no section for 0\.1\.0"):
        release.notes(source, projects)
