"""Corners in which a promise is easily lost."""

import asyncio
import dataclasses
import datetime as dt
import decimal
import functools
import gc
import json
import signal
import sys
import threading
import time
import uuid
import weakref
from typing import Annotated, Any

import annotated_types
import pydantic
import pytest

from tools_core import (
    Context,
    DefinitionError,
    Halt,
    Image,
    InvalidArguments,
    Parameter,
    Result,
    Tool,
    ToolCall,
    ToolError,
    Toolset,
    tool,
)


def test_a_tool_of_a_tool_keeps_its_schema_and_description():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}, "additionalProperties": False}
    first = tool(lambda **arguments: arguments, name="first", description="D.", input_schema=schema)
    again = tool(first, name="again")
    assert again.description == "D."
    assert not again.call(n=100).ok and not again.call(x=1).ok
    declared = tool(lambda n=1: n, name="declared", parameters=[Parameter("n", "integer", le=5)])
    assert not tool(declared, name="other").call(n=100).ok


def test_restrictions_of_a_toolsets_method_hold_for_the_one_that_overrides_it():
    class Parent(Toolset):
        @tool(requires_approval=True, destructive=True, timeout=5, repair=False, read_only=False)
        def remove(self, path: str) -> str:
            """Remove."""
            return path

    class Child(Parent):
        def remove(self, path: str) -> str:
            """Remove otherwise."""
            return f"child {path}"

    subject = Child().tool("remove")
    assert (subject.requires_approval, subject.annotations, subject.timeout, subject.repair) == (
        True,
        {"destructive": True},
        5,
        False,
    )


def test_annotations_of_an_abstract_base_are_inherited():
    class Base(Tool, abstract=True):
        destructive = True

    class Child(Base):
        """Child."""

        def execute(self) -> None: ...

    assert Child().annotations == {"destructive": True} and Child.destructive is True


def test_a_result_of_a_subclass_is_a_result():
    class Mine(Result):
        pass

    assert tool(lambda: Mine.error("no", type="denied"), name="refuse").call().error_type == "denied"


@pytest.mark.parametrize("name", ["close", "tools", "tool", "aclose"])
def test_a_method_that_would_hide_one_of_the_toolsets_own_is_refused(name):
    with pytest.raises(DefinitionError, match=f"a Toolset uses the name {name} itself"):
        type("Valve", (Toolset,), {name: lambda self: "x"})


def test_a_setup_that_takes_arguments_is_refused():
    with pytest.raises(DefinitionError, match="setup"):
        type("Host", (Toolset,), {"setup": lambda self, host: host})


def test_two_tools_of_one_name_in_a_toolset_are_refused():
    with pytest.raises(DefinitionError, match="two tools called 'same'"):

        class Twins(Toolset):
            @tool(name="same")
            def a(self) -> str:
                """A."""

            @tool(name="same")
            def b(self) -> str:
                """B."""


