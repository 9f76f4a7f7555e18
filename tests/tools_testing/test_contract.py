"""`check_tool`: a sound tool passes, and each promise has a tool here that breaks it."""

from __future__ import annotations

import asyncio
import copy
import itertools
import os
import re
import sys
import textwrap
import threading
import time
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Network
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import pytest

from tools_core import Context, Effects, Result, Tool, ToolError, Toolset, tool
from tools_testing import CONTRACT, assert_contract, check_tool

Text = Annotated[str, "Any text"]


class Sound(Tool):
    """Repeat a text."""

    read_only = True

    def execute(self, text: Text, times: Annotated[int, "The number of times"] = 1) -> str:
        if times > 100:
            raise ToolError("at most 100 times", "limit_exceeded")
        return text * max(times, 0)


def with_definition(**changes):
    """A tool whose definition says something else than it should."""

    class Changed(Sound):
        """Repeat a text."""

        name = "changed"

        @property
        def definition(self):
            return {**super().definition, **changes}

    return Changed()


def with_schema(schema):
    return with_definition(input_schema=schema)


counter = itertools.count()


class Unstable(Sound):
    """Repeat a text."""

    @property
    def definition(self):
        return super().definition | {"description": f"Accessed {next(counter)} times"}


class Lenient(Sound):
    """Repeat a text, whatever the arguments."""

    def call(self, arguments=None, /, context=None, **keywords):
        return Result.ok(self.execute("x"))


class Raising(Sound):
    """Repeat a text."""

    def call(self, arguments=None, /, context=None, **keywords):
        return Result.ok(self.execute(**(arguments or keywords)))


class Contrary(Sound):
    """Repeat a text."""

    def __init__(self):
        vars(self)["destructive"] = True  # unchecked


class Moody(Sound):
    """Repeat a text."""

    def effects(self, arguments, context=None):
        return Effects({"read_only": len(arguments["text"]) > 3})


@dataclass
class Even:
    """An even number."""

    value: int

    def __post_init__(self):
        if self.value >= 0 or self.value < 0:
            raise RuntimeError("no number is good enough")


@tool(read_only=True)
def picky(number: Annotated[Even, "A number"]) -> str:
    """Take a number."""
    return "never"


@tool(read_only=True)
def crashing(text: Text) -> str:
    """Take the first character."""
    return text[0] + {}[text]


@tool(read_only=True)
def leaving(text: Text) -> str:
    """Exit."""
    sys.exit(1)


@tool(read_only=True, timeout=0.05)
def stubborn(text: Text) -> str:
    """Wait for nothing."""
    threading.Event().wait(1)
    return text


@tool(read_only=True)
def mute(text: Text) -> str:
    """Fail without a word."""
    raise ToolError("")


@tool(read_only=True)
def opaque(text: Text) -> Any:
    """Return a lock."""
    return {"lock": threading.Lock()}


@tool(read_only=True)
def lying(text: Text) -> dict[str, int]:
    """Promise numbers."""
    return {"text": text}


@tool(read_only=True)
def emptying(items: Annotated[list[str], "Some texts"]) -> int:
    """Count, and change the list."""
    count = len(items)
    items.append("added")
    return count


class Rewriting(Sound):
    """Repeat a text."""

    read_only = True

    def execute(self, text: Text) -> str:
        self.description = f"has seen {text!r}"
        return text


@tool(read_only=True)
def chatty(text: Text) -> str:
    """Print."""
    print(text, "seen")
    return text


@tool(read_only=True)
def indiscreet(context: Context) -> str:
    """Show the state."""
    return str(dict(context.state))


@tool(read_only=True)
def counting(text: Text) -> int:
    """Count the calls."""
    return next(counter)


@tool(read_only=True)
def jealous(text: Text) -> str:
    """Serve one call at a time."""
    if not alone.acquire(blocking=False):
        another_came.set()
        raise ToolError("busy", "unavailable")
    another_came.wait(0.2)  # a single call waits in vain
    alone.release()
    return text


alone = threading.Lock()
another_came = threading.Event()

OPEN = {"type": "object", "properties": {"text": {"type": "string", "description": "A text"}}}
CLOSED = OPEN | {"additionalProperties": False}

BROKEN = {
    "description_is_present": with_definition(description=" "),
    "parameters_are_described": with_schema({"type": "object", "properties": {"text": {"type": "string"}}}),
    "schema_can_be_met": with_schema(OPEN | {"required": ["never"], "properties": {"never": False}}),
    "definition_is_stable": Unstable(),
    "annotations_are_consistent": Contrary(),
    "effects_are_known_for_any_arguments": Moody(),
    "invalid_arguments_are_refused": Lenient(),
    "valid_arguments_are_accepted": picky,
    "exceptions_become_results": Raising(),
    "calls_return_results": leaving,
    "deadline_is_kept": stubborn,
    "body_does_not_crash": crashing,
    "errors_have_a_message": mute,
    "results_are_json": opaque,
    "output_fits_its_schema": lying,
    "arguments_are_unchanged": emptying,
    "definition_is_unchanged": Rewriting(),
    "nothing_is_printed": chatty,
    "secrets_are_not_shown": indiscreet,
    "results_are_repeatable": counting,
    "calls_are_thread_safe": jealous,
}  # fmt: skip
BELOW = {"import_has_no_side_effects", "definition_is_deterministic"}


