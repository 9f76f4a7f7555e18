"""`@tool`: a function that is a tool and stays a function."""

import inspect
import pydoc
import typing
from typing import Annotated, Literal

import pytest

from tools_core import Context, DefinitionError, Parameter, Tool, tool


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


def test_a_decorated_function_keeps_what_introspection_reads():
    assert (add.__name__, add.__module__, add.__doc__[:3]) == ("add", __name__, "Add")
    assert list(inspect.signature(add).parameters) == ["a", "b"]
    assert typing.get_type_hints(add)["a"] is int
    assert inspect.unwrap(add) is add.__wrapped__


def test_help_shows_the_signature_and_docstring_of_a_tool():
    text = pydoc.render_doc(add, renderer=pydoc.plaintext)
    assert "add(a: int, b: int = 2) -> int\n    Add two numbers.\n" in text


def test_a_decorated_function_is_a_tool():
    assert isinstance(add, Tool)
    assert (add.name, add.description) == ("add", "Add two numbers.")
    assert add.call({"a": 1}).output == 3
    assert add.call(a="x").error_type == "validation_error"
    assert add.input_schema["properties"]["a"] == {"type": "integer", "description": "The first."}


def test_options_are_set_by_keyword_and_misspelt_ones_are_refused():
    made = tool(
        lambda: 1, name="one", description="One.", read_only=True, timeout=5, tags=["x"], requires_approval=True
    )
    assert made.definition == {
        "name": "one", "description": "One.", "annotations": {"read_only": True},
        "input_schema": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    }  # fmt: skip
    assert (made.timeout, made.tags, made.requires_approval) == (5, ["x"], True)
    with pytest.raises(DefinitionError, match="readonly"):
        tool(lambda: 1, name="one", readonly=True)  # type: ignore[call-arg]


def test_a_function_without_a_usable_name_is_refused():
    with pytest.raises(DefinitionError, match="letters A-Z"):
        tool(lambda: 1)


def test_a_tool_can_be_made_again_with_other_options():
    again = tool(add, name="plus", read_only=True)
    assert (again.name, again.annotations, again(1)) == ("plus", {"read_only": True}, 3)
    assert add.name == "add"


def test_parameters_may_be_declared_apart_from_the_function():
    def find(query, limit=10):
        return [query, limit]

    made = tool(
        find,
        description="Find.",
        parameters=[Parameter("query", str, "What"), Parameter("limit", int, required=False, le=50)],
    )
    assert made.call(query="x").output == ["x", 10]
    assert "limit must be at most 50" in made.call(query="x", limit=51).error


def test_a_ready_schema_may_be_given():
    made = tool(lambda **arguments: arguments, name="echo", input_schema={"type": "object", "required": ["a"]})
    assert made.call(a=1, b=2).output == {"a": 1, "b": 2}
    assert "a is required" in made.call(b=2).error


def test_an_absent_optional_is_not_passed_so_that_the_functions_own_default_holds():
    marker = object()

    @tool
    def see(value: Annotated[str, "Any"] = marker, other: int | None = 5) -> str:  # type: ignore[assignment]
        """See."""
        return "default" if value is marker and other == 5 else "given"

    assert see.call().output == "default"
    assert see.call(value="x").output == "given"


def test_a_callable_object_and_a_partial_are_tools_too():
    from functools import partial

    class Adder:
        def __call__(self, a: int, b: int) -> int:
            return a + b

    assert tool(Adder(), name="adder").call(a=1, b=2).output == 3
    assert tool(partial(add.__wrapped__, b=5), name="add_five").call(a=1).output == 6


def test_a_literal_is_shown_as_choices_and_a_context_is_not_shown():
    @tool
    def weather(city: str, units: Literal["C", "F"] = "C", *, context: Context) -> str:
        """Weather."""
        return f"{city} {units} {context.state.get('user')}"

    assert weather.input_schema["properties"]["units"] == {"enum": ["C", "F"], "type": "string", "default": "C"}
    assert weather.call({"city": "Oslo"}, Context(state={"user": 1})).output == "Oslo C 1"
    assert 'units must be one of "C", "F", got "K"' in weather.call(city="Oslo", units="K").error
