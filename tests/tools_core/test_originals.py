"""The promises of the original ask-tools (S-01 to S-20) and its weaknesses (W-01 to W-20), claim by claim."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tools_core
from tools_core import (
    Context,
    DefinitionError,
    Halt,
    Parameter,
    Registry,
    Result,
    Tool,
    registry,
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


# --- what was promised -------------------------------------------------------------------------------------------


def test_the_package_exposes_tool_result_and_registry():
    assert {"Tool", "Result", "registry", "Registry"} <= set(tools_core.__all__)
    assert isinstance(registry, Registry)


def test_a_greeter_is_named_described_and_greets():
    greeter = Greeter()
    assert (greeter.name, greeter.description) == ("greeter", "Greets a person by name")
    result = greeter.call(name="World")
    assert result.ok and result.output == "Hello, World!"


def test_a_description_is_set_and_read_on_the_class():
    assert Greeter.description == Greeter().description == "Greets a person by name"
    Described = type("Described", (Greeter,), {"__doc__": "Other."})
    assert Described.description == "Other." and Greeter.description == "Greets a person by name"


@pytest.mark.parametrize("type", ["string", "integer", "number", "boolean", "array", "object"])
def test_a_parameter_has_one_of_the_json_types(type):
    assert Parameter("x", type).type == type
    with pytest.raises(DefinitionError, match="string"):
        Parameter("x", "binary")


def test_the_description_of_a_parameter_is_desc_as_well():
    assert Parameter("q", "string", desc="Search query", required=False) == Parameter(
        "q", str, "Search query", required=False
    )


def test_the_name_is_snake_case_without_a_trailing_tool():
    assert SearchTool().name == "search"


def test_parameters_are_a_mapping_in_order_of_declaration():
    assert list(SearchTool.parameters) == list(SearchTool().parameters) == ["query", "limit"]
    assert isinstance(SearchTool.parameters["query"], Parameter)


def test_call_validates_arguments_and_returns_a_result():
    assert Greeter().call().error == "name is required: a string"
    assert not Greeter().call(None).ok and not Greeter().call({}).ok
    assert Greeter().call({"name": "Ada"}).ok


def test_authors_write_execute():
    assert SearchTool().execute(query="x").output == ["x", 10]


def test_params_schema_is_none_without_parameters():
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


def halting_loop(replies: list[list[tuple[Tool, dict[str, Any]]]]) -> tuple[int, list[Result]]:
    """The smallest agent loop: how often the scripted model was asked, and every result."""
    asked, results = 0, []
    for calls in replies:
        asked += 1
        results += [subject.call(arguments) for subject, arguments in calls]
        if not calls or any(result.halted for result in results):
            break
    return asked, results


@pytest.fixture
def stop() -> Tool:
    @tool
    def stop(reason: str) -> None:
        """End the conversation."""
        try:
            raise Halt(reason)
        except Exception:  # noqa: BLE001  (what a careless author writes)
            pytest.fail("the tool's own except clause swallowed the halt")

    return stop


def test_after_a_halt_the_model_is_not_asked_again(stop):
    asked, results = halting_loop(
        [[(Greeter(), {"name": "a"})], [(stop, {"reason": "done"})], [(Greeter(), {"name": "b"})]]
    )
    assert asked == 2
    assert results[-1].metadata["halted"] is True and results[-1].output == "done"


def test_a_parameter_tells_name_type_description_and_whether_it_is_required():
    limit = SearchTool.parameters["limit"]
    assert (limit.name, limit.type, limit.description, limit.required) == ("limit", "integer", "Max results", False)


def test_the_core_has_no_dependency_and_ships_no_tool():
    code = "import tools_core, sys; from tools_core import Registry; print(Registry().discover_subclasses())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_execute_defines_defaults_and_expected_failures():
    assert SearchTool().call(query="x").output == ["x", 10]
    assert SearchTool().call(query="x", limit=3).output == ["x", 3]
    assert SearchTool().call(query="down") == Result.error("the index is down", type="unavailable")


# --- what was weak -----------------------------------------------------------------------------------------------


def test_halting_is_an_outcome_and_may_be_a_failure(stop):
    asked, _ = halting_loop([[(stop, {"reason": "x"})], [(Greeter(), {"name": "never"})]])
    assert asked == 1
    assert not Result.halt(Result.error("refused")).ok


def test_call_never_raises_and_a_tool_without_code_is_refused_when_defined():
    with pytest.raises(DefinitionError, match="does not define execute"):
        type("Forgot", (Tool,), {"__doc__": "Forgot."})
    anonymous = type("Anonymous", (Tool,), {"execute": lambda self: 1 / 0})
    assert not anonymous().call().ok


def test_types_choices_ranges_and_null_are_checked():
    class Order(Tool):
        """Order."""

        parameters = [
            Parameter("size", enum=["S", "M"]),
            Parameter("count", "integer", ge=1),
            Parameter("note", "string"),
        ]

        def execute(self, size: str, count: int, note: str) -> None: ...

    message = Order().call(size="XL", count=0, note=None).error
    assert 'size must be one of "S", "M", got "XL"' in message
    assert "count must be at least 1, got 0" in message
    assert "note must be a string, got null" in message


def test_declared_parameters_replace_inherited_ones():
    class Louder(Greeter):
        """Greets louder."""

        parameters = [Parameter("times", "integer")]

        def execute(self, times: int) -> str:  # type: ignore[override]
            return "HELLO " * times

    assert list(Louder.input_schema["properties"]) == ["times"]
    with pytest.raises(DefinitionError, match="times"):
        type("Wrong", (Tool,), {"parameters": [Parameter("times", "integer")], "execute": lambda self, name: name})


@pytest.mark.parametrize("schema", [42, "object", [], Greeter, print])
def test_invalid_schemas_are_refused(schema):
    with pytest.raises(DefinitionError):
        tool(lambda **arguments: arguments, name="any", input_schema=schema)


def test_items_defaults_choices_and_nesting_are_declared_and_enforced():
    line = [Parameter("id", "integer"), Parameter("quantity", "integer", required=False)]

    class Order(Tool):
        """Order."""

        parameters = [
            Parameter("lines", "array", properties=line),
            Parameter("ship_to", "object", properties=[Parameter("city"), Parameter("zip", required=False)]),
            Parameter("tags", "array", items="string", required=False),
            Parameter("priority", enum=["low", "high"], default="low"),
        ]

        def execute(self, lines: list, ship_to: dict, tags: list = (), priority: str = "low") -> list:
            return [lines, ship_to, list(tags), priority]

    assert Order.input_schema["properties"]["priority"]["default"] == "low"
    good = {"lines": [{"id": 1}], "ship_to": {"city": "Oslo"}, "tags": ["a"]}
    assert Order().call(good).output == [[{"id": 1}], {"city": "Oslo"}, ["a"], "low"]
    message = Order().call({"lines": [{"id": 1}, {"quantity": 2}], "ship_to": {}, "tags": ["a", 5]}).error
    assert (
        "lines[1].id is required" in message
        and "ship_to.city is required" in message
        and "tags[1] must be a string" in message
    )


def test_the_context_is_found_by_type_and_no_users_parameter_is_eaten():
    class Work(Tool):
        """Work."""

        def execute(self, abort_controller: str, ctx: Context) -> list:
            return [abort_controller, ctx.cancelled, ctx.deadline, ctx.workspace]

    assert Work().call(abort_controller="x").output == ["x", False, None, None]
