"""Subclasses of `Tool`: definition, calls, inheritance and context."""

import copy
import dataclasses
import json
import pickle
from typing import Annotated, Any

import pytest

from tools_core import (
    Context,
    DefinitionError,
    Halt,
    Parameter,
    Result,
    Tool,
    ToolCall,
    ToolError,
    tool,
)


class Greeter(Tool):
    """Greet a person.

    Args:
        name: The person's name.
    """

    def execute(self, name: str, greeting: Annotated[str, "What to say"] = "Hello") -> str:
        return f"{greeting}, {name}!"


def test_a_tool_is_defined_by_its_signature_and_docstring():
    assert Greeter().definition == {
        "name": "greeter",
        "description": "Greet a person.",
        "input_schema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The person's name."},
                "greeting": {"type": "string", "description": "What to say", "default": "Hello"},
            },
            "required": ["name"],
            "additionalProperties": False,
        },
    }


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.call({"name": "Ada"}),
        lambda t: t.call('{"name": "Ada"}'),
        lambda t: t.call(b'{"name": "Ada"}'),
        lambda t: t.call(name="Ada"),
        lambda t: t.call({"name": "Ada"}, greeting="Hello"),
        lambda t: t.call(ToolCall("call_1", "greeter", '{"name": "Ada"}')),
    ],
    ids=["mapping", "json", "bytes", "keywords", "mapping and keywords", "tool call"],
)
def test_call_takes_arguments_in_every_form_that_they_come_in(call):
    assert call(Greeter()).output == "Hello, Ada!"


@pytest.mark.parametrize("arguments", [5, ["name"], object()])
def test_arguments_other_than_objects_are_refused(arguments):
    result = Greeter().call(arguments)
    assert result.error_type == "validation_error"
    assert result.metadata["reason"] == "not_an_object"


def test_execute_may_be_static_or_a_class_method():
    class Static(Tool):
        """Static."""

        @staticmethod
        def execute(a: int) -> int:
            return a

    class OfClass(Tool):
        """Of the class."""

        @classmethod
        def execute(cls, a: int) -> str:
            return f"{cls.__name__} {a}"

    assert list(Static.input_schema["properties"]) == list(OfClass.input_schema["properties"]) == ["a"]
    assert (Static().call(a=1).output, OfClass().call(a=1).output) == (1, "OfClass 1")


def test_repairs_are_recorded_and_tools_without_repairs_refuse_instead():
    class Wait(Tool):
        """Wait."""

        def execute(self, seconds: int) -> int:
            return seconds

    class ExactWait(Wait):
        repair = False

    arguments = {"seconds": "2"}
    repaired = Wait().call(arguments)
    assert repaired.output == 2
    assert arguments == {"seconds": "2"}
    assert repaired.metadata["repaired"] == ['seconds: "2" -> 2']
    assert ExactWait().call(seconds="2").error_type == "validation_error"


def test_a_returned_result_keeps_its_metadata():
    class Give(Tool):
        """Give."""

        def execute(self, n: int = 0) -> Result:
            return Result.error("none left", type="sold_out", metadata={"left": n})

    assert Give().call() == Result.error("none left", type="sold_out", metadata={"left": 0})
    assert Give().call(n="3").metadata == {"left": 3, "repaired": ['n: "3" -> 3']}


