"""`check_tool`: a sound tool passes, and each check finds the tool that breaks its promise."""

from __future__ import annotations

import asyncio
import copy
import itertools
import os
import sys
import textwrap
import threading
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from tools_core import Context, Result, Tool, ToolError, Toolset, tool
from tools_testing import CONTRACT, assert_contract, check_tool

Text = Annotated[str, "Any text"]


class Sound(Tool):
    """Repeat a text."""

    read_only = True

    def execute(self, text: Text, times: Annotated[int, "How often"] = 1) -> str:
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
        return super().definition | {"description": f"Asked {next(counter)} times"}


class PerInstance(Sound):
    """Repeat a text."""

    def __init__(self):
        self.description = f"Number {next(counter)}"


class Lenient(Sound):
    """Repeat a text, whatever comes."""

    def call(self, arguments=None, /, context=None, **keywords):
        return Result.ok(self.execute("x"))


class Raising(Sound):
    """Repeat a text."""

    def call(self, arguments=None, /, context=None, **keywords):
        return Result.ok(self.execute(**(arguments or keywords)))


class Halting(Sound):
    """Repeat a text, and never end."""

    def call(self, arguments=None, /, context=None, **keywords):
        return Result.ok("went on")


class Unlimited(Sound):
    """Repeat a text, without a limit."""

    def call(self, arguments=None, /, context=None, **keywords):
        self.timeout = None
        return super().call(arguments, context, **keywords)


class Contrary(Sound):
    """Repeat a text."""

    def __init__(self):
        self.destructive = True


class Moody(Sound):
    """Repeat a text."""

    def annotations_for(self, arguments):
        return {"read_only": len(arguments["text"]) > 3}


class Proud(Sound):
    """Repeat a text."""

    def renamed(self, name):
        made = super().renamed(name)
        made.description = f"was {self.name}"
        return made


class Deaf(Sound):
    """Repeat a text."""

    async def acall(self, arguments=None, /, context=None, **keywords):
        return await super().acall({"text": "something else"}, context)


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
def mute(text: Text) -> str:
    """Fail without a word."""
    raise ToolError("")


@tool(read_only=True)
def opaque(text: Text) -> Any:
    """Return what is no JSON."""
    return {"lock": threading.Lock()}


@tool(read_only=True)
def lying(text: Text) -> dict[str, int]:
    """Promise numbers."""
    return {"text": text}


@tool(read_only=True)
def eating(items: Annotated[list[str], "Some texts"]) -> int:
    """Count, and eat."""
    count = len(items)
    items.append("eaten")
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


class Racing(Sound):
    """Repeat a text."""

    @property
    def definition(self):
        return super().definition | {"description": threading.current_thread().name}


@tool(read_only=True)
def jealous(text: Text) -> str:
    """Serve one call at a time."""
    if not alone.acquire(blocking=False):
        another_came.set()
        raise ToolError("busy", "unavailable")
    another_came.wait(0.2)  # alone, nobody comes
    alone.release()
    return text


alone = threading.Lock()
another_came = threading.Event()

OPEN = {"type": "object", "properties": {"text": {"type": "string", "description": "A text"}}}
CLOSED = OPEN | {"additionalProperties": False}

