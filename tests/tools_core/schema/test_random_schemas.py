"""Both evaluators and the package jsonschema agree about random schemas and values."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tools_core.schema import compile as compile_schema

NAMES = st.sampled_from(["a", "b", "kind", "odd key"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.sampled_from([0.0, 1.0, 2.5, -1.5, 2.0**53])
    | st.sampled_from(["", "a", "bb", "7", "2.5", "true", "null", "[1]", '{"a": 1}', "é", "x y"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
TYPES = ["string", "integer", "number", "boolean", "object", "array", "null"]
SIZES = st.integers(0, 3)
BOUNDS = st.integers(-2, 9) | st.sampled_from([0.5, 2.0])
PATTERNS = st.sampled_from(["^a", "b$", "[a-z]{2}", "\\d", "."])


def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of every supported keyword over the schemas `inner`."""
    some = st.lists(inner, min_size=1, max_size=3)
    members = st.dictionaries(NAMES, inner, max_size=3)
    anything = st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=4),
            "const": VALUES,
            "properties": members,
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
            "propertyNames": inner,
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
            "items": inner,
            "prefixItems": some,
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "minimum": BOUNDS,
            "exclusiveMaximum": BOUNDS,
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "minLength": SIZES,
            "maxLength": SIZES,
            "pattern": PATTERNS,
            "minItems": SIZES,
            "maxItems": SIZES,
            "uniqueItems": st.booleans(),
            "minProperties": SIZES,
            "maxProperties": SIZES,
            "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
        },
    )
    kind = {key: st.just(key) for key in TYPES}
    scalar = st.one_of(
        st.fixed_dictionaries({"type": kind["string"]}, optional={"maxLength": SIZES, "pattern": PATTERNS}),
        st.fixed_dictionaries({"type": kind["integer"]}, optional={"minimum": BOUNDS, "exclusiveMaximum": BOUNDS}),
        st.fixed_dictionaries({"type": kind["number"]}, optional={"minimum": BOUNDS}),
        st.fixed_dictionaries({"type": st.lists(st.sampled_from(TYPES), min_size=2, max_size=3, unique=True)}),
        st.fixed_dictionaries(
            {"enum": st.lists(SCALARS, min_size=1, max_size=4)}, optional={"type": st.sampled_from(TYPES)}
        ),
    )
    closed = st.fixed_dictionaries(
        {
            "type": kind["object"] | st.just(["object", "null"]),
            "properties": st.dictionaries(NAMES, scalar | inner, max_size=3),
            "required": st.lists(NAMES, max_size=2, unique=True),
        },
        optional={"additionalProperties": st.just(False) | inner},
    )
    array = st.fixed_dictionaries(
        {"type": kind["array"], "items": closed | inner}, optional={"uniqueItems": st.just(True)}
    )
    union = st.fixed_dictionaries({"anyOf": st.lists(closed | scalar | array, min_size=1, max_size=3)})
    return anything | closed | array | scalar | union


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    parts = st.recursive(st.booleans() | st.just({}), deeper, max_leaves=8)
    root = draw(parts.filter(lambda part: isinstance(part, dict)))
    # References lead downwards only, so that none is endless; recursive ones pass through a property.
    through = {"type": "object", "properties": {"a": {"$ref": "#/$defs/two"}, "b": {"type": "integer"}}}
    plain = draw(st.sampled_from([{"type": "string"}, {"type": "number"}, {"maxLength": 1}]))
    return {**root, "$defs": {"one": plain, "two": {"anyOf": [{"type": "null"}, through]}}}


def same(left: Any, right: Any) -> bool:
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


SETTINGS = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@pytest.mark.slow
@SETTINGS
@given(schemas(), st.lists(VALUES, min_size=1, max_size=6))
def test_verdicts_match_the_reference_implementation(schema: dict[str, Any], values: list[Any]) -> None:
    validator, reference = compile_schema(schema), Draft202012Validator(schema)
    for value in values:
        problems = validator.check(value, repair=False).problems
        assert (not problems) == reference.is_valid(value), (schema, value, problems)


NULLABLE = {"type": ["string", "null"], "$ref": "#/$defs/one", "$defs": {"one": {"type": "string"}}}


@pytest.mark.slow
@SETTINGS
@example(NULLABLE, [None])  # null is of the type, and refused by another keyword
@given(schemas(), st.lists(VALUES, min_size=1, max_size=6))
def test_accepted_values_have_no_problems_or_repairs(schema: dict[str, Any], values: list[Any]) -> None:
    validator = compile_schema(schema)
    for value in values:
        accepted = validator.accepts(value)
        if accepted:
            for repair in (False, True):
                checked = validator.check(value, repair=repair)
                assert (checked.problems, checked.repairs) == ([], [])
                assert same(checked.value, value)


@pytest.mark.slow
@SETTINGS
@given(schemas(), st.lists(VALUES, min_size=1, max_size=6))
def test_repaired_values_are_valid_and_originals_unchanged(schema: dict[str, Any], values: list[Any]) -> None:
    validator = compile_schema(schema)
    for value in values:
        before = copy.deepcopy(value)
        checked = validator.check(value)
        assert same(value, before)
        assert all(0 < len(str(problem)) <= 400 for problem in checked.problems)
        if not checked.problems:
            assert validator.check(checked.value, repair=False).problems == []
        if not validator.check(value, repair=False).problems:
            assert checked.problems == []