def test_a_generator_is_collected_and_its_exception_is_a_result():
    class Count(Tool):
        """Count."""

        def execute(self, to: int) -> Any:
            yield from range(to)
            if to > 3:
                raise ToolError("too far")

    assert Count().call(to=2).output == [0, 1]
    assert Count().call(to=4).error == "too far"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (RuntimeError(), "RuntimeError"),
        (StopIteration(3), "StopIteration: 3"),
        (RecursionError("deep"), "RecursionError: deep"),
        (ExceptionGroup("two", [ValueError("a"), OSError("b")]), "ExceptionGroup: two (2 sub-exceptions)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_exception_becomes_an_execution_error_that_keeps_the_exception(error, message):
    class Fail(Tool):
        """Fail."""

        def execute(self) -> None:
            raise error

    result = Fail().call()
    assert (result.error, result.error_type) == (message, "execution_error")
    assert result.exception is error
    assert "Traceback" not in result.to_json()


@pytest.mark.parametrize(
    ("error", "type"),
    [
        (RuntimeError("r"), "execution_error"),
        (ToolError("not for you", "denied"), "denied"),
        (Halt("enough"), None),
        (ValueError("too many"), "validation_error"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_exceptions_of_argument_classes_become_results(error, type):
    @dataclasses.dataclass
    class Picky:
        x: int

        def __post_init__(self) -> None:
            raise error

    class Take(Tool):
        """Take."""

        def execute(self, picky: Picky) -> None: ...

    result = Take().call(picky={"x": 1})
    assert result.error_type == type
    assert result.halted == (type is None)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exits_and_interrupts_pass_through(stop):
    class End(Tool):
        """End."""

        def execute(self) -> None:
            raise stop

    with pytest.raises(stop):
        End().call()


def test_halt_ends_the_conversation_if_it_is_raised_or_returned():
    class Stop(Tool):
        """Stop."""

        def execute(self, how: str) -> Any:
            if how == "return":
                return Halt("done")
            try:
                raise Halt("done")
            except Exception:  # noqa: BLE001  (what a careless author writes)
                return "swallowed"

    assert Tool.Halt is Halt
    for how in ("return", "raise"):
        result = Stop().call(how=how)
        assert result.ok and result.halted and result.output == "done"


def test_a_class_without_execute_is_refused():
    with pytest.raises(DefinitionError, match="does not define execute"):

        class Empty(Tool):
            """Empty."""


def test_an_abstract_base_cannot_be_instantiated():
    class Base(Tool, abstract=True):
        requires_approval = True

    class Concrete(Base):
        """Do it."""

        def execute(self) -> None: ...

    with pytest.raises(TypeError, match="subclass it"):
        Base()
    with pytest.raises(TypeError, match="subclass it"):
        Tool()
    assert Concrete().requires_approval


@pytest.mark.parametrize("name", ["", "has spaces", "2fast", "a" * 65, "naïve", 5])
def test_an_illegal_name_is_refused_with_the_rule(name):
    with pytest.raises(DefinitionError, match="letters A-Z"):
        type("Named", (Tool,), {"name": name, "execute": lambda self: None})


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"timeout": 0}, "timeout"),
        ({"requires_approval": "no"}, "requires_approval"),
        ({"read_only": "yes"}, "read_only"),
        ({"read_only": True, "destructive": True}, "both"),
        ({"annotations": {"read_only": True}}, "as attributes"),
        ({"tags": "files"}, "tags"),
        ({"description": 5}, "description"),
        ({"input_schema": {"type": "array"}}, "object"),
        ({"input_schema": [1]}, "dict"),
        ({"input_schema": {"properties": {}}, "parameters": [Parameter("a")]}, "both"),
        ({"input_schema": {"properties": {"a": {"type": "strnig"}}}}, "strnig"),
    ],
    ids=str,
)
def test_invalid_attributes_are_refused_at_definition(attributes, message):
    with pytest.raises(DefinitionError, match=message):
        type("Bad", (Tool,), {"execute": lambda self, **arguments: None, "__doc__": "Bad.", **attributes})


class Lookup(Tool):
    """Look something up."""

    input_schema = {
        "properties": {"key": {"type": "string", "pattern": "^[a-z]+$"}, "depth": {"type": "integer", "maximum": 3}},
        "required": ["key"],
        "additionalProperties": False,
    }

    def execute(self, **arguments: Any) -> Any:
        return arguments


def test_a_ready_schema_is_shown_and_enforced():
    assert Lookup.input_schema["type"] == "object"
    assert Lookup().call(key="abc", depth=2).output == {"key": "abc", "depth": 2}
    assert "key must match" in Lookup().call(key="ABC").error
    assert "depth must be at most 3" in Lookup().call(key="a", depth=4).error


def test_a_function_must_take_all_arguments_of_its_schema():
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False}
    with pytest.raises(DefinitionError, match="does not take the argument 'b'"):
        type("Bad", (Tool,), {"input_schema": schema, "execute": lambda self, a=1: a})
    with pytest.raises(DefinitionError, match="any further argument"):
        type("Bad", (Tool,), {"input_schema": {"type": "object"}, "execute": lambda self: None})
    with pytest.raises(DefinitionError, match="needs 'a'; require it"):
        type("Bad", (Tool,), {"input_schema": schema, "execute": lambda self, a, b=1: a})


@pytest.mark.parametrize(
    "change",
    [
        lambda tool: tool.definition["input_schema"]["properties"].clear(),
        lambda tool: tool.input_schema["properties"]["name"].update(type="integer"),
        lambda tool: tool.input_schema.pop("required"),
        lambda tool: tool.input_schema.__ior__({"type": "array"}),
        lambda tool: type(tool).input_schema["required"].append("x"),
        lambda tool: tool.input_schema["required"].sort(),
        lambda tool: tool.input_schema["required"].__delitem__(0),
        lambda tool: tool.parameters["name"].schema().update(type="integer"),
        lambda tool: tool.parameters.clear(),
    ],
    ids=range(9),
)
def test_schemas_are_read_only(change):
    tool = Greeter()
    before = copy.deepcopy(tool.definition)
    with pytest.raises((TypeError, AttributeError), match=r"read-only|clear"):
        change(tool)
    tool.definition.clear()
    assert tool.definition == before


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda schema: pickle.loads(pickle.dumps(schema)), lambda schema: json.loads(json.dumps(schema))],
    ids=["deepcopy", "pickle", "json"],
)
def test_a_copy_of_a_schema_can_be_changed(copied):
    schema = copied(Greeter().input_schema)
    assert schema == Greeter().input_schema
    schema["properties"]["name"]["type"] = "integer"
    schema["required"].append("greeting")
    assert (type(schema), type(schema["required"])) == (dict, list)


