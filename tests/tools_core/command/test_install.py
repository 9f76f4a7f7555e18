"""The command that installs what is missing, before and after packages are published."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tools_core.command import install_command

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Make an installed distribution: its name, its lines of metadata, and where it came from."""
    monkeypatch.syspath_prepend(tmp_path / "site")

    def distribution(name, *lines, source=None):
        folder = tmp_path / "site" / f"{name.replace('-', '_')}-9.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.4", f"Name: {name}", "Version: 9", *lines]))
        if source is not None:
            (folder / "direct_url.json").write_text(json.dumps(source))

    return distribution


@pytest.fixture
def checkout(tmp_path):
    """A checkout in a folder with a blank in its name."""
    folder = tmp_path / "my checkout"
    for name in ("tools-core", "packages/tools-eval", "packages/tools-ray"):
        (folder / name).mkdir(parents=True)
    (folder / "requirements.txt").write_text("./tools-core\n./packages/tools-eval\n")
    return folder


def words(command):
    """The words of the command behind the Python that it names."""
    words = shlex.split(command)
    assert sys.executable in words
    return words[words.index(sys.executable) + 1 :]


@pytest.mark.parametrize(
    ("extra", "needed"),
    [("chat", ["prompt-toolkit>=3.0.52", "rich>=14"]), ("postgresql", ["psycopg[binary]>=3.2"]), ("windows", ["w"])],
)
def test_extras_are_installed_by_their_requirements(distribution, extra, needed):
    lines = [
        "Requires-Dist: pydantic>=2",
        "Requires-Dist: prompt-toolkit>=3.0.52; extra == 'chat'",
        'Requires-Dist: rich>=14 ; extra == "chat"',
        "Requires-Dist: psycopg[binary]>=3.2; extra == 'postgresql'",
        "Requires-Dist: w; sys_platform == 'win32' and extra == 'windows'",
    ]
    distribution("some-agent", *lines)
    assert words(install_command("some-agent", extra))[-len(needed) - 1 :] == ["install", *needed]


@pytest.mark.parametrize("name", ["tools-core", "tools-eval"])
def test_a_distribution_of_the_checkout_is_installed_from_there(distribution, checkout, name):
    distribution("tools-core", source={"url": (checkout / "tools-core").as_uri(), "dir_info": {}})
    command = install_command(name)
    assert shlex.split(command)[:3] == ["cd", str(checkout), "&&"]
    assert words(command)[-2:] == ["-r", "requirements.txt"]


def test_other_distributions_are_installed_together_with_the_requirements(distribution, checkout):
    distribution("tools-core", source={"url": (checkout / "tools-core").as_uri(), "dir_info": {}})
    assert words(install_command("tools-ray"))[-2:] == ["requirements.txt", "./packages/tools-ray"]


@pytest.mark.parametrize(
    "source", [None, {"url": "file:///tools_core-9.whl", "archive_info": {}}, {"url": "https://x.org", "vcs_info": {}}]
)
def test_a_published_distribution_is_installed_by_its_name(distribution, source):
    distribution("tools-core", source=source)
    assert words(install_command("tools-eval"))[-2:] == ["--upgrade", "tools-eval"]


def test_a_distribution_of_others_is_not_looked_for_in_the_checkout(distribution, checkout):
    distribution("tools-core", source={"url": (checkout / "tools-core").as_uri(), "dir_info": {}})
    assert words(install_command("their-tools"))[-2:] == ["--upgrade", "their-tools"]


def test_the_requirements_are_folders_of_this_repository():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) > 10
    assert all((ROOT / line.partition("[")[0] / "pyproject.toml").is_file() for line in lines)