BROKEN = {
    "name_is_legal": with_definition(name="no name"),
    "description_is_there": with_definition(description=" "),
    "parameters_are_described": with_schema({"type": "object", "properties": {"text": {"type": "string"}}}),
    "schema_is_complete": with_schema({"type": "object", "required": ["x"]}),
    "schema_is_enforceable": with_schema(OPEN | {"$dynamicRef": "#x"}),
    "schema_can_be_met": with_schema(OPEN | {"minProperties": 3, "maxProperties": 2}),
    "definition_is_portable": with_schema(
        {"type": "object", "properties": {"tree": {"$ref": "#/$defs/tree", "description": "A tree"}},
         "$defs": {"tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}}}}
    ),
    "definition_is_plain_json": with_definition(tags={"a", "b"}),
    "definition_is_stable": Unstable(),
    "definition_is_equal_after_a_second_construction": PerInstance,
    "annotations_are_consistent": Contrary(),
    "hints_are_told_for_any_arguments": Moody(),
    "renaming_changes_only_the_name": Proud(),
    "unknown_arguments_are_refused": Lenient(),
    "missing_arguments_are_refused": Lenient(),
    "wrong_types_are_refused": Lenient(),
    "nearly_valid_arguments_are_refused": Lenient(),
    "malformed_json_is_refused": Lenient(),
    "strange_values_are_refused": Lenient(),
    "valid_arguments_are_accepted": picky,
    "every_way_to_call_is_alike": Deaf(),
    "errors_become_results": Raising(),
    "halts_become_results": Halting(),
    "time_limit_is_kept": Unlimited(),
    "calls_give_results": crashing,
    "errors_have_a_message": mute,
    "results_are_json": opaque,
    "output_fits_its_schema": lying,
    "arguments_are_left_alone": eating,
    "calls_leave_the_definition_alone": Rewriting(),
    "calls_print_nothing": chatty,
    "threads_see_one_definition": Racing(),
    "threads_get_the_same_kind_of_result": jealous,
}  # fmt: skip
ELSEWHERE = {"import_does_nothing", "definition_is_deterministic"}


def failed(report):
    return [outcome.name for outcome in report.failures]


@pytest.mark.parametrize("sound", [Sound, Sound(), Sound().renamed("other")], ids=["class", "instance", "renamed"])
def test_a_sound_tool_keeps_its_contract(sound):
    report = check_tool(sound)
    assert failed(report) == []
    assert report.is_ok
    assert "keeps its contract" in str(report)
    assert_contract(sound)


def test_a_coroutine_and_a_function_keep_it_too():
    @tool(read_only=True)
    async def later(text: Text, context: Context) -> str:
        """Answer later."""
        await asyncio.sleep(0)
        return text

    assert_contract(later)
    assert_contract(tool(lambda text="": text, name="f", description="Repeat.", input_schema=CLOSED, read_only=True))


def test_inside_an_event_loop_it_can_be_checked_as_well():
    async def main():
        return check_tool(Sound())

    assert asyncio.run(main()).is_ok


def test_every_check_has_a_tool_here_that_breaks_it():
    assert CONTRACT.keys() == BROKEN.keys() | ELSEWHERE


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=BROKEN)
def test_a_broken_promise_is_found_by_its_name_and_comes_with_a_fix(name, broken):
    report = check_tool(broken, ignore=CONTRACT.keys() - {name})
    assert failed(report) == [name]
    assert report.failures[0].findings
    assert f"{name}: {CONTRACT[name].demand}" in str(report)
    assert f"fix: {CONTRACT[name].fix}" in str(report)


def test_all_that_is_broken_is_told_and_not_the_first_alone():
    report = check_tool(Lenient())
    assert {"unknown_arguments_are_refused", "malformed_json_is_refused", "strange_values_are_refused"} <= {
        *failed(report)
    }
    with pytest.raises(AssertionError) as caught:
        assert_contract(Lenient())
    assert str(caught.value) == str(report)


def test_what_is_ignored_is_not_checked_and_an_unknown_name_is_refused():
    assert "description_is_there" not in failed(
        check_tool(with_definition(description=""), ignore=["description_is_there"])
    )
    with pytest.raises(ValueError, match="there is no check 'nonsense'"):
        check_tool(Sound, ignore=["nonsense"])


# The body runs where that is safe, and nowhere else


def recording(**options):
    seen = []

    @tool(**options)
    def record(text: Text) -> str:
        """Record."""
        seen.append(text)
        return text

    return record, seen


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
def test_without_samples_the_body_of_a_tool_that_may_do_harm_never_runs(options):
    record, seen = recording(**options)
    report = check_tool(record)
    assert seen == []
    assert report.is_ok
    assert any("its body runs only for sample arguments" in str(outcome.skipped) for outcome in report.skipped)


def test_without_samples_a_harmless_tool_runs_with_generated_ones():
    record, seen = recording(read_only=True)
    assert check_tool(record).is_ok
    assert seen


def test_with_samples_the_body_runs_for_those_alone():
    record, seen = recording(destructive=True)
    assert check_tool(record, arguments={"text": "this"}).is_ok
    assert {*seen} == {"this"}
    check_tool(record, arguments=[{"text": "this"}, {"text": "that"}])
    assert {*seen} == {"this", "that"}


def test_a_tool_with_a_call_of_its_own_is_not_called_either():
    called = []

    class Own(Sound):
        """Repeat a text."""

        read_only = False

        def call(self, arguments=None, /, context=None, **keywords):
            called.append(arguments)
            return super().call(arguments, context, **keywords)

    report = check_tool(Own())
    assert called == []
    assert any("has a call of its own" in str(outcome.skipped) for outcome in report.skipped)


def test_calls_have_an_empty_workspace_of_their_own_or_the_context_given(tmp_path):
    seen = []

    @tool(read_only=True)
    def look(context: Context) -> list[str]:
        """List the workspace."""
        seen.append(context.workspace)
        return sorted(os.listdir(context.workspace))

    assert check_tool(look).is_ok
    assert seen and not any(folder.exists() for folder in seen)
    seen.clear()
    check_tool(look, context=Context(workspace=tmp_path))
    assert {*seen} == {tmp_path}


def test_samples_are_left_as_they_are():
    samples = {"items": ["a"]}
    check_tool(eating, arguments=samples)
    assert samples == {"items": ["a"]}


def test_a_sample_that_is_refused_is_a_finding():
    assert "valid_arguments_are_accepted" in failed(check_tool(Sound(), arguments={"txt": "a"}))


def test_a_toolset_is_checked_tool_by_tool():
    class Pair(Toolset):
        """Two tools."""

        def one(self, text: Text) -> str:
            """Give it back."""
            return text

        def two(self, text: Text) -> str:
            """Give it back twice."""
            return text * 2

    with pytest.raises(TypeError, match=r"check each of its \.tools"):
        check_tool(Pair())
    for each in Pair().tools:
        assert_contract(each, arguments={"text": "a"})


def test_a_tool_whose_definition_cannot_be_had_is_reported_and_not_raised():
    class Broken(Sound):
        """Repeat a text."""

        @property
        def definition(self):
            raise RuntimeError("no definition today")

    report = check_tool(Broken())
    assert "no definition today" in str(report)


# In another interpreter


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module that can be imported, here and elsewhere, and import it."""
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def make(name, text):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        made.append(name)
        return __import__(name)

    yield make
    for name in made:
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
    "file": ("open('left_behind.txt', 'w').close()", "for writing"),
    "folder": ("import os, tempfile\nos.rmdir(tempfile.mkdtemp())", "made a folder"),
}
TOOL = '''
from typing import Annotated
from tools_core import tool

@tool(read_only=True)
def repeat(text: Annotated[str, "A text"]) -> str:
    """Repeat a text."""
    return text
'''


@pytest.mark.parametrize(("work", "told"), WORK.values(), ids=WORK)
def test_work_at_import_is_told_with_its_place(module, work, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = f"busy_{told.split()[-1].strip(chr(39))}_{len(work)}"
    report = check_tool(module(name, f"{work}\n{TOOL}").repeat)
    assert failed(report) == ["import_does_nothing"]
    assert told in str(report)
    assert "wrote" in told or f"{name}.py:" in str(report)


def test_a_module_that_defines_and_does_nothing_else_is_quiet(module):
    heavy = (
        "import asyncio, http.client, json, logging, re, sqlite3, ssl, urllib.request, uuid, xml.etree.ElementTree\n"
    )
    assert check_tool(module("quiet_module", heavy + TOOL).repeat).is_ok


def test_a_definition_that_depends_on_the_order_of_a_set_is_found(module):
    text = """
    from tools_core import tool

    NAMES = {f"name {number}" for number in range(20)}

    @tool(description=f"One of {', '.join(NAMES)}", read_only=True)
    def choose() -> str:
        return "name 1"
    """
    assert failed(check_tool(module("hashed_module", text).choose)) == ["definition_is_deterministic"]


def test_a_tool_that_no_other_process_can_import_is_skipped_with_the_reason():
    def local(text: Text) -> str:
        """Repeat a text."""
        return text

    skipped = {outcome.name: outcome.skipped for outcome in check_tool(tool(local)).skipped}
    assert "no other process can import it" in skipped["import_does_nothing"]


def test_a_report_of_many_findings_shows_the_first_ones_and_counts_the_others():
    many = {f"parameter_{number}": {"type": "string"} for number in range(9)}
    report = check_tool(with_schema({"type": "object", "properties": many}))
    assert "- and 4 more" in str(report)


def test_checking_changes_nothing_of_the_tool():
    sound = Sound()
    before, attributes = sound.definition, copy.copy(vars(sound))
    check_tool(sound)
    assert (sound.definition, vars(sound)) == (before, attributes)
