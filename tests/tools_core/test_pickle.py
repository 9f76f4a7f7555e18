"""Tools go to other processes as functions do: by reference."""

import copy
import pickle
from contextlib import closing
from pathlib import Path

import pytest

from tools_core import Tool, Toolset, tool


@tool(read_only=True, timeout=3)
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def halve(number: int) -> float:
    """Halve a number."""
    return number / 2


renamed = tool(double, name="twice", tags=["sums"])
wrapped = tool(halve, name="half")


class Shift(Tool):
    """Add to a number."""

    def __init__(self, by: int) -> None:
        self.by = by

    def execute(self, number: int) -> int:
        return number + self.by


class Notes(Toolset):
    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, text: str) -> str:
        """Add a note."""
        return f"{self.path}: {text}"


class Prepared(Notes):
    def setup(self) -> None:
        self.path = self.path / "prepared"


class Opened(Toolset):
    """Counts how often it was set up."""

    def __init__(self) -> None:
        self.times = 0

    def setup(self) -> None:
        self.times += 1

    def count(self) -> int:
        """Tell how often it was set up."""
        return self.times


class OpenedLater(Opened):
    async def setup(self) -> None:  # type: ignore[override]
        self.times += 1


class OpenedInSlots(Opened):
    __slots__ = ("kept",)

    def __init__(self) -> None:
        super().__init__()
        self.kept = "kept"


def again(value):
    return pickle.loads(pickle.dumps(value))


def test_a_tool_of_a_module_is_the_same_tool():
    assert again(double) is double


@pytest.mark.parametrize("made", [renamed, wrapped], ids=["of a tool", "of a function"])
def test_a_tool_made_of_another_keeps_what_it_was_given(made):
    other = again(made)
    assert other.definition == made.definition
    assert (other.tags, other.timeout) == (made.tags, made.timeout)
    assert other.call(number=4) == made.call(number=4)


def test_a_renamed_tool_is_another_one_here_and_there():
    other = double.renamed("doubled")
    assert (double.name, other.name, again(other).name) == ("double", "doubled", "doubled")
    assert again(other).call(number=4).output == 8


def test_an_instance_keeps_its_state():
    assert again(Shift(by=3)).call(number=4).output == 7


@pytest.mark.parametrize("toolset", [Notes, Prepared])
def test_the_tool_of_a_toolset_comes_with_its_toolset(toolset):
    (add,) = toolset(Path("notes")).tools
    assert again(add).call(text="x") == add.call(text="x")


@pytest.mark.parametrize("kind", [Opened, OpenedLater, OpenedInSlots])
@pytest.mark.parametrize("anew", [again, copy.copy, copy.deepcopy])
def test_a_toolset_that_was_set_up_is_set_up_anew_where_it_comes_to(kind, anew):
    with closing(kind()) as here:
        assert here.tool("count").call().output == 1
        with closing(anew(here)) as there:
            assert there.tool("count").call().output == 2
            assert there.tool("count").call().output == 2
            assert getattr(there, "kept", None) == getattr(here, "kept", None)
        assert here.tool("count").call().output == 1  # and is left as it was


def test_a_toolset_that_is_being_set_up_goes_without_that():
    class Slow(Opened):
        def setup(self) -> None:
            states.append(self.__getstate__())

    states: list[dict[str, object]] = []
    with closing(Slow()) as toolset:
        toolset.tool("count").call()
    assert states == [{"times": 0}]


def test_a_tool_of_a_function_inside_a_function_is_refused_as_the_function_would_be():
    @tool
    def local() -> None:
        """Nobody else can find it."""

    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local)
