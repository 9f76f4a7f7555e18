"""Strict mode, rule by rule."""

from __future__ import annotations

import json

import pytest

from tools_core.formats import FORMATS, anthropic_strict, openai_strict

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node", "description": "The next."}}}


def convert(properties, required=None, *, name="responses-strict", **rest):
    """Return `strict` and the converted schema of a tool, which requires all members by default."""
    required = list(properties) if required is None else required
    schema = {"type": "object", "properties": properties, "required": required, **rest}
    [result] = FORMATS[name].definitions([{"name": "t", "input_schema": schema}])
    schema = result.get("parameters") or result.get("input_schema")
    return result["strict"], schema


def strict(properties, required=None, **rest):
    is_strict, schema = convert(properties, required, **rest)
    assert is_strict is True
    return schema["properties"]


def back(properties, arguments, required=(), **rest):
    definition = {"name": "t", "input_schema": {"properties": properties, "required": list(required), **rest}}
    call = {"id": "1", "function": {"name": "t", "arguments": json.dumps(arguments)}}
    return openai_strict.calls([call], [definition])[0].arguments


def test_objects_are_closed_and_optional_members_required_and_nullable():
    members = {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "at": {"type": "object", "properties": {"x": {}}},
    }
    members["at"]["properties"]["x"] = {"enum": ["a", 1], "type": ["string", "integer"]}
    is_strict, schema = convert(members, ["city"])
    at = {
        "type": "object",
        "properties": {"x": {"enum": ["a", 1, None], "type": ["string", "integer", "null"]}},
        "required": ["x"],
        "additionalProperties": False,
    }
    assert is_strict
    assert schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": ["integer", "null"]},
            "at": {"anyOf": [at, {"type": "null"}]},
        },
        "required": ["city", "days", "at"],
        "additionalProperties": False,
    }


def test_anthropic_keeps_optional_members_optional():
    is_strict, schema = convert({"city": {"type": "string"}, "days": {"type": "integer", "default": 3}}, ["city"],
                                name="anthropic-strict")  # fmt: skip
    assert is_strict
    assert schema["required"] == ["city"]
    assert schema["properties"]["days"] == {"type": "integer", "default": 3}
    assert schema["additionalProperties"] is False


def test_unsupported_limits_move_into_the_description():
    members = {
        "city": {"type": "string", "description": "Where.", "minLength": 3, "format": "uri", "x-order": 1},
        "days": {"type": "integer", "default": 5, "minimum": 0},
        "code": {"type": "string", "pattern": "(?=a)b"},
        "plain": {"type": "string", "pattern": "^[a-z]+$", "format": "date"},
    }
    assert strict(members) == {
        "city": {"type": "string", "description": 'Where. (format: "uri"; minLength: 3)'},
        "days": {"type": "integer", "minimum": 0, "description": "default: 5"},
        "code": {"type": "string", "description": 'pattern: "(?=a)b"'},
        "plain": {"type": "string", "pattern": "^[a-z]+$", "format": "date"},
    }
    by_anthropic = strict(members, name="anthropic-strict")
    assert by_anthropic["days"] == {"type": "integer", "default": 5, "description": "minimum: 0"}


