"""The template: working packages called `example`, one for each style, renamed file by file.

The files under `template/` are real ones, which are linted, typed and tested as they stand. Where a package may differ
in more than names, lines `# region NAME` and `# endregion` enclose what is written anew, or left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tools_scaffold._answers import LICENSES, PYTHONS
from tools_scaffold._code import LINE_LIMIT, shell_words, with_imports
from tools_scaffold._errors import ScaffoldError
from tools_scaffold._regions import needed, toml_text, write_region

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools_scaffold._answers import Answers

FOLDER = Path(__file__).parent / "template"
HISTORY = Path(__file__).parent / "history"
# Of the template, as packages keep it. Before a published template is changed: python -m zipfile -c history/1.zip
# template/. and one more here. With both, `ask-tools update` tells an author's changes from ours.
VERSION = 1

_CACHES = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})  # of who has run its tests in place
_CI = (".github/", "docs/")
_PROJECT = "_pyproject.toml"  # under its own name it would be a project to whoever looks for all that there are
INIT = "src/tools_example/__init__.py"
TOOL = ("src/tools_example/_example.py", "tests/test_example.py")

DESCRIPTION = "The example tool for any model, agent framework or shell."
AUTHOR = "The tools-example authors"
YEAR = "2026"
OBJECTS = {"function": "example", "class": "ExampleTool", "toolset": "ExampleTools"}

_region = re.compile(
    r"^( *)(?:#|<!--) region (\w+)(?: -->)?\n(.*?)^ *(?:#|<!--) endregion(?: -->)?\n", re.DOTALL | re.MULTILINE
)
_program = re.compile(r"(?<=^```python\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
_import_line = re.compile(r"^from (\S+) import (\w+)$", re.MULTILINE)


def render(answers: Answers, folder: Path = FOLDER, version: int = VERSION) -> dict[str, str]:
    """Return the files of a package, by their path in its folder."""
    made = dict.fromkeys(_files(folder / "common"), folder / "common")
    made |= dict.fromkeys((INIT, *TOOL), folder / answers.style)
    if not answers.ci:
        made = {path: source for path, source in made.items() if not path.startswith(_CI)}
    texts = {_rename(path, answers): _render_file(path, made[path], answers, version) for path in sorted(made)}
    source = LICENSES[answers.license]
    if source is not None:
        texts["LICENSE"] = _replace((folder / "licenses" / source).read_text(encoding="utf-8"), _legal(answers))
    return texts


def folder_of(version: int) -> Path:
    """The template of a version; ScaffoldError if it is none of ours."""
    if version == VERSION:
        return FOLDER
    if version > VERSION:
        problem = f"this package is made from template {version}, and this ask-tools knows {VERSION}"
        raise ScaffoldError(f"{problem}; run: python -m pip install --upgrade tools-core")
    archive = HISTORY / f"{version}.zip"
    if not archive.is_file():
        raise ScaffoldError(f"there is no template {version}; what is in [tool.ask-tools.template] was changed")
    from zipfile import Path as ZipPath  # 10 ms, for old packages alone

    return cast("Path", ZipPath(archive))  # of which only what both have is used


def render_tool(answers: Answers) -> dict[str, str]:
    """Return the files of one more tool for a package that exists, which `answers.name` names: a module and a test."""
    return {_rename(path, answers): _render_file(path, FOLDER / answers.style, answers) for path in TOOL}


def object_name(answers: Answers) -> str:
    """What the package exports: the function, or the class."""
    return _replace(OBJECTS[answers.style], _names(answers))


def _files(folder: Path, start: str = "") -> Iterator[str]:
    for each in folder.iterdir():
        if each.is_dir() and each.name not in _CACHES:
            yield from _files(each, f"{start}{each.name}/")
        elif each.is_file():
            yield f"{start}{'pyproject.toml' if each.name == _PROJECT else each.name}"


def _render_file(path: str, folder: Path, answers: Answers, version: int = VERSION) -> str:
    text = (folder / (_PROJECT if path == "pyproject.toml" else path)).read_text(encoding="utf-8")
    names = _names(answers)
    if path == "README.md":
        use = folder.parent / answers.style / "use.md"
        text = text.replace("<!-- use -->\n", use.read_text(encoding="utf-8"))
    written: dict[str, str] = {}

    def write(region: re.Match[str]) -> str:
        # What is written may hold an author's words, so it is kept aside until all names are replaced.
        key = f"\1{len(written)}\2"
        text = write_region(region[2], _replace(region[3], names), region[1], answers, version).lstrip("\n")
        written[key] = text.rstrip("\n") + "\n" if region.string.startswith("\n", region.end()) and text else text
        return f"\0\n{key}\0\n" if written[key] else "\0\n"

    text = _region.sub(write, text)
    text = text.replace("\n\n\0\n\n", "\n\n").replace("\0\n", "")
    text = _replace(text, {**names, **_choices(path, answers), **written})
    if path in TOOL:
        text = with_imports(text)
    elif path == "README.md":
        text = _program.sub(lambda block: with_imports(block[0]), text)
    return _import_line.sub(_wrap, text) if path.endswith((".md", ".py")) else text


def _rename(path: str, answers: Answers) -> str:
    return _replace(path, _names(answers))


def _replace(text: str, texts: Mapping[str, str]) -> str:
    # One pass, the longest first: what was put in is never looked at again.
    keys = sorted(texts, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, keys)), lambda found: texts[found[0]], text) if keys else text


def _names(answers: Answers) -> dict[str, str]:
    name = answers.name
    words = "".join(word.capitalize() for word in name.tool.split("_"))
    return {"tools-example": name.distribution, "tools_example": name.package, "example": name.tool, "Example": words}


def _legal(answers: Answers) -> dict[str, str]:
    return {AUTHOR: answers.author_and_address[0], YEAR: str(answers.year)}


def _choices(path: str, answers: Answers) -> dict[str, str]:
    """What is put in place of single words of the template's file."""
    author, address = answers.author_and_address
    texts = {"city=Oslo": shell_words(needed(answers.parameters))} if path == "README.md" else {}
    if answers.pydantic:
        texts["(TypedDict)"] = "(BaseModel)"
        texts["[pytest, tools-core]"] = "[pydantic, pytest, tools-core]"
        texts['dependencies = ["tools-core>=0.1"]'] = 'dependencies = ["pydantic>=2.10", "tools-core>=0.1"]'
    if answers.description is not None:
        texts[DESCRIPTION] = toml_text(answers.description) if path.endswith(".toml") else answers.description
    if path == "README.md":
        texts["MIT, see [LICENSE](LICENSE)."] = _terms(answers.license)
    if path == "pyproject.toml":
        texts['"tools_example:example"'] = f'"{answers.name.package}:{object_name(answers)}"'
        texts[f'name = "{AUTHOR}"'] = f'name = "{toml_text(author)}"' + (f', email = "{address}"' if address else "")
    return texts | _versions(path, answers)


def _versions(path: str, answers: Answers) -> dict[str, str]:
    versions = PYTHONS[PYTHONS.index(answers.python) :]
    if path == ".github/workflows/ci.yml":
        return {str(list(PYTHONS)).replace("'", '"'): str(list(versions)).replace("'", '"')}
    if path != "pyproject.toml":
        return {}
    classifier = '  "Programming Language :: Python :: {}",\n'
    texts = {classifier.format(version): "" for version in PYTHONS if version not in versions}
    if not answers.license[0].isupper():  # whoever may not use it need not find it
        texts[classifier.format(3)] = '  "Private :: Do Not Upload",\n' + classifier.format(3)
    return texts | {f'"{sign}{PYTHONS[0]}"': f'"{sign}{answers.python}"' for sign in ("", ">=")}


def _terms(chosen: str) -> str:
    if chosen == "none":
        return "None: nobody but its authors may use it."
    return f"{chosen.capitalize() if chosen.islower() else chosen}, see [LICENSE](LICENSE)."


def _wrap(line: re.Match[str]) -> str:
    """Break an import that a long name made longer than the line limit, as formatters do."""
    return line[0] if len(line[0]) <= LINE_LIMIT else f"from {line[1]} import (\n    {line[2]},\n)"
