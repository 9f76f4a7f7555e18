"""Functions written for other frameworks: each becomes the tool that its author means, or is refused with the fix."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Flag, IntFlag, StrEnum, auto
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

import pytest

from tools_core import DefinitionError, Tool, Toolset, tool

msgspec = pytest.importorskip("msgspec")
pydantic = pytest.importorskip("pydantic")

T = TypeVar("T")
U = TypeVar("U")


def wrapped(function, *parameters):
    """A decorator whose own function takes these parameters by name."""
    namespace: dict[str, Any] = {"function": function}
    exec(f"def wrapper({', '.join(parameters)}): return function('db', a='x')", namespace)
    return functools.wraps(function)(namespace["wrapper"])


def query(db: str, a: str) -> str:
    """Ask a database."""
    return f"{db} {a}"


async def load(a: str) -> str:
    """Load."""
    return a


REFUSED = {
    "singledispatch": (lambda: functools.singledispatch(query), "whose parameter is a union of the types"),
    "cache of a coroutine": (lambda: functools.cache(load), "cache of coroutines"),
    "decorator with other parameters": (lambda: wrapped(query, "a"), r"does not take the parameter `db`.*\*\*kwargs"),
    "decorator with positions alone": (lambda: wrapped(query, "*args"), "does not take the parameter `db`"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_function_that_no_call_by_name_reaches_is_refused(kind):
    create, fix = REFUSED[kind]
    with pytest.raises(DefinitionError, match=fix):
        tool(create())


def test_a_decorator_that_takes_the_same_parameters_or_keywords_is_accepted():
    assert tool(wrapped(query, "db", "a")).call(db="d", a="y").output == "db x"
    assert tool(wrapped(query, "**options")).call(db="d", a="y").output == "db x"


class OptionInfo:
    """A stand-in for the result of `typer.Option`: a default, and a text."""

    __module__ = "typer.models"

    def __init__(self, default=None, help="", **more):  # noqa: A002
        self.default, self.help = default, help
        vars(self).update(more)


class Depends:
    def __init__(self, dependency):
        self.dependency = dependency


class InjectedState:
    pass


@pytest.mark.parametrize("default", [OptionInfo("World"), Depends(print), field(default_factory=list), msgspec.field()])
def test_a_default_that_only_another_framework_understands_is_refused(default):
    def greet(name="World"): ...

    greet.__annotations__ = {"name": str}
    greet.__defaults__ = (default,)
    with pytest.raises(DefinitionError, match="which nothing here replaces by a value; write"):
        tool(greet)


@pytest.mark.parametrize("mark", [Depends(print), InjectedState, InjectedState()])
def test_an_argument_that_another_framework_injects_is_never_asked_of_the_model(mark):
    def greet(user): ...

    greet.__annotations__ = {"user": Annotated[str, mark]}
    with pytest.raises(DefinitionError, match="lets another framework pass the argument; write a function around it"):
        tool(greet)


@pytest.mark.parametrize(
    "text", [OptionInfo(help="Who."), msgspec.Meta(description="Who."), pydantic.Field(description="Who.")]
)
def test_a_text_about_a_parameter_reaches_the_model_from_any_library(text):
    def greet(name="World"):
        """Greet."""

    greet.__annotations__ = {"name": Annotated[str, text]}
    expected = {"type": "string", "description": "Who.", "default": "World"}
    assert tool(greet).input_schema["properties"]["name"] == expected


@dataclass
class Option:
    dependency: str = ""


class SecurityLevel(StrEnum):
    LOW = "low"


def test_a_class_with_a_name_like_a_mark_gives_ordinary_defaults():
    @tool
    def choose(option: Option = Option("x"), level: SecurityLevel = SecurityLevel.LOW) -> list[Any]:  # noqa: B008
        """Choose."""
        return [option, level]

    assert choose.call().output == [Option("x"), SecurityLevel.LOW]


def test_bounds_of_an_option_are_limits():
    def wait(seconds=3):
        """Wait."""

    wait.__annotations__ = {"seconds": Annotated[int, OptionInfo(min=1, max=5)]}
    assert tool(wait).call(seconds=9).error == "seconds must be at most 5, got 9"


def test_an_alias_of_a_parameter_is_refused():
    def read(start): ...

    read.__annotations__ = {"start": Annotated[str, pydantic.Field(alias="from")]}
    with pytest.raises(DefinitionError, match="not its alias; rename the parameter"):
        tool(read)


def test_types_of_the_functions_around_a_tool_are_found():
    class Day(TypedDict):
        day: date

    def inner():
        @dataclass
        class Trip:
            days: list[Day]
            next: Trip | None = None

        class Trips(Toolset):
            def plan(self, trip: Trip) -> int:
                """Plan a trip."""
                return trip.days[0]["day"].year

        class PlanTool(Tool):
            """Plan a trip."""

            def execute(self, trip: Trip) -> int:
                return trip.days[0]["day"].year

        @tool
        def plan(trip: Trip) -> int:
            """Plan a trip."""
            return trip.days[0]["day"].year

        return [Trips().tools[0], PlanTool(), plan]

    for item in inner():
        assert item.call(trip={"days": [{"day": "2026-01-31"}]}).output == 2026
        assert item.call(trip={"days": [{"day": "x"}]}).error.startswith("trip.days[0].day must be a date")


class Access(Flag):
    READ = auto()
    WRITE = auto()
    ALL = READ | WRITE


class Mode(IntFlag):
    FAST = 1
    QUIET = 4


def test_flags_are_lists_of_names_in_arguments_defaults_and_results():
    @tool
    def grant(access: Access = Access.ALL, modes: list[Mode] = [Mode.FAST]) -> dict[str, Any]:  # noqa: B006
        """Grant access."""
        return {"access": access, "modes": modes}

    properties = grant.input_schema["properties"]
    assert (properties["access"]["default"], properties["modes"]["default"]) == (["READ", "WRITE"], [["FAST"]])
    result = grant.call(access=["WRITE"], modes=[["FAST", "QUIET"], []])
    assert result.output == {"access": Access.WRITE, "modes": [Mode.FAST | Mode.QUIET, Mode(0)]}
    assert result.to_dict()["output"] == {"access": ["WRITE"], "modes": [["FAST", "QUIET"], []]}
    assert grant.call(access=["RUN"]).error == 'access[0] must be one of "READ", "WRITE", got "RUN"'


class Find(Tool, Generic[T]):
    """Find a value."""

    def execute(self, value: T, others: list[T] = []) -> T:  # noqa: B006
        return value


class Nested(Find[list[U]], Generic[U], abstract=True):
    pass


class FindDays(Nested[date]):
    """Find days."""


class FindNumber(Find[int]):
    """Find a number."""


class Store(Toolset, Generic[T]):
    def put(self, value: T) -> T:
        """Put a value."""
        return value


class Numbers(Store[int]):
    pass


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (FindNumber(), {"type": "integer"}),
        (FindDays(), {"type": "array", "items": {"type": "string", "format": "date"}}),
        (Numbers().tools[0], {"type": "integer"}),
        (Find(), {}),
    ],
)
def test_a_class_gives_types_to_the_variables_of_its_generic_base(item, expected):
    assert item.input_schema["properties"]["value"] == expected


class Event(msgspec.Struct, rename="camel", tag="event"):
    first_day: date
    cause: Event | None = None


def test_a_struct_is_a_result_with_the_names_of_its_schema():
    @tool
    def last() -> Event:
        """Return the last event."""
        return Event(date(2026, 1, 31), Event(date(2026, 1, 30)))

    cause = {"type": "event", "firstDay": "2026-01-30", "cause": None}
    assert last.call().to_dict()["output"] == {"type": "event", "firstDay": "2026-01-31", "cause": cause}


class Stock(Toolset):
    class Item(TypedDict):
        name: str

    Size = Literal["small", "large"]

    @dataclass
    class Box:
        @dataclass
        class Label:
            text: str

        label: Label

    def add(self, item: Item, size: Size, box: Stock.Box) -> str:
        """Add an item."""
        return f"{size} {item['name']} {box.label.text}"


def test_hints_of_a_method_may_name_the_types_of_its_class():
    add = Stock().tool("add")
    assert add.call(item={"name": "pen"}, size="small", box={"label": {"text": "a"}}).output == "small pen a"
    assert "size must be one of" in (add.call(item={"name": "pen"}, size="x", box={"label": {"text": "a"}}).error or "")

    class PackTool(Tool):
        """Pack."""

        class Mode(StrEnum):
            FAST = auto()

        def execute(self, mode: Mode) -> str:
            return type(mode).__name__

    assert PackTool().call(mode="fast").output == "Mode"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax needs Python 3.12")
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_a_class_with_type_parameters_may_be_the_base_of_a_tool(future):
    code = (
        "class Echo[T](Tool, abstract=True):\n    def execute(self, value: T) -> T:\n        return value\n"
        "class Count(Echo[int]):\n    'Count.'\n"
    )
    names: dict[str, Any] = {"Tool": Tool, "__name__": __name__}
    exec(future + code, names)
    assert names["Count"]().input_schema["properties"]["value"] == {"type": "integer"}


def test_a_field_that_only_pydantic_can_check_is_a_hint_or_a_default():
    def pay(
        amount: Annotated[Decimal, pydantic.Field(gt=0, decimal_places=2, description="Amount")],
        count: int = pydantic.Field(1, strict=True, le=3),
        until: date | None = pydantic.Field(None, gt=date(2026, 1, 1)),  # noqa: B008  # as its users write it
    ) -> str:
        """Pay."""
        return f"{amount} {count} {until}"

    new_tool = tool(pay)
    assert new_tool.input_schema["properties"]["amount"]["description"] == "Amount"
    assert new_tool.call(amount="1.50").output == "1.50 1 None"
    assert new_tool.call(amount="1.50", until="2026-02-01").output == "1.50 1 2026-02-01"
    for wrong in ({"amount": "0"}, {"amount": "1.555"}, {"count": 4}, {"until": "2025-01-01"}):
        error = new_tool.call({"amount": "1", **wrong}).error or ""
        assert error.startswith(next(iter(wrong)))
