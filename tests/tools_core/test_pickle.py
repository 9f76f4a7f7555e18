"""Tools are pickled by reference, like functions."""

import copy
import pickle
from contextlib import closing
from pathlib import Path

import pytest

from tools_core import InvalidArguments, Parameter, Registry, Tool, Toolset, UnknownToolError, tool


@tool(read_only=True, timeout=3)
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def halve(number: int) -> float:
    """Halve a number."""
    return number / 2


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


def unpickled(value):
    return pickle.loads(pickle.dumps(value))


def test_a_tool_of_a_module_is_the_same_tool():
    assert unpickled(double) is double


@pytest.mark.parametrize("toolset", [Notes, Prepared])
def test_the_tool_of_a_toolset_comes_with_its_toolset(toolset):
    (add,) = toolset(Path("notes")).tools
    assert unpickled(add).call(text="x") == add.call(text="x")


@pytest.mark.parametrize("kind", [Opened, OpenedLater])
@pytest.mark.parametrize("copy_tool", [unpickled, copy.copy, copy.deepcopy])
def test_a_copied_toolset_runs_setup_again(kind, copy_tool):
    with closing(kind()) as here:
        assert here.tool("count").call().output == 1
        with closing(copy_tool(here)) as there:
            assert there.tool("count").call().output == 2
            assert there.tool("count").call().output == 2
        assert here.tool("count").call().output == 1


def plain(count, note=""):
    """Count."""
    return count


LIMITED = {
    "type": "object",
    "properties": {"count": {"type": "integer", "maximum": 100}},
    "required": ["count"],
    "additionalProperties": False,
}
with_schema = tool(plain, name="schema", input_schema=LIMITED)
with_parameters = tool(plain, name="params", parameters=[Parameter("count", "integer", description="Number of items")])


class Counter(Toolset):
    @tool(name="counted", description="Count up.", requires_approval=True, input_schema=LIMITED)
    def count(self, count):
        return count


@pytest.mark.parametrize(
    "original",
    [
        with_schema,
        with_parameters,
        with_schema.renamed("other"),
        *Counter().tools,
        Counter().tool("count").renamed("x"),
    ],
    ids=lambda original: original.name,
)
@pytest.mark.parametrize("copy_tool", [unpickled, copy.copy, copy.deepcopy])
def test_a_copied_tool_keeps_its_definition_and_options(original, copy_tool):
    other = copy_tool(original)
    assert other.definition == original.definition
    assert list(other.parameters) == list(original.parameters)
    assert (other.requires_approval, other.timeout, other.tags) == (
        original.requires_approval,
        original.timeout,
        original.tags,
    )
    for arguments in ({"count": 1_000_000}, {"count": 1}, {"number": 1}):
        assert other.call(arguments) == original.call(arguments)
    assert other.definition == unpickled(other).definition


@pytest.mark.parametrize("copy_tool", [unpickled, copy.copy, copy.deepcopy])
def test_exceptions_keep_their_data_when_copied(copy_tool):
    with pytest.raises(InvalidArguments) as caught:
        double.call(number="many").unwrap()
    invalid = copy_tool(caught.value)
    assert [str(problem) for problem in invalid.problems] == ['number must be an integer, got "many"']
    assert (str(invalid), invalid.type) == (str(caught.value), "validation_error")
    foreign = double.call(number=lambda: 1).exception  # the error does not need what was sent
    assert str(copy_tool(foreign)) == str(foreign) == "number must be JSON, got a function"
    with pytest.raises(UnknownToolError) as missing:
        Registry()["nope"]
    unknown = copy_tool(missing.value)
    assert (str(unknown), unknown.name, unknown.similar) == (str(missing.value), "nope", ())
