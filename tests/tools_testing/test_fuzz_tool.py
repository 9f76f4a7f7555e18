"""`fuzz_tool`: planted bugs are found, each by the name of the promise that it breaks."""

from __future__ import annotations

import os
import sys
import threading
from typing import Annotated, Any, TypedDict

import pytest

from tools_core import Context, Result, Tool, ToolError, tool
from tools_testing import CALL_PROMISES, fuzz_tool

Text = Annotated[str, "Any text"]


@tool(read_only=True)
def sound(text: Text, times: Annotated[int, "How often"] = 1, context: Context | None = None) -> str:
    """Repeat a text."""
    if not 0 <= times <= 1_000:
        raise ToolError("times must be from 0 to 1,000", "limit_exceeded")
    return text[:1_000] * times


@tool
def crashes_on_an_empty_string(text: Text) -> str:
    """Give the first character."""
    return text[0]


@tool
def crashes_on_a_huge_number(count: Annotated[int, "How many"]) -> int:
    """Pack a number."""
    return int.from_bytes(count.to_bytes(8, "big", signed=True), "big", signed=True)


@tool
def crashes_on_unicode(text: Text) -> str:
    """Encode a text."""
    return text.encode("latin-1").decode("latin-1")


@tool
def crashes_on_null(text: Annotated[str | None, "A text, or none"] = "") -> str:
    """Strip a text."""
    return text.strip()  # type: ignore[union-attr]


@tool
def returns_what_is_no_json(text: Text) -> Any:
    """Give a lock for short texts."""
    return {"value": threading.Lock() if len(text) < 3 else text}


class MutatesItsDefinition(Tool):
    """Repeat a text."""

    def execute(self, text: Text) -> str:
        self.description = f"Repeat a text, such as {text!r}."
        return text


class LeaksBetweenCalls(Tool):
    """Repeat all texts."""

    read_only = True
    seen: list[str] = []

    def execute(self, text: Text) -> list[str]:
        self.seen.append(text[:3])
        return self.seen[-5:]


@tool
def prints_secrets(text: Text, context: Context) -> str:
    """Log what it does, too well."""
    print("calling with", dict(context.state), file=sys.stderr)
    return text


@tool
def returns_its_environment(text: Text) -> str:
    """Tell too much when it fails."""
    raise ToolError(f"could not run with {dict(os.environ)}")


@tool
def raises_without_a_message(text: Text) -> str:
    """Fail on what looks odd."""
    if not text.isalnum():
        raise ToolError("")
    return text


@tool
def ignores_its_deadline(text: Text, context: Context) -> str:
    """Wait for something that never comes."""
    threading.Event().wait(3)
    return text


@tool
async def blocks_its_event_loop(text: Text) -> str:
    """Compute in a coroutine."""
    if text:
        threading.Event().wait(6)
    return text


class Answer(TypedDict):
    text: str
    length: int


@tool
def returns_another_form_for_long_texts(text: Text) -> Answer:
    """Measure a text."""
    return {"text": text, "length": len(text)} if len(text) < 4 else {"text": text, "length": "long"}


class ChangesItsOutputSchema(Tool):
    """Measure a text."""

    calls = 0

    def execute(self, text: Text) -> Answer:
        type(self).calls += 1
        return {"text": text, "length": len(text)}

    @property
    def definition(self):
        return super().definition | {"output_schema": {"type": "object", "minProperties": self.calls % 2}}


@tool
def eats_its_arguments(items: Annotated[list[str], "Some texts"]) -> int:
    """Count, from the end."""
    count = 0
    while items:
        items.pop()
        count += 1
    return count


@tool
def leaves(code: Annotated[int, "The exit code"]) -> None:
    """Leave."""
    if code > 5:
        sys.exit(code)


class TakesEverything(Tool):
    """Repeat a text."""

    def execute(self, text: Text) -> str:
        return text

    def call(self, arguments=None, /, context=None, **keywords):
        return Result.ok("fine")


class RefusesWhatIsValid(Tool):
    """Take an even number."""

    def execute(self, number: Annotated[int, "An even number"]) -> Result:
        return Result.ok(number) if number % 2 == 0 else Result.error("must be even", type="validation_error")


@tool
def prints(text: Text) -> str:
    """Print."""
    print("working")
    return text


