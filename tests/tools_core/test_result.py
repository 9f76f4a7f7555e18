"""`Result`: what callers, models and stores can rely on."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import subprocess
import sys
import uuid
from pathlib import PurePosixPath

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import Audio, File, Image, Result, ToolError, tool

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    when: dt.date


class Model(pydantic.BaseModel):
    id: uuid.UUID
    price: decimal.Decimal


def test_ok_carries_its_output_and_no_error():
    result = Result.ok({"a": 1}, metadata={"key": "val"})
    assert result.ok is True and bool(result) and not result.halted
    assert result.output == {"a": 1}
    assert result.error is None and result.error_type is None
    assert result.metadata == {"key": "val"}


def test_error_carries_message_and_type_and_no_output():
    result = Result.error("no such city", type="not_found", metadata={"code": 404})
    assert result.ok is False and not bool(result)
    assert (result.output, result.error, result.error_type) == (None, "no such city", "not_found")
    assert result.content == str(result) == "no such city"


class Kind(enum.Enum):
    BUSY = "busy"


@pytest.mark.parametrize(("type", "text"), [(Kind.BUSY, "busy"), (404, "404")])
def test_error_types_become_text(type, text):
    for result in (Result.error("no", type=type), tool(lambda: fail(type), name="f", description="F.").call()):
        assert result.error_type == text
        assert Result.from_dict(json.loads(result.to_json())) == result


def fail(type):
    raise ToolError("no", type)


class Mine(Result):
    """A subclass, whose factories make its own kind."""


def test_the_factories_of_a_subclass_make_that_subclass():
    results = [Mine.ok(), Mine.error("no"), Mine.halt(), Mine.text(1), Mine.json(1)]
    assert {type(result) for result in results} == {Mine}


def test_unwrap_returns_the_output_or_raises_the_exception_of_the_tool():
    assert Result.ok(3).unwrap() == 3
    with pytest.raises(ZeroDivisionError):
        tool(lambda: 1 / 0, name="divide", description="Divide.").call().unwrap()
    with pytest.raises(ToolError, match="no such city") as caught:
        Result.error("no such city", type="not_found").unwrap()
    assert caught.value.type == "not_found"


TYPED = """
from typing import assert_type

from tools_core import Result


class Mine(Result):
    pass


