"""What a package is made from: the answers of its author, which the package keeps for `ask-tools update`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from tools_scaffold._errors import ScaffoldError, shown
from tools_scaffold._names import PackageName, read_name
from tools_scaffold._params import Parameter, read_params

if TYPE_CHECKING:
    from collections.abc import Mapping

STYLES = ("function", "class", "toolset")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# SPDX identifier (or what stands for having none) -> the file with its text.
LICENSES = {
    "MIT": "MIT.txt",
    "Apache-2.0": "Apache-2.0.txt",
    "BSD-3-Clause": "BSD-3-Clause.txt",
    "GPL-3.0-or-later": "GPL-3.0-or-later.txt",
    "ISC": "ISC.txt",
    "MPL-2.0": "MPL-2.0.txt",
    "proprietary": "proprietary.txt",
    "none": None,
}
# What the template's own tool takes.
SAMPLE = 'city:str "Name of the city, such as Oslo", unit:celsius|fahrenheit=celsius "Unit of the temperature"'

_LINE_LIMIT = {"description": 300, "author": 200}
_is_url = re.compile(r"https?://[\w.-]+(?:[/?#][!-~]*)?", re.ASCII).fullmatch
_with_address = re.compile(r"(.*\S)\s*<([^<>@\s]+@[^<>@\s]+)>").fullmatch


class ToolOptions(TypedDict, total=False):
    """The options that say what a tool is."""

    style: str
    params: str | None
    pydantic: bool
    description: str | None


class PackageOptions(ToolOptions, total=False):
    """The options of a package besides."""

    author: str | None
    url: str | None
    license: str
    python: str
    ci: bool


class Answers(NamedTuple):
    """One for each option of `ask-tools new`; `author` may hold an address in angle brackets."""

    name: PackageName
    year: int
    style: str = "function"
    params: str | None = None
    pydantic: bool = False
    description: str | None = None
    author: str | None = None
    url: str | None = None
    license: str = "MIT"
    python: str = PYTHONS[0]
    ci: bool = True

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the tool."""
        return read_params(SAMPLE if self.params is None else self.params, pydantic=self.pydantic)

    @property
    def author_and_address(self) -> tuple[str, str | None]:
        """The author's name and address."""
        match = _with_address(self.author or "")
        return (match[1], match[2]) if match else (self.author or f"The {self.name.distribution} authors", None)

    def record(self) -> dict[str, str | int | bool]:
        """What a package keeps of them."""
        kept = self._replace(name=self.name.tool)._asdict()  # type: ignore[arg-type]
        return {key: value for key, value in kept.items() if value is not None}


def check(answers: Answers) -> Answers:
    """Return the answers; ScaffoldError if a package cannot be made from them."""
    for option, choices in (("style", STYLES), ("python", PYTHONS), ("license", tuple(LICENSES))):
        given = getattr(answers, option)
        if given not in choices:
            raise ScaffoldError(f"--{option} {shown(given, 40)} is none of {', '.join(choices)}")
    for option in ("description", "author"):
        text = getattr(answers, option)
        limit = _LINE_LIMIT[option]
        if text is not None and (not text.strip() or not text.isprintable() or len(text) > limit):
            problem = f"the {option} must be a line of 1 to {limit} printable characters"
            raise ScaffoldError(f"{problem}, not {shown(text, 60)}")
    if answers.url is not None and not _is_url(answers.url):
        raise ScaffoldError(
            f"--url {shown(answers.url, 60)} is no address such as https://github.com/ada/tools-weather"
        )
    if answers.params is not None:
        read_params(answers.params, pydantic=answers.pydantic)
    return answers


def from_record(table: Mapping[str, Any]) -> Answers:
    """Read what a package keeps; ScaffoldError if somebody has changed it to what cannot be read."""
    kinds: dict[str, type] = {"year": int, "pydantic": bool, "ci": bool}
    known = {key: value for key, value in table.items() if key in Answers._fields}
    for key, value in known.items():
        if type(value) is not kinds.get(key, str):
            raise ScaffoldError(f"{key} = {shown(value, 40)} in [tool.ask-tools.template] cannot be read")
    if not {"name", "year"} <= known.keys():
        raise ScaffoldError("[tool.ask-tools.template] needs name and year")
    values: dict[str, Any] = {**known, "name": read_name(known["name"])}
    return check(Answers(**values))