BROKEN = {
    "crashes_on_an_empty_string": (crashes_on_an_empty_string, "never_crashes"),
    "crashes_on_a_huge_number": (crashes_on_a_huge_number, "never_crashes"),
    "crashes_on_unicode": (crashes_on_unicode, "never_crashes"),
    "crashes_on_null": (crashes_on_null, "never_crashes"),
    "returns_what_is_no_json": (returns_what_is_no_json, "returns_json"),
    "mutates_its_definition": (MutatesItsDefinition, "keeps_its_definition"),
    "leaks_between_calls": (LeaksBetweenCalls, "answers_alike"),
    "prints_secrets": (prints_secrets, "keeps_secrets"),
    "returns_its_environment": (returns_its_environment, "keeps_secrets"),
    "raises_without_a_message": (raises_without_a_message, "explains_errors"),
    "ignores_its_deadline": (ignores_its_deadline, "keeps_to_the_deadline"),
    "returns_another_form_for_long_texts": (returns_another_form_for_long_texts, "fits_its_output_schema"),
    "changes_its_output_schema": (ChangesItsOutputSchema, "keeps_its_definition"),
    "eats_its_arguments": (eats_its_arguments, "leaves_arguments_alone"),
    "leaves": (leaves, "always_answers"),
    "takes_everything": (TakesEverything, "refuses_what_is_not"),
    "refuses_what_is_valid": (RefusesWhatIsValid, "accepts_what_is_valid"),
    "prints": (prints, "prints_nothing"),
}
ALSO = {"prints_secrets": {"prints_nothing"}}  # what else one and the same bug breaks
SIMPLEST = {
    "crashes_on_an_empty_string": {"text": ""},
    "crashes_on_a_huge_number": {"count": 2**63},
    "crashes_on_null": {"text": None},
    "leaves": {"code": 6},
    "refuses_what_is_valid": {"number": 1},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_planted_bug_is_found_by_the_name_of_the_promise_that_it_breaks(name):
    broken, promise = BROKEN[name]
    report = fuzz_tool(broken, examples=60, limit=0.2 if "deadline" in name else 5.0)
    assert {*report.names} == {promise} | ALSO.get(name, set())
    assert f"{promise}: {CALL_PROMISES[promise].demand}" in str(report)
    assert f"fix: {CALL_PROMISES[promise].fix}" in str(report)
    if name in SIMPLEST:
        assert report.broken[0].arguments == SIMPLEST[name]


@pytest.mark.slow
def test_a_coroutine_that_blocks_is_found_and_not_waited_for():
    report = fuzz_tool(blocks_its_event_loop, examples=20, limit=0.1)
    assert "keeps_to_the_deadline" in report.names


def test_every_promise_has_a_tool_here_that_breaks_it():
    assert CALL_PROMISES.keys() == {promise for _, promise in BROKEN.values()}


def test_a_sound_tool_keeps_them_all():
    report = fuzz_tool(sound)
    assert (report.is_ok, report.names) == (True, [])
    assert "kept its promises in" in str(report)
    assert report.calls >= 200


def test_a_coroutine_and_a_tool_without_arguments_can_be_fuzzed():
    @tool(read_only=True)
    async def later(text: Text) -> str:
        """Answer later."""
        return text

    @tool(read_only=True)
    def version() -> str:
        """Tell the version."""
        return "1.0"

    assert fuzz_tool(later, examples=10).is_ok
    assert fuzz_tool(version, examples=10).is_ok


def test_what_is_ignored_is_not_held_against_a_tool():
    assert fuzz_tool(prints, examples=10, ignore=["prints_nothing"]).is_ok
    with pytest.raises(ValueError, match="there is no promise 'nonsense'"):
        fuzz_tool(prints, ignore=["nonsense"])


@pytest.mark.parametrize("options", [{"destructive": True}, {"requires_approval": True}], ids=str)
def test_what_may_destroy_runs_only_when_that_is_said(options):
    seen = []

    @tool(**options)
    def remove(text: Text) -> None:
        """Remove something."""
        seen.append(text)

    with pytest.raises(ValueError, match="even_destructive=True"):
        fuzz_tool(remove)
    assert seen == []
    assert fuzz_tool(remove, examples=10, even_destructive=True).is_ok
    assert seen


def test_calls_work_in_a_folder_that_goes_away_or_in_the_context_given(tmp_path):
    seen = set()

    @tool
    def look(context: Context) -> None:
        """Look around."""
        seen.add((context.workspace, context.state.get("user")))

    assert fuzz_tool(look, examples=5).is_ok
    assert not any(workspace.exists() for workspace, _ in seen)
    seen.clear()
    assert fuzz_tool(look, examples=5, context=Context(workspace=tmp_path, state={"user": "ada"})).is_ok
    assert seen == {(tmp_path, "ada")}


def test_the_same_seed_calls_with_the_same_arguments():
    def calls(seed):
        seen = []

        @tool
        def record(text: Text, count: Annotated[int, "A number"]) -> None:
            """Record."""
            seen.append((text, count))

        fuzz_tool(record, examples=20, seed=seed)
        return seen

    assert calls(1) == calls(1)
    assert calls(1) != calls(2)


def test_the_environment_is_as_before():
    before = dict(os.environ)
    fuzz_tool(sound, examples=5)
    assert dict(os.environ) == before