def broken_promises(report):
    return [outcome.name for outcome in report.broken]


@pytest.mark.parametrize("sound", [Sound, Sound(), Sound().renamed("other")], ids=["class", "instance", "renamed"])
def test_a_sound_tool_keeps_its_contract(sound):
    report = check_tool(sound)
    assert broken_promises(report) == []
    assert report.ok
    assert "keeps its contract" in str(report)
    assert_contract(sound)


def test_coroutines_and_functions_with_a_ready_schema_keep_the_contract():
    @tool(read_only=True)
    async def later(text: Text, context: Context) -> str:
        """Answer later."""
        await asyncio.sleep(0)
        return text

    assert_contract(later)
    assert_contract(tool(lambda text="": text, name="f", description="Repeat.", input_schema=CLOSED, read_only=True))


def test_tools_can_be_checked_inside_an_event_loop():
    async def main():
        return check_tool(Sound())

    assert asyncio.run(main()).ok


def test_every_promise_has_a_tool_here_that_breaks_it():
    assert CONTRACT.keys() == BROKEN.keys() | BELOW


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=BROKEN)
def test_a_broken_promise_is_reported_with_its_fix(name, broken):
    report = check_tool(broken, ignore=CONTRACT.keys() - {name})
    assert broken_promises(report) == [name]
    assert report.broken[0].problems
    assert f"{name}: {CONTRACT[name].demand}" in str(report)
    assert f"fix: {CONTRACT[name].fix}" in str(report)


def test_the_report_lists_every_broken_promise():
    report = check_tool(Lenient())
    assert {"invalid_arguments_are_refused", "exceptions_become_results"} <= {*broken_promises(report)}
    with pytest.raises(AssertionError) as caught:
        assert_contract(Lenient())
    assert str(caught.value) == str(report)


def test_ignored_promises_are_not_checked_and_unknown_names_are_an_error():
    nameless = with_definition(description="")
    assert "description_is_present" in broken_promises(check_tool(nameless))
    assert "description_is_present" not in broken_promises(check_tool(nameless, ignore=["description_is_present"]))
    with pytest.raises(ValueError, match="no promise is called 'nonsense'"):
        check_tool(Sound, ignore=["nonsense"])


# When the body runs


def recording(**options):
    received = []

    @tool(**options)
    def record(text: Text) -> str:
        """Record."""
        received.append(text)
        return text

    return record, received


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"destructive": True},
        {"read_only": True, "open_world": True},
        {"read_only": True, "requires_approval": True},
    ],
    ids=str,
)
def test_the_body_of_a_tool_with_effects_never_runs_without_samples(options):
    record, received = recording(**options)
    report = check_tool(record)
    assert received == []
    assert report.ok
    assert any("its body runs only for sample arguments" in str(outcome.skipped) for outcome in report.skipped)


def test_the_body_of_a_harmless_tool_runs_with_generated_arguments():
    record, received = recording(read_only=True)
    assert check_tool(record).ok
    assert received


def test_the_body_runs_only_for_sample_arguments():
    record, received = recording(destructive=True)
    assert check_tool(record, arguments={"text": "this"}).ok
    assert {*received} == {"this"}
    check_tool(record, arguments=[{"text": "this"}, {"text": "that"}])
    assert {*received} == {"this", "that"}


def test_a_tool_that_overrides_call_is_not_called_without_samples():
    called = []

    class Own(Sound):
        """Repeat a text."""

        read_only = False

        def call(self, arguments=None, /, context=None, **keywords):
            called.append(arguments)
            return super().call(arguments, context, **keywords)

    report = check_tool(Own())
    assert called == []
    assert any("it overrides `call`" in str(outcome.skipped) for outcome in report.skipped)


def test_calls_have_a_temporary_workspace_or_the_context_given(tmp_path):
    received = []

    @tool(read_only=True)
    def look(context: Context) -> list[str]:
        """List the workspace."""
        received.append(context.workspace)
        return sorted(os.listdir(context.workspace))

    assert check_tool(look).ok
    assert received and not any(folder.exists() for folder in received)
    received.clear()
    check_tool(look, context=Context(workspace=tmp_path))
    assert {*received} == {tmp_path}


def test_samples_are_not_changed():
    samples = {"items": ["a"]}
    check_tool(emptying, arguments=samples)
    assert samples == {"items": ["a"]}


