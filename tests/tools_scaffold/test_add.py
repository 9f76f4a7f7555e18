"""`plan_tool`: another tool in an existing package."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from tools_scaffold import ScaffoldError, plan_tool

CHANGED = ["pyproject.toml", "src/tools_weather/__init__.py"]
CREATED = ["evals/forecast.toml", "src/tools_weather/_forecast.py", "tests/test_forecast.py"]


def add(name, package, **options):
    plan = plan_tool(name, into=package, **options)
    plan.write()
    return plan


def edit(path, old, new):
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new).encode())


@pytest.mark.parametrize(
    ("style", "exported", "entry_points"),
    [
        ("function", "forecast", {"forecast": "tools_weather:forecast"}),
        ("class", "ForecastTool", {"forecast": "tools_weather:ForecastTool"}),
        (
            "toolset",
            "ForecastTools",
            {
                "forecast_lookup": "tools_weather:ForecastTools.lookup",
                "forecast_history": "tools_weather:ForecastTools.history",
            },
        ),
    ],
)
def test_add_writes_a_module_a_test_an_export_and_entry_points(package, tree, style, exported, entry_points):
    before = tree(package)
    add("forecast", package, style=style)
    after = tree(package)
    assert sorted(path for path in after if after[path] != before.get(path)) == sorted([*CHANGED, *CREATED])
    assert f"from tools_weather._forecast import {exported}\n" in after["src/tools_weather/__init__.py"].decode()
    registered = tomllib.loads(after["pyproject.toml"].decode())["project"]["entry-points"]["ask_tools.tools"]
    assert registered == {"weather": "tools_weather:weather"} | entry_points


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_add_changes_no_other_line(package, line_end):
    edit(package / CHANGED[0], "weather = ", "# the first\nweather   = ")
    edit(package / CHANGED[1], "\n__all__", "\nLIMIT = 3  # unchanged\n\n__all__")
    for path in CHANGED:
        edit(package / path, "\n", line_end)
    before = [(package / path).read_bytes().decode().splitlines(keepends=True) for path in CHANGED]
    add("forecast", package)
    after = [(package / path).read_bytes().decode().splitlines(keepends=True) for path in CHANGED]
    added = [[line for line in new if line not in old] for old, new in zip(before, after, strict=True)]
    assert added == [
        [f'forecast = "tools_weather:forecast"{line_end}'],
        [f"from tools_weather._forecast import forecast{line_end}", f'__all__ = ["forecast", "weather"]{line_end}'],
    ]
    assert [len(new) - len(old) for old, new in zip(before, after, strict=True)] == [1, 1]


def test_imports_and_exports_stay_sorted_as_ruff_sorts_them(package):
    for name, style in (("z10", "function"), ("z9", "class"), ("a", "function")):
        add(name, package, style=style)
    text = (package / CHANGED[1]).read_text(encoding="utf-8")
    assert re.findall("from tools_weather._(.*) import", text) == ["a", "weather", "z9", "z10"]
    assert '__all__ = ["Z9Tool", "a", "weather", "z10"]' in text


def test_add_creates_a_missing_table_of_entry_points(package):
    edit(
        package / "pyproject.toml", '[project.entry-points."ask_tools.tools"]\nweather = "tools_weather:weather"\n', ""
    )
    add("forecast", package)
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"] == {"ask_tools.tools": {"forecast": "tools_weather:forecast"}}


@pytest.mark.parametrize("header", [
    "  [project.entry-points.'ask_tools.tools']", '[ project . entry-points . "ask_tools.tools" ]  # tools',
])  # fmt: skip
@pytest.mark.parametrize("exports", ['("weather",)', "['weather']"])
@pytest.mark.parametrize("annotation", ["", ": tuple[str, ...] | list[str]"])
def test_add_extends_tables_and_exports_in_other_styles(package, header, exports, annotation):
    edit(package / "pyproject.toml", '[project.entry-points."ask_tools.tools"]', header)
    edit(package / CHANGED[1], '__all__ = ["weather"]', f"__all__{annotation} = {exports}")
    add("forecast", package)
    names = ("forecast", "weather") if "(" in exports else ["forecast", "weather"]
    lines = (package / CHANGED[1]).read_text(encoding="utf-8").splitlines()
    head, _, value = next(line for line in lines if line.startswith("__all__")).partition(" = ")
    assert (head, ast.literal_eval(value)) == (f"__all__{annotation}", names)
    assert header in (package / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "content", "problem"),
    [
        ("src/tools_weather/__init__.py", "x = 1\n", "has no list `__all__ = [...]` to extend"),
        ("src/tools_weather/__init__.py", '__all__ = ["a"  # why\n]\n', "has no list `__all__ = [...]` to extend"),
        ("src/tools_weather/_forecast.py", "mine\n", "exists; choose another name"),
        ("src/tools_other/__init__.py", "", "has 2 packages; expected one"),
        ("pyproject.toml", "[project", "is not valid TOML"),
        ("pyproject.toml", "[tool.x]\n", "has no [project] with a name"),
        ("pyproject.toml", '[project]\nname = "w"\nentry-points = {"ask_tools.tools" = {}}\n', "can be extended"),
    ],
)
def test_a_package_that_cannot_be_extended_is_refused(package, path, content, problem):
    (package / path).parent.mkdir(exist_ok=True)
    (package / path).write_text(content)
    with pytest.raises(ScaffoldError, match=re.escape(problem)):
        plan_tool("forecast", into=package)


def test_a_tool_name_that_exists_in_the_package_is_refused(package):
    with pytest.raises(ScaffoldError, match="tools-weather already has a tool called weather"):
        plan_tool("weather", into=package)


def test_add_finds_the_package_from_a_folder_inside_it(package, monkeypatch):
    monkeypatch.chdir(package / "src/tools_weather")
    assert plan_tool("forecast").folder == package


def test_add_outside_a_package_suggests_the_dir_option(tmp_path):
    with pytest.raises(ScaffoldError, match=r"no pyproject\.toml; name its folder with --dir"):
        plan_tool("forecast", into=tmp_path)
