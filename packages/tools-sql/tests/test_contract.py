"""Checks of every tool in this package."""

import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tools_core import Registry, Tool

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
ENTRY_POINTS = PROJECT["entry-points"]["ask_tools.tools"]


def load_tools() -> list[Tool]:
    """Return the tools of this package: the objects of its entry points, and all methods of a toolset."""
    registry = Registry()
    for reference in ENTRY_POINTS.values():
        module, _, path = reference.partition(":")
        exported = path.partition(".")[0]
        registry.register(getattr(import_module(module), exported))
    return list(registry.values())


TOOLS = load_tools()
every_tool = pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])


def test_each_tool_has_an_entry_point_with_its_name() -> None:
    assert sorted(tool.name for tool in TOOLS) == sorted(ENTRY_POINTS)


@every_tool
def test_the_tool_and_its_parameters_have_descriptions(tool: Tool) -> None:
    assert tool.definition["description"]
    parameters = tool.definition["input_schema"].get("properties", {})
    assert [name for name, schema in parameters.items() if not schema.get("description")] == []


@every_tool
def test_unknown_arguments_are_an_error(tool: Tool) -> None:
    assert tool.call({"no such argument": 1}).error_type == "validation_error"


@every_tool
def test_missing_arguments_are_named_in_the_error(tool: Tool) -> None:
    required = tool.definition["input_schema"].get("required", [])
    message = str(tool.call({})) if required else ""
    assert [name for name in required if name not in message] == []


@every_tool
def test_the_tool_keeps_the_contract_of_all_tools(tool: Tool) -> None:
    pytest.importorskip("tools_testing", reason="tools-testing is not installed").assert_contract(tool)


def test_installing_the_package_registers_its_tools() -> None:
    installed = {
        point.name: point.value
        for point in entry_points(group="ask_tools.tools")
        if point.dist and point.dist.name == PROJECT["name"]
    }
    if installed != ENTRY_POINTS:
        pytest.skip("not installed, or changed since; run: python -m pip install --editable .")
    registry = Registry()
    registry.discover()
    for tool in TOOLS:
        assert registry[f"{PROJECT['name']}:{tool.name}"].definition == tool.definition
