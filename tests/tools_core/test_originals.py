"""The promises of the original ask-tools."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools_core import (
    DefinitionError,
    Halt,
    Parameter,
    Result,
    Tool,
    tool,
)

ROOT = Path(__file__).parents[2]


class Greeter(Tool):
    description = "Greets a person by name"
    parameters = [Parameter("name", type="string", description="The person's name", required=True)]

    def execute(self, name: str) -> Result:
        return Result.ok(f"Hello, {name}!")


class SearchTool(Tool):
    """Searches a knowledge base."""

    parameters = [
        Parameter("query", type="string", description="Search query"),
        Parameter("limit", type="integer", description="Max results", required=False),
    ]

    def execute(self, query: str, limit: int = 10) -> Result:
        if query == "down":
            return Result.error("the index is down", type="unavailable")
        return Result.ok([query, limit])


def test_a_description_is_set_and_read_on_the_class():
    assert Greeter.description == Greeter().description == "Greets a person by name"
    Described = type("Described", (Greeter,), {"__doc__": "Other."})
    assert Described.description == "Other." and Greeter.description == "Greets a person by name"


@pytest.mark.parametrize("type", ["string", "integer", "number", "boolean", "array", "object"])
def test_a_parameter_has_one_of_the_json_types(type):
    assert Parameter("x", type).type == type
    with pytest.raises(DefinitionError, match="string"):
        Parameter("x", "binary")


def test_parameters_are_a_mapping_in_order_of_declaration():
    assert list(SearchTool.parameters) == list(SearchTool().parameters) == ["query", "limit"]
    assert isinstance(SearchTool.parameters["query"], Parameter)


def test_a_tool_without_parameters_has_no_params_schema():
    assert SearchTool().params_schema["required"] == ["query"]
    assert tool(lambda: 1, name="none").params_schema is None


def test_a_definition_has_name_description_and_input_schema():
    assert (
        SearchTool().definition
        == SearchTool().tool_definition
        == {
            "name": "search",
            "description": "Searches a knowledge base.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Search query"},
                    "limit": {"type": "integer", "description": "Max results"},
                },
                "required": ["query"],
                "additionalProperties": False,
            },
        }
    )


def test_an_except_clause_of_the_tool_does_not_swallow_a_halt():
    @tool
    def stop(reason: str) -> None:
        """End the conversation."""
        try:
            raise Halt(reason)
        except Exception:  # noqa: BLE001  (what a careless author writes)
            pytest.fail("the halt was swallowed")

    result = stop.call(reason="done")
    assert result.metadata["halted"] is True and result.output == "done"


def test_a_parameter_tells_name_type_description_and_whether_it_is_required():
    limit = SearchTool.parameters["limit"]
    assert (limit.name, limit.type, limit.description, limit.required) == ("limit", "integer", "Max results", False)


def test_the_core_has_no_dependency_and_ships_no_tool():
    code = "import tools_core, sys; from tools_core import Registry; print(Registry().discover_subclasses())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_declared_parameters_replace_inherited_ones():
    class Louder(Greeter):
        """Greets louder."""

        parameters = [Parameter("times", "integer")]

        def execute(self, times: int) -> str:  # type: ignore[override]
            return "HELLO " * times

    assert list(Louder.input_schema["properties"]) == ["times"]
    with pytest.raises(DefinitionError, match="times"):
        type("Wrong", (Tool,), {"parameters": [Parameter("times", "integer")], "execute": lambda self, name: name})
