"""Any tool that hints can define returns a Result for any JSON, and runs only with valid arguments."""

import datetime as dt
import enum
import json
from dataclasses import make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, TypedDict
from uuid import UUID

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tools_core import Limits, Result, tool


class Size(enum.Enum):
    S = "small"
    L = 2


scalars = st.sampled_from(
    [
        *(str, int, float, bool, Any, dt.date, dt.datetime, UUID, Path, Size),
        *(Literal["a", "b"], Optional[Literal[1, "x"]]),
        *(
            Annotated[int, Limits(ge=0, lt=10)],
            Annotated[str, Limits(max_length=3)],
            Annotated[str, Limits(pattern="^a")],
        ),
    ]
)


def containers(inner):
    return st.one_of(
        inner.map(lambda hint: list[hint]),
        inner.map(lambda hint: dict[str, hint]),
        inner.map(lambda hint: Optional[hint]),
        inner.map(lambda hint: set[hint] if hint in (str, int) else tuple[hint, ...]),
        st.tuples(inner, inner).map(lambda hints: tuple[hints]),
        st.tuples(inner, inner).map(lambda hints: TypedDict("Made", {"a": hints[0], "b": hints[1]}, total=False)),
        st.tuples(inner, inner).map(lambda hints: make_dataclass("Made", [("a", hints[0]), ("b", hints[1], None)])),
    )


hints = st.recursive(scalars, containers, max_leaves=5)
texts = st.text(max_size=4) | st.sampled_from(
    ["a", "b", "small", "2026-11-20", "1", "true", "[]", '{"a": 1}', str(UUID(int=1))]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]) | texts, inner, max_size=3),
    max_leaves=8,
)


def like(hint):
    """JSON that often fits a hint."""
    schema = made_of({"x": hint}).input_schema["properties"]["x"]
    kinds = {
        "string": texts,
        "integer": st.integers(-3, 12),
        "number": st.floats(-9, 9) | st.integers(-3, 3),
        "boolean": st.booleans(),
        "array": st.lists(json_values, max_size=3),
        "object": st.dictionaries(st.sampled_from(["a", "b"]), json_values, max_size=2),
    }
    if "enum" in schema:
        return st.sampled_from([*schema["enum"]]) | json_values
    return kinds.get(schema.get("type") if isinstance(schema.get("type"), str) else "", json_values) | json_values


ran: list[dict[str, Any]] = []


def made_of(annotations):
    def body(**arguments):
        ran.append(arguments)

    names = ", ".join(annotations)
    namespace: dict[str, Any] = {"body": body}
    exec(f"def subject({names}=None): return body({', '.join(f'{n}={n}' for n in annotations)})", namespace)
    function = namespace["subject"]
    function.__annotations__ = dict(annotations)
    return tool(function, description="Made.")


@pytest.mark.slow
@given(st.data(), hints, hints)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
def test_the_body_runs_on_all_valid_arguments_and_no_others(data, first, second):
    subject = made_of({"x": first, "y": second})
    arguments = data.draw(st.fixed_dictionaries({"x": like(first)}, optional={"y": like(second), "z": json_values}))
    assume(_can_be_sent(arguments))
    ran.clear()
    result = subject.call(arguments)
    event("ran" if ran else "refused")
    assert isinstance(result, Result)
    assert result.ok == bool(ran)
    assert result.ok or result.error_type == "validation_error", result
    allowed = jsonschema.Draft202012Validator(subject.definition["input_schema"]).is_valid(arguments)
    if ran:
        assert allowed or "repaired" in result.metadata, result
    elif allowed:  # conversion knows more than JSON Schema: that 2026-02-31 is no day
        assert "must be" in result.error or "is invalid" in result.error, result
    assert subject.call(json.dumps(arguments)) == result


def _can_be_sent(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
