"""Which names make a package, how they are spelled, and which are refused."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tools_scaffold import Plan, ScaffoldError, new_package
from tools_scaffold._names import TAKEN_BY_TEMPLATE
from tools_scaffold._template import FOLDER

NOWHERE = Path(__file__).parent  # plans are only made, never written, so any folder will do


def plan(name: str) -> Plan:
    return new_package(name, into=NOWHERE, author="Ada", dry_run=True)


def refusal(name: str) -> ScaffoldError:
    with pytest.raises(ScaffoldError) as caught:
        plan(name)
    return caught.value


@pytest.mark.parametrize(
    "name",
    [
        "weather",
        "Weather",
        "WEATHER",
        "tools-weather",
        "tools_weather",
        "weather_tool",
        "weather-tool",
        "WeatherTool",
        "ToolsWeather",
        "tools-weather-tool",
    ],
)
def test_one_tool_however_its_name_is_spelled(name: str) -> None:
    made = plan(name)
    assert (made.tool, made.distribution, made.package) == ("weather", "tools-weather", "tools_weather")


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("my-weather", "my_weather"),
        ("x", "x"),
        ("base64", "base64"),
        ("s3-upload2", "s3_upload2"),
        ("HTTPServerTool", "http_server"),
        ("PDFToHTML", "pdf_to_html"),
        ("MyToolTool", "my"),
        ("a" * 40, "a" * 40),
        ("a" * 64, "a" * 64),
        ("tools", None),
        ("tools-tools", None),
        ("json", "json"),  # a module of the standard library, but `tools_json` is none
        ("random", "random"),
        ("calendar", "calendar"),
        ("testrail", "testrail"),
        ("example", "example"),
        ("example-example", "example_example"),
    ],
)
def test_names_that_strain(name: str, tool: str | None) -> None:
    if tool is None:
        assert "says nothing of what the tool does" in str(refusal(name))
        return
    made = plan(name)
    assert made.tool == tool
    assert made.distribution == "tools-" + tool.replace("_", "-")
    assert made.package == "tools_" + tool
    assert made.folder == NOWHERE / made.distribution


def test_every_spelling_of_a_made_package_names_it_again() -> None:
    made = plan("MyWeatherTool")
    for spelling in (made.tool, made.distribution, made.package):
        assert plan(spelling).files == made.files


@pytest.mark.parametrize(
    ("name", "reason", "proposal"),
    [
        pytest.param("", "needs a name", None, id="empty"),
        pytest.param("  \t", "needs a name", None, id="blank"),
        pytest.param("3d-print", "begins with a digit", "my-3d-print", id="leading digit"),
        pytest.param("tools-3", "begins with a digit", "my-3", id="leading digit behind the prefix"),
        pytest.param("café", "letters outside a to z", "cafe", id="accent"),
        pytest.param("\uff37eather", "letters outside a to z", "weather", id="full width"),
        pytest.param("weather\u200b", "letters outside a to z", "weather", id="zero width"),
        pytest.param("日本語", "letters outside a to z", None, id="nothing is left"),
        pytest.param("\ud800", "letters outside a to z", None, id="lone surrogate"),
        pytest.param("my weather", "no legal name", "my-weather", id="blank inside"),
        pytest.param("weather ", "no legal name", "weather", id="blank at the end"),
        pytest.param("weather\n", "no legal name", "weather", id="line feed"),
        pytest.param("a--b", "no legal name", "a-b", id="double hyphen"),
        pytest.param("weather-", "no legal name", "weather", id="hyphen at the end"),
        pytest.param("_weather", "no legal name", "weather", id="underscore at the beginning"),
        pytest.param("tools-", "no legal name", "my-tools", id="prefix alone"),
        pytest.param("weather;rm -rf", "no legal name", "weather-rm-rf", id="shell"),
        pytest.param('"', "no legal name", None, id="quote"),
        pytest.param("a" * 65, "65 characters", "a" * 64, id="65 letters"),
        pytest.param("a" * 100_000, "100000 characters", "a" * 64, id="endless"),
        pytest.param("é" * 100_000, "letters outside", "e" * 64, id="endless and not ASCII"),
        pytest.param("a/b", "a path", "b", id="relative path"),
        pytest.param("../evil", "a path", "evil", id="parent"),
        pytest.param("..", "a path", None, id="dots"),
        pytest.param("/etc/weather", "a path", "weather", id="absolute"),
        pytest.param("~/weather", "a path", "weather", id="home"),
        pytest.param("~weather", "a path", "weather", id="home of a user"),
        pytest.param(".weather", "a path", "weather", id="hidden"),
        pytest.param("C:\\weather", "a path", "weather", id="Windows path"),
        pytest.param("C:weather", "a path", "weather", id="Windows drive"),
        pytest.param("weather\0", "a path", "weather", id="NUL"),
        pytest.param("class", "a word of the Python language", "my-class", id="keyword"),
        pytest.param("None", "a word of the Python language", "my-none", id="keyword with a capital"),
        pytest.param("match", "a word of the Python language", "my-match", id="soft keyword"),
        pytest.param("type", "a word of the Python language", "my-type", id="soft keyword of 3.12"),
        pytest.param("print", "a name of Python's own", "my-print", id="builtin"),
        pytest.param("con", "a device on Windows", "my-con", id="device"),
        pytest.param("NUL", "a device on Windows", "my-nul", id="device in capitals"),
        pytest.param("com1", "a device on Windows", "my-com1", id="device with a number"),
        pytest.param("test_weather", "taken for a test", "my-test-weather", id="test"),
        pytest.param("result", "needs for itself", "my-result", id="a name in the template"),
    ]
    + [
        pytest.param(spelling, f"tools-{name} is a package of ask-tools itself", f"my-{name}", id=spelling)
        for name in ("core", "shell", "filesystem", "scaffold", "testing", "runtime", "agent", "mcp")
        for spelling in (name, f"tools-{name}")
    ],
)
def test_a_name_that_cannot_work_is_refused_with_one_that_can(name: str, reason: str, proposal: str | None) -> None:
    error = refusal(name)
    assert reason in str(error)
    assert error.proposal == proposal
    assert f"try {proposal or 'a word like weather'}" in str(error)


def test_a_refusal_fits_a_terminal() -> None:
    for name in ("a" * 100_000, "\x1b[2J\x07", "\u202e" * 50, "\ud800", "a\nb"):
        message = str(refusal(name))
        assert message.isprintable()
        assert len(message) < 250


names = st.one_of(
    st.text(),
    st.from_regex(r"[A-Za-z0-9_-]{1,70}", fullmatch=True),
    st.from_regex(r"(tools[-_])?[a-z][a-z0-9]{0,6}([-_][a-z0-9]{1,6}){0,3}([-_]?[tT]ool)?", fullmatch=True),
    st.sampled_from(sorted(sys.stdlib_module_names)),
)


@pytest.mark.slow
@given(names)
@example("example_tool")
@example("tools_example")
def test_any_text_is_refused_or_makes_a_package_that_stays_in_its_folder(name: str) -> None:
    try:
        made = plan(name)
    except ScaffoldError:
        error = refusal(name)
        assert str(error).isprintable()
        if error.proposal is not None:
            assert plan(error.proposal).distribution == f"tools-{error.proposal}"
        return
    assert re.fullmatch("[A-Za-z_][A-Za-z0-9_-]{0,63}", made.tool)
    assert made.folder.parent == NOWHERE
    assert made.package.isidentifier()
    for path, text in made.files.items():
        assert (made.folder / path).resolve().is_relative_to(made.folder)
        assert not {"", ".", ".."} & set(path.split("/"))
        if path.endswith(".py"):
            ast.parse(text)
    project = tomllib.loads(made.files["pyproject.toml"])["project"]
    assert project["name"] == made.distribution
    assert project["entry-points"]["ask_tools.tools"] == {made.tool: f"{made.package}:{made.tool}"}


@pytest.mark.parametrize(
    ("style", "exported"),
    [("function", "my_2nd_search"), ("class", "My2ndSearchTool"), ("toolset", "My2ndSearchTools")],
)
def test_a_class_is_called_like_its_tool(style: str, exported: str) -> None:
    made = new_package("my-2nd-search", into=NOWHERE, author="Ada", dry_run=True, style=style)
    project = tomllib.loads(made.files["pyproject.toml"])["project"]
    assert project["entry-points"]["ask_tools.tools"] == {"my_2nd_search": f"tools_my_2nd_search:{exported}"}
    assert f'__all__ = ["{exported}"]' in made.files["src/tools_my_2nd_search/__init__.py"]


def test_the_template_binds_no_name_that_a_tool_may_have() -> None:
    """A tool may be called anything but what its module binds, or a function that uses the tool binds."""
    bound: set[str] = set()
    for path in sorted(FOLDER.rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if "example" not in bindings(module.body):
            continue
        bound |= bindings(module.body)
        for function in [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]:
            if any(isinstance(node, ast.Name) and node.id == "example" for node in ast.walk(function)):
                bound |= bindings(function.body) | {argument.arg for argument in function.args.args}
    free = {name for name in bound if name[0].islower() and not name.startswith("test_")} - {"example"}
    assert free == TAKEN_BY_TEMPLATE
    for name in free:
        refusal(name)


def bindings(body: list[ast.stmt]) -> set[str]:
    """Names that these statements bind, nested functions and comprehensions apart."""
    bound: set[str] = set()
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            waiting += ast.iter_child_nodes(node)
    return bound
