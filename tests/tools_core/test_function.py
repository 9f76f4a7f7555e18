"""`@tool`: a function that is a tool and stays a function."""

import inspect
import pydoc
import typing

import pytest

from tools_core import tool


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: The first.
    """
    return a + b


def test_a_decorated_function_is_still_called_as_a_function():
    assert add(1, 2) == 3
    assert add(a=1) == 3
    with pytest.raises(TypeError):
        add()  # type: ignore[call-arg]


def test_a_decorated_function_keeps_its_name_signature_and_hints():
    assert (add.__name__, add.__module__, add.__doc__[:3]) == ("add", __name__, "Add")
    assert list(inspect.signature(add).parameters) == ["a", "b"]
    assert typing.get_type_hints(add)["a"] is int
    assert inspect.unwrap(add) is add.__wrapped__


def test_help_shows_the_signature_and_docstring_of_a_tool():
    text = pydoc.render_doc(add, renderer=pydoc.plaintext)
    assert "add(a: int, b: int = 2) -> int\n    Add two numbers.\n" in text


def test_options_are_set_by_keyword():
    new_tool = tool(
        lambda: 1, name="one", description="One.", read_only=True, timeout=5, tags=["x"], requires_approval=True
    )
    assert new_tool.definition == {
        "name": "one", "description": "One.", "annotations": {"read_only": True},
        "input_schema": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    }  # fmt: skip
    assert (new_tool.timeout, new_tool.tags, new_tool.requires_approval) == (5, ["x"], True)


def test_a_tool_can_be_copied_with_other_options():
    plus = tool(add, name="plus", read_only=True)
    assert (plus.name, plus.annotations, plus(1)) == ("plus", {"read_only": True}, 3)
    assert add.name == "add"
