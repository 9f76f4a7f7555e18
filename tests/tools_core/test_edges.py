"""Corners in which a promise is easily lost."""

import asyncio
import dataclasses
import datetime as dt
import decimal
import functools
import json
import signal
import sys
import threading
import time
from typing import Any

import pytest

from tools_core import (
    Context,
    DefinitionError,
    Halt,
    Parameter,
    Result,
    ToolError,
    Toolset,
    tool,
)
from tools_core.threads import in_thread


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
    class Client(Toolset):
        async def setup(self) -> None:
            self.loop = asyncio.get_running_loop()

        async def shares_loop(self) -> bool:
            """Return whether the loop of `setup` runs."""
            return self.loop is asyncio.get_running_loop()

    with Client() as client:
        subject = client.tool("shares_loop")
        assert subject.call().output
        assert in_thread(lambda: subject.call().output).result(30)


class Careless(ToolError):
    def __init__(self, code):  # does not call its parent's
        self.code = code


class CarelessHalt(Halt):
    def __init__(self, code):
        self.code = code


class Mute:
    def __str__(self):
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("body", "error_type"),
    [
        (lambda: _raise(Careless(5)), "execution_error"),
        (lambda: _raise(CarelessHalt(5)), None),
        (lambda: _raise(ToolError(Mute())), "execution_error"),
    ],
    ids=["careless error", "careless halt", "mute error"],
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


@pytest.mark.parametrize("timeout", [0, 1e10])
def test_a_timeout_of_zero_or_without_an_end_is_refused(timeout):
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


def test_bound_arguments_of_a_partial_are_hidden_and_fixed():
    def fetch(url: str, api_key: str = "") -> str:
        """Fetch."""
        return f"{url} {api_key}"

    subject = tool(functools.partial(fetch, api_key="sk-SECRET"), name="fetch")
    assert "SECRET" not in json.dumps(subject.definition)
    assert subject.call(url="x").output == "x sk-SECRET"
    assert not subject.call(url="x", api_key="mine").ok


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


class Opaque:
    """Has no form in JSON."""


@dataclasses.dataclass
class Holder:
    """Holds anything."""

    content: Any


circle = Holder(None)
circle.content = [circle, circle]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (Opaque(), "test_edges.Opaque is"),
        ([1, Opaque()], "at [1] "),
        ({"a": {"b": (Opaque(),)}}, "at a.b[0] "),
        (Holder([Holder(Opaque())]), "at content[0].content "),
        ({"a": {Opaque()}}, "at a "),
        (Result.ok([Opaque()]), "at [0] "),
        (lambda: 1, "function is"),
    ],
    ids=["alone", "list", "deep", "dataclass", "set", "result", "function"],
)
def test_values_that_are_not_json_become_errors_with_type_and_path(value, place):
    result = tool(lambda: value, name="give", description="Give.").call()
    assert result.error_type == "execution_error"
    assert place in result.error
    assert tool(lambda: circle, name="give", description="Give.").call().ok


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


def test_the_wrapped_lines_of_a_docstring_are_joined():
    @tool
    def search(text: str) -> str:
        """Search the index and return the documents whose titles contain the text,
        with `score` and title. Prefer

        - another tool for a list whose entries have so many words that they are
          wrapped, as here,
        - this one for words.

        Short lines
        stay as they are.

        ```
        code stays as it is, even if its lines are so long that they look wrapped
        x = 1
        ```
        """
        return text

    assert search.description == (
        "Search the index and return the documents whose titles contain the text, with `score` and title. Prefer\n\n"
        "- another tool for a list whose entries have so many words that they are\n  wrapped, as here,\n"
        "- this one for words.\n\nShort lines\nstay as they are.\n\n"
        "```\ncode stays as it is, even if its lines are so long that they look wrapped\nx = 1\n```"
    )
