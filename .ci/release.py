"""Build all distributions of the last commit, check them, and try them as users install them: `make release`.

Each distribution requires exactly the versions of the others that it is released with. `dist/` receives the wheels, the
source distributions and NOTES.md; nothing is uploaded. CONTRIBUTING.md has the other steps of a release.
"""

from __future__ import annotations

import argparse
import email
import io
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PREFIX = "tools-"  # of the names of all distributions but ask-tools; another one renames them, and nothing else

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".cache/release"
DIST = ROOT / "dist"
SOURCE = "https://github.com/ask-tools/ask-tools/blob"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = {"agent": "openai"}  # as in requirements.txt
LARGE = ("ray",)  # not installed: its dependency is large, and not released for the newest Python
# No code in the meta-package, and the scaffold beside the core.
IGNORED = {".": ("--ignore", "W007,W008"), "tools-core": ("--ignore", "W009")}
TESTED = ("filesystem", "shell", "sql")  # distributions with tools: they pass the contract of tools
README_TEST = "tests/ecosystem/test_readmes.py::test_the_blocks_of_a_page_print_the_documented_output[README.md]"
_TEXTS = (".md", ".py", ".toml", ".tmpl", ".yaml", ".yml")  # templates of the scaffold, too
_FOLDERS = (*ROOT.glob("tools-*/pyproject.toml"), *ROOT.glob("packages/tools-*/pyproject.toml"))
_NAMES = sorted(path.parent.name.removeprefix("tools-") for path in _FOLDERS)
_OURS = re.compile(rf"(?<![\w/.-])tools-({'|'.join(_NAMES)})(?![\w-])")
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_VERSION = re.compile(r'^(?:version|__version__) = "(.+)"$', re.MULTILINE)


class Project(NamedTuple):
    """A distribution: its folder in the checkout, its name and its version."""

    folder: str
    name: str
    version: str


class ReleaseError(Exception):
    """A check that failed; the message names the distribution."""