def test_unions_and_references_have_their_strict_form():
    members = {
        "a": {"oneOf": [{"type": "integer"}, {"type": "string"}], "discriminator": {}},
        "b": {"$ref": "#/$defs/Node", "description": "B."},
        "c": {"$ref": "#/$defs/Node"},
    }
    result = strict(members, ["a", "c"], **{"$defs": {"Node": NODE, "unused": {}}})
    assert result["a"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert result["b"] == {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "description": "B."}
    assert result["c"] == {"$ref": "#/$defs/Node"}
    _, schema = convert(members, **{"$defs": {"Node": NODE, "unused": {}}})
    assert list(schema["$defs"]) == ["Node"]
    assert schema["$defs"]["Node"]["required"] == ["next"]


DEEP: dict = {"type": "string"}
for _ in range(10):
    DEEP = {"type": "object", "properties": {"a": DEEP}, "required": ["a"]}


@pytest.mark.parametrize(
    "member",
    [
        {"type": "object"},
        {},
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"type": "string", "not": {"const": "x"}},
        {"allOf": [{"type": "string"}, {"minLength": 3}]},
        {"enum": [{"a": 1}, "b"]},
        {"$ref": "#/properties/a"},
        {"type": "object", "properties": {}, "required": ["a"], "additionalProperties": False},
        {"type": "string", "enum": [str(n) for n in range(1_001)]},
        DEEP,
    ],
)
@pytest.mark.parametrize("name", ["openai-strict", "responses-strict", "anthropic-strict"])
def test_a_schema_without_a_strict_form_is_sent_as_without_strict_mode(name, member):
    definition = {"name": "t", "input_schema": {"type": "object", "properties": {"a": member}}}
    [result] = FORMATS[name].definitions([definition])
    [usual] = FORMATS[name.removesuffix("-strict")].definitions([definition])
    result, usual = result.get("function", result), usual.get("function", usual)
    assert result["strict"] is False
    assert (result.get("parameters") or result.get("input_schema")) == (
        usual.get("parameters") or usual["input_schema"]
    )


@pytest.mark.parametrize("root", [{"$ref": "#/$defs/Node"}, {"anyOf": [NODE, {"required": ["a"]}]}])
def test_a_root_without_its_own_properties_is_not_strict(root):
    schema = root | {"$defs": {"Node": NODE}}
    for name in ("openai-strict", "anthropic-strict"):
        [result] = FORMATS[name].definitions([{"name": "t", "input_schema": schema}])
        result = result.get("function", result)
        assert result["strict"] is False
        assert (result.get("parameters") or result["input_schema"])["additionalProperties"] is True


def test_recursive_schemas_are_not_strict_for_anthropic():
    members = {"list": {"$ref": "#/$defs/Node"}}
    assert convert(members, name="anthropic-strict", **{"$defs": {"Node": NODE}})[0] is False
    assert convert(members, **{"$defs": {"Node": NODE}})[0] is True


def test_strict_tools_stay_within_the_limits_of_anthropic():
    def tool(number, **members):
        return {"name": f"t{number}", "input_schema": {"type": "object", "properties": members}}

    plain = [tool(n) for n in range(25)]
    assert [item["strict"] for item in anthropic_strict.definitions(plain)] == [True] * 20 + [False] * 5
    optional = [tool(n, **{str(m): {"type": "string"} for m in range(10)}) for n in range(3)]
    assert [item["strict"] for item in anthropic_strict.definitions([*optional, tool(9)])] == [True, True, False, True]
    union = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    unions = [tool(n, **{str(m): union for m in range(6)}) for n in range(3)]
    assert [item["strict"] for item in anthropic_strict.definitions(unions)] == [True, True, False]


def test_only_strict_formats_set_strict():
    tools = [{"name": "t"}]
    assert "strict" not in FORMATS["openai"].definitions(tools)[0]["function"]
    assert "strict" not in FORMATS["anthropic"].definitions(tools)[0]
    assert FORMATS["responses"].definitions(tools)[0]["strict"] is False  # the default of the API is true


def test_nulls_of_optional_members_are_removed_at_every_depth():
    item = {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}}, "required": ["x"]}
    members = {
        "days": {"type": "integer"},
        "items": {"type": "array", "items": {"anyOf": [item, {"type": "string"}]}},
        "node": {"$ref": "#/$defs/Node"},
    }
    sent = {"days": None, "items": [{"x": "a", "y": None}, "b"], "node": {"next": {"next": None}}}
    expected = {"items": [{"x": "a"}, "b"], "node": {"next": {}}}
    assert back(members, sent, **{"$defs": {"Node": NODE}}) == expected


def test_meaningful_nulls_are_preserved():
    members = {
        "limit": {"type": ["integer", "null"], "default": 10},
        "any": {},
        "one": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "enum": {"enum": ["a", None]},
        "city": {"type": "string"},
    }
    sent = dict.fromkeys([*members, "unknown"])
    assert back(members, sent, required=["city"]) == sent
    assert back({"a": {"type": "float"}}, {"a": None}) == {"a": None}  # not a type of JSON Schema
