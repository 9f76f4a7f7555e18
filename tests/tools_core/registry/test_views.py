from __future__ import annotations

import pytest

from tools_core import Registry, Tool, UnknownToolError


def made(wanted, *its_tags):
    class Made(Tool):
        name = wanted
        tags = its_tags

        def execute(self) -> str:
            return wanted

    return Made


@pytest.fixture
def registry():
    registry = Registry()
    for each in (made("read", "files", "safe"), made("write", "files"), made("bash")):
        registry.register(each)
    return registry


TOOLSET = """
    from tools_core import Toolset

    class Fs(Toolset):
        def read(self) -> str:
            "Read."
            return "read"

        def write(self) -> str:
            "Write."
            return "write"
"""


def test_a_filter_keeps_what_meets_every_condition(registry):
    assert list(registry.filter(names=["write", "read", "unheard"])) == ["read", "write"]
    assert list(registry.filter(names="bash")) == ["bash"]
    assert list(registry.filter(patterns=["r*", "b*"])) == ["read", "bash"]
    assert list(registry.filter(tags=["files"])) == ["read", "write"]
    assert list(registry.filter(tags="safe")) == ["read"]
    assert list(registry.filter(lambda tool: "a" in tool.name, tags=["files"])) == ["read"]
    assert list(registry.filter()) == ["read", "write", "bash"]
    assert list(registry.filter(names=[])) == []


def test_a_view_has_the_reading_methods_and_no_others(registry):
    view = registry.filter(names=["read"])
    assert (view.count, len(view), "read" in view, "bash" in view) == (1, 1, True, False)
    assert view["read"] is registry["read"] is view.get("read") is view.all()[0]
    assert view.get("bash") is None
    assert view.get("bash", 1) == 1
    assert [each["name"] for each in view.definitions()] == ["read"]
    assert dict(view.items()) == {"read": registry["read"]}
    with pytest.raises(UnknownToolError, match='no tool "bash"; there are read'):
        view["bash"]
    assert not hasattr(view, "register")


def test_a_view_is_live(registry):
    view = registry.filter(patterns=["b*"]).prefix("my_")
    registry.register(made("brew"))
    registry.unregister("bash")
    assert list(view) == ["my_brew"]
    assert view["my_brew"].call().output == "brew"


def test_a_prefix_is_part_of_the_name_that_the_model_sees(registry):
    view = registry.prefix("fs_")
    assert list(view) == ["fs_read", "fs_write", "fs_bash"]
    assert view["fs_read"].name == "fs_read"
    assert view["fs_read"].definition["name"] == "fs_read"
    assert view["fs_read"] is view["fs_read"]
    assert registry["read"].name == "read"
    assert "read" not in view
    assert view.get("read") is None


def test_a_renamed_tool_has_its_new_name_only(registry):
    view = registry.rename({"read": "cat", "write": "read"})
    assert list(view) == ["cat", "read", "bash"]
    assert [(name, tool.name, tool.call().output) for name, tool in view.items()] == [
        ("cat", "cat", "read"),
        ("read", "read", "write"),
        ("bash", "bash", "bash"),
    ]
    assert "write" not in view
    with pytest.raises(UnknownToolError):
        view["write"]


def test_a_renaming_that_makes_one_name_of_two_is_refused(registry):
    with pytest.raises(ValueError, match="`read` and `write` cannot both be renamed to `x`"):
        registry.rename({"read": "x", "write": "x"})
    with pytest.raises(ValueError, match="`read` cannot be renamed to `bash`"):
        registry.rename({"read": "bash"})


def test_a_name_taken_later_makes_the_renamed_one_ambiguous_rather_than_hidden(registry):
    view = registry.rename({"read": "cat"})
    registry.register(made("cat"))
    with pytest.raises(UnknownToolError, match="`cat` means more than one tool"):
        view["cat"]
    assert "cat" not in view
    assert list(view) == ["write", "bash"]


def test_views_can_be_made_of_views(registry):
    view = registry.prefix("a_").rename({"a_read": "look"}).filter(patterns=["look", "a_b*"]).prefix("z-")
    assert list(view) == ["z-look", "z-a_bash"]
    assert view["z-look"].definition["name"] == "z-look"
    assert view["z-look"].call().output == "read"
    assert view.filter(lambda tool: tool.tags).count == 1


def test_filtering_by_name_imports_no_other_plugin(site):
    site.install("tools-one", ["one = {}:Get"])
    site.install("tools-two", ["get = {}:Get"])
    registry = Registry()
    registry.discover(paths=[site.folder])
    for view in (registry.filter(names=["get"]), registry.filter(patterns=["g*t"]), registry.prefix("x_")):
        assert view.count >= 1
    assert site.times_imported("tools_one") == site.times_imported("tools_two") == 0
    assert [tool.name for tool in registry.filter(names=["get"]).all()] == ["get"]
    assert (site.times_imported("tools_one"), site.times_imported("tools_two")) == (0, 1)


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda registry: registry.filter(names=["fs_read"]), id="names"),
        pytest.param(lambda registry: registry.filter(patterns=["fs_r*"]), id="patterns"),
        pytest.param(lambda registry: registry.filter(patterns=["*_read"]), id="any start"),
        pytest.param(lambda registry: registry.filter(lambda tool: tool.name == "fs_read"), id="predicate"),
        pytest.param(lambda r: r.prefix("x_").filter(names=["x_fs_read"]), id="prefix"),
        pytest.param(lambda r: r.rename({"fs_read": "see"}).filter(names=["see"]), id="rename"),
    ],
)
def test_a_view_knows_the_tools_of_a_toolset_that_is_not_loaded_yet(site, view):
    site.install("tools-fs", ["fs = {}:Fs"], TOOLSET)
    registry = Registry()
    registry.discover(paths=[site.folder])
    (name,) = view(registry)
    assert view(registry)[name].call().output == "read"
    assert [each["name"] for each in view(registry).definitions()] == [name]