def main() -> None:
    """Build, check and install everything, or stop at the first failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-install", action="store_true", help="build and check only")
    options = parser.parse_args()
    try:
        for folder in (WORK, DIST):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        source = WORK / "source"
        export(source)
        projects = list(find_projects(source))
        pin(source, projects)
        for project in projects:
            build(source, project)
        check(source, projects)
        (DIST / "NOTES.md").write_text(notes(source, projects), encoding="utf-8")
        for version, python in [] if options.no_install else pythons():
            try_out(source, projects, version, python)
    except ReleaseError as error:
        sys.exit(f"release: {error}")
    say(f"{len(projects)} distributions are in {DIST}, with NOTES.md. CONTRIBUTING.md has the next steps.")


# ---------------------------------------------------------------------------------------------------- the sources


def export(folder: Path) -> None:
    """Write the files of the last commit to a folder, and no other file of the checkout."""
    changed = run("git", "status", "--porcelain", cwd=ROOT).strip()
    if changed:
        raise ReleaseError(f"commit or remove these files first:\n{changed}")
    data = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder, filter="data")


def find_projects(source: Path) -> Iterator[Project]:
    """Yield the distributions in the order of their folders; the meta-package last."""
    for path in (*sorted(source.glob("*/pyproject.toml")), *sorted(source.glob("packages/*/pyproject.toml")),
                 source / "pyproject.toml"):  # fmt: skip
        described = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        if "Private :: Do Not Upload" not in described["classifiers"]:
            version = described.get("version") or read_version(path.parent)
            yield Project(path.parent.relative_to(source).as_posix(), renamed(described["name"]), version)


def read_version(folder: Path) -> str:
    """Return the version that a module of the package states."""
    (module,) = folder.glob("src/*/_version.py")
    match = _VERSION.search(module.read_text(encoding="utf-8"))
    if match is None:
        raise ReleaseError(f"{module} states no version")
    return match[1]


def renamed(text: str) -> str:
    """Return a text with the released names of our distributions."""
    return _OURS.sub(lambda match: f"{PREFIX}{match[1]}", text)


def pin(source: Path, projects: list[Project]) -> None:
    """Rewrite the sources: exact versions of our distributions, their released names, links that work anywhere."""
    for path in source.rglob("*"):
        if path.suffix in _TEXTS and path.is_file():
            text = path.read_text(encoding="utf-8")
            new = renamed(text)
            if path.name == "README.md":
                new = with_absolute_links(new, path.relative_to(source).as_posix(), projects[-1].version)
            if new != text:
                path.write_text(new, encoding="utf-8")
    for project in projects:
        path = source / project.folder / "pyproject.toml"
        text = path.read_text(encoding="utf-8")
        for other in projects:
            text = re.sub(rf'"({other.name}(?:\[[\w,-]+\])?)>=[\w.]+"', rf'"\1=={other.version}"', text)
        path.write_text(text, encoding="utf-8")


def with_absolute_links(text: str, place: str, version: str) -> str:
    """Return a README whose links to other files work on the page of an index."""

    def absolute(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), match[1]))
        return f"]({SOURCE}/v{version}/{target}{match[2] or ''})"

    return _LINK.sub(absolute, text)


# ---------------------------------------------------------------------------------------------------- the archives


def build(source: Path, project: Project) -> None:
    """Build the source distribution, and the wheel from it, as an installer without a wheel would."""
    say(f"building {project.name} {project.version}")
    time = run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    hatch = (sys.executable, "-m", "hatchling", "build", "-d", str(DIST))
    run(*hatch, "-t", "sdist", cwd=source / project.folder, SOURCE_DATE_EPOCH=time)
    unpacked = WORK / "unpacked"
    with tarfile.open(sdist_of(project)) as archive:
        archive.extractall(unpacked, filter="data")
    run(*hatch, "-t", "wheel", cwd=unpacked / sdist_of(project).name.removesuffix(".tar.gz"), SOURCE_DATE_EPOCH=time)


def sdist_of(project: Project) -> Path:
    """Return the path of a source distribution."""
    return DIST / f"{project.name.replace('-', '_')}-{project.version}.tar.gz"


def wheel_of(project: Project) -> Path:
    """Return the path of a wheel."""
    return DIST / f"{project.name.replace('-', '_')}-{project.version}-py3-none-any.whl"


def check(source: Path, projects: list[Project]) -> None:
    """Check metadata, contents, licences and requirements of all archives."""
    say("checking the archives")
    files = [str(path) for path in sorted(DIST.iterdir())]
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    for project in projects:
        ignored = IGNORED.get(project.folder, ())
        run(sys.executable, "-m", "check_wheel_contents", *ignored, str(wheel_of(project)))
        with tarfile.open(sdist_of(project)) as archive:
            names = [member.name.partition("/")[2] for member in archive if member.isfile()]
        with zipfile.ZipFile(wheel_of(project)) as wheel:
            place = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
            metadata = email.message_from_bytes(wheel.read(place))
            in_wheel = wheel.namelist()
        problems = [*foreign(source, project, names), *wrong(metadata, in_wheel, projects)]
        if "LICENSE" not in names:
            problems.append("the source distribution has no LICENSE")
        if problems:
            raise ReleaseError(f"{project.name}: {'; '.join(problems)}")


def foreign(source: Path, project: Project, names: list[str]) -> Iterator[str]:
    """Yield the files of a source distribution that are not files of the commit."""
    for name in names:
        places = [source / project.folder / name, source / "scaffold" / name, source / name]
        if name not in ("PKG-INFO", ".gitignore") and not any(place.is_file() for place in places):
            yield f"{name} is not a file of the commit"


def wrong(metadata: email.message.Message, names: list[str], projects: list[Project]) -> Iterator[str]:
    """Yield what is wrong with the metadata of a wheel."""
    if metadata["License-Expression"] != "MIT" or not any(name.endswith("licenses/LICENSE") for name in names):
        yield "the wheel has no MIT licence"
    if metadata["Requires-Python"] != f">={PYTHONS[0]}":
        yield f"it requires Python {metadata['Requires-Python']}"
    versions = {project.name: project.version for project in projects}
    for requirement in metadata.get_all("Requires-Dist") or ():
        name = re.split(r"[\[=<>;! ]", requirement)[0]
        if name in versions and f"=={versions[name]}" not in requirement:
            yield f"it requires {requirement} instead of exactly {versions[name]}"


# ---------------------------------------------------------------------------------------------------- the notes


def notes(source: Path, projects: list[Project]) -> str:
    """Return the sections of this release in the changelogs, one for each distribution."""
    parts = []
    for project in projects:
        path = source / project.folder / "CHANGELOG.md"
        if not path.exists():  # the meta-package
            continue
        sections = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        section = next((text for text in sections if re.match(rf"\[?{re.escape(project.version)}\b", text)), None)
        if section is None:
            raise ReleaseError(f"{project.folder}/CHANGELOG.md has no section for {project.version}")
        heading, _, body = section.partition("\n")
        if "unreleased" in heading.lower():
            say(f"note: {project.folder}/CHANGELOG.md has no date for {project.version}")
        parts.append(f"## {project.name} {heading.strip()}\n\n{body.strip()}\n")
    return "\n".join(parts)


# ---------------------------------------------------------------------------------------------------- as users install


def pythons() -> list[tuple[str, str]]:
    """Return the oldest and the newest supported Python of this machine, as version and path."""
    supported = [(version, path) for version in PYTHONS if (path := find_python(version))]
    return list(dict.fromkeys((supported[0], supported[-1])))


def find_python(version: str) -> str | None:
    """Return the path of a Python of this version."""
    test = f"import sys; assert '%d.%d' % sys.version_info[:2] == '{version}'; print(sys.executable)"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for program in (sys.executable, f"python{version}", *map(str, pyenv.glob(f"{version}.*/bin/python"))):
        process = subprocess.run([program, "-c", test], capture_output=True, text=True, check=False) if shutil.which(
            program) else None  # fmt: skip
        if process is not None and process.returncode == 0:
            return process.stdout.strip()
    return None


def try_out(source: Path, projects: list[Project], version: str, python: str) -> None:
    """Install all wheels into a new environment; run the contract of tools and the README there, without sources."""
    say(f"installing into Python {version}")
    environment = WORK / f"python{version}"
    run(python, "-m", "venv", str(environment))
    interpreter = str(environment / "bin/python")
    wheels = [f"{wheel_of(project)}{extra(project)}" for project in projects if short(project) not in LARGE]
    install(interpreter, "--constraint", str(source / "constraints.txt"), *wheels,
            "--group", f"{source / 'pyproject.toml'}:test")  # fmt: skip
    run(interpreter, "-m", "pip", "check")
    pages = WORK / f"pages{version}"
    shutil.copytree(source / "tests", pages / "tests")
    for name in ("README.md", "CONTRIBUTING.md", "conftest.py", "examples", "pyproject.toml"):
        copy = shutil.copytree if (source / name).is_dir() else shutil.copy2
        copy(source / name, pages / name)
    quiet = ("-q", "-p", "no:cacheprovider")
    for project in projects:
        if short(project) in TESTED:
            say(f"contract of {project.name}")
            run(interpreter, "-m", "pytest", *quiet, f"--tool-contract={project.name}:*", cwd=WORK / "unpacked")
    say("README")
    run(interpreter, "-m", "pytest", *quiet, README_TEST, cwd=pages)


def short(project: Project) -> str:
    """Return the name of a distribution without the prefix."""
    return project.name.removeprefix(PREFIX)


def extra(project: Project) -> str:
    """Return the extras that a distribution is installed with."""
    return f"[{EXTRAS[short(project)]}]" if short(project) in EXTRAS else ""


def install(interpreter: str, *words: str) -> None:
    """Install with uv, or with pip, since an index or a proxy may be configured only for pip."""
    try:
        run("uv", "pip", "install", "--quiet", "--python", interpreter, *words)
    except (OSError, ReleaseError):
        pip = (interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "pip>=25.1")  # which has --group
        run(*pip, *words)


def run(*command: str, cwd: Path | None = None, **variables: str) -> str:
    """Run a command and return its output. Raises ReleaseError with the output if it fails."""
    outer = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    process = subprocess.run(
        command, cwd=cwd or WORK, env=outer | variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if process.returncode:
        raise ReleaseError(f"{' '.join(command)} failed\n{process.stdout}")
    return process.stdout


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
