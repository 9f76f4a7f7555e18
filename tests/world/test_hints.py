"""Type hints in the world: each with its schema, the object that arrives, and the error for a wrong value.

`python tests/world/test_hints.py` prints the table of docs/tools.md.
"""

from __future__ import annotations

import json
import sys
import typing
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from ipaddress import IPv4Address, IPv6Network
from pathlib import Path, PurePosixPath
from re import Pattern
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    LiteralString,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
    Union,
    Unpack,
)
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from typing_extensions import ReadOnly, TypeAliasType

from tools_core import DefinitionError, Limits, tool

attrs = pytest.importorskip("attrs")
msgspec = pytest.importorskip("msgspec")
pydantic = pytest.importorskip("pydantic")

PAGE = Path(__file__).parents[2] / "docs" / "tools.md"
BEGIN, END = "<!-- begin of the hints -->\n", "<!-- end of the hints -->"
T = TypeVar("T")
Id = NewType("Id", int)
Bound = TypeVar("Bound", bound=int)
Constrained = TypeVar("Constrained", int, str)
Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    S = 1


class Access(Flag):
    READ = 1
    WRITE = 2


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Box(Generic[T]):
    item: T
    more: list[T] = field(default_factory=list)


@dataclass
class IntBox(Box[int]):
    name: str = ""


@dataclass
class Tree(Generic[T]):
    value: T
    children: list[Tree[T]] = field(default_factory=list)


class Place(TypedDict):
    city: str
    zip: NotRequired[ReadOnly[str]]


class Boxed(TypedDict, Generic[T]):
    item: T


class Range(NamedTuple):
    start: int
    stop: int = 9


@attrs.define
class Circle:
    radius: float = attrs.field(validator=attrs.validators.gt(0))
    _name: str = "c"


class Event(msgspec.Struct):
    day: date
    tags: list[str] = []


@pydantic.dataclasses.dataclass
class Page:
    number: int = pydantic.Field(ge=1)


class Person(pydantic.BaseModel):
    name: str


class Wrapper(pydantic.BaseModel, Generic[T]):
    item: T


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


