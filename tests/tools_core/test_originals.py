"""The promises of the original ask-tools (S-01 to S-20) and its weaknesses (W-01 to W-20), claim by claim."""

import json
import subprocess
import sys
import threading
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
    UnknownToolError,
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


def test_s01_the_package_exposes_tool_result_and_registry():
    assert {"Tool", "Result", "registry", "Registry"} <= set(tools_core.__all__)
    assert isinstance(registry, Registry)


def test_s02_a_greeter_is_named_described_and_greets():
    greeter = Greeter()
    assert (greeter.name, greeter.description) == ("greeter", "Greets a person by name")
    result = greeter.call(name="World")
    assert result.ok and result.output == "Hello, World!"


def test_s03_a_description_is_set_and_read_on_the_class():
    assert Greeter.description == Greeter().description == "Greets a person by name"
    Described = type("Described", (Greeter,), {"__doc__": "Other."})
    assert Described.description == "Other." and Greeter.description == "Greets a person by name"


@pytest.mark.parametrize("type", ["string", "integer", "number", "boolean", "array", "object"])
def test_s04_a_parameter_has_one_of_the_json_types(type):
    assert Parameter("x", type).type == type
    with pytest.raises(DefinitionError, match="string"):
        Parameter("x", "binary")


def test_s04_the_description_of_a_parameter_is_desc_as_well():
    assert Parameter("q", "string", desc="Search query", required=False) == Parameter(
        "q", str, "Search query", required=False
    )


def test_s05_the_name_is_snake_case_without_a_trailing_tool():
    assert SearchTool().name == "search"


def test_s06_parameters_are_a_mapping_in_order_of_declaration():
    assert list(SearchTool.parameters) == list(SearchTool().parameters) == ["query", "limit"]
    assert isinstance(SearchTool.parameters["query"], Parameter)


def test_s07_call_takes_nothing_or_arguments_checks_them_and_always_returns_a_result():
    assert Greeter().call().error == "name is required: a string"
    assert not Greeter().call(None).ok and not Greeter().call({}).ok
    assert Greeter().call({"name": "Ada"}).ok


def test_s08_execute_is_what_an_author_writes():
    assert SearchTool().execute(query="x").output == ["x", 10]


def test_s09_params_schema_is_a_json_schema_or_none_without_parameters():
    assert SearchTool().params_schema["required"] == ["query"]
    assert tool(lambda: 1, name="none").params_schema is None


def test_s10_a_definition_has_name_description_and_input_schema():
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
        results += [made.call(arguments) for made, arguments in calls]
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


def test_s11_after_a_halt_the_model_is_not_asked_again(stop):
    asked, results = halting_loop(
        [[(Greeter(), {"name": "a"})], [(stop, {"reason": "done"})], [(Greeter(), {"name": "b"})]]
    )
    assert asked == 2
    assert results[-1].metadata["halted"] is True and results[-1].output == "done"


def test_s12_any_other_exception_is_an_error_result():
    @tool
    def divide(a: int, b: int) -> float:
        """Divide."""
        return a / b

    assert divide.call(a=1, b=0).error == "ZeroDivisionError: division by zero"


def test_s13_results_are_made_by_ok_and_error_with_metadata():
    assert Result.ok("output", metadata={"key": "val"}).metadata == {"key": "val"}
    assert Result.error("Something went wrong", metadata={"code": 500}).metadata == {"code": 500}


def test_s14_a_result_tells_success_output_error_and_metadata():
    ok, error = Result.ok(1), Result.error("no")
    assert (ok.ok, ok.output, ok.error, ok.metadata) == (True, 1, None, {})
    assert (error.ok, error.output, error.error) == (False, None, "no")


def test_s15_a_result_as_text_as_dict_and_for_people():
    assert (str(Result.ok(5)), str(Result.error("no"))) == ("5", "no")
    assert list(Result.ok(5).to_dict()) == ["ok", "output", "error", "metadata"]
    assert "5" in repr(Result.ok(5)) and "no" in repr(Result.error("no"))


def test_s16_a_parameter_tells_name_type_description_and_whether_it_is_required():
    limit = SearchTool.parameters["limit"]
    assert (limit.name, limit.type, limit.description, limit.required) == ("limit", "integer", "Max results", False)


def test_s17_the_registry_registers_lists_finds_discovers_counts_and_clears():
    mine = Registry()
    assert mine.register(Greeter) is Greeter
    assert mine.count == 1 and [made.name for made in mine.all()] == ["greeter"]
    assert mine["greeter"].call(name="Ada").ok and mine.get("nope") is None
    assert SearchTool in mine.discover_subclasses() and mine.discover_subclasses() == []
    mine.clear()
    assert mine.count == 0


def test_s18_the_core_has_no_dependency_and_ships_no_tool():
    code = "import tools_core, sys; from tools_core import Registry; print(Registry().discover_subclasses())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_s19_the_scaffold_that_was_only_claimed_exists(tmp_path):
    command = [sys.executable, "-m", "tools_core", "new", "weather", "--dir", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "tools-weather" / "pyproject.toml").is_file()


def test_s20_an_optionals_default_lives_in_execute_and_an_expected_failure_is_a_result():
    assert SearchTool().call(query="x").output == ["x", 10]
    assert SearchTool().call(query="x", limit=3).output == ["x", 3]
    assert SearchTool().call(query="down") == Result.error("the index is down", type="unavailable")


# --- what was weak -----------------------------------------------------------------------------------------------


