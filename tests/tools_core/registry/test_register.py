from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import DefinitionError, Registry, Tool, Toolset, UnknownToolError, tool


class Weather(Tool):
    """Say the weather."""

    def execute(self, city: str) -> str:
        return f"sun in {city}"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Notes(Toolset):
    def read(self) -> str:
        """Read the notes."""
        return ""

    def write(self, text: str) -> None:
        """Write a note."""


def named(tool_name):
    class Made(Tool):
        name = tool_name

        def execute(self) -> str:
            return tool_name

    return Made


def test_registering_returns_the_same_object_and_works_as_a_decorator():
    registry = Registry()
    assert registry.register(Weather) is Weather
    assert registry.register(add) is add

    @registry.register
    class Ping(Tool):
        def execute(self) -> str:
            return "pong"

    assert list(registry) == ["weather", "add", "ping"]
    assert registry["ping"].call().output == "pong"
    assert isinstance(registry["weather"], Weather)
    assert registry["weather"] is registry["weather"] is registry.all()[0] is registry.get("weather")
    registry.register(Weather)  # again
    assert registry.count == len(registry) == 3
    with pytest.raises(TypeError, match=r"ToolCall\(None, 'add', \{...\}\)"):
        registry.call("add", {"a": 1, "b": 2})


def test_registering_a_second_tool_of_one_name_names_both_origins():
    registry = Registry()
    first = registry.register(Weather)
    other = named("weather")
    with pytest.raises(ValueError, match=r"named\.<locals>\.Made` cannot be registered as `weather`") as refused:
        registry.register(other)
    assert f"the name is taken by `{first.__module__}:Weather`" in str(refused.value)
    assert "replace=True" in str(refused.value)
    assert isinstance(registry["weather"], Weather)
    registry.register(other, replace=True)
    assert isinstance(registry["weather"], other)
    registry.unregister("weather")
    assert (list(registry), registry.definitions()) == ([], [])
    with pytest.raises(UnknownToolError):
        registry.unregister("weather")


def test_defining_a_class_again_replaces_its_tool():
    registry = Registry()
    cell = "class Cell(Tool):\n    def execute(self) -> int:\n        return {}\n"
    for version in (1, 2):
        space = {"Tool": Tool, "__name__": "notebook"}
        exec(cell.format(version), space)  # as a notebook runs a cell again
        registry.register(space["Cell"])
    assert registry.count == 1
    assert registry["cell"].call().output == 2


def test_a_toolset_is_registered_whole_or_not_at_all():
    registry = Registry()
    registry.register(named("notes_write"))
    with pytest.raises(ValueError, match="notes_write"):
        registry.register(Notes)
    assert list(registry) == ["notes_write"]
    registry.clear()
    registry.register(Notes())
    assert list(registry) == ["notes_read", "notes_write"]


@pytest.mark.parametrize("value", [42, "weather", int, Tool, [Weather, add]])
def test_other_objects_are_refused(value):
    registry = Registry()
    registry.register(Weather)
    with pytest.raises(DefinitionError):
        registry.register(value)
    assert [item.name for item in registry.all()] == ["weather"]


def test_an_unknown_name_names_the_nearest_ones():
    registry = Registry()
    registry.register(Weather)
    registry.register(add)
    with pytest.raises(UnknownToolError, match=r'no tool "Wether"; did you mean weather\?') as unknown:
        registry["Wether"]
    assert unknown.value.similar == ("weather",)
    assert isinstance(unknown.value, KeyError)
    with pytest.raises(UnknownToolError, match="there are weather, add"):
        registry["quite different"]
    with pytest.raises(UnknownToolError, match="there are no tools"):
        Registry()["x"]


@pytest.mark.parametrize("name", [None, "", ":a", "a:b:c", "x" * 10_000, "\x1b[31m"])
def test_any_other_key_is_unknown(name):
    registry = Registry()
    registry.register(Weather)
    assert registry.get(name) is None
    assert registry.get(name, "default") == "default"
    assert name not in registry
    with pytest.raises(UnknownToolError) as unknown:
        registry[name]
    assert len(str(unknown.value)) < 300
    assert str(unknown.value).isprintable()


def test_it_is_a_mapping_equal_only_to_itself():
    first, second = Registry(), Registry()
    first.register(Weather)
    second.register(Weather)
    assert dict(first.items()) == {"weather": first["weather"]}
    assert list(first.values()) == first.all()
    assert first != second
    assert {first, second} == {second, first}
    assert repr(first) == "<Registry of 1 registered and 0 discovered tools>"


def test_only_one_of_many_threads_can_register_a_name():
    registry = Registry()
    start = threading.Barrier(50)

    def work(_):
        start.wait()
        try:
            return registry.register(named("wanted"))
        except ValueError:
            return None

    with ThreadPoolExecutor(50) as pool:
        winners = [winner for winner in pool.map(work, range(50)) if winner]
    assert len(winners) == 1
    assert isinstance(registry["wanted"], winners[0])


def test_discover_subclasses_registers_the_concrete_ones_once_and_in_order():
    class Base(Tool, abstract=True):
        """The base class of some tools."""

    class Zebra(Base):
        def execute(self) -> str:
            return "z"

    class Ant(Base):
        def execute(self) -> str:
            return "a"

    class Antelope(Ant):
        pass

    registry = Registry()
    assert registry.discover_subclasses(Base) == [Ant, Antelope, Zebra]
    assert registry.discover_subclasses(Base) == []
    assert list(registry) == ["ant", "antelope", "zebra"]
    assert registry.problems == []


def test_discover_subclasses_reports_broken_classes_and_taken_names():
    class Base(Tool, abstract=True):
        pass

    class NeedsIndex(Base):
        def __init__(self, index) -> None:
            self.index = index

        def execute(self) -> str:
            return self.index

    class Taken(Base):
        name = "weather"

        def execute(self) -> str:
            return ""

    class Works(Base):
        def execute(self) -> str:
            return ""

    registry = Registry()
    registry.register(Weather)
    assert registry.discover_subclasses(Base) == [Works]
    assert list(registry) == ["weather", "works"]
    registry.discover_subclasses(Base)
    needs, duplicate = sorted(map(str, registry.problems))
    assert "NeedsIndex needs arguments" in needs
    assert "Taken" in duplicate
    assert f"the name is taken by `{__name__}:Weather`" in duplicate
    registry.unregister("weather")
    assert registry.discover_subclasses(Base) == [Taken]
    assert len(registry.problems) == 1