result = Result.ok(1, content="one", metadata={"a": 1})
assert_type(result, Result)
assert_type(result.ok, bool)
assert_type(result.error, str | None)
assert_type(Mine.ok(), Mine)
assert_type(Mine.error("no", type="denied"), Mine)
assert_type(Mine.halt(result), Mine)
"""
MISTYPED = {"Result.ok(1, 2)": "call-arg", "Result.error()": "call-arg", "Result.error(404)": "arg-type"}


@pytest.mark.slow
def test_type_checkers_infer_a_bool_a_message_and_factories(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(TYPED + "\n".join(MISTYPED))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", module]
    lines = subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()
    assert [line.rpartition("[")[2] for line in lines if "error:" in line] == [f"{code}]" for code in MISTYPED.values()]
    module.write_text(TYPED)
    pyright = [sys.executable, "-m", "basedpyright", "--level", "error", module]
    done = subprocess.run(pyright, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_halt_is_ok_and_says_so_in_its_metadata():
    result = Result.halt("done", metadata={"by": "tool"})
    assert result.ok and result.halted
    assert result.metadata == {"by": "tool", "halted": True}


@pytest.mark.parametrize("data", [1, Result.ok(1), Result.error("refused")])
def test_a_halt_may_have_content_for_the_model(data):
    result = Result.halt(data, content="bye")
    assert result.halted and result.content == "bye"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"), (None, ""), (42, "42"), (False, "false"), (1.5, "1.5"),
        ({"name": "Alice", "age": 30}, '{"name":"Alice","age":30}'),
        ([1, 2, 3], "[1,2,3]"), ("", ""), ({}, "{}"), (dt.date(2026, 11, 20), "2026-11-20"), (Colour.RED, "red"),
        ({"städte": ["Köln"]}, '{"städte":["Köln"]}'),
    ],
)  # fmt: skip
def test_the_model_reads_text_as_text_and_data_as_compact_json(output, text):
    assert Result.ok(output).content == str(Result.ok(output)) == text


def test_text_and_json_set_the_content_for_the_model():
    assert Result.text(42).output == "42"
    assert Result.json("quoted").content == '"quoted"'
    assert Result.ok({"rows": [1, 2]}, content="2 rows").content == "2 rows"


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (object(), TypeError, "object is not JSON serializable"),
        ({"rows": [1, {2: print}]}, TypeError, 'builtin_function_or_method at rows[1]["2"] is not JSON serializable'),
        (float("nan"), ValueError, "NaN is not a JSON number; use None or text"),
        ({"a": [float("-inf")]}, ValueError, "-Infinity at a[0] is not a JSON number; use None or text"),
    ],
    ids=range(4),
)
def test_a_json_result_refuses_values_without_a_json_form(value, error, text):
    with pytest.raises(error) as caught:
        Result.json(value)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), "2026-01-02T03:04:00+00:00"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(days=1, hours=2, seconds=0.5), "P1DT2H0.5S"),
        (dt.timedelta(seconds=-90), "-PT1M30S"),
        (dt.timedelta(), "PT0S"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (decimal.Decimal("1.10"), "1.10"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Point(1, dt.date(2026, 1, 2)), {"x": 1, "when": "2026-01-02"}),
        (Model(id=uuid.UUID(int=5), price="2.50"), {"id": "00000000-0000-0000-0000-000000000005", "price": "2.50"}),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ((1, (2,)), [1, [2]]),
        (PurePosixPath("a/b"), "a/b"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        ({1: "a", None: "b", dt.date(2026, 1, 2): "c"}, {"1": "a", "null": "b", "2026-01-02": "c"}),
        ({1: "a", "1": "b"}, [{"key": 1, "value": "a"}, {"key": "1", "value": "b"}]),
        (Point, "Point"),
        (ValueError("no"), "ValueError: no"),
        (complex(1, 2), "complex"),
        (object(), "(object)"),
        (range(3), [0, 1, 2]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_become_the_json_that_a_person_would_write(value, plain):
    out = Result.ok({"v": value}).to_dict()["output"]["v"]
    if plain == "complex":
        assert isinstance(out, str) and " at 0x" not in out
    else:
        assert out == plain
    json.dumps(out, allow_nan=False)


def test_bytes_are_never_dumped_as_text():
    result = Result.ok({"blob": b"\x00secret"})
    assert "secret" not in result.content
    assert json.loads(result.content)["blob"] == {"type": "file", "mime_type": "application/octet-stream", "size": 7}
    assert result.to_dict()["output"]["blob"]["data"] == "AHNlY3JldA=="


class Broken:
    def __str__(self):
        raise RuntimeError("no text")


loop, deep = {"name": "loop"}, []
loop["self"] = [loop]
for _ in range(100_000):
    deep = [deep]


@pytest.mark.parametrize(
    ("value", "placeholder"),
    [
        (loop, '["(circular reference)"]'),
        (deep, "(nested deeper than 200)"),
        ([Broken()], "(Broken that cannot be shown: RuntimeError)"),
        ([loop["name"], loop["name"], [1]], '["loop","loop",[1]]'),
    ],
    ids=["circular", "deep", "broken", "repeated"],
)
def test_values_without_a_json_form_become_placeholders(value, placeholder):
    assert placeholder in Result.ok(value).to_json()


def test_lone_surrogates_leave_as_escapes_that_utf_8_can_carry():
    text = Result.ok({"name": "a\udc80"}).to_json()
    assert "\\udc80" in text
    text.encode("utf-8")


def test_images_reach_the_model_as_blocks_beside_text():
    image = Image(PNG)
    assert image.mime_type == "image/png"
    assert Result.ok(["a chart", image]).content == ("a chart", image)
    assert Result.ok(image).content == (image,)


@pytest.mark.parametrize(
    "output",
    [
        ["caption", Image(PNG)],
        Audio(b"x", "audio/wav"),
        {"chart": [File(b"%PDF-1.7", name="a.pdf")]},
        [b"x", "y"],
        {"type": "file", "data": "aGk="},
    ],
    ids=range(5),
)
def test_blocks_at_any_depth_and_similar_dicts_survive_a_round_trip(output):
    result = Result.ok(output)
    again = Result.from_dict(json.loads(result.to_json()))
    assert again == result and again.content == result.content
    assert type(again.output) is type(output) or isinstance(output, bytes)


def test_a_block_of_the_wrong_family_is_refused():
    with pytest.raises(ValueError, match="image/"):
        Image(b"abc", "text/plain")
    with pytest.raises(TypeError, match="takes bytes"):
        Image("abc")


def test_a_block_reads_a_file_and_names_it(tmp_path):
    (tmp_path / "dot.png").write_bytes(PNG)
    image = Image.from_path(tmp_path / "dot.png")
    assert (image.name, image.mime_type, image.data) == ("dot.png", "image/png", PNG)


def test_to_dict_has_the_four_keys_and_for_errors_the_type():
    assert Result.ok(1).to_dict() == {"ok": True, "output": 1, "error": None, "metadata": {}}
    assert Result.error("x").to_dict() == {
        "ok": False,
        "output": None,
        "error": "x",
        "metadata": {},
        "error_type": "execution_error",
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.decimals(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.sets(st.integers()),
    max_leaves=20,
)


@given(json_values, st.dictionaries(st.text(), st.integers()))
def test_from_dict_is_the_exact_inverse_of_to_dict(output, metadata):
    for result in (Result.ok(output, metadata=metadata), Result.halt(output), Result.text(output)):
        stored = json.loads(result.to_json())
        assert Result.from_dict(stored) == result
        assert Result.from_dict(stored).to_dict() == result.to_dict() == stored


@pytest.mark.parametrize(
    "value",
    [
        [],
        None,
        {"output": 1},
        {"ok": False},
        {"ok": True, "error": "no"},
        {"ok": True, "metadata": [1]},
        {"ok": True, "surprise": 1},
    ],
    ids=str,
)
def test_from_dict_refuses_other_data(value):
    with pytest.raises(ValueError, match="a result has ok"):
        Result.from_dict(value)


def test_a_result_cannot_be_changed():
    result = Result.ok([1], metadata={"a": 1})
    for name in ("ok", "output", "error", "error_type", "metadata", "content", "exception", "other"):
        with pytest.raises(AttributeError):
            setattr(result, name, 2)
    with pytest.raises(TypeError, match="read-only"):
        result.metadata["a"] = 2
    assert result.with_metadata({"b": 2}).metadata == {"a": 1, "b": 2}
    assert result.metadata == {"a": 1}


def test_results_are_compared_without_their_exceptions():
    assert Result.error("x", exception=ValueError()) == Result.error("x")
    assert Result.ok((1, 2)) == Result.ok([1, 2])
    assert Result.ok({"a": 1, "b": 2}) == Result.ok({"b": 2, "a": 1})
    assert Result.ok(1) != Result.ok(True)
    assert len({Result.ok([1]), Result.ok([1]), Result.ok([2])}) == 2


def test_the_repr_of_a_result_shows_its_outcome():
    assert repr(Result.ok("x")) == "<Result ok='x'>"
    assert repr(Result.error("x", type="denied")) == "<Result error='x', type='denied'>"
    assert "halted" in repr(Result.halt())