def test_resources_of_an_asynchronous_setup_serve_every_synchronous_call():
    class Counter(Toolset):
        opened = 0

        async def setup(self) -> None:
            self.opened += 1
            self.queue: asyncio.Queue[int] = asyncio.Queue()
            self.task = asyncio.create_task(self._fill())

        async def teardown(self) -> None:
            self.task.cancel()

        async def _fill(self) -> None:
            for n in range(100):
                await asyncio.sleep(0)
                await self.queue.put(n)

        async def get(self) -> int:
            """Get a number."""
            return await asyncio.wait_for(self.queue.get(), 30)

    counter = Counter()
    get = counter.tool("get")
    results: list[Any] = [get.call().output, get.call().output]
    threads = [threading.Thread(target=lambda: results.append(get.call().output)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counter.close()
    assert counter.opened == 1
    assert sorted(results) == list(range(7))


def test_a_synchronous_method_beside_an_asynchronous_setup_leaves_the_loop_free():
    class Mixed(Toolset):
        async def setup(self) -> None: ...

        def where(self) -> str:
            """Tell the thread."""
            return threading.current_thread().name

        async def count(self):
            """Count."""
            yield 1
            yield 2

    async def main():
        mixed = Mixed()
        names = (await mixed.tool("where").acall()).output, threading.current_thread().name
        counted = await mixed.tool("count").acall()
        await mixed.aclose()
        return names, counted.output

    (worker, loop), counted = asyncio.run(main())
    assert worker != loop
    assert counted == [1, 2]


def test_a_closed_toolset_can_be_collected():
    class Held(Toolset):
        def setup(self) -> None: ...

        def use(self) -> str:
            """Use."""
            return "x"

    with Held() as held:
        held.tool("use").call()
        seen = weakref.ref(held)
    del held
    gc.collect()
    assert seen() is None


class Careless(ToolError):
    def __init__(self, code):  # does not call its parent's
        self.code = code


class CarelessHalt(Halt):
    def __init__(self, code):
        self.code = code


class Mute:
    def __str__(self):
        raise ValueError("no text")


class Gone:
    """Like a proxy whose object is gone."""

    @property
    def __class__(self):
        raise RuntimeError("out of context")


@pytest.mark.parametrize(
    ("body", "error_type"),
    [
        (lambda: _raise(Careless(5)), "execution_error"),
        (lambda: _raise(CarelessHalt(5)), None),
        (lambda: _raise(ToolError(Mute())), "execution_error"),
        (lambda: Gone(), "execution_error"),  # noqa: PLW0108  (a class is not a tool)
    ],
    ids=["careless error", "careless halt", "mute error", "proxy"],
)
def test_odd_errors_and_values_become_results(body, error_type):
    assert tool(body, name="odd").call().error_type == error_type


def _raise(error: BaseException) -> None:
    raise error


def test_a_halt_or_a_lone_failure_in_a_task_group_counts_as_itself():
    async def child(error: BaseException) -> None:
        raise error

    @tool
    async def group(how: str) -> None:
        """Run a group."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(child(Halt("done") if how == "halt" else ToolError("no city", "not_found")))

    for result in (group.call(how="halt"), asyncio.run(group.acall(how="halt"))):
        assert result.halted and result.output == "done"
    assert group.call(how="error").error_type == "not_found"


def test_a_tool_that_cancels_its_own_task_fails_without_cancelling_its_caller():
    @tool
    async def cancel() -> None:
        """Cancel."""
        task = asyncio.create_task(asyncio.sleep(60))
        task.cancel()
        await task

    assert not cancel.call().ok
    assert asyncio.run(cancel.acall()).error_type == "cancelled"


def test_invalid_settings_of_an_instance_are_refused():
    class Late(Tool):
        """Late."""

        def __init__(self) -> None:
            self.timeout = 0

        def execute(self) -> None: ...

    with pytest.raises(DefinitionError, match="timeout must be seconds above 0"):
        Late()


@pytest.mark.parametrize("timeout", [float("inf"), 1e10])
def test_a_limit_without_an_end_is_refused(timeout):
    with pytest.raises(DefinitionError, match="timeout"):
        tool(lambda: 1, name="one", timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        Context(timeout=timeout)


def test_calls_do_not_start_after_the_deadline():
    ran = []
    context = Context(timeout=0.001)
    while context.remaining:
        time.monotonic()
    result = tool(lambda: ran.append(1), name="late").call({}, context)
    assert result.error_type == "timeout_error" and ran == []


def test_a_bound_method_is_a_tool():
    class Client:
        def search(self, q: str) -> str:
            """Search."""
            return q * 2

    assert tool(Client().search, name="s").call(q="x").output == "xx"


def test_bound_arguments_of_a_partial_are_hidden_and_fixed():
    def fetch(url: str, api_key: str = "") -> str:
        """Fetch."""
        return f"{url} {api_key}"

    subject = tool(functools.partial(fetch, api_key="sk-SECRET"), name="fetch")
    assert "SECRET" not in json.dumps(subject.definition)
    assert subject.call(url="x").output == "x sk-SECRET"
    assert not subject.call(url="x", api_key="mine").ok


def test_nested_blocks_survive_a_round_trip_and_similar_dicts_stay_dicts():
    png = Image(b"\x89PNG\r\n\x1a\n123")
    for output in ({"chart": png}, [{"a": [png]}], b"x", [b"x", "y"], {"type": "file", "data": "aGk="}, {"type": []}):
        result = Result.ok(output)
        again = Result.from_dict(json.loads(result.to_json()))
        assert again == result and again.content == result.content
    assert Result.from_dict(Result.ok({"type": "file", "data": "aGk="}).to_dict()).output == {
        "type": "file",
        "data": "aGk=",
    }


@pytest.mark.parametrize("value", [[], 5, None, {"ok": 1}, {"ok": True, "metadata": [1]}])
def test_from_dict_refuses_any_other_form(value):
    with pytest.raises(ValueError, match="a result has ok"):
        Result.from_dict(value)


def test_results_may_contain_very_long_integers():
    result = Result.ok({"n": 10**5000})
    assert str(result) == result.content and result == Result.from_dict(json.loads(result.to_json()))
    assert Result.ok(10**4000).to_dict()["output"] == 10**4000


@pytest.mark.parametrize("text", ["1_000", " 12 ", "１２", "1e999999", "NaN", "1 2"])
def test_a_decimal_is_read_exactly_or_not_at_all(text):
    @tool
    def pay(amount: decimal.Decimal) -> str:
        """Pay."""
        return str(amount)

    assert not pay.call(amount=text).ok
    assert not pay.call('{"amount": 12345678901234567.89}').ok
    assert pay.call(amount="12345678901234567.89").output == "12345678901234567.89"
    assert pay.call('{"amount": 0.1}').output == "0.1"


def test_a_strict_model_takes_json():
    class Trip(pydantic.BaseModel, strict=True):
        when: dt.date
        days: tuple[int, int]

    def plan(trip: Trip) -> str:
        """Plan."""
        return f"{trip.when:%d.%m.} {trip.days}"

    assert tool(plan).call(trip={"when": "2026-01-02", "days": [1, 2]}).output == "02.01. (1, 2)"


def test_metadata_that_changes_the_text_in_pydantic_alone_is_refused():
    def take(x: Annotated[str, pydantic.StringConstraints(strip_whitespace=True)]) -> str:
        return x

    with pytest.raises(DefinitionError, match="pydantic"):
        tool(take)


def test_a_float_arrives_as_a_float_with_and_without_repairs():
    def show(x: Annotated[float, annotated_types.Ge(0)]) -> str:
        """Show."""
        return repr(x)

    assert tool(show).call(x=1).output == tool(show, repair=False).call(x=1).output == "1.0"
    assert "repaired" not in tool(show, repair=False).call(x=1).metadata


def test_parameters_of_a_schema_with_boolean_parts_can_be_read():
    subject = tool(lambda **a: a, name="x", input_schema={"type": "object", "properties": {"x": True}})
    assert list(subject.parameters) == ["x"]


def test_tools_accept_subclasses_of_a_call_and_refuse_calls_without_a_name():
    class Mine(ToolCall):
        pass

    assert tool(lambda: 1, name="one").call(Mine("1", "one", "{}")).output == 1
    with pytest.raises(TypeError, match="name"):
        ToolCall("1", None)  # type: ignore[arg-type]


def test_synchronous_calls_leave_this_threads_event_loop_alone():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:

        @tool
        async def nothing() -> None:
            """Nothing."""

        assert nothing.call().ok
        assert asyncio.get_event_loop() is loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_a_coroutine_tool_may_call_another_one_synchronously():
    @tool
    async def inner() -> str:
        """Inner."""
        await asyncio.sleep(0)
        return "in"

    @tool
    async def outer() -> str:
        """Outer."""
        return f"out {inner.call().output}"

    assert outer.call().output == "out in"


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal to this process")
def test_an_interrupted_synchronous_wait_cancels_the_coroutine():
    started, cancelled = threading.Event(), threading.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def interrupt() -> None:
        started.wait(30)
        main = threading.main_thread().ident
        while sys._current_frames()[main].f_code.co_name != "wait":  # for the future, that is
            time.monotonic()
        signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            wait.call()
    finally:
        signal.signal(signal.SIGINT, before)
        interrupter.join()
    assert cancelled.wait(30)


def test_an_integer_becomes_a_float_only_if_a_hint_says_float():
    def show(a: float, b: float | None, c: int | float, d: float | str, e: list[float], f: dict[str, float]) -> str:  # noqa: PYI041
        """Show."""
        return repr((a, b, c, d, e, f))

    arguments = {"a": 1, "b": 2, "c": 3, "d": 4, "e": [5], "f": {"g": 6}}
    result = tool(show).call(arguments)
    assert result.output == "(1.0, 2.0, 3, 4.0, [5.0], {'g': 6.0})"
    assert "repaired" not in result.metadata
    assert tool(show).call({**arguments, "a": 2**53 + 1, "b": None}).output.startswith(f"({2**53 + 1}, None,")
    ready = {"type": "object", "properties": {"x": {"type": "number"}}}
    same = tool(lambda **arguments: arguments["x"], name="same", input_schema=ready)
    assert type(same.call(x=1).output) is int


def test_problems_of_schema_and_of_conversions_are_reported_together():
    @tool
    def book(day: dt.date, people: int, days: list[dt.date], at: dt.date) -> None:
        """Book."""

    error = book.call({"day": "someday", "people": "many", "days": ["2026-01-01", "never"], "at": 5}).error
    assert error is not None
    assert [problem.partition(",")[0] for problem in error.split("; ")] == [
        "people must be an integer",
        "at must be a string",
        "day must be a date like 2026-11-20",
        "days[1] must be a date like 2026-11-20",
    ]


@dataclasses.dataclass
class Stay:
    """Nights in one place."""

    arrival: dt.date
    nights: int
    guests: set[uuid.UUID]
    next: "Stay | None" = None


def test_problems_of_both_kinds_inside_nested_dataclasses_are_reported_together():
    @tool
    def travel(stays: list[Stay], budget: decimal.Decimal) -> None:
        """Travel."""

    last = {"arrival": "never", "nights": None, "guests": ["x"], "extra": 1}
    first = {"arrival": "soon", "nights": "two", "guests": [7, "y"], "next": last}
    error = travel.call(stays=[first, 5], budget="much").exception
    assert isinstance(error, InvalidArguments)
    assert {problem.path for problem in error.problems} == {
        *("stays[0].arrival", "stays[0].nights", "stays[0].guests[0]", "stays[0].guests[1]", "stays[1]", "budget"),
        *("stays[0].next", "stays[0].next.arrival", "stays[0].next.nights", "stays[0].next.guests[0]"),
    }
    assert len(error.problems) == 10


class Opaque:
    """Has no form in JSON."""


@dataclasses.dataclass
class Holder:
    """Holds anything."""

    content: Any


circle = Holder(None)
circle.content = [circle, circle]


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (Opaque(), "Opaque is"),
        ([1, Opaque()], "at [1] "),
        ({"a": {"b": (Opaque(),)}}, "at a.b[0] "),
        (Holder([Holder(Opaque())]), "at content[0].content "),
        ({"a": {Opaque()}}, "at a "),
        (Result.ok([Opaque()]), "at [0] "),
    ],
    ids=["alone", "list", "deep", "dataclass", "set", "result"],
)
def test_values_that_are_not_json_become_errors_with_type_and_path(value, where):
    result = tool(lambda: value, name="give", description="Give.").call()
    assert result.error_type == "execution_error"
    assert result.error is not None
    assert "Opaque" in result.error
    assert where in result.error
    assert tool(lambda: circle, name="give", description="Give.").call().ok


def test_functions_are_not_json():
    result = tool(lambda: [len, test_functions_are_not_json], name="give", description="Give.").call()
    assert "builtin_function_or_method at [0]" in str(result)
    result = tool(lambda: test_functions_are_not_json, name="give", description="Give.").call()
    assert "function is not JSON serializable" in str(result)


def test_a_result_may_have_any_output_if_its_content_is_given():
    result = tool(lambda: Result.ok(Opaque(), content="opened"), name="give", description="Give.").call()
    assert (result.ok, result.content) == (True, "opened")


@pytest.mark.parametrize("timeout", [None, 60])
def test_an_iterator_is_read_once_into_a_list(timeout):
    double = tool(
        lambda: map(str, [1, 2]), name="double", description="Double.", **({"timeout": timeout} if timeout else {})
    )
    for result in (double.call(), asyncio.run(double.acall())):
        assert result.output == ["1", "2"]
        assert (result.content, result.to_dict()["output"]) == ('["1","2"]', ["1", "2"])