def test_restrictive_flags_are_inherited_and_loosening_is_explicit():
    class Delete(Tool):
        """Delete."""

        requires_approval = True
        destructive = True
        repair = False

        def execute(self, path: str) -> None: ...

    class DeleteAll(Delete):
        """Delete all."""

    class DeleteDraft(Delete):
        """Delete a draft."""

        requires_approval = False

    assert (DeleteAll.requires_approval, DeleteAll.repair, DeleteAll.annotations) == (
        True,
        False,
        {"destructive": True},
    )
    assert DeleteDraft.requires_approval is False and not DeleteDraft.repair


def test_a_claim_of_harmlessness_is_not_inherited_by_other_code():
    class Peek(Tool):
        """Peek."""

        read_only = True
        idempotent = True

        def execute(self) -> None: ...

    class Renamed(Peek):
        """The same code."""

    class Poke(Peek):
        """Other code."""

        def execute(self) -> None: ...

    assert Renamed.annotations == {"read_only": True, "idempotent": True}
    assert Poke.annotations == {}


def test_a_subclass_of_a_tool_keeps_the_schema_and_derives_a_name():
    class Named(Greeter):
        name = "welcome"

    class Polite(Named):
        """Greet politely."""

    assert (Named.name, Polite.name) == ("welcome", "polite")
    assert Polite.description == "Greet politely." and Named.description == "Greet a person."
    assert Polite.input_schema == Greeter.input_schema
    assert Polite().call(name="Ada").output == "Hello, Ada!"


def test_instances_have_settings_and_may_describe_themselves():
    class Read(Tool):
        """Read a file."""

        def __init__(self, root: str) -> None:
            self.root = root
            self.description = f"Read a file below {root}."

        def execute(self, path: str) -> str:
            return f"{self.root}/{path}"

    a, b = Read("/a"), Read("/b")
    assert (a.call(path="x").output, b.call(path="x").output) == ("/a/x", "/b/x")
    assert a.definition["description"] == "Read a file below /a."


class Report(Tool):
    """Report."""

    def execute(self, steps: int, context: Context) -> dict[str, Any]:
        for step in range(steps):
            context.progress(step + 1, steps, "working")
        return {"user": context.state.get("user"), "id": context.call_id, "workspace": str(context.workspace)}


def test_the_context_is_injected_and_invisible_to_the_model(tmp_path):
    events = []
    context = Context(
        state={"user": 7}, workspace=tmp_path, call_id="c1", on_progress=lambda *event: events.append(event)
    )
    assert list(Report.input_schema["properties"]) == ["steps"]
    assert Report().call({"steps": 2}, context).output == {"user": 7, "id": "c1", "workspace": str(tmp_path)}
    assert events == [(1, 2, "working"), (2, 2, "working")]
    assert Report().call({"steps": 1}, context=context).ok
    assert Report().call({"steps": 1}).output["user"] is None


def test_a_model_cannot_supply_the_context():
    result = Report().call({"steps": 1, "context": {"user": "root"}})
    assert result.error_type == "validation_error" and "context" in result.error


def test_the_call_id_of_a_tool_call_reaches_the_tool():
    assert Report().call(ToolCall("call_9", "report", {"steps": 0})).output["id"] == "call_9"


def test_desc_is_another_name_of_description():
    class Greet(Tool):
        desc = "Greet a person."

        def execute(self, name: str) -> str:
            return name

    class Welcome(Greet):
        desc = "Welcome a person."

    add = tool(lambda a, b: a + b, name="add", desc="Add.", parameters=[Parameter("a", int), Parameter("b", int)])
    assert (Greet.desc, Greet.description, Greet().desc) == ("Greet a person.",) * 3
    assert Welcome.desc == Welcome().definition["description"] == "Welcome a person."
    assert add.desc == add.description == "Add."


def test_a_function_with_self_outside_a_class_is_an_error():
    def shout(self, text: str) -> str:
        """Shout."""
        return text

    with pytest.raises(DefinitionError, match="not a method"):
        tool(shout)