# The hint as text -> the hint, a valid value, the object that arrives, a wrong value.
HINTS: dict[str, tuple[Any, Any, Any, Any]] = {
    "str": (str, "a", "a", 1),
    "int": (int, 1, 1, "x"),
    "float": (float, 1, 1.0, "x"),
    "bool": (bool, True, True, "x"),
    "bytes": (bytes, "aGk=", b"hi", "?"),
    "None": (None, None, None, 1),
    "Any, object": (Any, [1], [1], ...),
    "LiteralString": (LiteralString, "a", "a", 1),
    "int | None, Optional[int]": (Optional[int], None, None, "x"),
    "int | str, Union[int, str]": (Union[int, str], "a", "a", []),
    "Literal[\"C\", \"F\"]": (Literal["C", "F"], "C", "C", "K"),
    "Enum": (Colour, "red", Colour.RED, "blue"),
    "IntEnum": (Size, 1, Size.S, 2),
    "Flag": (Access, ["READ", "WRITE"], Access.READ | Access.WRITE, ["RUN"]),
    "list[int], Sequence[int], Iterable[int]": (list[int], [1], [1], ["x"]),
    "tuple[int, str]": (tuple[int, str], [1, "a"], (1, "a"), [1]),
    "tuple[int, ...]": (tuple[int, ...], [1, 2], (1, 2), ["x"]),
    "set[int], frozenset[int]": (set[int], [1, 2], {1, 2}, [1, 1]),
    "deque[int]": (deque[int], [1], deque([1]), ["x"]),
    "dict[str, int], Mapping[str, int]": (dict[str, int], {"a": 1}, {"a": 1}, {"a": "x"}),
    "dict[int, str]": (dict[int, str], {"1": "a"}, {1: "a"}, {"x": "a"}),
    "OrderedDict, defaultdict": (defaultdict[str, int], {"a": 1}, {"a": 1}, {"a": "x"}),
    "date": (date, "2026-01-31", date(2026, 1, 31), "x"),
    "datetime": (datetime, "2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=timezone.utc), "x"),
    "time": (time, "12:30:00", time(12, 30), "x"),
    "timedelta": (timedelta, "PT1H", timedelta(hours=1), "x"),
    "ZoneInfo": (ZoneInfo, "Europe/Oslo", ZoneInfo("Europe/Oslo"), "x"),
    "Decimal": (Decimal, "1.50", Decimal("1.50"), "x"),
    "Path, PurePath": (PurePosixPath, "a/b", PurePosixPath("a/b"), 1),
    "UUID": (UUID, "6fa459ea-ee8a-4ca4-894e-db77e160355e", UUID("6fa459ea-ee8a-4ca4-894e-db77e160355e"), "x"),
    "IPv4Address, IPv6Address": (IPv4Address, "192.0.2.1", IPv4Address("192.0.2.1"), "x"),
    "IPv4Network, IPv6Network": (IPv6Network, "2001:db8::/32", IPv6Network("2001:db8::/32"), "x"),
    "re.Pattern": (Pattern, "a+", None, "("),
    "Annotated[int, Limits(ge=1)]": (Annotated[int, Limits(ge=1)], 1, 1, 0),
    "Annotated[int, msgspec.Meta(ge=1)]": (Annotated[int, msgspec.Meta(ge=1)], 1, 1, 0),
    "Annotated[str, \"text\"]": (Annotated[str, "text"], "a", "a", 1),
    "NewType": (Id, 1, 1, "x"),
    "Final[int]": (Final[int], 1, 1, "x"),
    "TypeVar with a bound": (Bound, 1, 1, "x"),
    "TypeVar with constraints": (Constrained, "a", "a", []),
    "dataclass": (Point, {"x": 1}, Point(1), {"y": 1}),
    "generic dataclass, Box[int]": (Box[int], {"item": 1}, Box(1), {"item": "x"}),
    "subclass of Box[int]": (IntBox, {"item": 1}, IntBox(1), {"item": "x"}),
    "recursive generic, Tree[int]": (Tree[int], {"value": 1}, Tree(1), {"value": "x"}),
    "TypedDict": (Place, {"city": "Oslo"}, {"city": "Oslo"}, {}),
    "generic TypedDict": (Boxed[int], {"item": 1}, {"item": 1}, {"item": "x"}),
    "NamedTuple": (Range, {"start": 1}, Range(1), {"start": "x"}),
    "type X[T] = ..., X[int]": (Pair[int], [1, 2], (1, 2), ["x"]),
    "attrs class": (Circle, {"radius": 1, "name": "a"}, Circle(1.0, "a"), {"radius": -1}),
    "msgspec.Struct": (Event, {"day": "2026-01-31"}, Event(date(2026, 1, 31)), {"day": "x"}),
    "pydantic model": (Person, {"name": "a"}, Person(name="a"), {}),
    "generic model, Wrapper[int]": (Wrapper[int], {"item": 1}, Wrapper[int](item=1), {"item": "x"}),
    "pydantic dataclass": (Page, {"number": 1}, Page(1), {"number": 0}),
    "pydantic.HttpUrl": (pydantic.HttpUrl, "https://example.org/", pydantic.HttpUrl("https://example.org/"), "x"),
    "pydantic.SecretStr": (pydantic.SecretStr, "s", pydantic.SecretStr("s"), 1),
    "Annotated[int, AfterValidator(f)]": (Annotated[int, pydantic.AfterValidator(even)], 2, 2, 3),
    "Annotated[Decimal, Field(gt=0, decimal_places=2)]": (
        Annotated[Decimal, pydantic.Field(gt=0, decimal_places=2)], "1.50", Decimal("1.50"), "-1"
    ),
    "Annotated[str, StringConstraints()]": (
        Annotated[str, pydantic.StringConstraints(strip_whitespace=True, min_length=1)], " a ", "a", "",
    ),
}  # fmt: skip


class Taker:
    """A tool with one parameter, and the object that it received."""

    def __init__(self, hint: Any) -> None:
        def take(value):
            """Take a value."""
            self.value = value

        take.__annotations__ = {"value": hint}
        self.tool = tool(take)

    @property
    def schema(self):
        """The schema of the parameter, without definitions."""
        schema = self.tool.input_schema
        value = schema["properties"]["value"]
        return schema["$defs"][value["$ref"].rpartition("/")[2]] if "$ref" in value else value


@pytest.mark.parametrize("name", HINTS)
def test_a_hint_becomes_a_schema_and_the_object_that_the_function_expects(name):
    hint, valid, arrives, wrong = HINTS[name]
    taker = Taker(hint)
    taker.tool.call(value=valid).unwrap()
    if arrives is not None:
        assert taker.value == arrives
        assert isinstance(arrives, dict) or type(taker.value) is type(arrives)
    if wrong is not ...:
        assert taker.tool.call(value=wrong).error.startswith(("value", "matches"))


OTHERS = [OrderedDict[str, int], frozenset[int], Sequence[int], Iterable[int], AbstractSet[int], Mapping[str, int]]
BARE = [typing.List, typing.Dict, typing.Tuple, typing.Set, typing.Mapping, typing.Sequence, typing.DefaultDict]


@pytest.mark.parametrize("hint", [*OTHERS, *BARE])
def test_other_collections_are_hints(hint):
    taker = Taker(hint)
    assert taker.tool.call(value={"a": 1} if taker.schema["type"] == "object" else [1]).ok


@pytest.mark.parametrize("hint", [set, set[Any], set[int | list[int]], frozenset[tuple[list[int], ...]]])
def test_a_value_that_a_set_cannot_hold_is_invalid(hint):
    result = Taker(hint).tool.call(value=[[[1]] if "tuple" in str(hint) else [1]])
    assert (result.error_type, result.error) == ("validation_error", "value is invalid: unhashable type: 'list'")


class Options(TypedDict, total=False):
    limit: int
    day: date


def test_unpacked_keywords_are_parameters():
    @tool
    def find(query: str, **options: Unpack[Options]) -> list[Any]:
        """Find."""
        return [query, options["limit"], options["day"].year]

    assert find.call(query="a", limit=1, day="2026-01-31").output == ["a", 1, 2026]
    assert find.call(query="a", other=1).error == 'unknown argument "other": expected query, limit, day'
    assert find.input_schema["required"] == ["query"]


def test_variables_that_two_classes_share_keep_their_own_types():
    @dataclass
    class Labelled(Box[str], Generic[T]):
        label: T | None = None

    schema = Taker(Labelled[int]).schema["properties"]
    assert (schema["item"]["type"], schema["label"]["type"]) == ("string", ["integer", "null"])


def test_a_wrong_member_of_a_generic_class_is_named():
    with pytest.raises(DefinitionError, match=r"field `item` of Box\[complex\]: complex cannot be created from JSON"):
        Taker(Box[complex])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax needs Python 3.12")
def test_functions_with_type_parameters_are_tools():
    names: dict[str, Any] = {}
    exec("def double[N: int](value: N) -> N:\n    'Double.'\n    return 2 * value\n", names)
    double = tool(names["double"])
    assert double.input_schema["properties"]["value"] == {"type": "integer"}
    assert double.call(value=2).output == 4


def table() -> str:
    """Return the table of docs/tools.md."""
    rows = ["| hint | schema | example | arrives as | error for a wrong value |", "|---|---|---|---|---|"]
    for name, (hint, valid, _, wrong) in HINTS.items():
        taker = Taker(hint)
        taker.tool.call(value=valid).unwrap()
        error = "" if wrong is ... else taker.tool.call(value=wrong).error
        schema = "an object of its members" if "properties" in taker.schema else f"`{json.dumps(taker.schema)}`"
        error = f"`{error}`" if error else ""
        cells = [f"`{name}`", schema, f"`{json.dumps(valid)}`", f"`{type(taker.value).__name__}`", error]
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows) + "\n"


def test_the_table_of_hints_in_the_documentation_is_true():
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0] == table()


if __name__ == "__main__":
    sys.stdout.write(table())
