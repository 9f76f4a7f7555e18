"""The names of a tool package, all derived from the name of its tool.

`weather`, `tools-weather`, `tools_weather` and `WeatherTool` all name the tool `weather`. Its distribution is
`tools-weather` and its import package `tools_weather`.
"""

from __future__ import annotations

import builtins
import keyword
import re
from typing import NamedTuple

from tools_scaffold._text import ScaffoldError, show

MAX_LENGTH = 40  # keeps generated lines short enough

_well_formed = re.compile("[a-z][a-z0-9]*(?:_[a-z0-9]+)*").fullmatch
_word_start = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_PACKAGES = frozenset({
    *("adapters", "agent", "cli", "code", "core", "filesystem", "mcp", "ray", "runtime", "scaffold", "shell", "sql"),
    *("studio", "testing", "web", "workspace"),
})  # fmt: skip
# Names that the generated modules and tests use themselves, and that of the test of all tools.
_GENERATED = frozenset(
    {"arguments", "contract", "date", "datetime", "name", "pytest", "result", "time", "tool", "tools"}
)
# Windows has no files with these names, whatever their suffix.
_is_device = re.compile("con|prn|aux|nul|com[0-9]|lpt[0-9]").fullmatch


class Names(NamedTuple):
    """The name of a tool, and of the distribution and import package that contain it."""

    tool: str
    distribution: str
    package: str

    @property
    def camel(self) -> str:
        """The prefix of class names: `MyWeather` for the tool `my_weather`."""
        return "".join(word.capitalize() for word in self.tool.split("_"))


def package_names(text: str) -> Names:
    """Derive the names of a new package; ScaffoldError if `text` is not a valid name."""
    tool = tool_name(text)
    return Names(tool, f"tools-{tool.replace('_', '-')}", f"tools_{tool}")


def tool_name(text: str) -> str:
    """Return the tool's name in snake case; ScaffoldError if `text` is not a valid name."""
    name = _word_start.sub("_", text).lower().replace("-", "_")
    name = name.removeprefix("tools_").removesuffix("_tool")
    if not _well_formed(name):
        raise ScaffoldError(
            f"{show(text)} is not a valid name: use letters, digits and single hyphens, as in my-weather"
        )
    if len(name) > MAX_LENGTH:
        raise ScaffoldError(f"{show(text)} has {len(name)} characters; use at most {MAX_LENGTH}")
    reason = _reserved(name)
    if reason:
        raise ScaffoldError(f"{show(text)} {reason}; try my-{name.replace('_', '-')}")
    return name


def _reserved(name: str) -> str | None:
    if keyword.iskeyword(name):
        return "is a Python keyword"
    if hasattr(builtins, name):
        return "is a Python builtin, which the tool would hide"
    if name in _PACKAGES:
        return f"names tools-{name}, a package of ask-tools"
    if name in _GENERATED:
        return "is a name that the generated code uses"
    if _is_device(name):
        return "is the name of a device on Windows, which a file cannot have"
    if name.startswith("test"):
        return "would be collected by pytest as a test"
    return None