def test_w01_halting_is_an_outcome_and_may_be_a_failure(stop):
    asked, _ = halting_loop([[(stop, {"reason": "x"})], [(Greeter(), {"name": "never"})]])
    assert asked == 1
    assert not Result.halt(Result.error("refused")).ok


def test_w02_call_never_raises_and_a_tool_without_code_is_refused_when_defined():
    with pytest.raises(DefinitionError, match="does not define execute"):
        type("Forgot", (Tool,), {"__doc__": "Forgot."})
    anonymous = type("Anonymous", (Tool,), {"execute": lambda self: 1 / 0})
    assert not anonymous().call().ok


def test_w03_every_return_value_becomes_a_result():
    for value in ("text", {"a": 1}, None, Halt("x")):
        assert isinstance(
            tool(
                lambda value=value: value, name="give", input_schema={"type": "object", "additionalProperties": False}
            ).call(),
            Result,
        )


@pytest.mark.parametrize("text", ["{", "nonsense", "null", "[]", '"{}"', '{"a": NaN}', "{} {}", "[" * 100_000])
def test_w04_malformed_arguments_never_run_a_tool_without_parameters(text):
    ran = []
    nothing = tool(lambda: ran.append(1), name="nothing")
    result = nothing.call(text)
    assert result.error_type == "validation_error" and ran == []
    assert result.metadata["reason"] in ("invalid_json", "not_an_object", "not_finite", "too_deep")


def test_w05_types_choices_and_ranges_are_checked_and_null_is_no_value():
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


def test_w06_declared_and_ready_schemas_go_through_one_validator_with_one_wording():
    ready = tool(lambda **arguments: arguments, name="greeter", input_schema=dict(Greeter().params_schema))
    for arguments in ({}, {"name": 5}, {"name": "x", "y": 1}):
        assert ready.call(arguments).error == Greeter().call(arguments).error


def test_w07_declarations_and_inference_do_not_mix_and_subclasses_say_what_they_take():
    class Louder(Greeter):
        """Greets louder."""

        parameters = [Parameter("times", "integer")]

        def execute(self, times: int) -> str:  # type: ignore[override]
            return "HELLO " * times

    assert list(Louder.input_schema["properties"]) == ["times"]
    with pytest.raises(DefinitionError, match="times"):
        type("Wrong", (Tool,), {"parameters": [Parameter("times", "integer")], "execute": lambda self, name: name})


@pytest.mark.parametrize("schema", [42, "object", [], Greeter, print])
def test_w08_a_schema_that_is_none_is_refused_not_ignored(schema):
    with pytest.raises(DefinitionError):
        tool(lambda **arguments: arguments, name="any", input_schema=schema)


def test_w09_items_defaults_choices_and_nesting_are_declared_and_enforced():
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


def test_w10_definitions_are_fixed_when_the_class_is_and_copies_are_handed_out():
    SearchTool().definition["input_schema"]["properties"].clear()
    SearchTool().params_schema.clear()
    assert SearchTool().call(query="x").ok and SearchTool().definition["input_schema"]["properties"]


@pytest.mark.parametrize("name", ["", "has spaces and ☃", "a" * 65, "日本語"])
def test_w11_an_unusable_name_is_refused_when_the_tool_is_defined(name):
    with pytest.raises(DefinitionError):
        type("Named", (Tool,), {"name": name, "execute": lambda self: 1})
    with pytest.raises(DefinitionError, match="my_tool"):
        type("日本語", (Tool,), {"execute": lambda self: 1})


def test_w12_the_context_is_found_by_type_and_no_users_parameter_is_eaten():
    class Work(Tool):
        """Work."""

        def execute(self, abort_controller: str, ctx: Context) -> list:
            return [abort_controller, ctx.cancelled, ctx.deadline, ctx.workspace]

    assert Work().call(abort_controller="x").output == ["x", False, None, None]


def test_w13_the_model_reads_a_message_and_the_developer_keeps_the_traceback():
    result = tool(lambda: {}["secret_key"], name="leak").call()
    assert result.error == "KeyError: 'secret_key'"
    assert result.exception.__traceback__ is not None
    assert "lambda" not in result.to_json() and __file__ not in result.to_json()


def test_w14_a_result_is_an_immutable_value_that_survives_json():
    result = Result.error("late", type="timeout_error", metadata={"after": 3})
    assert Result.from_dict(json.loads(result.to_json())) == result
    with pytest.raises(AttributeError):
        result.error = "other"


def test_w15_restrictive_flags_are_inherited():
    class Drop(Tool):
        """Drop."""

        requires_approval = destructive = True

        def execute(self) -> None: ...

    class DropTable(Drop):
        """Drop a table."""

        def execute(self) -> None: ...

    assert DropTable.requires_approval and DropTable.annotations == {"destructive": True}


def test_w16_the_registry_keys_by_name_refuses_collisions_and_survives_threads():
    mine = Registry()
    mine.register(Greeter)
    with pytest.raises(ValueError, match="greeter"):
        mine.register(tool(lambda: 1, name="greeter"))
    mine.register(tool(lambda: 1, name="greeter"), replace=True)
    with pytest.raises(DefinitionError):
        mine.register("no tool")
    with pytest.raises(UnknownToolError, match="did you mean greeter"):
        mine["greter"]
    threads = [threading.Thread(target=mine.register, args=(tool(lambda: 1, name=f"t{n}"),)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mine.count == 51 and next(iter(mine)) == "greeter"
