"""Parameters that are declared by hand."""

import pytest
from jsonschema import Draft202012Validator

from tools_core import Context, DefinitionError, Parameter, tool


@pytest.mark.parametrize(
    ("parameter", "schema"),
    [
        (Parameter("a"), {"type": "string"}),
        (Parameter("a", "INTEGER", "The a."), {"type": "integer", "description": "The a."}),
        (Parameter("a", "bool"), {"type": "boolean"}),
        (Parameter("a", list, items="string"), {"type": "array", "items": {"type": "string"}}),
        (Parameter("a", list, items={"type": "null"}), {"type": "array", "items": {"type": "null"}}),
        (
            Parameter("a", list, items=Parameter("b", int, ge=1)),
            {"type": "array", "items": {"type": "integer", "minimum": 1}},
        ),
        (Parameter("a", enum=["x", "y"]), {"type": "string", "enum": ["x", "y"]}),
        (
            Parameter("a", int, default=3, ge=1, le=5),
            {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
        ),
        (
            Parameter("a", min_length=1, max_length=2, pattern="^a"),
            {"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^a"},
        ),
        (
            Parameter("a", dict, properties=[Parameter("b"), Parameter("c", int, required=False)]),
            {
                "type": "object",
                "properties": {"b": {"type": "string"}, "c": {"type": "integer"}},
                "required": ["b"],
                "additionalProperties": False,
            },
        ),
    ],
    ids=repr,
)
def test_a_declaration_has_this_schema(parameter, schema):
    Draft202012Validator.check_schema(schema)
    assert parameter.schema() == schema


VALID = "valid types: string, integer, number, boolean, object, array"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"type": "binary"}, f"invalid type 'binary'; {VALID}"),
        ({"type": complex}, "complex cannot be created from JSON"),
        ({"type": list, "items": int, "properties": []}, "has both items and properties"),
        ({"type": str, "items": int}, "items is for the type array"),
        ({"type": int, "properties": []}, "properties is for the types object and array"),
        ({"type": str, "ge": 1}, "ge is a limit of integer, number, not of string"),
        ({"type": int, "examples": [1, "a"]}, 'the example must be an integer, got "a"'),
        ({"type": int, "default": 9, "le": 5}, "the default must be at most 5, got 9"),
        ({"enum": ["a"], "default": "b"}, 'the default must be "a", got "b"'),
        ({"type": int, "enum": [1, "a"]}, 'the enum value must be an integer, got "a"'),
        ({"enum": "abc"}, "enum must be a list of values, got 'abc'"),
        ({"type": dict, "properties": [Parameter("b"), Parameter("b")]}, "declared twice: b"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_declaration_that_contradicts_itself_is_refused(arguments, text):
    with pytest.raises(DefinitionError) as caught:
        Parameter("a", **arguments)
    assert str(caught.value).startswith(f"Parameter 'a': {text}")


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_declaration_needs_a_name(name):
    with pytest.raises(DefinitionError, match="a Parameter needs a name"):
        Parameter(name)


def test_a_default_makes_it_optional_and_is_copied_and_read_only():
    arguments = [1]
    parameter = Parameter("a", list, default=arguments)
    arguments.append(2)
    for default in (parameter.default, parameter.schema()["default"]):
        with pytest.raises(TypeError, match="read-only"):
            default.append(3)
    assert not parameter.required
    assert parameter.default == [1]


def test_parameters_are_values():
    assert Parameter("a", int, "x") == Parameter("a", "integer", "x")
    assert Parameter("a", int) != Parameter("a", int, required=False)
    assert Parameter("a") != "a"
    assert repr(Parameter("a", int, "The a.")) == "Parameter('a', 'integer', 'The a.')"


def test_a_declared_default_is_passed_to_the_function():
    def execute(city, units=None, limit=10):
        return city, units, limit

    declared = [Parameter("city"), Parameter("units", default="c"), Parameter("limit", int, required=False)]
    assert tool(execute, parameters=declared).call(city="B").output == ("B", "c", 10)


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ([Parameter("a"), Parameter("c")], "the function does not take the argument 'c'"),
        ([Parameter("b")], "the function needs 'a'; require it, or give it a default"),
        ([Parameter("a"), Parameter("context")], "the function does not take the argument 'context'"),
        (["a"], "expected Parameter objects, got str"),
    ],
    ids=["not taken", "not declared", "context", "no parameter"],
)
def test_a_declaration_that_does_not_fit_the_function_is_refused(declared, text):
    def execute(a, b=1, context: Context = None): ...

    with pytest.raises(DefinitionError, match=text):
        tool(execute, parameters=declared)
