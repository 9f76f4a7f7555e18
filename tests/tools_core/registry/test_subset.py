"""`Registry.subset`: a snapshot of some tools, under their own or other names."""

from __future__ import annotations

import pytest

from tools_core import DefinitionError, Registry, Tool, UnknownToolError


def named(tool_name):
    class Made(Tool):
        name = tool_name

        def execute(self) -> str:
            return tool_name

    return Made


@pytest.fixture
def registry():
    registry = Registry()
    for name in ("read", "write", "bash"):
        registry.register(named(name))
    return registry


def test_names_and_patterns_select_tools_in_the_order_of_the_registry(registry):
    assert list(registry.subset()) == ["read", "write", "bash"]
    assert list(registry.subset(only=["write", "read"])) == ["read", "write"]
    assert list(registry.subset(only="bash")) == ["bash"]
    assert list(registry.subset(only=["r*", "b*"], exclude=["bash"])) == ["read"]
    assert list(registry.subset(exclude="[rw]*")) == ["bash"]
    assert list(registry.subset(only=[])) == []


def test_a_subset_is_a_snapshot(registry):
    some = registry.subset(only=["b*"])
    registry.register(named("brew"))
    registry.unregister("bash")
    assert list(some) == ["bash"]
    with pytest.raises(UnknownToolError, match='no tool "brew"; there are bash'):
        some["brew"]


def test_a_subset_can_prefix_and_rename_its_tools(registry):
    some = registry.subset(prefix="fs_", rename={"read": "cat"})
    assert list(some) == [tool.name for tool in some.all()] == ["cat", "fs_write", "fs_bash"]
    assert some["cat"].call().output == "read"
    assert registry["read"].name == "read"


def test_duplicate_and_invalid_new_names_are_refused(registry):
    with pytest.raises(ValueError, match="two tools would have the name `bash`"):
        registry.subset(rename={"read": "bash"})
    with pytest.raises(DefinitionError, match="bad name"):
        registry.subset(prefix="bad name ")


def test_a_misspelt_name_is_an_error_instead_of_an_empty_subset(registry):
    for options in ({"only": ["raed"]}, {"exclude": "raed"}, {"rename": {"raed": "cat"}}):
        with pytest.raises(UnknownToolError, match="did you mean read"):
            registry.subset(**options)


def test_qualified_names_stay_unless_they_are_renamed(site, discovered):
    site.install("tools-a", ["get = {}:Get"])
    site.install("tools-b", ["get = {}:Get"])
    registry = discovered()
    assert list(registry.subset()) == ["tools-a:get", "tools-b:get"]
    some = registry.subset(rename={"tools-a:get": "get", "tools-b:get": "other"})
    assert [(name, some[name].call().output) for name in some] == [("get", "tools_a"), ("other", "tools_b")]