def test_a_refused_sample_breaks_a_promise():
    assert "valid_arguments_are_accepted" in broken_promises(check_tool(Sound(), arguments={"txt": "a"}))


def test_the_tools_of_a_toolset_are_checked_one_by_one():
    class Pair(Toolset):
        """Two tools."""

        def one(self, text: Text) -> str:
            """Return it."""
            return text

        def two(self, text: Text) -> str:
            """Return it twice."""
            return text * 2

    with pytest.raises(TypeError, match=r"pass one of its \.tools"):
        check_tool(Pair())
    for member in Pair().tools:
        assert_contract(member, arguments={"text": "a"})


def test_a_definition_that_raises_is_reported():
    class Broken(Sound):
        """Repeat a text."""

        @property
        def definition(self):
            raise RuntimeError("no definition today")

    report = check_tool(Broken())
    assert "no definition today" in str(report)


# Importing a tool


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module that this process and others can import, and import it."""
    monkeypatch.syspath_prepend(tmp_path)
    created = []

    def make(name, text):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        created.append(name)
        return __import__(name)

    yield make
    for name in created:
        sys.modules.pop(name, None)


WORK = {
    "thread": (
        "import threading\nthreading.Thread(target=print).start()",
        "started a thread",
    ),
    "socket": ("import socket\nsocket.socket().close()", "opened a socket"),
    "program": ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])", "ran a program"),
    "output": ("print('welcome')", "wrote to stdout: 'welcome"),
    "complaint": ("import sys\nsys.stderr.write('careful')", "wrote to stderr: 'careful"),
    "file": ("open('created.txt', 'w').close()", "for writing"),
    "folder": ("import os, tempfile\nos.rmdir(tempfile.mkdtemp())", "created a folder"),
}
TOOL = '''
from typing import Annotated
from tools_core import tool

@tool(read_only=True)
def repeat(text: Annotated[str, "A text"]) -> str:
    """Repeat a text."""
    return text
'''


@pytest.mark.parametrize(("work", "effect"), WORK.values(), ids=WORK)
def test_side_effects_of_an_import_are_reported_with_their_line(module, work, effect, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = f"busy_{effect.split()[-1].strip(chr(39))}_{len(work)}"
    report = check_tool(module(name, f"{work}\n{TOOL}").repeat)
    assert broken_promises(report) == ["import_has_no_side_effects"]
    assert effect in str(report)
    assert "wrote" in effect or f"{name}.py:" in str(report)


def test_importing_common_modules_has_no_side_effects(module):
    heavy = (
        "import asyncio, http.client, json, logging, re, sqlite3, ssl, urllib.request, uuid, xml.etree.ElementTree\n"
    )
    assert check_tool(module("quiet_module", heavy + TOOL).repeat).ok


def test_a_definition_that_depends_on_the_order_of_a_set_breaks_a_promise(module):
    text = """
    from tools_core import tool

    NAMES = {f"name {number}" for number in range(20)}

    @tool(description=f"One of {', '.join(NAMES)}", read_only=True)
    def choose() -> str:
        return "name 1"
    """
    assert broken_promises(check_tool(module("hashed_module", text).choose)) == ["definition_is_deterministic"]


def test_promises_about_imports_do_not_apply_to_local_functions():
    def local(text: Text) -> str:
        """Repeat a text."""
        return text

    skipped = {outcome.name: outcome.skipped for outcome in check_tool(tool(local)).skipped}
    assert "no other process can import it" in skipped["import_has_no_side_effects"]


@pytest.mark.slow
def test_a_report_counts_the_problems_that_it_does_not_list():
    many = {f"parameter_{number}": {"type": "string"} for number in range(9)}
    report = check_tool(with_schema({"type": "object", "properties": many}))
    assert "- and 4 more" in str(report)


def test_checking_does_not_change_the_tool():
    sound = Sound()
    before, attributes = sound.definition, copy.copy(vars(sound))
    check_tool(sound)
    assert (sound.definition, vars(sound)) == (before, attributes)


@pytest.mark.parametrize(("hints", "broken"), [({"idempotent": False}, []), ({}, ["results_are_repeatable"])])
def test_a_clock_keeps_its_contract_if_it_says_that_it_is_not_idempotent(hints, broken):
    @tool(read_only=True, **hints)
    def now() -> int:
        """Return the time in nanoseconds."""
        return time.monotonic_ns()

    assert broken_promises(check_tool(now)) == broken


@pytest.mark.parametrize("hint", [ZoneInfo, IPv4Interface, IPv6Network, re.Pattern])
def test_a_parameter_of_the_standard_library_gets_values_that_it_accepts(hint):
    def take(value):
        """Take a value, and return it as text."""
        return str(value)

    take.__annotations__ = {"value": Annotated[hint, "A value to take"], "return": str}
    assert_contract(tool(take, read_only=True))
